"""In the basis of the graph's own eigenvectors: the same subspace, in a few corrections however narrow the gaps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afcm import AFCM
from afcm.equations import paper
from afcm.linalg import eigenbasis, eigensolver
from afcm.linalg.eigenbasis import EigenBasis, LearningSolver
from afcm.linalg.operator import GraphPlusLowRank
from tests.strategies import quick


def affinity(rng, n=120, n_edges=5):
    """S of a random graph whose nodes have about so many neighbours."""
    weights = np.where(rng.random((n, n)) < n_edges / n, rng.random((n, n)), 0.0)
    weights = weights + weights.T + np.eye(n, k=1) + np.eye(n, k=-1)
    degrees = weights.sum(axis=1)
    return weights / np.sqrt(np.outer(degrees, degrees))


def subspace_error(found, operator, q):
    top = np.linalg.eigh(operator.to_dense())[1][:, -q:]
    return np.linalg.norm(top - found @ (found.T @ top))


@quick
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.floats(-2, 6), st.floats(0, 8))
def test_leading_vectors_equal_the_dense_ones(seed, q, log_weight, log_precision):
    rng = np.random.default_rng(seed)
    graph = affinity(rng)
    factor = paper.membership_factor(rng.dirichlet(np.full(q, 0.3), size=len(graph)), None)
    operator = GraphPlusLowRank(graph, 10.0**log_weight, factor, 10.0**log_precision)
    exact = np.linalg.eigvalsh(operator.to_dense())[::-1]
    found = EigenBasis.from_graph(graph).solve(operator, q, 0.0, 1e-7)
    scale = operator.weight + operator.factor_weight
    if found is None:  # only a gap that rounding hides may take too long
        assert exact[q - 1] - exact[q] <= 1e-6 * scale
        return
    np.testing.assert_allclose(found.values, exact[:q], rtol=0, atol=1e-11 * scale)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(q), atol=1e-9)
    np.testing.assert_allclose(found.graph_image, graph @ found.vectors, atol=1e-12)
    if exact[q - 1] - exact[q] > 1e-4 * scale:
        assert subspace_error(found.vectors, operator, q) < 1e-5


def test_without_a_factor_the_basis_is_the_answer():
    graph = affinity(np.random.default_rng(0))
    operator = GraphPlusLowRank(graph, 3.0)
    found = EigenBasis.from_graph(graph).solve(operator, 4, 0.0, 0.0)
    np.testing.assert_allclose(found.values, 3 * np.linalg.eigvalsh(graph)[:-5:-1], atol=1e-12)
    assert found.vectors.shape == (120, 4)


def test_the_solver_learns_the_basis_after_a_few_solves_and_then_uses_it(monkeypatch):
    rng = np.random.default_rng(1)
    graph = affinity(rng)
    operator = GraphPlusLowRank(graph, 1.0, paper.membership_factor(rng.dirichlet(np.ones(3), size=120), None), 50.0)
    solver = LearningSolver()
    before = [solver(operator, 3, 1e-13, 1e-6) for _ in range(eigenbasis.WORTH_BASIS)]
    assert not solver.has_basis
    monkeypatch.setattr(
        eigensolver, "dense_eigenvectors", lambda *_: pytest.fail("a dense solve though the basis is there")
    )
    after = solver(operator, 3, 1e-13, 1e-6)
    assert solver.has_basis
    np.testing.assert_allclose(after.values, before[0].values, rtol=1e-12)


def test_what_no_correction_reaches_is_solved_densely():
    rng = np.random.default_rng(3)
    graph = affinity(rng)
    operator = GraphPlusLowRank(graph, 1.0, paper.membership_factor(rng.dirichlet(np.ones(3), size=120), None), 50.0)
    solver = LearningSolver()
    solver.learn(graph)
    assert solver.basis.solve(operator, 3, 0.0, 0.0) is None  # no residual is 0
    found = solver(operator, 3, 0.0, 0.0)
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(operator.to_dense())[:-4:-1], rtol=1e-12)
    assert subspace_error(found.vectors, operator, 3) < 1e-9


def test_a_large_graph_has_no_basis(monkeypatch):
    monkeypatch.setattr(eigenbasis, "MOST_NODES", 100)
    solver = LearningSolver()
    solver.learn(affinity(np.random.default_rng(0)))
    assert not solver.has_basis


def test_a_fit_with_the_basis_equals_a_fit_without(monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 4))
    setting = {"n_clusters": 12, "graph_weight": 1e5, "init": "random", "random_state": 0, "tol": 1e-4}
    with monkeypatch.context() as patch:
        patch.setattr(eigenbasis, "WORTH_BASIS", 10**9)
        slow = AFCM(**setting).fit(X)
    fast = AFCM(**setting).fit(X)
    np.testing.assert_allclose(fast.history_["objective"], slow.history_["objective"], rtol=1e-9)
    np.testing.assert_array_equal(fast.labels_, slow.labels_)
