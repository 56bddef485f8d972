"""Similarities among the nodes and of new samples, against sorting all distances."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from afcm.graph import similarity
from afcm.graph.similarity import (
    GivenSimilarity,
    NeighborSimilarity,
    agreement_weights,
    connecting_neighbors,
    default_n_neighbors,
    search_neighbors,
)
from tests.strategies import quick


def squared_distances(queries, points):
    return ((queries[:, None] - points) ** 2).sum(axis=2)


def adaptive_rows(squared, k):
    """Dense adaptive similarities to the k nearest of each row; the (k+1)-th is the last where there is no further."""
    rows = np.zeros_like(squared)
    for row, e in zip(rows, squared, strict=True):
        order = np.argsort(e)
        beyond = e[order[min(k, np.isfinite(e).sum() - 1)]]
        row[order[:k]] = (beyond - e[order[:k]]) / (beyond - e[order[:k]]).sum()
    return rows


def slow_similarities(queries, points, k, kernel, bandwidth):
    """Dense similarities of new samples to the nodes, by the formulas of the kernels."""
    among = squared_distances(points, points)
    scales = np.sqrt(np.sort(among + np.diag(np.full(len(points), np.inf)), axis=1)[:, k - 1])
    squared = squared_distances(queries, points)
    if kernel == "adaptive":
        return adaptive_rows(squared, k)
    rows = np.zeros_like(squared)
    for row, e in zip(rows, squared, strict=True):
        for node in np.argsort(e)[:k]:
            own = np.sqrt(np.sort(e)[k - 1])
            row[node] = {
                "gaussian": np.exp(-e[node] / (2 * bandwidth**2)),
                "local": np.exp(-e[node] / (own * scales[node])),
                "binary": 1.0,
            }[kernel]
    return rows


@quick
@given(st.integers(0, 2**32 - 1), st.sampled_from(["adaptive", "local", "gaussian", "binary"]), st.integers(1, 9))
def test_new_samples_have_the_similarities_of_the_formula(seed, kernel, k):
    rng = np.random.default_rng(seed)
    points, queries = rng.standard_normal((10, 2)), rng.standard_normal((6, 2))
    found, _ = search_neighbors(points, k)
    placed = NeighborSimilarity.from_neighbors(points, found, k, kernel, 0.7).place(queries)
    np.testing.assert_allclose(
        placed.weights.toarray(), slow_similarities(queries, points, k, kernel, 0.7), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_array_equal(placed.twins, -1)


def test_the_bandwidth_is_one_by_default():
    points = np.random.default_rng(0).standard_normal((8, 2))
    found, k = search_neighbors(points, 3)
    places = [
        NeighborSimilarity.from_neighbors(points, found, k, "gaussian", *given).place(points + 0.1)
        for given in ((), (1.0,))
    ]
    np.testing.assert_array_equal(places[0].weights.toarray(), places[1].weights.toarray())


def test_a_sample_that_is_a_node_knows_it():
    points = np.random.default_rng(0).standard_normal((8, 2))
    found, k = search_neighbors(points, 3)
    placed = NeighborSimilarity.from_neighbors(points, found, k, "adaptive").place(
        np.vstack([points[::-1], points[:2] + 1e-9])
    )
    np.testing.assert_array_equal(placed.twins, [7, 6, 5, 4, 3, 2, 1, 0, -1, -1])


@pytest.mark.parametrize("k", [1, 3, 7])
def test_log_distances_are_those_to_the_kth_other_node(k):
    points = np.random.default_rng(0).standard_normal((8, 2))
    queries = np.vstack([points[[2, 5]], points[:3] + 0.1])
    found, _ = search_neighbors(points, k)
    logs = NeighborSimilarity.from_neighbors(points, found, k, "adaptive").log_distances(queries)
    for query, log in zip(queries, logs, strict=True):
        distances = sorted(np.linalg.norm(point - query) for point in points if (point != query).any())
        assert log == pytest.approx(np.log(distances[k - 1]), rel=1e-10)


def test_a_sample_far_from_everything_is_similar_to_its_nearest_node_alone():
    points = np.array([[0.0], [1.0], [2.0], [4.0]])
    found, k = search_neighbors(points, 2)
    placed = NeighborSimilarity.from_neighbors(points, found, k, "gaussian", 0.1).place(np.array([[90.0], [1.0]]))
    np.testing.assert_allclose(placed.weights.toarray(), [[0, 0, 0, 1], [0, 1, np.exp(-50), 0]], atol=1e-20)


def test_all_nodes_can_be_neighbors_of_a_new_sample():
    points = np.array([[0.0], [1.0], [3.0]])
    found, k = search_neighbors(points, 2)
    placed = NeighborSimilarity.from_neighbors(points, found, k, "adaptive").place(np.array([[1.4]]))
    closeness = np.array([1.6**2 - 1.4**2, 1.6**2 - 0.4**2, 0])
    np.testing.assert_allclose(placed.weights.toarray(), [closeness / closeness.sum()])


@quick
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_neighbors_are_the_nearest_others_and_one_more(seed, n_neighbors):
    points = np.random.default_rng(seed).standard_normal((8, 3))
    found, k = search_neighbors(points, n_neighbors)
    assert k == min(n_neighbors, 7)
    squared = squared_distances(points, points) + np.diag(np.full(8, np.inf))
    np.testing.assert_array_equal(found.indices, np.argsort(squared, axis=1)[:, : min(k + 1, 7)])


def test_neighbors_are_searched_exactly_unless_told_otherwise(monkeypatch):
    asked = []
    monkeypatch.setattr(similarity, "find_neighbors", lambda points, k, search: asked.append((k, search)))
    search_neighbors(np.zeros((9, 2)), 3)
    search_neighbors(np.zeros((9, 2)), 3, "approximate")
    assert asked == [(4, "exact"), (4, "approximate")]


@quick
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(0, 2))
def test_agreement_weights_are_the_squared_mean_of_the_roots(seed, k, more):
    """However many neighbors were found beyond the k + 1 that are needed."""
    points = np.random.default_rng(seed).standard_normal((9, 2))
    found, _ = search_neighbors(points, k + more)
    rows = adaptive_rows(squared_distances(points, points) + np.diag(np.full(9, np.inf)), k)
    expected = ((np.sqrt(rows) + np.sqrt(rows.T)) / 2) ** 2
    np.testing.assert_allclose(agreement_weights(found, k).toarray(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("n_nodes", "n_clusters", "expected"),
    [(30_000, 10, 17), (150, 3, 8), (400, 40, 5), (6, 5, 3), (4, 4, 3), (2**20, 1, 30), (2**7, 2, 9)],
)
def test_neighbors_grow_with_the_logarithm_of_a_cluster(n_nodes, n_clusters, expected):
    assert connecting_neighbors(n_nodes, n_clusters) == expected
    assert default_n_neighbors(n_nodes, n_clusters) == min(expected, 18)


def test_clusters_of_less_than_two_samples_count_as_two(monkeypatch):
    monkeypatch.setattr(similarity, "FEWEST", 0)
    monkeypatch.setattr(similarity, "PER_DOUBLING", 10)
    assert [default_n_neighbors(n, 4) for n in (1, 8, 12)] == [10, 10, 16]


@pytest.mark.parametrize("given", [np.asarray, sp.csr_array])
def test_given_similarities_are_those_to_the_nodes(given):
    similarities = np.array([[0.0, 0.5, 0.25, 1.0], [0.0, 0.0, 2.0, 0.0]])
    placed = GivenSimilarity(np.array([0, 1, 3])).place(given(similarities))
    np.testing.assert_array_equal(placed.weights.toarray(), [[0, 0.5, 1], [1, 1, 1]])
    np.testing.assert_array_equal(placed.twins, [-1, -1])
    assert placed.weights.dtype == np.float64


def test_given_similarities_of_single_precision_become_double():
    placed = GivenSimilarity(np.array([0])).place(np.ones((2, 2), dtype=np.float32))
    assert placed.weights.dtype == np.float64
