"""Ctrl-C leaves the best model so far."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from afcm import AFCM, FCM, EntropyFCM, PlainAFCM
from afcm.alternating import Interrupted, run_each
from afcm.exceptions import AFCMWarning

X = make_blobs(600, 4, centers=5, cluster_std=3, random_state=0)[0]


def stop_at(sweep, run=1):
    """A callback that presses Ctrl-C."""
    seen = []

    def look(iteration):
        seen.append(iteration.index)
        if seen.count(1) == run and iteration.index == sweep:
            raise KeyboardInterrupt

    return look


@pytest.mark.filterwarnings("ignore::afcm.exceptions.AFCMWarning")
@pytest.mark.parametrize("cls", [AFCM, PlainAFCM, FCM, EntropyFCM])
def test_the_sweeps_so_far_are_kept(cls):
    settings = {"init": "random", "random_state": 0, "tol": 0.0}
    model = cls(5, callback=stop_at(3), **settings)
    with pytest.raises(Interrupted, match="holds the best model so far"):
        model.fit(X)
    short = cls(5, max_iter=3, n_init=1, **settings).fit(X)
    assert model.n_iter_ == 3
    assert not model.converged_
    assert np.array_equal(model.memberships_, short.memberships_)
    assert np.array_equal(model.predict(X[:20]), model.labels_[:20])


@pytest.mark.filterwarnings("ignore::afcm.exceptions.AFCMWarning")
def test_the_best_of_the_runs_so_far_is_kept():
    settings = {"init": "random", "random_state": 0, "n_init": 4}
    model = PlainAFCM(5, callback=stop_at(1, run=3), **settings)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    two = PlainAFCM(5, **(settings | {"n_init": 2})).fit(X)
    assert model.objective_ == two.objective_


def test_nothing_is_left_where_nothing_was_learned(monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("afcm.neighbors.nearest", stop)
    model = AFCM(5)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert not hasattr(model, "memberships_")


def test_the_model_says_that_it_is_not_finished():
    model = PlainAFCM(5, init="random", random_state=0, callback=stop_at(2))
    with pytest.warns(AFCMWarning, match="stopped after 2 sweeps"), pytest.raises(KeyboardInterrupt):
        model.fit(X)


def test_an_interrupted_run_stands_beside_the_finished_ones():
    def stop():
        raise KeyboardInterrupt

    def stop_halfway():
        raise Interrupted("half")

    results, interrupt = run_each([lambda: "whole", stop_halfway, stop])
    assert (results, type(interrupt)) == (["whole", "half"], Interrupted)
    results, interrupt = run_each([lambda: "whole", stop])
    assert (results, type(interrupt)) == (["whole"], KeyboardInterrupt)
    assert run_each([lambda: "whole"] * 2) == (["whole"] * 2, None)
    with pytest.raises(KeyboardInterrupt):
        run_each([stop])
