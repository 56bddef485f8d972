"""Edges keep as much weight as the graph's own eigenvectors hold their ends together."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs, make_moons

from afcm.arrays import numpy_arrays
from afcm.graph import eigenvectors, sharpening
from afcm.graph.affinity import normalize_graph, normalized_cut
from afcm.graph.similarity import agreement_weights, search_neighbors
from tests.graph.graphs import dense_leading, dense_normalized
from tests.strategies import quick


def bridged(n=240, std=2.2, k=8):
    """Touching blobs with their agreed graph."""
    X, y = make_blobs(n, centers=[[0, 0], [8, 0], [0, 8]], cluster_std=std, random_state=0)
    weights = agreement_weights(*search_neighbors(X, k))
    return weights, y


def slow_coherence(one, other, fewest):
    """``mean_q max(0, cos_q)^4`` of two rows."""
    powers = []
    for q in range(fewest, len(one) + 1):
        cosine = one[:q] @ other[:q] / np.linalg.norm(one[:q]) / np.linalg.norm(other[:q])
        powers.append(max(0.0, cosine) ** 4)
    return sum(powers) / len(powers)


@quick
@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_coherence_equals_its_formula(seed, fewest):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((30, 6))
    rows, columns = rng.integers(30, size=(2, 50))
    found = sharpening.coherence(vectors, (rows, columns), fewest)
    for i, j, value in zip(rows, columns, found, strict=True):
        assert value == pytest.approx(slow_coherence(vectors[i], vectors[j], fewest), abs=1e-12)


@pytest.mark.parametrize(
    ("n_clusters", "n_neighbors", "n_vectors", "weighted"), [(3, 5, 6, False), (3, 9, 5, True), (2, 5, 4, True)]
)
def test_every_edge_keeps_its_share_of_the_dense_eigenvectors(n_clusters, n_neighbors, n_vectors, weighted):
    """``w (0.01 + 0.99 mean_q max(0, cos_q)⁴)`` for q from c to the smaller of 2c and n / 2k."""
    weights, _ = bridged(n=90, k=5)
    masses = np.random.default_rng(0).integers(1, 4, size=90).astype(float) if weighted else None
    dense = weights.toarray()
    vectors = dense_leading(dense_normalized(dense, masses)[0], n_vectors)[1]
    expected = np.zeros_like(dense)
    for i, j in zip(*np.nonzero(dense), strict=True):
        expected[i, j] = dense[i, j] * (0.01 + 0.99 * slow_coherence(vectors[i], vectors[j], n_clusters))
    affinity, degrees = dense_normalized(expected, masses)
    found = sharpening.sharpen(normalize_graph(weights, masses), weights, n_clusters, n_neighbors)
    np.testing.assert_allclose(found.graph.degrees, degrees, rtol=1e-10)
    np.testing.assert_allclose(found.graph.affinity.toarray(), affinity, rtol=1e-10, atol=1e-16)
    np.testing.assert_array_equal(found.graph.masses, masses)
    np.testing.assert_allclose(np.abs(found.hint.T @ vectors), np.eye(n_vectors), atol=1e-9)


@pytest.mark.parametrize("weighted", [True, False])
def test_sharper_weights_are_balanced_by_the_masses(weighted):
    """``h_i w_ij h_j`` with ``h = (W m)^{-1/2}`` of the sharper weights; without masses they stay as they are."""
    weights, _ = bridged(n=90, k=5)
    masses = np.random.default_rng(0).uniform(0.01, 3, size=90) if weighted else None
    dense = weights.toarray()
    vectors = dense_leading(dense_normalized(dense, masses)[0], 6)[1]
    expected = np.zeros_like(dense)
    for i, j in zip(*np.nonzero(dense), strict=True):
        expected[i, j] = dense[i, j] * (0.01 + 0.99 * slow_coherence(vectors[i], vectors[j], 3))
    if weighted:
        scale = 1 / np.sqrt((expected * masses).sum(axis=1))
        expected = scale[:, None] * expected * scale
    affinity, degrees = dense_normalized(expected, masses)
    found = sharpening.sharpen(normalize_graph(weights, masses), weights, 3, 5, balanced=True)
    np.testing.assert_allclose(found.graph.degrees, degrees, rtol=1e-8)
    np.testing.assert_allclose(found.graph.affinity.toarray(), affinity, rtol=1e-8, atol=1e-14)


def test_the_further_eigenvectors_are_rough_and_searched_for_from_the_accurate_ones(monkeypatch):
    asked, given_back = [], []
    solve = sharpening.eigenvectors.solve_leading

    def watch(*given, **how):
        asked.append((given[1:], how))
        given_back.append(solve(*given, **how))
        return given_back[-1]

    monkeypatch.setattr(sharpening.eigenvectors, "solve_leading", watch)
    weights, _ = bridged()
    sharpening.sharpen(normalize_graph(weights), weights, 3, 8)
    assert asked == [((3,), {}), ((6,), {"hint": given_back[0].vectors, "max_steps": 8})]


def test_no_edge_gains_weight_by_rounding():
    vectors = np.random.default_rng(0).standard_normal((200, 5))
    same = np.arange(200)
    assert sharpening.coherence(vectors, (same, same), 1).max() <= 1
    assert sharpening.coherence(vectors, (same, same), 1).min() > 1 - 1e-12


def test_a_graph_of_no_edges_has_no_coherence():
    none = np.zeros(0, dtype=int)
    assert sharpening.coherence(np.ones((3, 2)), (none, none), 1).shape == (0,)


def test_blocks_of_edges_give_the_same(monkeypatch):
    vectors = np.random.default_rng(0).standard_normal((40, 5))
    edges = tuple(np.random.default_rng(1).integers(40, size=(2, 100)))
    whole = sharpening.coherence(vectors, edges, 2)
    monkeypatch.setattr(numpy_arrays, "BLOCK_EDGES", 7)
    np.testing.assert_array_equal(sharpening.coherence(vectors, edges, 2), whole)


def test_a_node_without_coordinates_is_coherent_with_none():
    vectors = np.array([[0.0, 0.0], [1.0, 0.0]])
    assert sharpening.coherence(vectors, (np.array([0]), np.array([1])), 1)[0] == 0


@pytest.mark.parametrize("seed", range(3))
def test_the_true_clusters_are_cut_more_cleanly(seed):
    X, y = make_moons(400, noise=0.08, random_state=seed)
    weights = agreement_weights(*search_neighbors(X, 11))
    before = normalize_graph(weights)
    after = sharpening.sharpen(before, weights, 2, 11).graph
    assert normalized_cut(after, np.eye(2)[y]) < 0.9 * normalized_cut(before, np.eye(2)[y])


def test_no_edge_appears_or_disappears_and_the_graph_stays_symmetric():
    weights, _ = bridged()
    after = sharpening.sharpen(normalize_graph(weights), weights, 3, 8).graph.affinity
    assert abs(after - after.T).max() < 1e-15
    assert np.array_equal((after != 0).toarray(), sp.csr_array(weights != 0).toarray())


def test_a_graph_that_falls_apart_anyway_is_left_alone():
    weights, _ = bridged(std=0.3)
    graph = normalize_graph(weights)
    assert graph.components[0] >= 3
    for n_clusters in (2, graph.components[0]):
        assert sharpening.sharpen(graph, weights, n_clusters, 8) == (graph, None)


def test_no_more_eigenvectors_than_neighbours_resolve():
    weights, _ = bridged()
    graph = normalize_graph(weights)
    for n_neighbors in (41, 40):  # 240 // 82 = 2 and 240 // 80 = 3, not above 3
        assert sharpening.sharpen(graph, weights, 3, n_neighbors) == (graph, None)
    assert sharpening.sharpen(graph, weights, 3, 30).graph is not graph  # 240 // 60 = 4


@pytest.mark.parametrize(("dtype", "atol"), [(np.float32, 1e-5), (np.float64, 1e-12)])
def test_compiled_cosines_are_the_same(dtype, atol, monkeypatch):
    pytest.importorskip("numba")
    weights, _ = bridged()
    vectors = np.random.default_rng(0).standard_normal((240, 6)).astype(dtype)
    vectors[4] = 0
    plain = sharpening.fade_edges(weights, vectors, 3)
    monkeypatch.setattr(sharpening, "WORTH_COMPILING", 0)
    monkeypatch.setattr(sharpening, "coherence", lambda *_: pytest.fail("a compiled loop does it"))
    unsorted = sp.csr_array((weights.data.copy(), weights.indices.copy(), weights.indptr))
    for first, last in zip(weights.indptr[:-1], weights.indptr[1:], strict=True):
        unsorted.data[first:last], unsorted.indices[first:last] = (
            part[first:last][::-1] for part in (weights.data, weights.indices)
        )
    for matrix in (weights, unsorted):
        fast = sharpening.fade_edges(matrix, vectors, 3)
        np.testing.assert_allclose(fast.toarray(), plain.toarray(), atol=atol)
        np.testing.assert_array_equal(fast.toarray(), fast.toarray().T)


def test_a_filtered_sharpening_is_nearly_the_searched_one(monkeypatch):
    weights, _ = bridged(n=600)
    graph = normalize_graph(weights)
    searched = sharpening.sharpen(graph, weights, 3, 8).graph.affinity
    monkeypatch.setattr(eigenvectors, "FILTERED", 0)
    filtered = sharpening.sharpen(graph, weights, 3, 8).graph.affinity
    assert abs(filtered - searched).sum() < 0.05 * searched.sum()
