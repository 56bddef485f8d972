"""Each step of the solver in the graph's own basis by itself, against dense linear algebra on small matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from afcm.linalg import eigenbasis, eigensolver
from afcm.linalg.eigenbasis import EigenBasis, LearningSolver, _Coordinates
from afcm.linalg.operator import Eigenpairs, GraphPlusLowRank
from afcm.linalg.search_space import RitzPairs

N = 30


def graph_of(n=N, seed=0):
    """A symmetric matrix of norm one."""
    matrix = np.random.default_rng(seed).standard_normal((n, n))
    matrix += matrix.T
    return matrix / np.linalg.norm(matrix, 2)


def operator_of(factor_weight=0.3, weight=2.0, q=3, n=N):
    factor = np.random.default_rng(1).standard_normal((n, q))
    return GraphPlusLowRank(graph_of(n), weight, factor, factor_weight)


def projector(columns):
    return columns @ np.linalg.pinv(columns)


# Coordinates.


@pytest.fixture
def problem():
    """``diag(a) + H Hᵀ``: a falls, H has three columns."""
    rng = np.random.default_rng(2)
    return np.sort(rng.uniform(-1, 1, N))[::-1], 0.5 * rng.standard_normal((N, 3))


@pytest.mark.parametrize(("n_wanted", "m"), [(1, 3), (3, 7), (14, 29), (20, 30)])
def test_the_first_coordinates_are_twice_the_wanted_and_one(problem, n_wanted, m):
    diagonal, factor = problem
    space = _Coordinates(diagonal, factor, n_wanted)
    np.testing.assert_array_equal(space.first, diagonal[:m])
    np.testing.assert_array_equal(space.others, diagonal[m:, None])
    np.testing.assert_array_equal(space.first_factor, factor[:m])
    np.testing.assert_array_equal(space.factor, factor[m:])


@pytest.mark.parametrize("n_wanted", [1, 3])
def test_the_first_directions_are_the_factor_divided_by_its_distance(problem, n_wanted):
    diagonal, factor = problem
    space = _Coordinates(diagonal, factor, n_wanted)
    guess = diagonal[n_wanted - 1] + np.trace(factor.T @ factor) / n_wanted
    others = slice(2 * n_wanted + 1, None)
    expected = factor[others] / (guess - diagonal[others, None])
    np.testing.assert_allclose(space.directions.T @ space.directions, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(space.directions @ space.directions.T, projector(expected), atol=1e-9)


def test_no_distance_is_below_a_share_of_the_largest_number(problem):
    diagonal, factor = problem
    space = _Coordinates(-5 * diagonal[::-1], factor, 2)
    least = 1e-4 * abs(5 * diagonal[-1])
    values = np.array([-100.0, 0.3])
    expected = np.maximum(values - space.others, least)
    assert (expected == least).any()
    np.testing.assert_allclose(space._distance(values), expected, rtol=1e-14)


def check_ritz(space, diagonal, factor, q):
    """The wanted pairs of the explicit projection on the first coordinates and the directions."""
    m, matrix = space.first.size, np.diag(diagonal) + factor @ factor.T
    basis = np.zeros((N, m + space.directions.shape[1]))
    basis[:m, :m], basis[m:, m:] = np.eye(m), space.directions
    values, rotation = np.linalg.eigh(basis.T @ matrix @ basis)
    ritz, residuals = space.rayleigh_ritz()
    np.testing.assert_allclose(ritz.values, values[::-1][: q + 1], atol=1e-12)
    expected = basis @ rotation[:, ::-1][:, :q]
    signs = np.sign(np.sum(expected * ritz.vectors, axis=0))
    np.testing.assert_allclose(ritz.vectors * signs, expected, atol=1e-9)
    whole = matrix @ ritz.vectors - ritz.vectors * ritz.values[:q]
    np.testing.assert_allclose(residuals, whole[m:], atol=1e-12)
    np.testing.assert_allclose(whole[:m], 0, atol=1e-12)
    np.testing.assert_allclose(ritz.norms, np.linalg.norm(whole, axis=0), atol=1e-12)
    assert (ritz.n_wanted, ritz.others.size) == (q, 0)
    return ritz, residuals


@pytest.mark.parametrize("q", [1, 3, 5])
def test_ritz_pairs_are_those_of_the_explicit_projection_and_corrections_divide_residuals(problem, q):
    diagonal, factor = problem
    space = _Coordinates(diagonal, factor, q)
    for _ in range(2):
        ritz, residuals = check_ritz(space, diagonal, factor, q)
        before, distances = space.directions, ritz.values[:q] - space.others
        assert (distances > 0.01).all()
        space.correct(ritz, residuals)
        expected = np.hstack([before, residuals / distances])
        np.testing.assert_allclose(projector(space.directions), projector(expected), atol=1e-5)  # ill-conditioned
        np.testing.assert_allclose(space.directions.T @ space.directions, np.eye(space.directions.shape[1]), atol=1e-12)


def test_all_coordinates_at_once_need_no_directions(problem):
    diagonal, factor = problem
    check_ritz(_Coordinates(diagonal, factor, 30), diagonal, factor, 30)
    check_ritz(_Coordinates(diagonal, factor, 29), diagonal, factor, 29)


# The basis.


@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
def test_the_basis_has_all_eigenvectors_the_leading_ones_first(kind):
    graph = graph_of()
    basis = EigenBasis.from_graph(kind(graph))
    np.testing.assert_allclose(basis.values, np.linalg.eigvalsh(graph)[::-1], atol=1e-13)
    np.testing.assert_allclose(basis.vectors * basis.values @ basis.vectors.T, graph, atol=1e-13)
    assert basis.vectors.flags.c_contiguous
    assert basis.values.flags.c_contiguous


def check_pairs(found, operator, q, tolerance):
    exact, vectors = np.linalg.eigh(operator.to_dense())
    np.testing.assert_allclose(found.values, exact[: -q - 1 : -1], atol=tolerance)
    np.testing.assert_allclose(np.abs(np.sum(found.vectors * vectors[:, : -q - 1 : -1], axis=0)), 1, atol=tolerance)
    np.testing.assert_array_equal(found.graph_image, operator.graph @ found.vectors)
    assert (found.n_products, found.converged) == (0, True)


def test_without_a_factor_the_basis_is_the_answer():
    operator = GraphPlusLowRank(graph_of(), 3.0)
    found = EigenBasis.from_graph(operator.graph).solve(operator, 4, 0.0, 0.0)
    check_pairs(found, operator, 4, 1e-12)
    assert (found.residual, found.trace_error) == (0.0, 0.0)


@pytest.mark.parametrize(("factor_weight", "weight"), [(0.3, 2.0), (7.0, 2.0), (0.01, 5.0)])
def test_leading_eigenpairs_are_the_dense_ones(factor_weight, weight):
    operator = operator_of(factor_weight, weight)
    found = EigenBasis.from_graph(operator.graph).solve(operator, 3, 0.0, 1e-8)
    check_pairs(found, operator, 3, 1e-9)
    residuals = np.linalg.norm(operator @ found.vectors - found.vectors * found.values, axis=0)
    assert found.residual == pytest.approx(residuals.max() / found.values[0], abs=1e-14)


class Scripted:
    """Coordinates whose Ritz pairs have residuals 0.5, 0.25, 0.125 …; gaps are one."""

    def __init__(self, diagonal, factor, n_wanted):
        self.given, self.n_wanted, self.residual, self.corrections = (diagonal, factor), n_wanted, 1.0, []
        Scripted.last = self

    def rayleigh_ritz(self):
        self.residual /= 2
        norms = np.array([self.residual, 0.0])
        return RitzPairs(np.eye(N, 2), np.array([5.0, 5.0, 4.0]), norms, 2, np.array([])), ("residuals", self.residual)

    def correct(self, ritz, residuals):
        self.corrections.append(residuals)
        assert ritz.norms[0] == residuals[1]


@pytest.fixture
def scripted(monkeypatch):
    monkeypatch.setattr(eigenbasis, "_Coordinates", Scripted)
    operator = operator_of(0.5)
    return EigenBasis.from_graph(operator.graph), operator


def test_corrections_end_when_the_trace_or_the_angle_is_good_enough(scripted):
    basis, operator = scripted
    by_trace, by_angle = (0.0625 / 2.5, 0.0), (0.0, 0.25)  # the scale is 2 + 0.5
    for tolerances in (by_trace, by_angle):
        found = basis.solve(operator, 2, *tolerances)
        assert found.residual == 0.25 / 5
        assert found.trace_error == 0.0625
        np.testing.assert_array_equal(found.vectors, basis.vectors[:, :2])
        np.testing.assert_array_equal(found.values, [5.0, 5.0])
        assert Scripted.last.corrections == [("residuals", 0.5)]
    diagonal, factor = Scripted.last.given
    np.testing.assert_array_equal(diagonal, 2 * basis.values)
    np.testing.assert_allclose(
        factor @ factor.T, 0.5 * basis.vectors.T @ operator.factor @ operator.factor.T @ basis.vectors
    )


def test_four_corrections_are_enough_or_too_few(scripted):
    basis, operator = scripted
    assert basis.solve(operator, 2, 0.0, 0.5**5) is not None
    assert basis.solve(operator, 2, 0.0, 0.5**6) is None
    assert len(Scripted.last.corrections) == 5


# The solver.


def test_the_basis_is_learned_after_five_solves(monkeypatch):
    dense = Eigenpairs("vectors", "values", "image", 0.0, 0.0, 0, True)
    monkeypatch.setattr(eigensolver, "dense_eigenvectors", lambda operator, n_wanted: (dense, operator, n_wanted))
    solver, operator = LearningSolver(), operator_of()
    assert solver.n_solves == 0
    for solves in range(1, 6):
        assert solver(operator, 3, 1e-13, 1e-8) == (dense, operator, 3)
        assert (solver.n_solves, solver.has_basis) == (solves, False)
    check_pairs(solver(operator, 3, 0.0, 1e-8), operator, 3, 1e-9)
    assert (solver.n_solves, solver.has_basis) == (6, True)
    basis = solver.basis
    assert solver(operator, 3, 0.0, 0.0) == (dense, operator, 3)  # no residual is 0
    assert solver.basis is basis


def test_a_solver_may_learn_before_it_solves_but_only_a_graph_that_is_not_too_large(monkeypatch):
    built = []
    monkeypatch.setattr(EigenBasis, "from_graph", lambda graph: built.append(graph) or EigenBasis(graph, graph))
    solver = LearningSolver()
    solver.learn(sp.csr_array((3001, 3001)))
    assert not solver.has_basis
    small = sp.csr_array((3000, 3000))
    for _ in range(2):
        solver.learn(small)
    assert solver.has_basis
    assert len(built) == 1
    assert built[0] is small
