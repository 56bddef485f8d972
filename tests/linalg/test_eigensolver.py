"""The eigen-solver against dense linear algebra, with repeated and nearly repeated eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from afcm.graph.affinity import neighbor_graph, normalize_graph, symmetrize
from afcm.linalg import eigensolver
from afcm.linalg.operator import GraphPlusLowRank
from afcm.neighbors import find_neighbors

N = 600


def ring_graph(n_components, size, chords=2, seed=0):
    """Disjoint rings with random chords: n_components eigenvalues equal to 1, exactly."""
    rng = np.random.default_rng(seed)
    rows, columns = [], []
    for component in range(n_components):
        nodes = component * size + np.arange(size)
        rows += [nodes] * (1 + chords)
        columns += [np.roll(nodes, 1), *(rng.permutation(nodes) for _ in range(chords))]
    weights = sp.csr_array((np.ones(len(rows) * size), (np.concatenate(rows), np.concatenate(columns))))
    weights.setdiag(0)
    return normalize_graph(symmetrize(weights)).affinity


def random_start(n, width, seed=0):
    return np.random.default_rng(seed).standard_normal((n, width))


def solve(operator, n_wanted, seed=0, **options):
    return eigensolver.leading_eigenvectors(
        operator, random_start(operator.size, n_wanted + 4, seed), n_wanted, **options
    )


@pytest.fixture
def iterative(monkeypatch):
    """Never the dense path."""
    for name in ("DENSE_LIMIT", "DENSE_PER_VECTOR", "DENSE_MOST"):
        monkeypatch.setattr(eigensolver, name, 0)


@pytest.mark.parametrize(("n_components", "n_wanted"), [(12, 12), (12, 5), (12, 14), (1, 4)])
def test_repeated_eigenvalues_come_out_right(iterative, n_components, n_wanted):
    graph = ring_graph(n_components, N // n_components)
    operator = GraphPlusLowRank(graph)
    found = solve(operator, n_wanted, angle_tol=1e-7)
    exact = np.linalg.eigvalsh(graph.toarray())[::-1]
    assert found.converged
    np.testing.assert_allclose(found.values, exact[:n_wanted], atol=1e-10)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(n_wanted), atol=1e-10)
    np.testing.assert_allclose(found.graph_image, graph @ found.vectors, atol=1e-10)
    assert np.linalg.norm(graph @ found.vectors - found.vectors * found.values, axis=0).max() < 1e-4
    if exact[n_wanted - 1] - exact[n_wanted] > 1e-8:  # otherwise any basis of the tie will do
        top = np.linalg.eigh(graph.toarray())[1][:, -n_wanted:]
        assert np.linalg.svd(top.T @ found.vectors)[1].min() > 1 - 1e-9


@pytest.mark.parametrize("ratio", [1e-3, 1.0, 1e3, 1e8])
def test_sparse_plus_low_rank_at_every_balance(iterative, ratio):
    graph = ring_graph(3, N // 3)
    rng = np.random.default_rng(1)
    factor = np.linalg.qr(rng.standard_normal((N, 4)))[0]
    operator = GraphPlusLowRank(graph, 1.0, factor, ratio)
    found = eigensolver.leading_eigenvectors(operator, random_start(N, 4), 4, extra=factor, angle_tol=1e-7)
    exact = np.linalg.eigvalsh(operator.to_dense())[::-1][:4]
    np.testing.assert_allclose(found.values, exact, rtol=1e-11)
    assert found.converged
    assert found.residual < 1e-6


def test_the_answer_is_never_worse_than_the_start(iterative):
    graph = ring_graph(1, N)
    start = np.linalg.qr(random_start(N, 3))[0]
    for steps in (0, 1, 2):
        found = eigensolver.leading_eigenvectors(GraphPlusLowRank(graph), start, 3, max_steps=steps)
        assert found.values.sum() >= np.trace(start.T @ (graph @ start)) - 1e-12


def test_a_narrow_gap_asks_for_more_work_and_a_short_budget_is_reported(iterative):
    path = sp.diags_array([np.ones(N - 1), np.ones(N - 1)], offsets=[-1, 1]).tocsr()
    operator = GraphPlusLowRank(normalize_graph(path).affinity)
    found = solve(operator, 3)
    top = np.linalg.eigh(operator.to_dense())[1][:, -3:]
    assert found.converged
    assert np.linalg.svd(top.T @ found.vectors)[1].min() > 1 - 1e-6
    hurried = solve(operator, 3, max_steps=1)
    assert not hurried.converged
    assert hurried.residual > 1e-6
    assert solve(operator, 3, angle_tol=0.3).n_products < found.n_products


def test_a_search_that_starts_at_the_answer_ends_there_whatever_the_tolerances(iterative):
    operator = GraphPlusLowRank(ring_graph(3, N // 3), 2.0)
    values, vectors = np.linalg.eigh(operator.to_dense())
    found = eigensolver.leading_eigenvectors(operator, vectors[:, :-9:-1], 4, trace_tol=0.0, angle_tol=0.0)
    assert found.converged
    assert found.n_products < 200  # of the 2000 steps that no tolerance would end
    assert found.residual < 1e-12
    np.testing.assert_allclose(found.values, values[:-5:-1], atol=1e-12)


def test_a_long_search_in_a_small_graph_ends_in_the_dense_solver(monkeypatch):
    path = sp.diags_array([np.ones(N - 1), np.ones(N - 1)], offsets=[-1, 1]).tocsr()
    operator = GraphPlusLowRank(normalize_graph(path).affinity)
    found = solve(operator, 3, angle_tol=1e-9)
    assert found.converged
    assert found.n_products == 0
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(operator.to_dense())[:-4:-1], atol=1e-12)


def test_dense_and_iterative_paths_agree(monkeypatch):
    graph = ring_graph(2, 150)
    factor = np.abs(random_start(300, 3, 5))
    operator = GraphPlusLowRank(graph, 3.0, factor, 0.01)
    dense = solve(operator, 3)
    for name in ("DENSE_LIMIT", "DENSE_PER_VECTOR", "DENSE_MOST"):
        monkeypatch.setattr(eigensolver, name, 0)
    fast = solve(operator, 3, angle_tol=1e-8)
    assert dense.n_products == 0 < fast.n_products
    np.testing.assert_allclose(fast.values, dense.values, rtol=1e-11)
    assert np.linalg.svd(dense.vectors.T @ fast.vectors)[1].min() > 1 - 1e-10


def test_a_graph_of_many_pairs_has_all_its_eigenvectors():
    """LAPACK's search by index gives no vector at all for some graphs with dozens of equal eigenvalues."""
    points = make_blobs(200, 3, centers=4, cluster_std=4.0, random_state=0)[0]
    graph = neighbor_graph(find_neighbors(points, 2), 1, kernel="gaussian", bandwidth=2.0)
    found = eigensolver.dense_eigenvectors(GraphPlusLowRank(graph.affinity), 2)
    assert found.vectors.shape == (200, 2)
    np.testing.assert_allclose(found.values, [1, 1])
    np.testing.assert_allclose(graph.affinity @ found.vectors, found.vectors, atol=1e-12)


def test_a_start_without_guards_or_with_columns_that_depend_on_each_other_finds_all_it_is_asked_for(iterative):
    graph = ring_graph(2, N // 2)
    exact = np.linalg.eigvalsh(graph.toarray())[::-1][:4]
    drawn = random_start(N, 4, seed=3)
    for start in (drawn, np.repeat(drawn[:, :1], 6, axis=1)):
        found = eigensolver.leading_eigenvectors(GraphPlusLowRank(graph), start, 4, angle_tol=1e-6)
        assert found.vectors.shape[1] == 4
        assert found.converged
        np.testing.assert_allclose(found.values, exact, atol=1e-8)
