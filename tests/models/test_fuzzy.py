"""FCM and FCM-ER: no nudge beats an update, the objective never rises, blocks add up, old states stay right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from afcm.arrays import numpy_arrays
from afcm.equations import fuzzy_c_means, paper
from afcm.equations.paper import largest_change
from afcm.fitting.loop import alternate
from afcm.models import fuzzy
from afcm.models.fuzzy import EntropyProblem, FuzzyProblem
from afcm.models.plain import PlainProblem
from tests.strategies import problems, quick

exponents = st.sampled_from([1.05, 1.5, 2.0, 3.0, 10.0])


def models(points, masses, exponent=2.0):
    """FCM, and FCM-ER with a γ at which memberships are soft."""
    entropic = EntropyProblem(points, masses, 3 * len(points) / PlainProblem(points, masses).total_scatter)
    return [FuzzyProblem(points, masses, exponent), entropic]


def objective_at(problem, centers, memberships):
    """J from its definition, n×c at once."""
    costs = cdist(problem.points, centers, "sqeuclidean")
    if isinstance(problem, FuzzyProblem):
        return fuzzy_c_means.fuzzy_objective(costs, memberships, problem.exponent, problem.masses)
    entropy = paper.entropy(memberships, problem.masses)
    return paper.scatter(costs, memberships, problem.masses) + entropy / problem.gamma


def log_form(costs, exponent):
    """The definition, in logs, for costs without zeros."""
    return paper.softmax(np.log(costs) / (1 - exponent))


def test_one_block_and_its_objective_are_their_formulas(monkeypatch):
    rng = np.random.default_rng(1)
    points, masses, centers = rng.standard_normal((9, 3)) + 5, rng.uniform(0.5, 2.0, 9), rng.standard_normal((2, 3))
    costs = cdist(points, centers, "sqeuclidean")
    problem = FuzzyProblem(points, masses, 3.0)
    degrees, statistics = problem.expectation(points, masses, centers, None)
    np.testing.assert_allclose(degrees, log_form(costs, 3.0), rtol=1e-12)
    np.testing.assert_allclose(statistics.totals, masses @ degrees**3, rtol=1e-12)
    np.testing.assert_allclose(problem.shares(degrees), degrees**3, rtol=1e-14)
    assert problem.objective(statistics, None) == pytest.approx((masses @ (degrees**3 * costs)).sum(), rel=1e-12)
    assert (problem.precision(1.0), problem.first_precision(centers), problem.is_capped(None)) == (None, None, False)
    calls = []
    monkeypatch.setattr(fuzzy, "choose_pass", lambda *arguments, **how: calls.append((*arguments, how)))
    problem.at(centers)
    assert problem.buffer.values.flags.f_contiguous
    assert not calls  # there is compiled code for m = 2 only
    assert FuzzyProblem(points, masses).exponent == 2
    FuzzyProblem(points, masses).at(centers)
    assert (calls[0][0] is points, calls[0][1] is masses, calls[0][2]) == (True, True, {"fuzzy": True})


def test_a_chosen_precision_stays_and_its_objective_is_in_the_unit_of_distances():
    points = np.random.default_rng(1).standard_normal((9, 3))
    problem = EntropyProblem(points, None, 0.3)
    assert (problem.precision(7.0), problem.first_precision(points[:2]), problem.is_capped(1e300)) == (0.3, 0.3, False)
    assert problem.objective(paper.Statistics(None, None, None, np.float64(6.0)), 9.0) == pytest.approx(20.0, rel=1e-14)
    assert problem.objective_scale is None
    assert EntropyProblem(points).gamma == 1


@quick
@given(problems(), exponents)
def test_no_feasible_nudge_of_the_memberships_beats_the_update(case, exponent):
    points, memberships, masses, rng = case
    for problem in models(points, masses, exponent):
        state = problem.from_memberships(memberships)
        best = objective_at(problem, state.centers, state.memberships)
        assert state.objective == pytest.approx(best, rel=1e-9, abs=1e-9 * problem.total_scatter)
        for step in (1e-3, 0.1, 1.0):
            other = rng.dirichlet(np.ones(memberships.shape[1]), size=len(points))
            nudged = (1 - step) * state.memberships + step * other
            assert objective_at(problem, state.centers, nudged) >= best - 1e-9 * problem.total_scatter


@quick
@given(problems(), exponents)
def test_no_nudge_of_the_centres_beats_the_update(case, exponent):
    points, memberships, masses, rng = case
    for problem in models(points, masses, exponent):
        centers, _ = problem.start(memberships)
        best = objective_at(problem, centers, memberships)
        for size in (1e-3, 1.0):
            nudged = centers + size * points.std() * rng.standard_normal(centers.shape)
            assert objective_at(problem, nudged, memberships) >= best * (1 - 1e-9 * np.sign(best)) - 1e-12


@quick
@given(problems(), exponents)
def test_the_objective_never_rises(case, exponent):
    points, memberships, masses, _ = case
    for problem in models(points, masses, exponent):
        start = problem.from_memberships(memberships)
        path = [start, *(step.state for step in alternate(problem, start, max_iter=15, tol=0.0))]
        objectives = np.array([state.objective for state in path])
        assert np.all(np.diff(objectives) <= 1e-10 * problem.total_scatter)


@quick
@given(problems(), exponents)
def test_the_start_is_the_equation(case, exponent):
    points, memberships, masses, _ = case
    bezdek, entropic = models(points, masses, exponent)
    expected = fuzzy_c_means.fuzzy_centers(points, memberships, exponent, masses)
    filled = (
        fuzzy_c_means.fuzzy_shares(memberships, exponent).sum(axis=0) > 1e-9
    )  # an empty one has no centre of its own
    np.testing.assert_allclose(
        bezdek.start(memberships)[0][filled], expected[filled], rtol=1e-9, atol=1e-9 * points.std()
    )
    centers = paper.centers(points, memberships, masses)
    np.testing.assert_allclose(entropic.start(memberships)[0], centers, rtol=1e-9, atol=1e-9 * points.std())
    learned = PlainProblem(points, masses)
    scatter = paper.scatter(cdist(points, centers, "sqeuclidean"), memberships, masses)
    assert learned.start(memberships)[1] == pytest.approx(learned.precision(scatter), rel=1e-6)


@quick
@given(problems(), exponents)
def test_the_block_kernel_is_its_equations(case, exponent):
    points, memberships, masses, _ = case
    centers = fuzzy_c_means.fuzzy_centers(points, memberships, exponent, masses)
    costs = cdist(points, centers, "sqeuclidean")
    degrees, statistics = fuzzy_c_means.fuzzy_expectation(points, centers, exponent, masses)
    shares = paper.weighted(degrees**exponent, masses)
    scale = points.std()
    expected = fuzzy_c_means.fuzzy_memberships(costs, exponent)
    np.testing.assert_allclose(degrees, expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(statistics.totals, shares.sum(axis=0), rtol=1e-9)
    moments = [shares[:, j] @ (points - center) for j, center in enumerate(centers)]
    np.testing.assert_allclose(statistics.moments, moments, rtol=1e-8, atol=1e-9 * scale)
    assert statistics.scatter == pytest.approx((shares * costs).sum(), rel=1e-8, abs=1e-12 * scale**2)


@quick
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_without_logarithms_m_2_is_the_same(seed, n_clusters):
    costs = np.exp(np.random.default_rng(seed).uniform(-200, 200, size=(20, n_clusters)))
    np.testing.assert_allclose(fuzzy_c_means.fuzzy_memberships(costs, 2.0), log_form(costs, 2.0), rtol=1e-12)


@pytest.mark.parametrize("exponent", [1.01, 1.5, 2.0, 3.0, 10.0])
def test_centres_at_distance_zero_share_all_mass(exponent):
    costs = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [2.0, 0.0, 1e-300], [1.0, 1.0, 1.0]])
    expected = [[0.5, 0, 0.5], [1 / 3] * 3, [0, 1, 0], [1 / 3] * 3]
    np.testing.assert_allclose(fuzzy_c_means.fuzzy_memberships(costs, exponent), expected, rtol=1e-15)


@pytest.mark.parametrize("exponent", [1 + 1e-9, 1.01, 2.0, 50.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_distances_give_memberships(exponent, dtype):
    info = np.finfo(dtype)
    sizes = np.array([info.smallest_subnormal, info.tiny, 1.0, info.max], dtype=dtype)
    memberships = fuzzy_c_means.fuzzy_memberships(np.array(np.meshgrid(sizes, sizes, sizes)).reshape(3, -1).T, exponent)
    assert memberships.dtype == dtype
    assert np.all(memberships >= 0)
    np.testing.assert_allclose(memberships.sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_block_distances_keep_their_digits(offset):
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((4, 3)) + offset
    near = centers + 1e-7 * rng.standard_normal((4, 3))
    points = np.vstack([rng.standard_normal((50, 3)) + offset, centers, near, 1e4 * rng.standard_normal((1, 3))])
    costs = paper.squared_distances(points, centers)
    np.testing.assert_allclose(costs, cdist(points, centers, "sqeuclidean"), rtol=1e-9)
    assert np.array_equal(np.argwhere(costs == 0), [[50 + j, j] for j in range(4)])


@quick
@given(problems())
def test_blocks_add_up(case):
    points, memberships, masses, _ = case
    for problem in [*models(points, masses), PlainProblem(points, masses)]:
        whole = problem.from_memberships(memberships)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(numpy_arrays, "BLOCK_ROWS", 3)
            parts = problem.at(whole.centers, whole.precision)
            start, precision = problem.start(memberships)
        np.testing.assert_allclose(parts.memberships, problem.memberships(whole), atol=1e-7)
        np.testing.assert_allclose(start, whole.centers, rtol=1e-9, atol=1e-9 * points.std())
        assert precision == pytest.approx(whole.precision)
        assert parts.objective == pytest.approx(whole.objective, rel=1e-9, abs=1e-9 * problem.total_scatter)


def some_problem(kind):
    rng = np.random.default_rng(3)
    points = rng.standard_normal((40, 2))
    return kind(points), points[:3]


@pytest.mark.parametrize("kind", [FuzzyProblem, EntropyProblem, PlainProblem])
def test_a_sweep_knows_how_far_the_memberships_went(kind, monkeypatch):
    monkeypatch.setattr(numpy_arrays, "BLOCK_ROWS", 7)
    problem, centers = some_problem(kind)
    first = problem.from_centers(centers)
    second = problem.sweep(first)
    third = problem.sweep(second)
    again = problem.sweep(first)  # the buffer holds the third by now
    assert second.change == pytest.approx(largest_change(first.memberships, second.memberships))
    assert third.change == pytest.approx(largest_change(second.memberships, third.memberships))
    assert again.change == second.change


@pytest.mark.parametrize("kind", [FuzzyProblem, EntropyProblem, PlainProblem])
def test_memberships_that_someone_holds_do_not_change(kind):
    problem, centers = some_problem(kind)
    state = problem.from_centers(centers)
    kept = state.memberships
    copy = kept.copy()
    later = problem.sweep(problem.sweep(state))
    assert np.array_equal(kept, copy)
    assert np.array_equal(state.memberships, copy)
    assert not np.array_equal(later.memberships, copy)


def test_sweeps_that_nobody_looks_at_write_into_one_array():
    problem, centers = some_problem(FuzzyProblem)
    state = problem.from_centers(centers)
    page = problem.buffer.values
    state = problem.sweep(problem.sweep(state))
    assert problem.buffer.values is page
    assert state.memberships is page


def test_an_empty_cluster_keeps_its_centre():
    points = np.array([[0.0], [1.0], [10.0], [11.0]])
    problem = EntropyProblem(points, None, 100.0)
    state = problem.sweep(problem.from_centers(np.array([[0.5], [10.5], [500.0]])))
    np.testing.assert_allclose(state.centers, [[0.5], [10.5], [500.0]])
