"""The same seed gives the same answer on one core and on several."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.properties.promises import PROMISES

SCRIPT = """
import sys, warnings
import numpy as np
from sklearn.datasets import make_blobs
import afcm._util.threads
n_threads = int(sys.argv[1])
afcm._util.threads.count_cores = lambda: n_threads
from afcm.exceptions import AFCMWarning
from tests.properties.promises import PROMISES
warnings.simplefilter("ignore", AFCMWarning)
X = make_blobs(2500, 8, centers=5, cluster_std=2.5, random_state=0)[0]
found = {name: promise.make(5, random_state=0, max_iter=15).fit(X).memberships_ for name, promise in PROMISES.items()}
np.savez(sys.argv[2], **found)
"""
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@pytest.fixture(scope="module")
def memberships(tmp_path_factory):
    """Of every estimator, with one, two and three threads."""
    folder = tmp_path_factory.mktemp("threads")
    for n_threads in (1, 2, 3):
        environment = os.environ | dict.fromkeys(VARIABLES, str(n_threads))
        command = [sys.executable, "-c", SCRIPT, str(n_threads), folder / f"{n_threads}.npz"]
        subprocess.run(command, env=environment, cwd=Path(__file__).parents[2], check=True, timeout=300)
    return [dict(np.load(folder / f"{n_threads}.npz")) for n_threads in (1, 2, 3)]


@pytest.mark.slow
def test_the_number_of_threads_does_not_matter(memberships):
    one, *others = memberships
    assert len(one) == len(PROMISES)
    for several in others:
        for name, expected in one.items():
            np.testing.assert_allclose(several[name], expected, rtol=0, atol=1e-8, err_msg=name)
