"""Samples in another order, clusters by other names, data moved, turned or in another unit: nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import ortho_group

from .problems import Problem, few, fitted, problems
from .promises import CHANGES, PROMISES


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
@given(problems())
def test_nothing_else_changes(name, change, problem):
    promise = PROMISES[name]
    changed, expected = BY_NAME[change](problem)
    sweeps = {"max_iter": 10} if promise.start else {}  # rounding grows with every sweep where clusters are not clear
    before, after = fitted(promise, problem, **sweeps), fitted(promise, changed, **sweeps)
    np.testing.assert_allclose(after.memberships_, expected(before.memberships_), atol=promise.tol)


def test_every_exception_is_named_and_explained():
    for promise in PROMISES.values():
        assert set(promise.but) <= set(CHANGES)
        assert all(len(reason) > 10 for reason in promise.but.values())
