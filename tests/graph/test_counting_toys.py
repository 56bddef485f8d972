"""Clusters of toys are counted right, and data without clusters are one."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from afcm import AFCM
from afcm.datasets import make_rings, make_spirals
from afcm.graph import counting
from afcm.graph.counting import split_at_valleys
from afcm.graph.prepared import least_piece, order_by_walk, search_for_counting
from afcm.graph.similarity import agreement_weights
from afcm.metrics import adjusted_rand


def count(found, k, masses):
    return split_at_valleys(agreement_weights(found, k), masses, least_piece(k))


def counted(X, masses=None):
    return count(*search_for_counting(X), masses)


@pytest.mark.parametrize(("make", "expected"), [(make_spirals, 2), (make_rings, 3)])
def test_toys_are_counted(make, expected):
    for seed in range(3):
        assert counted(make(random_state=seed)[0]).count == expected


def test_moons_and_blobs_are_counted():
    assert counted(make_moons(500, noise=0.05, random_state=0)[0]).count == 2
    rng = np.random.default_rng(0)
    for n_clusters, n_features in ((2, 50), (5, 2), (12, 10)):
        centers = rng.standard_normal((n_clusters, n_features))
        distances = np.linalg.norm(centers[:, None] - centers, axis=2)
        centers *= 8 / distances[distances > 0].min()
        X, _ = make_blobs(60 * n_clusters, centers=centers, random_state=1)
        assert counted(X).count == n_clusters


@pytest.mark.parametrize("n_features", [1, 2, 10])
def test_one_gaussian_and_one_cube_are_one(n_features):
    """Chance is met now and then: one draw in twenty may be split."""
    counts = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        for X in (rng.standard_normal((300, n_features)), rng.random((300, n_features))):
            found = counted(X)
            assert all(valley.depth < valley.needed for valley in found.within)
            counts.append(found.count)
    assert counts.count(1) >= 19


def test_labels_are_the_pieces_and_scattered_samples_none():
    X, y = make_blobs([80, 60, 40], centers=[[0, 0], [20, 0], [0, 20]], random_state=0)
    found = counted(np.vstack([X, [[500.0, 500.0]]]))
    assert found.count == 3
    for label in range(3):
        assert len(set(y[found.labels[:180] == label])) == 1


def test_no_piece_is_smaller_than_half_a_neighbor_list():
    assert [least_piece(k) for k in (6, 11, 12, 30)] == [5, 5, 6, 15]


def test_a_fit_counts_with_the_least_piece_of_its_neighbors(monkeypatch):
    asked, split = [], counting.split_at_valleys
    monkeypatch.setattr(counting, "split_at_valleys", lambda *a, **b: asked.append(a[2]) or split(*a, **b))
    X = np.random.default_rng(0).random((800, 2))
    AFCM("auto").prepare(X)
    assert asked == [least_piece(search_for_counting(X)[1])] == [11]


def touching_moons():
    X, y = make_moons(1500, noise=0.12, random_state=0)
    return X, y


def test_a_walk_from_two_clusters_orders_touching_moons():
    X, y = touching_moons()
    values = order_by_walk(X, None)
    order = np.argsort(values)
    side = np.zeros(1500, dtype=int)
    side[order[750:]] = 1
    assert adjusted_rand(y, side) > 0.9
    assert 0 <= values.min() <= values.max() <= 1
    copies = order_by_walk(X, np.full(1500, 3.0))
    np.testing.assert_allclose(np.abs(copies - 0.5), np.abs(values - 0.5), atol=1e-6)


def test_a_graph_in_pieces_has_no_second_order():
    X, _ = make_blobs(90, 2, centers=[[0, 0], [50, 0]], random_state=0)
    assert order_by_walk(X, None) is None


def test_touching_shapes_are_counted_and_the_range_is_told():
    X, _ = touching_moons()
    model = AFCM("auto", random_state=0).fit(X)
    assert model.n_clusters_ == 2
    low, high = model.n_clusters_range_
    assert 1 <= low <= 2 <= high
    assert not hasattr(model.set_params(n_clusters=2).fit(X), "n_clusters_range_")
