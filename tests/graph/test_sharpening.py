"""Edges keep as much weight as the graph's own eigenvectors hold their ends together."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs, make_moons

from afcm import AFCM
from afcm.arrays import numpy_arrays
from afcm.fitting.starts import one_hot
from afcm.graph import sharpening
from afcm.graph.affinity import normalize_graph, normalized_cut
from afcm.graph.similarity import agreement_weights, default_n_neighbors, search_neighbors
from tests.strategies import quick


def bridged(seed=0, std=2.2):
    """Touching blobs with their agreed graph."""
    X, y = make_blobs(240, centers=[[0, 0], [8, 0], [0, 8]], cluster_std=std, random_state=seed)
    weights = agreement_weights(*search_neighbors(X, 8))
    return weights, y


@quick
@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_coherence_equals_its_formula(seed, fewest):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((30, 6))
    rows, columns = rng.integers(30, size=(2, 50))
    found = sharpening.coherence(vectors, (rows, columns), fewest)
    for i, j, value in zip(rows, columns, found, strict=True):
        cosines = [
            max(0.0, vectors[i, :q] @ vectors[j, :q] / np.linalg.norm(vectors[i, :q]) / np.linalg.norm(vectors[j, :q]))
            for q in range(fewest, 7)
        ]
        assert value == pytest.approx(np.mean(np.array(cosines) ** 4), abs=1e-12)


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
    assert normalized_cut(after, one_hot(y, 2)) < 0.9 * normalized_cut(before, one_hot(y, 2))


def test_no_edge_appears_or_disappears_and_the_graph_stays_symmetric():
    weights, _ = bridged()
    after = sharpening.sharpen(normalize_graph(weights), weights, 3, 8).graph.affinity
    assert abs(after - after.T).max() < 1e-15
    assert np.array_equal((after != 0).toarray(), sp.csr_array(weights != 0).toarray())


def test_a_graph_that_falls_apart_anyway_is_left_alone():
    weights, _ = bridged(std=0.3)
    graph = normalize_graph(weights)
    assert graph.components[0] >= 3
    assert sharpening.sharpen(graph, weights, 3, 8).graph is graph


def test_no_more_eigenvectors_than_neighbours_resolve():
    weights, _ = bridged()
    graph = normalize_graph(weights)
    assert sharpening.sharpen(graph, weights, 3, 41).graph is graph  # 240 // 82 = 2, not above 3


@pytest.mark.parametrize(
    ("n_nodes", "n_clusters", "expected"), [(30_000, 10, 17), (150, 3, 8), (400, 40, 5), (6, 5, 3)]
)
def test_neighbours_grow_with_the_logarithm_of_a_cluster(n_nodes, n_clusters, expected):
    assert default_n_neighbors(n_nodes, n_clusters) == expected


def test_repeated_samples_and_their_weight_give_the_same_sharpened_graph():
    X, _ = make_blobs(120, centers=3, cluster_std=2.5, random_state=0)
    doubled = AFCM(3).prepare(np.vstack([X, X[:40]]))
    weighted = AFCM(3).prepare(X, sample_weight=np.where(np.arange(120) < 40, 2.0, 1.0))
    np.testing.assert_array_equal(doubled.graph.affinity.toarray(), weighted.graph.affinity.toarray())
    assert doubled.base is not doubled.graph


def test_an_edge_between_strangers_keeps_the_floor(monkeypatch):
    weights, _ = bridged()
    monkeypatch.setattr(sharpening, "coherence", lambda vectors, edges, fewest: np.zeros(edges[0].size))
    after = sharpening.sharpen(normalize_graph(weights), weights, 3, 8).graph
    np.testing.assert_allclose(after.degrees, sharpening.FLOOR * weights.sum(axis=1), rtol=1e-12)
