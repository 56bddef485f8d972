"""Algorithm 2 against an independent EM, and its objective against itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.special import logsumexp

from afcm.arrays import numpy_arrays
from afcm.equations import paper
from afcm.fitting.loop import run
from afcm.models import plain
from afcm.models.plain import PlainProblem
from tests.strategies import problems, quick


def em_spherical(X, means, variance, n_steps):
    """EM for equal weights and one spherical variance, straight from the densities; nothing of ours in it."""
    n, d = X.shape
    for _ in range(n_steps):
        logs = np.stack(
            [
                -0.5 * ((X - mean) ** 2).sum(axis=1) / variance - 0.5 * d * np.log(2 * np.pi * variance)
                for mean in means
            ],
            axis=1,
        )
        responsibilities = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
        means = (responsibilities.T @ X) / responsibilities.sum(axis=0)[:, None]
        squared = ((X[:, None, :] - means[None]) ** 2).sum(axis=2)
        variance = float((responsibilities * squared).sum() / (n * d))
    return means, variance, responsibilities


def weighted_points():
    rng = np.random.default_rng(1)
    return rng.standard_normal((9, 3)) + 5, rng.uniform(0.5, 2.0, 9)


def test_precision_objective_and_cap_are_their_formulas():
    points, masses = weighted_points()
    problem = PlainProblem(points, masses)
    mean = masses @ points / masses.sum()
    total = masses @ ((points - mean) ** 2).sum(axis=1)
    assert plain.total_scatter(points, masses) == pytest.approx(total, rel=1e-13)
    assert plain.total_scatter(points) == pytest.approx(9 * points.var(axis=0).sum(), rel=1e-13)
    largest = masses.sum() * 3 / 2 / (1e-8 * total)
    assert problem.largest_precision == pytest.approx(largest, rel=1e-13)
    assert problem.precision(7.0) == pytest.approx(masses.sum() * 3 / 2 / 7, rel=1e-13)
    assert problem.precision(0.0) == problem.largest_precision
    assert [problem.is_capped(share * problem.largest_precision) for share in (0.999999, 1.0, 2.0)] == [
        False,
        True,
        True,
    ]
    nearest = ((points[:, None, :] - points[:2]) ** 2).sum(axis=2).min(axis=1)
    assert problem.first_precision(points[:2]) == pytest.approx(masses.sum() * 3 / 2 / (masses @ nearest), rel=1e-12)
    assert problem.objective_scale == problem.mass == pytest.approx(masses.sum())
    known = paper.Statistics(None, None, None, np.float64(11.0))
    assert problem.objective(known, 0.3) == pytest.approx(11 - masses.sum() * 3 / 2 * np.log(0.3), rel=1e-13)


def test_the_expectation_and_the_compiled_pass_get_all_samples_with_their_masses(monkeypatch):
    points, masses = weighted_points()
    problem = PlainProblem(points, masses)
    degrees, statistics = problem.expectation(points, masses, points[:2], 0.3)
    scores = -0.3 * ((points[:, None, :] - points[:2]) ** 2).sum(axis=2)
    expected = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    np.testing.assert_allclose(degrees, expected, rtol=1e-12)
    np.testing.assert_allclose(statistics.totals, masses @ expected, rtol=1e-12)
    assert statistics.free_energy == pytest.approx(-masses @ logsumexp(scores, axis=1), rel=1e-12)
    calls = []
    monkeypatch.setattr(plain, "choose_pass", lambda *arguments, **how: calls.append((*arguments, how)))
    problem.at(points[:2], 0.3)
    assert len(calls) == 1
    assert (calls[0][0] is points, calls[0][1] is masses, calls[0][2]) == (True, True, {})


@pytest.mark.parametrize("n_steps", [1, 5, 200])
def test_equals_em_for_equal_spherical_gaussians(n_steps):
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.standard_normal((40, 3)) + shift for shift in (0.0, 2.5, 5.0)])
    problem = PlainProblem(X)
    start = problem.from_centers(X[[0, 50, 100]])
    result = run(problem, start, max_iter=n_steps, tol=0.0)
    means, variance, _ = em_spherical(X, start.centers, 1 / (2 * start.precision), result.n_iter)
    np.testing.assert_allclose(result.state.centers, means, rtol=1e-8)
    assert result.state.precision == pytest.approx(1 / (2 * variance), rel=1e-8)
    nxt = em_spherical(X, means, variance, 1)[2]
    np.testing.assert_allclose(result.state.memberships, nxt, atol=1e-8)


@quick
@given(problems(most_samples=20))
def test_objective_never_rises(problem):
    points, memberships, masses, _ = problem
    model = PlainProblem(points, masses)
    result = run(model, model.from_memberships(memberships), max_iter=30, tol=0.0)
    values = result.history["objective"]
    assert (np.diff(values) <= 1e-9 * (1 + np.abs(values[1:]))).all()
    np.testing.assert_allclose(result.state.memberships.sum(axis=1), 1, atol=1e-12)


@quick
@given(problems(most_samples=20))
def test_a_sweep_is_the_three_updates(problem):
    points, memberships, masses, _ = problem
    model = PlainProblem(points, masses)
    state = model.from_memberships(memberships)
    following = model.sweep(state)
    centers = paper.centers(points, state.memberships, masses)
    costs = paper.squared_distances(points, centers)
    precision = model.precision(paper.scatter(costs, state.memberships, masses))
    size = np.abs(points).max()
    np.testing.assert_allclose(following.centers, centers, rtol=1e-8, atol=1e-8 * size)
    assert following.precision == pytest.approx(precision, rel=1e-6)
    expected = paper.memberships(paper.squared_distances(points, following.centers), following.precision)
    np.testing.assert_allclose(following.memberships, expected, atol=1e-9)


def test_block_size_changes_nothing(monkeypatch):
    X = np.random.default_rng(0).standard_normal((100, 3))
    whole = PlainProblem(X)
    start = X[:4]
    one = run(whole, whole.from_centers(start), max_iter=20, tol=0.0).state
    monkeypatch.setattr(numpy_arrays, "BLOCK_ROWS", 7)
    parts = run(whole, whole.from_centers(start), max_iter=20, tol=0.0).state
    np.testing.assert_allclose(parts.memberships, one.memberships, atol=1e-10)
    assert parts.objective == pytest.approx(one.objective, rel=1e-12)


def test_single_precision_stays_single_and_close():
    X = np.random.default_rng(0).standard_normal((200, 3)) + np.repeat([[0.0], [6.0]], 100, axis=0)
    problem = PlainProblem(X.astype(np.float32))
    double = PlainProblem(X)
    single = run(problem, problem.from_centers(X[[0, 150]].astype(np.float32)), max_iter=50, tol=1e-6).state
    exact = run(double, double.from_centers(X[[0, 150]]), max_iter=50, tol=1e-6).state
    assert single.memberships.dtype == np.float32
    assert single.centers.dtype == np.float32
    np.testing.assert_allclose(single.memberships, exact.memberships, atol=1e-4)
