"""Ctrl-C leaves the best model so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from afcm import AFCM, PlainAFCM
from afcm.catalogue import CATALOGUE
from afcm.exceptions import AFCMWarning
from afcm.fitting.loop import Interrupted, best_run

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
@pytest.mark.parametrize("cls", [entry.cls for entry in CATALOGUE if not entry.is_baseline])
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
def test_the_sweeps_so_far_of_chunks_are_kept():
    dask = pytest.importorskip("dask", reason="the extra afcm[dask] is not installed")
    chunks = pytest.importorskip("dask.array").from_array(X, chunks=(200, 4))
    settings = {"graph": "anchors", "n_anchors": 60, "graph_weight": 6e5, "tol": 0.0, "random_state": 0}
    model = AFCM(5, callback=stop_at(2), **settings)
    with dask.config.set(scheduler="synchronous"):
        with pytest.raises(Interrupted, match="holds the best model so far"):
            model.fit(chunks)
        short = AFCM(5, max_iter=2, **settings).fit(chunks)
        assert (model.n_iter_, model.converged_) == (2, False)
        assert np.array_equal(model.memberships_.compute(), short.memberships_.compute())
        assert np.array_equal(model.predict(X[:20]), model.labels_[:20].compute())


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

    monkeypatch.setattr("afcm.graph.similarity.find_neighbors", stop)
    model = AFCM(5)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert not hasattr(model, "memberships_")


def test_the_model_says_that_it_is_not_finished():
    model = PlainAFCM(5, init="random", random_state=0, callback=stop_at(2))
    with pytest.warns(AFCMWarning, match="stopped after 2 sweeps"), pytest.raises(KeyboardInterrupt):
        model.fit(X)


@dataclass(frozen=True)
class Halving:
    """A state and its problem: every sweep halves J."""

    objective: float
    precision: None = None
    change: float = 1.0

    def sweep(self, state):
        if state.objective == 0.25:
            raise KeyboardInterrupt
        return Halving(state.objective / 2)


def test_an_interrupted_run_stands_beside_the_finished_ones():
    def stop():
        raise KeyboardInterrupt

    problem = Halving(0.0)
    how = {"max_iter": 2, "tol": 0.0, "key": lambda result: result.state.objective}
    best, interrupt = best_run(problem, [lambda: Halving(8.0), lambda: Halving(0.5), stop], **how)
    assert (best.state.objective, best.n_iter, type(interrupt)) == (0.25, 1, Interrupted)
    best, interrupt = best_run(problem, [lambda: Halving(0.125), lambda: Halving(0.5)], **how)
    assert (best.state.objective, best.n_iter, type(interrupt)) == (0.03125, 2, Interrupted)
    best, interrupt = best_run(problem, [lambda: Halving(8.0), stop], **how)
    assert (best.state.objective, type(interrupt)) == (2.0, KeyboardInterrupt)
    best, interrupt = best_run(problem, [lambda: Halving(16.0), lambda: Halving(8.0)], **how)
    assert (best.state.objective, interrupt) == (2.0, None)
    with pytest.raises(KeyboardInterrupt):
        best_run(problem, [stop], **how)
    with pytest.raises(ValueError, match="at least one start"):
        best_run(problem, [], **how)
