"""The search space against dense linear algebra, and the error bounds of Ritz pairs against hand calculation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afcm.arrays import numpy_arrays
from afcm.linalg import search_space
from afcm.linalg.operator import GraphPlusLowRank
from afcm.linalg.search_space import RitzPairs, SearchSpace, n_guards, orthonormal_complement
from tests.strategies import quick


def operator_of(n=40, seed=0):
    rng = np.random.default_rng(seed)
    graph = rng.standard_normal((n, n))
    return GraphPlusLowRank(graph + graph.T, 0.7, rng.standard_normal((n, 2)), 1.3)


def random_block(n, width, seed=1):
    return np.random.default_rng(seed).standard_normal((n, width))


def projector(columns):
    return columns @ np.linalg.pinv(columns)


def check(space):
    """Q is orthonormal, and the projected operator is QᵀAQ."""
    basis = space.basis[:, : space.width]
    np.testing.assert_allclose(basis.T @ basis, np.eye(space.width), atol=1e-12)
    expected = basis.T @ space.operator.to_dense() @ basis
    np.testing.assert_allclose(space.projected[: space.width, : space.width], expected, atol=1e-10)
    return basis


# The bounds.


def test_the_number_of_guards():
    assert [n_guards(q) for q in (1, 4, 5, 10, 14, 15, 20, 24, 100)] == [4, 4, 2, 2, 2, 3, 4, 4, 20]


def ritz(values, norms, n_wanted, others=()):
    vectors = np.arange(5.0 * len(values)).reshape(5, len(values))
    return RitzPairs(vectors, np.array(values), np.array(norms), n_wanted, np.array(others))


def test_gaps_are_distances_to_the_first_unwanted_value():
    np.testing.assert_array_equal(ritz([9.0, 7.0, 6.5, 1.0], [0.1] * 4, 2).gaps, [2.5, 0.5])
    np.testing.assert_array_equal(ritz([9.0, 7.0, 6.5], [0.1, 0.8, 0.1], 2).gaps, [2.5, 0.8])  # never below a residual


def test_without_a_guard_the_gap_is_the_first_value_below_or_unknown():
    alone = ritz([9.0, 7.0], [0.1, 0.2], 2)
    np.testing.assert_array_equal(alone.gaps, [0.1, 0.2])  # nothing else is known: no better than the residual
    assert alone.trace_error == pytest.approx(0.3)
    np.testing.assert_array_equal(replace(alone, others=np.array([6.0, 1.0])).gaps, [3.0, 1.0])


def test_bounds_from_residuals_and_gaps():
    found = ritz([9.0, 7.0, 6.5], [0.3, 0.2, 9.0], 2)
    assert found.trace_error == pytest.approx(0.3**2 / 2.5 + 0.2**2 / 0.5)
    assert found.angle == pytest.approx(np.sqrt((0.3 / 2.5) ** 2 + (0.2 / 0.5) ** 2))


def test_an_exact_tie_without_residuals_has_no_error():
    found = ritz([9.0, 7.0, 7.0], [0.0, 0.0, 0.0], 2)
    assert found.trace_error == 0
    assert found.angle == 0
    assert found.unconverged(1e-12).shape == (5, 0)


def test_the_unwanted_spectrum_ends_at_the_last_guard():
    assert ritz([9.0, 7.0, 6.0, 5.0], [0.01] * 4, 2, [4.0, 3.0]).unwanted == 5.0


def test_the_unwanted_spectrum_ends_below_a_tie_with_the_wanted():
    tied = [9.0, 7.0, 6.99, 6.98]
    assert ritz(tied, [0.1, 0.1, 0.01, 0.05], 2, [6.5, 6.01, 5.95, 3.0]).unwanted == 5.95  # 7 − 10 × 0.1 = 6 is clear
    assert ritz(tied, [0.095, 0.1, 0.01, 0.05], 2, [6.05, 6.0, 3.0]).unwanted == 3.0
    assert ritz(tied, [0.1] * 4, 2, [6.9, 6.8]).unwanted == 6.8  # all is tied: the lowest
    assert ritz([9.0, 7.0], [0.1, 0.1], 3, [6.5, 5.0]).unwanted == 5.0  # fewer values than wanted


def test_vectors_are_converged_when_their_part_of_the_trace_error_is_negligible():
    # Gaps are 5 and 2 for the wanted and 2 for the guards; a hundredth of 0.8 / 2 is 0.004.
    # Parts: 0.01² / 5 and 0.1² / 2 = 0.005; 0.08² / 2 = 0.0032, 0.09² / 2 = 0.00405.
    found = ritz([9.0, 6.0, 4.0, 3.0], [0.01, 0.1, 0.08, 0.09], 2)
    np.testing.assert_array_equal(found.unconverged(0.8), found.vectors[:, [1, 3]])
    assert found.unconverged(1e-9) is found.vectors
    np.testing.assert_array_equal(found.unconverged(100.0), found.vectors[:, []])
    # Guards have the gap of the last wanted one: 0.1² / 0.5 = 0.02, and not 0.1² / 3.
    three = ritz([9.0, 8.0, 6.5, 6.0], [0.0, 0.0, 0.0, 0.1], 3)
    np.testing.assert_array_equal(three.unconverged(5.9), three.vectors[:, [3]])
    np.testing.assert_array_equal(three.unconverged(6.1), three.vectors[:, []])
    # A residual larger than the gap is divided by itself: 5² / 5 and not 5² / 2.
    wide = ritz([9.0, 6.0, 4.0], [0.0, 0.0, 5.0], 2)
    np.testing.assert_array_equal(wide.unconverged(999.0), wide.vectors[:, [2]])
    np.testing.assert_array_equal(wide.unconverged(1001.0), wide.vectors[:, []])


def test_a_part_at_the_limit_is_converged():
    found = ritz([8.0, 4.0, 0.0], [2.0, 2.0, 0.0], 2)  # parts 4 / 8 and 4 / 4
    np.testing.assert_array_equal(found.unconverged(100.0), found.vectors[:, [1]])
    np.testing.assert_array_equal(found.unconverged(200.0), found.vectors[:, []])


def test_the_result_holds_the_wanted_pairs():
    operator = operator_of(5)
    found = ritz([4.0, -8.0, -9.0], [0.3, 0.6, 5.0], 2)
    pairs = found.to_eigenpairs(operator, 17, True)
    np.testing.assert_array_equal(pairs.vectors, found.vectors[:, :2])
    np.testing.assert_array_equal(pairs.values, [4.0, -8.0])
    np.testing.assert_allclose(pairs.graph_image, operator.graph @ found.vectors[:, :2])
    assert pairs.vectors.flags.c_contiguous
    assert pairs.residual == pytest.approx(0.6 / 9)
    assert pairs.trace_error == found.trace_error
    assert (pairs.n_products, pairs.converged) == (17, True)
    nothing = ritz([0.0, 0.0], [0.0, 0.0], 1).to_eigenpairs(operator, 3, False)
    assert (nothing.residual, nothing.n_products, nothing.converged) == (0.0, 3, False)


# The space.


@pytest.mark.parametrize(
    ("n", "n_wanted", "width", "block", "capacity"),
    [(40, 3, 3, 7, 24), (40, 3, 9, 9, 24), (40, 10, 10, 12, 24), (40, 10, 15, 15, 30), (20, 3, 3, 7, 20)],
)
def test_the_first_space_is_the_span_of_the_start(n, n_wanted, width, block, capacity):
    operator, start = operator_of(n), random_block(n, width)
    space = SearchSpace(operator, n_wanted, start)
    assert (space.block, space.capacity, space.width, space.n_products) == (block, capacity, width, 1)
    assert space.basis.shape == (n, capacity)
    np.testing.assert_allclose(projector(check(space)), projector(start), atol=1e-12)


@pytest.mark.parametrize(("n", "rank", "width"), [(60, 3, 9), (60, 7, 9), (60, 9, 9), (60, 1, 2), (6, 2, 4)])
def test_a_start_that_is_too_narrow_is_filled(n, rank, width):
    start = random_block(n, rank) @ random_block(rank, width, 2)
    space = SearchSpace(operator_of(n), 4, start)
    assert space.width == min(rank, width)
    space.fill()
    assert space.width == max(min(rank, width), min(4 + n_guards(4), n))
    basis = check(space)
    np.testing.assert_allclose(projector(basis) @ start, start, atol=1e-10)


def test_expanding_adds_what_is_new(monkeypatch):
    monkeypatch.setattr(numpy_arrays, "ROWS", 16)
    start, more = random_block(40, 3), random_block(40, 2, 2)
    space = SearchSpace(operator_of(), 3, start)
    assert space.expand(np.hstack([start @ np.ones((3, 1)), more])) == 2
    assert (space.width, space.n_products) == (5, 2)
    np.testing.assert_allclose(projector(check(space)), projector(np.hstack([start, more])), atol=1e-12)
    assert space.expand(more) == 0
    assert (space.width, space.n_products) == (5, 2)


def test_rayleigh_ritz_is_the_projected_eigenproblem(monkeypatch):
    monkeypatch.setattr(numpy_arrays, "ROWS", 16)
    operator = operator_of()
    space = SearchSpace(operator, 3, random_block(40, 10))
    space.expand(random_block(40, 4, 2))
    basis, matrix = check(space).copy(), operator.to_dense()
    values, coefficients = np.linalg.eigh(basis.T @ matrix @ basis)
    found = space.rayleigh_ritz()
    assert found.n_wanted == 3
    assert space.n_products == 3
    np.testing.assert_allclose(found.values, values[:-11:-1], atol=1e-11)
    np.testing.assert_allclose(found.others, values[3::-1], atol=1e-11)
    expected = basis @ coefficients[:, :-11:-1]
    np.testing.assert_allclose(found.vectors * np.sign(np.sum(found.vectors * expected, axis=0)), expected, atol=1e-10)
    norms = np.linalg.norm(matrix @ found.vectors - found.vectors * found.values, axis=0)
    np.testing.assert_allclose(found.norms, norms, atol=1e-10)


@pytest.mark.parametrize(
    ("filled", "n_new", "kept", "added"),
    [(20, 7, 12, 7), (24, 12, 12, 12), (22, 14, 10, 14), (24, 20, 7, 17), (10, 17, 7, 17)],
)
def test_a_full_space_restarts_from_its_best_ritz_vectors(filled, n_new, kept, added, monkeypatch):
    monkeypatch.setattr(numpy_arrays, "ROWS", 16)
    operator = operator_of()
    space = SearchSpace(operator, 3, random_block(40, 5))
    space.expand(random_block(40, filled - 5, 2))
    assert space.width == filled
    values, coefficients = np.linalg.eigh(space.projected[:filled, :filled])
    best = space.basis[:, :filled] @ coefficients[:, : -kept - 1 : -1]
    new = random_block(40, n_new, 3)
    assert space.expand(new) == added
    assert space.width == kept + added
    basis = check(space)
    np.testing.assert_allclose(np.abs(np.sum(basis[:, :kept] * best, axis=0)), 1, atol=1e-10)
    np.testing.assert_allclose(np.diag(space.projected)[:kept], values[: -kept - 1 : -1], atol=1e-10)
    np.testing.assert_allclose(projector(basis), projector(np.hstack([best, new[:, :added]])), atol=1e-9)


def test_a_space_that_just_has_room_does_not_restart():
    blocks = random_block(40, 10), random_block(40, 5, 2), random_block(40, 9, 3)
    space = SearchSpace(operator_of(), 3, blocks[0])
    assert [space.expand(block) for block in blocks[1:]] == [5, 9]
    assert space.width == space.capacity == 24
    np.testing.assert_allclose(projector(check(space)), projector(np.hstack(blocks)), atol=1e-10)


# Orthonormal columns.


def test_complement_is_orthonormal_and_drops_what_is_already_there():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((50, 5)))[0]
    fresh = rng.standard_normal((50, 2))
    directions = np.hstack([basis @ rng.standard_normal((5, 2)), fresh, fresh[:, :1], np.zeros((50, 1))])
    found = orthonormal_complement(directions, basis)
    assert found.shape == (50, 2)
    np.testing.assert_allclose(found.T @ found, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(basis.T @ found, 0, atol=1e-12)
    tiny = basis[:, :1] + 1e-9 * fresh[:, :1]
    np.testing.assert_allclose(basis.T @ orthonormal_complement(tiny, basis), 0, atol=1e-12)


@quick
@given(st.integers(0, 2**32 - 1), st.integers(0, 6), st.integers(1, 6), st.sampled_from([1e-100, 1.0, 1e100]))
def test_complement_spans_the_directions_outside_the_basis(seed, n_basis, n_directions, unit):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((30, n_basis)))[0]
    directions = rng.standard_normal((30, n_directions)) * rng.uniform(0.1, 10, n_directions)
    given_directions = unit * directions
    found = orthonormal_complement(given_directions, basis)
    np.testing.assert_array_equal(given_directions, unit * directions)  # not changed in place
    outside = directions - basis @ (basis.T @ directions)
    np.testing.assert_allclose(found @ found.T, projector(outside), atol=1e-9)
    np.testing.assert_allclose(found.T @ found, np.eye(n_directions), atol=1e-12)
    np.testing.assert_allclose(basis.T @ found, 0, atol=1e-12)


def test_what_rounding_leaves_of_a_direction_is_dropped():
    basis = np.eye(6)[:, :2]
    nearly = np.column_stack([basis[:, 0] + 1e-13 * np.eye(6)[:, 3], basis[:, 1] + 1e-10 * np.eye(6)[:, 4]])
    found = orthonormal_complement(nearly, basis)
    np.testing.assert_allclose(np.abs(found), np.eye(6)[:, 4:5], atol=1e-12)
    assert orthonormal_complement(nearly[:, :1], basis).shape == (6, 0)
    twice = np.column_stack([np.eye(6)[:, 5], np.eye(6)[:, 5] + 1e-7 * np.eye(6)[:, 4]])  # equal to 1e-14 in the Gram
    assert orthonormal_complement(twice, basis).shape == (6, 1)


def test_nearly_parallel_directions_become_orthonormal():
    rng = np.random.default_rng(5)
    directions = rng.standard_normal((200, 1)) + 3e-6 * rng.standard_normal((200, 6))
    found = orthonormal_complement(directions, np.empty((200, 0)))
    np.testing.assert_allclose(found.T @ found, np.eye(6), rtol=0, atol=1e-13)


def test_a_block_is_projected_piece_by_piece(monkeypatch):
    basis, directions = np.linalg.qr(random_block(40, 4))[0], random_block(40, 3, 2)
    whole = orthonormal_complement(directions, basis)
    monkeypatch.setattr(numpy_arrays, "ROWS", 16)
    np.testing.assert_allclose(orthonormal_complement(directions, basis), whole, atol=1e-13)


def test_lengths_of_columns():
    np.testing.assert_array_equal(search_space.column_lengths(np.array([[3.0, 0.0], [4.0, 0.0]])), [5.0, 0.0])
