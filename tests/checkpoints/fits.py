"""Fits that are stopped, and whether two ended alike."""

from __future__ import annotations

import os

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from afcm import AFCM, FCM, EntropyFCM, GeneralizedGaussianMixture, PlainAFCM
from afcm.checkpoints import Checkpoint

X = make_blobs(250, 3, centers=4, cluster_std=3, random_state=0)[0]
THREE = {"n_init": 3, "init": "random", "random_state": 0}
MODELS = {
    "PlainAFCM": lambda **more: PlainAFCM(4, **THREE, max_iter=20, **more),
    "FCM": lambda **more: FCM(4, **THREE, max_iter=20, m=1.5, **more),
    "EntropyFCM": lambda **more: EntropyFCM(4, **THREE, max_iter=20, **more),
    "AFCM": lambda **more: AFCM(4, **THREE, max_iter=12, tol=0.0, **more),
    "spectral AFCM": lambda **more: AFCM(
        4, n_init=3, graph_weight=1e6, density_strength=0, random_state=0, tol=1e-8, **more
    ),
    "mixture": lambda **more: GeneralizedGaussianMixture(4, **THREE, max_iter=12, **more),
}


class Stopped(Exception):
    """By `stop_at`."""


def stop_at(sweep, how=Stopped):
    """A callback that ends the fit after so many sweeps of all runs."""
    seen = []

    def look(iteration):
        seen.append(iteration)
        if len(seen) == sweep:
            if how == "kill":
                os.kill(os.getpid(), 9)
            raise how

    return look


def stopped(make, path, sweep, how=Stopped, **more):
    with pytest.raises(how):
        make(callback=Checkpoint(path, callback=stop_at(sweep, how), **more)).fit(X)


def same(one, other):
    """All fitted numbers, to the last bit."""
    assert one.history_.keys() == other.history_.keys()
    pairs = [(one.history_[name], other.history_[name]) for name in one.history_]
    names = [name for name in vars(one) if name.endswith("_") and name != "history_"]
    pairs += [(getattr(one, name), getattr(other, name)) for name in names]
    return len(names) > 5 and all(np.array_equal(a, b) for a, b in pairs)
