"""Loops that are used where Numba is loaded already change no bit of a fit.

Unless more samples are equally far than `afcm.neighbors.search.SPARE` allows for: then they may choose others of them.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("numba")

FITS = """
import hashlib, sys
if sys.argv[1] == "loaded":
    import numba
import numpy as np
from sklearn.datasets import make_blobs
from afcm import AFCM
from afcm._util.threads import one_blas_thread

def sheet(n):
    points = make_blobs(n, 4, centers=3, cluster_std=2.0, random_state=0)[0]
    return np.tanh(points @ np.random.default_rng(0).normal(size=(4, 22)) / 8)

with one_blas_thread():
    for X, n_clusters in (
        (make_blobs(1500, 16, centers=3, cluster_std=4.0, random_state=0)[0], 3),
        (make_blobs(1500, 7, centers=20, cluster_std=1.0, random_state=0)[0], 20),
        (sheet(1500), 3),
        (np.round(9 * sheet(1200)), 3),
    ):
        model = AFCM(n_clusters, random_state=0, n_views=0).fit(X)
        parts = np.ascontiguousarray(model.memberships_), np.ascontiguousarray(model.embedding_), model.objective_
        print(hashlib.sha256(b"".join(np.asarray(part).tobytes() for part in parts)).hexdigest())
assert ("numba" in sys.modules) == (sys.argv[1] == "loaded")
"""


def fit_in_new_process(state):
    command = [sys.executable, "-W", "ignore", "-c", FITS, state]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def test_a_fit_is_the_same_to_the_last_bit_whether_numba_is_loaded_or_not():
    alone, loaded = map(fit_in_new_process, ("alone", "loaded"))
    assert alone == loaded
    assert len(set(alone)) == 4
