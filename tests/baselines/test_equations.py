"""Every update is the best one: no feasible nudge beats it. Every cheap form equals its plain one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.spatial.distance import cdist

from afcm.baselines import equations
from afcm.equations import paper
from tests.baselines.data import nudged_rows
from tests.strategies import problems, quick

seeds = st.integers(0, 2**32 - 1)
SIZES = (1e-4, 1e-2, 1.0)


# --- each equation by hand ---


def test_quadratic_memberships_and_their_objective_by_hand():
    costs = np.array([[1.0, 2.0, 9.0], [4.0, 4.0, 4.0]])
    memberships = equations.quadratic_memberships(costs, 1.0)  # (t − h_j) / (2g) with t = 2.5
    np.testing.assert_allclose(memberships, [[0.75, 0.25, 0.0], [1 / 3] * 3], rtol=1e-14)
    expected = 0.75 * 1 + 0.25 * 2 + 4 + 0.5 * (0.75**2 + 0.25**2 + 1 / 3)
    assert equations.quadratic_objective(costs, memberships, 0.5) == pytest.approx(expected, rel=1e-14)
    with np.errstate(over="raise"):  # a cost infinitely far for so little fuzziness
        np.testing.assert_array_equal(equations.quadratic_memberships(1e300 * costs[:1], 1e-300), [[1, 0, 0]])


def test_a_common_offset_of_a_row_costs_no_digits():
    far = 2.0**50
    scores = np.array([[far, far + 0.5], [0.3, 0.1]])
    np.testing.assert_allclose(equations.project_on_simplex(scores), [[0.25, 0.75], [0.6, 0.4]], rtol=1e-14)
    costs = np.array([[1e200, 2e200], [0.0, 1.0]])  # a row that is infinitely far from the other
    np.testing.assert_array_equal(equations.quadratic_memberships(costs, 1e-200), [[1, 0], [1, 0]])


def test_distances_beyond_the_cap_count_as_the_cap_and_weigh_nothing():
    distances = np.array([[0.0, 0.5, 2.0, 2.1]])
    np.testing.assert_array_equal(equations.cap_distances(distances, 2.0), [[0.0, 0.5, 2.0, 2.0]])
    np.testing.assert_allclose(equations.reweights(distances, 2.0), [[0.5e12, 1.0, 0.25, 0.0]], rtol=1e-14)


def test_reweighted_centers_are_means_by_membership_and_weight():
    rng = np.random.default_rng(0)
    points, memberships, weights = rng.standard_normal((7, 3)) + 1e3, rng.random((7, 2)), rng.random((7, 2))
    expected = [np.average(points, axis=0, weights=memberships[:, j] * weights[:, j]) for j in range(2)]
    found = equations.reweighted_centers(points, memberships, weights, rng.standard_normal((2, 3)) + 1e3)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_patterns_are_pulled_to_their_centers_and_back():
    rng = np.random.default_rng(0)
    points, memberships, centers = (
        rng.standard_normal((7, 3)),
        rng.dirichlet([1.0, 1.0], 7),
        rng.standard_normal((2, 3)),
    )
    patterns = equations.pull_patterns(points, memberships, centers, 0.4)
    for x, u, f in zip(points, memberships, patterns, strict=True):
        np.testing.assert_allclose(f, (u[0] * centers[0] + u[1] * centers[1] + 0.4 * x) / 1.4, rtol=1e-12)
    np.testing.assert_allclose(equations.recover_samples(patterns, memberships, centers, 0.4), points, rtol=1e-12)


def test_smoothing_is_the_inverse_of_the_whole_matrix_and_directions_are_its_leading_ones():
    rng = np.random.default_rng(0)
    points, factor = rng.standard_normal((9, 4)), paper.membership_factor(rng.dirichlet(np.ones(3), size=9))
    inverse = np.linalg.inv((1 + 0.4) * np.eye(9) - factor @ factor.T)
    np.testing.assert_allclose(equations.smooth(points, factor, 0.4), inverse @ points, rtol=1e-11)
    np.testing.assert_allclose(equations.shrunk_patterns(points, factor, 0.4), 0.4 * inverse @ points, rtol=1e-11)
    spread, between = points.T @ points, points.T @ inverse @ points
    values = np.sort(np.linalg.eigvals(np.linalg.solve(spread, between)).real)[::-1]
    directions = equations.discriminant_directions(points, factor, 0.4, 2)
    np.testing.assert_allclose(directions.T @ spread @ directions, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(directions.T @ between @ directions, np.diag(values[:2]), atol=1e-12)


def test_means_scatter_and_costs_of_moves_by_hand(monkeypatch):
    monkeypatch.setattr(equations, "BLOCK_ROWS", 2)
    points, labels = np.array([[0.0], [2.0], [4.0], [10.0], [5.0]]), np.array([0, 0, 0, 1, 2])
    means = equations.cluster_means(points, labels, 3)
    np.testing.assert_array_equal(means, [[2.0], [10.0], [5.0]])
    assert equations.hard_scatter(points, labels, means) == 8
    sizes = np.array([3, 1, 1])
    squared = (points - means.T) ** 2
    squared[3, 1] = 1e-9  # rounding
    expected = squared * [0.75, 0.5, 0.5]
    expected[:3, 0] = squared[:3, 0] * 1.5
    expected[3, 1] = expected[4, 2] = 0.0  # alone
    np.testing.assert_allclose(equations.move_costs(squared, sizes, labels), expected, rtol=1e-14)
    pair = equations.move_costs(np.ones((1, 1)), np.array([2]), np.array([0]))
    np.testing.assert_allclose(pair, [[2.0]], rtol=1e-14)


def test_a_label_changes_for_more_than_rounding():
    def target(own, other):
        return equations.cheapest_moves(np.array([[own, other]]), np.array([0]))[0]

    assert [target(own, own - 0.5e-12 * abs(own)) for own in (1.0, -1.0, 1e6)] == [0, 0, 0]
    assert [target(own, own - 2e-12 * abs(own)) for own in (1.0, -1.0, 1e6)] == [1, 1, 1]
    assert equations.cheapest_moves(np.zeros((2, 2)), np.array([0, 1])).tolist() == [0, 1]
    assert target(1.0, 2.0) == 0


def test_losses_of_anchors_by_hand():
    squares, links = np.array([9.0, 4.0, 1.0]), np.array([[2.0, 1.0, 0.5], [3.0, 0.0, 0.25], [0.1, 0.2, 1.5]])
    weights, labels = np.array([1.0, 0.5, 0.25]), np.array([0, 0, 2])
    losses = equations.move_losses(squares, links, weights, np.array([2, 5, 1]), labels)
    expected = np.array(
        [
            [np.sqrt(9 - 4 + 1) - 3, 2 - np.sqrt(4 + 2 + 1), 1 - np.sqrt(1 + 1 + 1)],
            [np.sqrt(9 - 6 + 0.5) - 3, 2 - np.sqrt(4 + 0.5), 1 - np.sqrt(1 + 0.5 + 0.5)],
            [3 - np.sqrt(9 + 0.2 + 0.25), 2 - np.sqrt(4 + 0.4 + 0.25), -np.inf],
        ]
    )
    np.testing.assert_allclose(losses, expected, rtol=1e-14)
    gone = equations.move_losses(np.array([1.0]), np.array([[2.0]]), np.array([0.5]), np.array([2]), np.array([0]))
    np.testing.assert_array_equal(gone, [[-1.0]])  # rounding may take more from a square than it has
    indicator = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    found = equations.cluster_squares(np.array([[2.0, 7.0], [9.0, -0.1], [3.0, 8.0]]), indicator)
    np.testing.assert_array_equal(found, [5.0, 0.0])


# --- the simplex ---


@quick
@given(seeds, st.integers(1, 8), st.sampled_from([1e-3, 1.0, 1e3, 1e9]))
def test_the_projection_is_the_root_found_by_bisection(seed, c, scale):
    scores = np.random.default_rng(seed).standard_normal((5, c)) * scale
    for row, projected in zip(scores, equations.project_on_simplex(scores), strict=True):
        root = brentq(lambda t, z=row: np.maximum(z - t, 0).sum() - 1, row.min() - 2, row.max(), xtol=1e-14 * scale)
        np.testing.assert_allclose(projected, np.maximum(row - root, 0), atol=1e-6 * min(scale, 1) + 1e-13 * scale)


@quick
@given(seeds, st.integers(1, 8), st.sampled_from([1e-3, 1.0, 1e3]))
def test_no_point_of_the_simplex_is_nearer_than_the_projection(seed, c, scale):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((6, c)) * scale
    projected = equations.project_on_simplex(scores)
    assert (projected >= 0).all()
    np.testing.assert_allclose(projected.sum(axis=1), 1, rtol=1e-12)
    nearest = ((scores - projected) ** 2).sum(axis=1)
    for size in SIZES:
        others = nudged_rows(projected, rng, size)
        assert (((scores - others) ** 2).sum(axis=1) >= nearest * (1 - 1e-12)).all()


def test_a_point_of_the_simplex_stays():
    inside = np.random.default_rng(0).dirichlet(np.ones(4), size=10)
    np.testing.assert_allclose(equations.project_on_simplex(inside), inside, atol=1e-15)
    np.testing.assert_array_equal(equations.project_on_simplex(np.eye(4)), np.eye(4))


@quick
@given(problems(weights=False), st.sampled_from([1e-3, 0.1, 10.0]))
def test_no_feasible_nudge_beats_the_quadratic_memberships(problem, fuzziness):
    points, memberships, _, rng = problem
    costs = paper.squared_distances(points, paper.centers(points, memberships))
    best = equations.quadratic_memberships(costs, fuzziness)
    lowest = equations.quadratic_objective(costs, best, fuzziness)
    for size in SIZES:
        nudged = equations.quadratic_objective(costs, nudged_rows(best, rng, size), fuzziness)
        assert nudged >= lowest - 1e-12 * abs(lowest)


def test_quadratic_memberships_are_hard_for_little_and_uniform_for_much_fuzziness():
    costs = np.array([[1.0, 2.0, 4.0], [3.0, 0.5, 0.6]])
    np.testing.assert_array_equal(equations.quadratic_memberships(costs, 1e-300), [[1, 0, 0], [0, 1, 0]])
    np.testing.assert_allclose(equations.quadratic_memberships(costs, 1e9), np.full((2, 3), 1 / 3), atol=1e-8)


# --- RSFKM ---


@quick
@given(problems(weights=False), st.sampled_from([0.5, 2.0, np.inf]))
def test_no_nudge_beats_the_reweighted_centres_on_their_bound(problem, cap):
    """The bound: ``Σ u (s d² + …)`` over samples within the cap, which touches the capped distances from above."""
    points, memberships, _, rng = problem
    centers = points[rng.choice(len(points), memberships.shape[1], replace=False)] + 0.1
    weights = equations.reweights(cdist(points, centers), cap)

    def bound(candidate):
        return float((memberships * weights * cdist(points, candidate) ** 2).sum())

    best = equations.reweighted_centers(points, memberships, weights, centers)
    for size in SIZES:
        nudge = size * rng.standard_normal(best.shape) * np.abs(points).max()
        assert bound(best + nudge) >= bound(best) * (1 - 1e-10) - 1e-300


@quick
@given(problems(weights=False), st.sampled_from([0.5, 2.0, np.inf]))
def test_reweighted_centres_never_raise_the_capped_distances(problem, cap):
    points, memberships, _, rng = problem
    centers = points[rng.choice(len(points), memberships.shape[1], replace=False)] + 0.1

    def cost(candidate):
        return float((memberships * equations.cap_distances(cdist(points, candidate), cap)).sum())

    weights = equations.reweights(cdist(points, centers), cap)
    moved = equations.reweighted_centers(points, memberships, weights, centers)
    assert cost(moved) <= cost(centers) * (1 + 1e-12)


def test_a_centre_that_no_sample_reaches_stays():
    points, far = np.zeros((3, 2)), np.array([[9.0, 9.0]])
    weights = equations.reweights(cdist(points, far), 1.0)
    np.testing.assert_array_equal(equations.reweighted_centers(points, np.ones((3, 1)), weights, far), far)


# --- FKPS ---


@quick
@given(problems(weights=False), st.sampled_from([1e-3, 1.0, 1e3]))
def test_cheap_patterns_equal_the_inverse_of_the_whole_matrix(problem, fidelity):
    points, memberships, _, _ = problem
    n = len(points)
    laplacian = np.eye(n) - memberships @ np.diag(1 / memberships.sum(axis=0)) @ memberships.T
    expected = fidelity * np.linalg.solve(laplacian + fidelity * np.eye(n), points)
    cheap = equations.shrunk_patterns(points, paper.membership_factor(memberships), fidelity)
    np.testing.assert_allclose(cheap, expected, atol=1e-10 * np.abs(points).max(), rtol=0)


def test_an_empty_cluster_does_not_change_the_patterns():
    points, memberships = np.random.default_rng(0).standard_normal((6, 2)), np.eye(2)[[0, 0, 0, 1, 1, 1]]
    more = np.hstack([memberships, np.zeros((6, 1))])
    with_empty, without = (
        equations.shrunk_patterns(points, paper.membership_factor(u), 0.5) for u in (more, memberships)
    )
    np.testing.assert_allclose(with_empty, without, atol=1e-14)


@quick
@given(problems(weights=False), st.sampled_from([0.1, 1.0, 10.0]))
def test_no_nudge_of_patterns_and_centres_beats_the_shrunk_patterns(problem, fidelity):
    points, memberships, _, rng = problem

    def cost(patterns, centers):
        scatter = paper.scatter(cdist(patterns, centers) ** 2, memberships)
        return scatter + fidelity * float(((points - patterns) ** 2).sum())

    best = equations.shrunk_patterns(points, paper.membership_factor(memberships), fidelity)
    centers = paper.centers(best, memberships)
    lowest = cost(best, centers)
    for size in SIZES:
        patterns, moved = (array + size * rng.standard_normal(array.shape) for array in (best, centers))
        assert cost(patterns, moved) >= lowest - 1e-10 * (1 + abs(lowest))
    drawn = equations.pull_patterns(points, memberships, centers, fidelity)
    np.testing.assert_allclose(drawn, best, atol=1e-9 * np.abs(points).max())  # the same point, seen with V fixed


def test_infinite_fidelity_leaves_the_points_alone():
    rng = np.random.default_rng(0)
    points, factor = rng.standard_normal((9, 3)), paper.membership_factor(rng.dirichlet(np.ones(3), size=9))
    np.testing.assert_allclose(equations.shrunk_patterns(points, factor, 1e12), points, atol=1e-10)


@pytest.mark.parametrize("n_directions", [1, 2, 4])
def test_no_other_directions_lower_the_projected_model(n_directions):
    rng = np.random.default_rng(0)
    points, memberships, fidelity = rng.standard_normal((30, 4)), rng.dirichlet(np.ones(3), size=30), 0.5
    points -= points.mean(axis=0)
    factor = paper.membership_factor(memberships)
    spread = points.T @ points

    def cost(directions):
        projected = points @ directions
        patterns = equations.shrunk_patterns(projected, factor, fidelity)
        scatter = paper.scatter(cdist(patterns, paper.centers(patterns, memberships)) ** 2, memberships)
        return scatter + fidelity * float(((projected - patterns) ** 2).sum())

    best = equations.discriminant_directions(points, factor, fidelity, n_directions)
    np.testing.assert_allclose(best.T @ spread @ best, np.eye(n_directions), atol=1e-12)
    for size in SIZES:
        nudged = best + size * rng.standard_normal(best.shape)
        nudged = nudged @ np.linalg.inv(np.linalg.cholesky(nudged.T @ spread @ nudged)).T  # feasible again
        assert cost(nudged) >= cost(best) - 1e-12


# --- CDKM ---


@st.composite
def labelled(draw):
    """Points with labels, no cluster empty."""
    n, d, c = draw(st.integers(3, 10)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(seeds))
    labels = np.concatenate([np.arange(c), rng.integers(c, size=n - c)])
    return rng.standard_normal((n, d)), rng.permutation(labels), c


def k_means_cost(points, labels, c):
    return sum(((points[labels == k] - points[labels == k].mean(axis=0)) ** 2).sum() for k in range(c))


@quick
@given(labelled())
def test_a_difference_of_move_costs_is_the_change_of_the_objective(problem):
    points, labels, c = problem
    centers = equations.cluster_means(points, labels, c)
    sizes = np.bincount(labels, minlength=c)
    costs = equations.move_costs(cdist(points, centers) ** 2, sizes, labels)
    before = k_means_cost(points, labels, c)
    assert equations.hard_scatter(points, labels, centers) == pytest.approx(before)
    for i, own in enumerate(labels):
        for k in range(c):
            if k != own and sizes[own] > 1:
                moved = labels.copy()
                moved[i] = k
                assert k_means_cost(points, moved, c) - before == pytest.approx(costs[i, k] - costs[i, own], abs=1e-9)


def test_means_are_the_centres_of_hard_memberships():
    rng = np.random.default_rng(0)
    points, labels = rng.standard_normal((20, 3)), np.arange(20) % 4
    np.testing.assert_allclose(
        equations.cluster_means(points, labels, 4), paper.centers(points, np.eye(4)[labels]), atol=1e-14
    )


def test_a_tie_is_no_reason_to_move_and_the_first_of_equals_wins():
    costs = np.array([[1.0, 1.0, 1.0], [1.0, 1 - 1e-14, 2.0], [3.0, 2.0, 2.0], [0.0, 5.0, 0.0]])
    np.testing.assert_array_equal(equations.cheapest_moves(costs, np.array([2, 0, 0, 1])), [2, 0, 1, 0])


# --- FCAG ---


@quick
@given(seeds, st.integers(1, 3))
def test_a_difference_of_losses_is_the_change_of_the_anchor_objective(seed, c):
    rng = np.random.default_rng(seed)
    rows, m = rng.dirichlet(np.full(7, 0.3), size=12), 7
    gram, labels = rows.T @ rows, rng.permutation(np.arange(7) % c)
    indicator, sizes = np.eye(c)[labels], np.bincount(labels, minlength=c)

    def score(tags):
        return np.linalg.norm(rows @ np.eye(c)[tags], axis=0).sum()

    links = gram @ indicator
    squares = equations.cluster_squares(links, indicator)
    assert np.sqrt(squares).sum() == pytest.approx(score(labels))
    losses = equations.move_losses(squares, links, np.diag(gram), sizes, labels)
    for i in range(m):
        for k in set(range(c)) - {labels[i]}:
            moved = labels.copy()
            moved[i] = k
            assert score(labels) - score(moved) == pytest.approx(losses[i, k] - losses[i, labels[i]], abs=1e-9)


def test_a_lonely_anchor_stays():
    losses = equations.move_losses(np.ones(2), np.zeros((1, 2)), np.ones(1), np.array([1, 5]), np.array([0]))
    assert equations.cheapest_moves(losses, np.array([0]))[0] == 0
