"""Block tests: no feasible nudge beats an update, and the paper's identities hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afcm.equations import paper
from tests.strategies import affinities, problems, quick


def full_objective(points, memberships, centers, precision, masses):
    """The paper's afcm, written as it is printed (with the scope of erratum E4), loop by loop."""
    total = 0.0
    for i, point in enumerate(points):
        mass = 1.0 if masses is None else masses[i]
        for j, center in enumerate(centers):
            u = memberships[i, j]
            total += mass * (precision * u * np.sum((point - center) ** 2) + (u * np.log(u) if u > 0 else 0.0))
    mass = len(points) if masses is None else masses.sum()
    return total - mass * points.shape[1] / 2 * np.log(precision)


@quick
@given(problems())
def test_distances_are_the_definition_and_ignore_a_common_offset(problem):
    points, memberships, masses, rng = problem
    centers = paper.centers(points, memberships, masses) + rng.standard_normal(points.shape[1])
    direct = ((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
    np.testing.assert_allclose(paper.squared_distances(points, centers), direct, rtol=1e-9, atol=1e-9 * direct.max())
    far = paper.squared_distances(points + 2.0**20, centers + 2.0**20)
    np.testing.assert_allclose(far, direct, rtol=1e-6, atol=1e-6 * direct.max())


@quick
@given(problems(), st.sampled_from([1e-6, 0.1, 3.0, 1e6]))
def test_no_feasible_nudge_beats_the_membership_update(problem, precision):
    points, start, _, rng = problem
    costs = paper.squared_distances(points, paper.centers(points, start))
    best = paper.memberships(costs, precision)
    value = precision * paper.scatter(costs, best) + paper.entropy(best)
    for _ in range(5):
        other = rng.dirichlet(np.ones(best.shape[1]), size=best.shape[0])
        nudged = best + 10.0 ** rng.uniform(-6, 0) * (other - best)
        assert precision * paper.scatter(costs, nudged) + paper.entropy(nudged) >= value - 1e-9 * (1 + abs(value))


@quick
@given(problems())
def test_no_nudge_beats_the_center_update(problem):
    points, memberships, masses, rng = problem
    best = paper.centers(points, memberships, masses)
    value = paper.scatter(paper.squared_distances(points, best), memberships, masses)
    for _ in range(5):
        nudged = best + rng.standard_normal(best.shape) * points.std() * 1e-2
        assert paper.scatter(paper.squared_distances(points, nudged), memberships, masses) > value


@quick
@given(problems())
def test_no_nudge_beats_the_precision_update(problem):
    points, memberships, masses, _ = problem
    centers = paper.centers(points, memberships, masses)
    costs = paper.squared_distances(points, centers)
    mass = float(len(points) if masses is None else masses.sum())
    scatter = paper.scatter(costs, memberships, masses)
    best = paper.precision(scatter, mass, points.shape[1], np.inf)
    value = full_objective(points, memberships, centers, best, masses)
    for factor in (0.9, 0.999, 1.001, 1.1):
        assert full_objective(points, memberships, centers, factor * best, masses) > value


def test_precision_is_capped_and_survives_no_scatter():
    cap = paper.largest_precision(total_scatter=2.0, mass=10.0, dimension=4)
    assert cap == pytest.approx(20.0 / (2.0 * paper.MIN_RELATIVE_SCATTER))
    assert paper.precision(0.0, 10.0, 4, cap) == cap
    assert paper.precision(1e-300, 10.0, 4, cap) == cap
    assert paper.precision(40.0, 10.0, 4, cap) == 0.5


@quick
@given(problems(), st.sampled_from([1e-3, 1.0, 50.0]))
def test_objective_and_free_energy_are_the_printed_sum(problem, precision):
    points, memberships, masses, _ = problem
    centers = paper.centers(points, memberships, masses)
    costs = paper.squared_distances(points, centers)
    mass = float(len(points) if masses is None else masses.sum())
    free = precision * paper.scatter(costs, memberships, masses) + paper.entropy(memberships, masses)
    value = paper.objective(free, precision, mass, points.shape[1])
    expected = full_objective(points, memberships, centers, precision, masses)
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-9 * (1 + precision * costs.max() * mass))
    optimal = paper.memberships(costs, precision)
    at_optimum = precision * paper.scatter(costs, optimal, masses) + paper.entropy(optimal, masses)
    summed = float(paper.weighted(paper.free_energies(costs, precision), masses).sum())
    assert summed == pytest.approx(at_optimum, rel=1e-9, abs=1e-9 * (1 + precision * costs.max()))


def test_zero_log_zero_is_zero_and_hard_memberships_have_no_entropy():
    assert paper.entropy(np.array([[1.0, 0.0], [0.0, 1.0]])) == 0.0
    assert paper.entropy(np.array([[0.5, 0.5]])) == pytest.approx(-np.log(2))


def test_an_empty_cluster_keeps_its_center():
    moments, totals = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([2.0, 0.0])
    np.testing.assert_array_equal(paper.moved_centers(np.ones((2, 2)), moments, totals), [[1.5, 2.0], [1.0, 1.0]])
    hard = np.array([[1.0, 0.0], [1.0, 0.0]])
    np.testing.assert_allclose(paper.centers(np.array([[0.0], [4.0]]), hard), [[2.0], [2.0]])
    assert np.isfinite(paper.membership_factor(hard)).all()


@quick
@given(problems())
def test_scatter_is_a_laplacian_form_of_the_memberships(problem):
    """emm, and emm1 with the weights of erratum E1 (times b, not divided by it)."""
    points, memberships, masses, _ = problem
    scatter = paper.scatter(
        paper.squared_distances(points, paper.centers(points, memberships, masses)), memberships, masses
    )
    factor = paper.membership_factor(memberships, masses)
    roots = np.ones(len(points)) if masses is None else np.sqrt(masses)
    scaled = points * roots[:, None]
    laplacian = np.eye(len(points)) - factor @ factor.T
    size = 1 + np.sum(scaled**2)
    assert np.trace(scaled.T @ laplacian @ scaled) == pytest.approx(scatter, abs=1e-9 * size)
    weights = (factor @ factor.T) * np.outer(roots, roots)
    pairs = 0.5 * np.sum(weights * ((points[:, None] - points[None]) ** 2).sum(axis=2))
    assert pairs == pytest.approx(scatter, abs=1e-8 * size)
    np.testing.assert_allclose(weights.sum(axis=1), roots**2, rtol=1e-9)


@quick
@given(affinities())
def test_roughness_is_the_quadratic_form_of_the_laplacian(case):
    matrix, rng = case
    vectors = np.linalg.qr(rng.standard_normal((len(matrix), 2)))[0]
    expected = np.trace(vectors.T @ (np.eye(len(matrix)) - matrix) @ vectors)
    assert paper.roughness(vectors, matrix @ vectors) == pytest.approx(expected, abs=1e-10)
    assert paper.graph_objective(3.0, 0.5, 4.0) == 5.0


@quick
@given(problems(), st.sampled_from([0.1, 2.0]))
def test_statistics_of_blocks_add_up_to_the_updates_of_the_whole(problem, precision):
    points, start, masses, _ = problem
    centers = paper.centers(points, start, masses)
    half = len(points) // 2
    parts = [
        paper.expectation(points[rows], centers, precision, None if masses is None else masses[rows])
        for rows in (slice(0, half), slice(half, None))
        if len(points[rows])
    ]
    memberships = np.concatenate([part[0] for part in parts])
    totals, moments, scatter, energy = (sum(values) for values in zip(*(part[1] for part in parts), strict=True))
    np.testing.assert_allclose(memberships, paper.memberships(paper.squared_distances(points, centers), precision))
    moved = paper.moved_centers(centers, moments, totals)
    size = np.abs(points).max()
    filled = totals > 1e-6  # a nearly empty cluster has lost its digits, an empty one stays where it is
    direct_centers = paper.centers(points, memberships, masses)
    np.testing.assert_allclose(moved[filled], direct_centers[filled], rtol=1e-8, atol=1e-8 * size)
    direct = paper.scatter(paper.squared_distances(points, moved), memberships, masses)
    assert paper.moved_scatter(float(scatter), moments, totals) == pytest.approx(
        direct, abs=1e-8 * (1 + float(scatter))
    )
    costs = paper.squared_distances(points, centers)
    expected = float(paper.weighted(paper.free_energies(costs, precision), masses).sum())
    assert float(energy) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@quick
@given(problems(weights=False))
def test_a_mass_of_two_is_a_sample_twice(problem):
    points, memberships, _, _ = problem
    masses = np.where(np.arange(len(points)) % 2 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(points)), masses.astype(int))
    np.testing.assert_allclose(
        paper.centers(points, memberships, masses), paper.centers(points[twice], memberships[twice]), rtol=1e-9
    )
    assert paper.entropy(memberships, masses) == pytest.approx(paper.entropy(memberships[twice]))
    whole = paper.membership_factor(memberships[twice])
    folded = paper.membership_factor(memberships, masses)
    np.testing.assert_allclose(folded.T @ folded, whole.T @ whole, rtol=1e-9, atol=1e-12)


