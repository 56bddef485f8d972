"""Samples in another order, clusters by other names, data moved, turned or in another unit: nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ortho_group

from tests.properties.problems import Problem, few, fitted, problems
from tests.properties.promises import CHANGES, PROMISES


def permute(problem):
    """Another order; memberships come in that order."""
    order = problem.rng.permutation(problem.X.shape[0])
    return Problem(problem.X[order], problem.start[order], problem.rng), lambda U: U[order]


def relabel(problem):
    """Other names of the clusters; memberships have other columns."""
    order = problem.rng.permutation(problem.n_clusters)
    return Problem(problem.X, problem.start[:, order], problem.rng), lambda U: U[:, order]


def translate(problem):
    return problem._replace(X=problem.X + 8 * problem.rng.standard_normal(problem.X.shape[1])), lambda U: U


def rotate(problem):
    d = problem.X.shape[1]
    turn = ortho_group.rvs(d, random_state=0) if d > 1 else -np.ones((1, 1))
    return problem._replace(X=problem.X @ turn), lambda U: U


def scale(problem):
    return problem._replace(X=problem.X * 2.0 ** problem.rng.integers(-20, 20)), lambda U: U


KEPT = [(name, change) for name, promise in PROMISES.items() for change in CHANGES if promise.keeps(change)]
BY_NAME = {function.__name__: function for function in (permute, relabel, translate, rotate, scale)}


@pytest.mark.parametrize(("name", "change"), KEPT)
@few
@given(st.data())
def test_nothing_else_changes(name, change, data):
    problem = data.draw(problems(PROMISES[name]))
    promise = PROMISES[name]
    changed, expected = BY_NAME[change](problem)
    sweeps = {"max_iter": 10} if promise.start else {}  # rounding grows with every sweep where clusters are not clear
    before, after = fitted(promise, problem, **sweeps), fitted(promise, changed, **sweeps)
    np.testing.assert_allclose(after.memberships_, expected(before.memberships_), atol=promise.tol)


@pytest.mark.parametrize("name", [name for name, promise in PROMISES.items() if promise.keeps("scale")])
@few
@given(st.data())
def test_a_run_stops_at_the_same_sweep_in_any_unit(name, data):
    problem = data.draw(problems(PROMISES[name]))
    here, there = (fitted(PROMISES[name], one) for one in (problem, scale(problem)[0]))
    assert there.n_iter_ == here.n_iter_
    np.testing.assert_array_equal(there.labels_, here.labels_)


def test_every_exception_is_named_and_explained():
    for promise in PROMISES.values():
        assert set(promise.but) <= set(CHANGES)
        assert all(len(reason) > 10 for reason in promise.but.values())
