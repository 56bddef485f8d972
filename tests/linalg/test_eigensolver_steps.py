"""Each step of the eigensolver by itself: the filter against its polynomial, the dense solve, the loop on a script."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.polynomial.chebyshev import chebval

from afcm.arrays import numpy_arrays
from afcm.linalg import eigensolver
from afcm.linalg.chebyshev import log_growth
from afcm.linalg.eigensolver import DenseSolver, _apply_filter, _filter_degree, _search
from afcm.linalg.operator import Eigenpairs, GraphPlusLowRank
from afcm.linalg.search_space import RitzPairs


def operator_of(n=30, weight=0.7, seed=0):
    """Graph of norm one, plus a factor."""
    rng = np.random.default_rng(seed)
    graph = rng.standard_normal((n, n))
    graph += graph.T
    graph /= np.linalg.norm(graph, 2)
    return GraphPlusLowRank(graph, weight, np.linalg.qr(rng.standard_normal((n, 2)))[0], 1.3)


# The filter.


@pytest.mark.parametrize(
    ("growth", "n_wanted", "degree"),
    [
        ([3.0, 1.0, 0.5], 2, 6),  # log 1000 / 1 = 6.9; log 1e8 / (3 − 1) = 9.2
        ([3.0, 1.0, 0.5], 1, 2),  # log 1000 / 3 = 2.3
        ([11.0, 0.5, 0.1], 2, 1),  # log 1e8 / 10.5 = 1.8
        ([3.5, 0.5, 0.1], 2, 6),  # log 1e8 / 3 = 6.1; log 1000 / 0.5 = 13.8
        ([0.8, 0.5], 3, 13),  # fewer values than wanted
        ([0.1, 0.0], 2, 60),
        ([9.0], 1, 1),
    ],
)
def test_the_degree_that_pays_off(growth, n_wanted, degree):
    assert _filter_degree(np.array(growth), n_wanted) == degree


def test_wanted_values_inside_the_unwanted_interval_get_the_largest_degree():
    growth = log_growth(np.array([1.4, 1.0, -1.5]), (-0.5, 1.5))
    np.testing.assert_array_equal(growth, 0.0)
    assert _filter_degree(growth, 2) == 60


@pytest.mark.parametrize("weight", [0.7, -0.7])
@pytest.mark.parametrize("lowest", [0.3, 0.9, 1.5])
def test_the_filter_is_its_chebyshev_polynomial(weight, lowest, monkeypatch):
    monkeypatch.setattr(numpy_arrays, "ROWS", 16)
    operator = operator_of(weight=weight)
    values, vectors = np.linalg.eigh(operator.to_dense())
    block = np.random.default_rng(1).standard_normal((30, 3))
    ritz = RitzPairs(block, np.array([2.1, 1.8, lowest]), np.full(3, 1e-3), 2, np.array([0.1, 0.0]))
    center, half = (lowest - 0.7) / 2, (lowest + 0.7) / 2
    mapped = (ritz.values - center) / half
    degree = int(min(np.log(1e3) / np.arccosh(mapped[1]), np.log(1e8) / np.diff(np.arccosh(mapped[1::-1]))[0]))
    assert degree > 2
    coefficients = np.eye(degree + 1)[degree]
    gains = chebval((values - center) / half, coefficients) / chebval(mapped[0], coefficients)
    found, used = _apply_filter(operator, ritz, block)
    assert used == degree
    np.testing.assert_allclose(found, vectors @ (gains[:, None] * (vectors.T @ block)), rtol=1e-9, atol=1e-12)


def test_a_filter_of_degree_one_is_a_shifted_product():
    operator = operator_of()
    block = np.random.default_rng(1).standard_normal((30, 3))
    ritz = RitzPairs(block, np.array([1e9, 1.8, 0.3]), np.full(3, 1e-3), 2, np.array([]))
    found, degree = _apply_filter(operator, ritz, block)
    assert degree == 1
    np.testing.assert_allclose(found, (operator @ block + 0.2 * block) / (1e9 + 0.2), rtol=1e-12)


def test_an_empty_unwanted_interval_has_a_filter():
    ritz = RitzPairs(np.eye(30, 3), np.array([2.0, 1.5, -0.7]), np.full(3, 1e-3), 2, np.array([]))
    assert np.isfinite(_apply_filter(operator_of(), ritz, np.eye(30, 3))[0]).all()


# The dense solve.


def test_the_dense_solve_gives_the_largest_eigenpairs():
    operator = operator_of()
    values, vectors = np.linalg.eigh(operator.to_dense())
    for found in (eigensolver.dense_eigenvectors(operator, 3), DenseSolver()(operator, 3, 0.1, 0.1)):
        np.testing.assert_allclose(found.values, values[:-4:-1], rtol=1e-12)
        np.testing.assert_allclose(np.abs(np.sum(found.vectors * vectors[:, :-4:-1], axis=0)), 1, rtol=1e-12)
        np.testing.assert_array_equal(found.graph_image, operator.graph @ found.vectors)
        assert found.vectors.flags.c_contiguous
        assert (found.residual, found.trace_error, found.n_products, found.converged) == (0.0, 0.0, 0, True)


def test_an_ordinary_matrix_is_solved_once(monkeypatch):
    solves, eigh = [], eigensolver.eigh
    monkeypatch.setattr(eigensolver, "eigh", lambda *given, **how: solves.append(how) or eigh(*given, **how))
    eigensolver.dense_eigenvectors(operator_of(), 3)
    assert len(solves) == 1


@pytest.mark.parametrize("n_found", [0, 2])
def test_a_search_by_index_that_finds_too_few_vectors_is_followed_by_the_whole_solve(monkeypatch, n_found):
    operator, drivers = operator_of(), []

    def eigh(matrix, driver=None, **how):
        drivers.append(driver)
        values, vectors = np.linalg.eigh(matrix)
        return (values[:n_found], vectors[:, :n_found]) if how else (values, vectors)

    monkeypatch.setattr(eigensolver, "eigh", eigh)
    found = eigensolver.dense_eigenvectors(operator, 3)
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(operator.to_dense())[:-4:-1], rtol=1e-12)
    np.testing.assert_allclose(operator @ found.vectors, found.vectors * found.values, atol=1e-12)
    assert drivers == [None, "evd"]


# Dense or by a search.


class Sized:
    """An operator with a size and no factor."""

    factor, weight = None, 1.0

    def __init__(self, size):
        self.size = size

    def to_host(self):
        return "host"


class Remembering(DenseSolver):
    """Notes what it is asked; its answer lies on the host."""

    def __init__(self, has_basis=False):
        self.has_basis, self.asked = has_basis, []

    def __call__(self, *asked):
        self.asked.append(asked)
        return Eigenpairs("vectors", "values", "image", 0.0, 0.0, 0, True)


@pytest.fixture
def searched(monkeypatch):
    """The searches that were begun; each finds what `found` holds."""
    begun = []

    def search(*given):
        begun.append(given)
        return search.found

    search.found, search.begun = "found by a search", begun
    monkeypatch.setattr(eigensolver, "SearchSpace", lambda *given: given)
    monkeypatch.setattr(eigensolver, "to_device_of", lambda value, place: tuple(f"{part} at {place}" for part in value))
    monkeypatch.setattr(eigensolver, "_search", search)
    return search


@pytest.mark.parametrize(
    ("size", "n_wanted", "has_basis", "dense"),
    [
        (400, 1, False, True),
        (401, 1, False, False),
        (401, 1, True, True),
        (425, 17, False, True),
        (426, 17, False, False),
        (10**6, 3, True, True),
    ],
)
def test_small_problems_and_known_graphs_are_solved_densely(searched, size, n_wanted, has_basis, dense):
    solver, operator = Remembering(has_basis), Sized(size)
    found = eigensolver.leading_eigenvectors(
        operator, "start", n_wanted, extra="extra", trace_tol=0.1, angle_tol=0.2, max_steps=7, dense=solver
    )
    if dense:
        assert solver.asked == [("host", n_wanted, 0.1, 0.2)]
        expected = Eigenpairs("vectors at start", "values", "image at start", 0.0, 0.0, 0, True)
        assert (found, searched.begun) == (expected, [])
    else:
        assert searched.begun == [((operator, n_wanted, "start"), "extra", (0.1, 0.2), 7)]
        assert (found, solver.asked) == ("found by a search", [])


def test_a_search_that_gives_up_is_followed_by_a_dense_solve(searched):
    searched.found, solver = None, Remembering()
    assert eigensolver.leading_eigenvectors(Sized(999), "start", 1, dense=solver).vectors == "vectors at start"
    assert len(searched.begun) == len(solver.asked) == 1


def test_tolerances_that_nobody_gives(searched):
    eigensolver.leading_eigenvectors(Sized(999), "start", 1)
    assert searched.begun[0][1:] == (None, (1e-12, 1e-4), 2000)


@pytest.mark.parametrize("size", [30, 3000])
def test_a_factor_that_outweighs_the_graph_needs_neither_a_search_nor_a_dense_solve(searched, size):
    factor, solver = np.eye(3)[np.arange(size) % 3] / np.sqrt(size / 3), Remembering()
    operator = GraphPlusLowRank(sp.eye_array(size, format="csr"), 2.0, factor, 100.0)
    found = eigensolver.leading_eigenvectors(operator, "start", 3, dense=solver)
    np.testing.assert_allclose(found.values, 102.0)
    assert (searched.begun, solver.asked) == ([], [])


def test_a_dense_solver_that_nobody_gives_knows_no_graph():
    assert not DenseSolver().has_basis
    assert DenseSolver().n_solves == 0
    operator = operator_of()
    found = eigensolver.leading_eigenvectors(operator, np.eye(30, 3), 3)
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(operator.to_dense())[:-4:-1])
    np.testing.assert_allclose(operator @ found.vectors, found.vectors * found.values, atol=1e-12)


# The search.


class NoEdges:
    """A graph of any size."""

    def __init__(self, size):
        self.shape = (size, size)

    def __matmul__(self, block):
        return np.zeros_like(block)


class Scripted:
    """A search space whose Ritz pairs are given one after the other; each product is counted as one."""

    n_wanted = 2

    def __init__(self, *steps, size=10**5, block=3, grown=1):
        self.operator = GraphPlusLowRank(NoEdges(size), 0.7, None, 1.3)
        self.steps, self.block, self.grown = list(steps), block, grown
        self.n_products, self.expanded, self.filled_after = 0, [], []

    def fill(self):
        self.filled_after.append(list(self.expanded))

    def rayleigh_ritz(self):
        self.n_products += 1
        return self.steps.pop(0)

    def expand(self, directions):
        self.expanded.append(directions)
        self.n_products += 1
        return self.grown


def ritz_of(residual):
    """Gaps are one: the trace error is residual² and the angle is the residual."""
    return RitzPairs(np.eye(9, 3), np.array([5.0, 5.0, 4.0]), np.array([residual, 0.0, 0.1]), 2, np.array([]))


@pytest.fixture
def by_number(monkeypatch):
    """A filter that multiplies three times."""
    monkeypatch.setattr(eigensolver, "_apply_filter", lambda operator, ritz, block: (("filtered", block), 3))


NEVER = (0.0, 0.0)


@pytest.mark.usefixtures("by_number")
def test_a_search_ends_when_the_trace_or_the_angle_is_good_enough():
    by_angle = (0.0, 0.25)
    by_trace = (0.0625 / 2.0, 0.0)  # times the scale, 0.7 + 1.3
    for tolerances in (by_angle, by_trace):
        space = Scripted(ritz_of(0.5), ritz_of(0.26), ritz_of(0.25), ritz_of(0.1))
        found = _search(space, None, tolerances, 9)
        assert found.converged
        assert found.residual == 0.25 / 5
        assert len(space.steps) == 1
        assert found.n_products == 3 + 2 * (3 + 1)  # three Ritz steps; two filters and what they add


@pytest.mark.usefixtures("by_number")
def test_a_search_without_tolerances_takes_all_its_steps():
    space = Scripted(*(ritz_of(0.5) for _ in range(9)))
    found = _search(space, None, NEVER, 4)
    assert not found.converged
    assert len(space.steps) == 9 - 5
    assert len(space.expanded) == 4
    assert _search(Scripted(ritz_of(0.0)), None, NEVER, 0).converged


@pytest.mark.usefixtures("by_number")
def test_extra_directions_come_first_and_filtered_ritz_vectors_that_have_not_converged_next():
    space = Scripted(ritz_of(0.5), ritz_of(0.1))
    _search(space, "extra", (0.05, 0.1), 9)
    first, (name, block) = space.expanded
    assert (first, name) == ("extra", "filtered")
    assert space.filled_after == [["extra"]]  # once, before the first look at the space
    np.testing.assert_array_equal(block, np.eye(9, 3)[:, [0, 2]])  # the second has no residual
    space = Scripted(ritz_of(3.0), ritz_of(0.1))
    _search(space, None, (1.02, 0.1), 9)
    np.testing.assert_array_equal(space.expanded[0][1], np.eye(9, 1))  # 0.1² is below 0.01 × 1.02 × scale / 2


@pytest.mark.usefixtures("by_number")
@pytest.mark.parametrize(("residual", "converged"), [(1e-10, True), (2e-9, True), (2.1e-9, False), (0.5, False)])
def test_a_space_that_cannot_grow_has_converged_if_its_residuals_are_small(residual, converged):
    space = Scripted(ritz_of(residual), grown=0)
    found = _search(space, None, NEVER, 9)
    assert found.converged is converged
    assert len(space.expanded) == 1


@pytest.mark.usefixtures("by_number")
@pytest.mark.parametrize(
    ("size", "block", "gives_up"),
    [(100, 5, True), (100, 4, False), (1581, 1000, True), (6000, 18_000, True), (6001, 18_100, False)],
)
def test_a_small_graph_gives_up_when_a_dense_solve_is_cheaper(size, block, gives_up):
    # The first step makes 5 products; 5 × block columns × 500 are weighed against n².
    found = _search(Scripted(ritz_of(0.5), ritz_of(0.5), size=size, block=block), None, NEVER, 1)
    assert (found is None) is gives_up