def test_softmax_neither_overflows_nor_loses_ties():
    np.testing.assert_allclose(paper.softmax(np.array([[1e308, 1e308], [-1e308, 0.0]])), [[0.5, 0.5], [0.0, 1.0]])


@quick
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-5, 1.0, 1e5]), st.booleans())
def test_near_centers_distances_keep_their_digits_and_on_them_they_are_zero(seed, unit, shifted):
    rng = np.random.default_rng(seed)
    centers = unit * rng.standard_normal((3, 2))
    away = 10.0 ** rng.uniform(-6, 0, size=(120, 1)) * rng.standard_normal((120, 2))
    points = centers[rng.integers(3, size=120)] + unit * away
    about = points - centers.mean(axis=0) if shifted else None
    direct = ((points[:, None] - centers[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(paper.squared_distances(points, centers, about), direct, rtol=1.5e-9)
    assert (np.diag(paper.squared_distances(centers, centers)) == 0).all()


class Foreign:
    """An array of some other library, and that library."""

    __name__ = "foreign"

    def __array_namespace__(self, api_version=None):
        return self


@pytest.mark.parametrize(
    "mixed",
    [
        paper.squared_distances,
        paper.centers,
        paper.roughness,
        paper.largest_change,
        lambda ours, theirs: paper.expectation(ours, theirs, 1.0),
    ],
)
def test_arrays_of_two_libraries_are_refused(mixed):
    with pytest.raises(TypeError, match=r"[Mm]ultiple namespaces"):
        mixed(np.ones((2, 2)), Foreign())


@quick
@given(problems())
def test_statistics_about_one_point_and_of_scaled_masses(problem):
    points, start, masses, rng = problem
    centers, reference = paper.centers(points, start, masses), rng.standard_normal(points.shape[1])
    memberships, found = paper.expectation(points, centers, 0.3, masses)
    shares = paper.weighted(memberships, masses)
    moved = paper.recentered(found, centers, reference)
    away = points - reference
    size = 1 + np.sum(away**2)
    np.testing.assert_allclose(moved.totals, shares.sum(axis=0))
    np.testing.assert_allclose(moved.moments, shares.T @ away, atol=1e-9 * size)
    assert float(moved.scatter) == pytest.approx(np.sum(shares * (away**2).sum(axis=1)[:, None]), abs=1e-8 * size)
    assert moved.free_energy == found.free_energy
    twice = paper.expectation(points, centers, 0.3, np.full(len(points), 3.0) * (1 if masses is None else masses))[1]
    for scaled, expected in zip(paper.scaled_statistics(found, 3.0), twice, strict=True):
        np.testing.assert_allclose(scaled, expected, rtol=1e-9, atol=1e-9 * size)


def test_the_constants_are_what_the_docs_say():
    """A cluster of less than 1e-12 is empty; the cap takes 1e-8 of the scatter."""
    np.testing.assert_allclose(paper.inverse_totals(np.array([1e-13, 1e-11, 0.5])), [0, 1e11, 2])
    np.testing.assert_allclose(paper.centers(np.array([[0.0], [4.0]]), np.array([[1, 1e-11], [1, 0.0]]))[1], 0)
    np.testing.assert_allclose(paper.centers(np.array([[0.0], [4.0]]), np.array([[1, 1e-13], [1, 0.0]]))[1], 2)
    assert paper.largest_precision(total_scatter=2.0, mass=10.0, dimension=4) == pytest.approx(1e9)
    assert paper.precision(0.5, 10.0, 4, np.inf) == 40.0


def test_the_scatter_about_moved_centers_is_never_negative():
    assert paper.moved_scatter(1.0, np.array([[2.0]]), np.array([1.0])) == 0.0
    assert paper.moved_scatter(5.0, np.array([[2.0], [1.0]]), np.array([4.0, 0.0])) == 4.0


def test_masses_of_the_membership_factor_are_roots():
    factor = paper.membership_factor(np.array([[1.0], [1.0]]), np.array([4.0, 12.0]))
    np.testing.assert_allclose(factor, [[0.5], [np.sqrt(0.75)]])


def test_softmax_of_far_apart_scores():
    np.testing.assert_allclose(paper.softmax(np.array([[-1e4, -1e4 + np.log(3)]])), [[0.25, 0.75]])
    np.testing.assert_allclose(paper.free_energies(np.array([[1e4, 1e4 + 1]]), 2.0), [2e4 - np.log1p(np.exp(-2))])


def test_an_empty_cluster_without_a_center_goes_to_the_mean_of_all_samples():
    points, masses = np.array([[0.0, 1.0], [4.0, 3.0], [2.0, 8.0]]), np.array([1.0, 2.0, 5.0])
    memberships = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    np.testing.assert_allclose(paper.centers(points, memberships)[2], points.mean(axis=0))
    np.testing.assert_allclose(paper.centers(points, memberships, masses)[2], np.average(points, 0, masses))


def test_the_largest_change_ignores_samples_of_weight_zero():
    before = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    after = np.array([[0.4, 0.6], [0.6, 0.4], [0.9, 0.1]])
    assert paper.largest_change(before, after) == pytest.approx(0.7)
    assert paper.largest_change(after, before, np.array([5.0, 0.1, 0.0])) == pytest.approx(0.3)
