"""The approximate search against all distances: what it finds, what it says it finds, and who it depends on."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from afcm import AFCM
from afcm._util import threads
from afcm.neighbors import approximate, find_neighbors
from afcm.neighbors.search import MANY_SAMPLES, is_approximate
from tests.neighbors.brute import sort_neighbors

pytest.importorskip("numba", reason="the approximate search needs Numba (afcm[fast])")


def touching(n, d, dtype=np.float64):
    return make_blobs(n, d, centers=5, cluster_std=3.0, random_state=0)[0].astype(dtype)


def true_share(found, points):
    order, _ = sort_neighbors(points, found.indices.shape[1])
    return np.mean([np.intersect1d(a, b).size / b.size for a, b in zip(found.indices, order, strict=True)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "d", "k"), [(3000, 7, 11), (2500, 16, 3), (1500, 67, 30)])
def test_most_neighbors_are_found_and_the_recall_is_what_it_says(n, d, k, dtype):
    points = touching(n, d, dtype)
    found = approximate.find_approximate_neighbors(points, k)
    assert found.recall >= approximate.RECALL
    assert true_share(found, points) == pytest.approx(found.recall, abs=0.02)


def test_distances_are_those_of_the_neighbors_in_double_precision_nearest_first():
    points = touching(2000, 9, np.float32) + np.float32(100)
    found = approximate.find_approximate_neighbors(points, 8)
    exact = ((points[found.indices].astype(float) - points[:, None, :].astype(float)) ** 2).sum(axis=2)
    np.testing.assert_allclose(found.squared, exact, rtol=1e-12)
    assert (np.diff(found.squared, axis=1) >= 0).all()
    assert (found.indices != np.arange(2000)[:, None]).all()
    assert all(np.unique(row).size == 8 for row in found.indices)


def test_a_search_that_may_not_try_for_long_says_how_little_it_found(monkeypatch):
    points = touching(1500, 16)
    monkeypatch.setattr(approximate, "MOST_PARTITIONS", 1)
    monkeypatch.setattr(approximate, "CELL_SIZE", 40)
    found = approximate.find_approximate_neighbors(points, 5)
    assert found.recall < 0.8
    assert true_share(found, points) == pytest.approx(found.recall, abs=0.05)


def test_the_number_of_threads_changes_nothing():
    points = touching(3000, 12)
    several = approximate.find_approximate_neighbors(points, 10)
    with threads.without_threads():
        alone = approximate.find_approximate_neighbors(points, 10)
    np.testing.assert_array_equal(several.indices, alone.indices)
    np.testing.assert_array_equal(several.squared, alone.squared)
    assert several.recall == alone.recall


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_no_scale_is_too_small_or_too_large(scale):
    points = touching(1500, 8)
    plain, scaled = (
        approximate.find_approximate_neighbors(points, 6),
        approximate.find_approximate_neighbors(points * scale, 6),
    )
    assert (plain.indices == scaled.indices).mean() > 0.999


def test_offsets_and_far_outliers_cost_no_neighbors():
    points = touching(2000, 8) + 1e6
    points[7] = 1e9
    found = approximate.find_approximate_neighbors(points, 6)
    assert true_share(found, points) > 0.95


def test_crowds_of_equal_samples_do_not_stop_the_search():
    points = np.concatenate([touching(1500, 8), np.zeros((1500, 8)), np.ones((60, 8))])
    found = find_neighbors(points, 5, search="approximate")
    _, squared = sort_neighbors(points, 5)
    assert np.mean(found.squared <= squared * (1 + 1e-9)) > 0.95


def test_samples_that_met_too_few_are_searched_exactly(monkeypatch):
    points = touching(900, 8)
    monkeypatch.setattr(approximate, "MOST_PARTITIONS", 1)
    monkeypatch.setattr(approximate, "CELL_SIZE", 8)
    monkeypatch.setattr(approximate, "PER_NEIGHBOR", 1)
    found = find_neighbors(points, 12, search="approximate")
    assert found.indices.min() >= 0
    assert np.isfinite(found.squared).all()


def test_cells_are_a_partition_of_about_the_size_asked_for():
    points = touching(5000, 6)
    cells = approximate.draw_cells(approximate.ScaledSamples.of(points), 100, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(cells.order), np.arange(5000))
    assert cells.offsets[0] == 0
    assert cells.offsets[-1] == 5000
    assert (np.diff(cells.offsets) >= 0).all()
    assert 35 <= cells.offsets.size <= 75


def test_memory_mapped_samples_are_read_where_they_are(tmp_path):
    points = touching(2000, 8)
    np.save(tmp_path / "points.npy", points)
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    np.testing.assert_array_equal(
        approximate.find_approximate_neighbors(mapped, 6).indices,
        approximate.find_approximate_neighbors(points, 6).indices,
    )


def test_who_is_searched_approximately():
    many, few = np.zeros((MANY_SAMPLES, 8)), np.zeros((100, 8))
    assert is_approximate(many, "auto")
    assert not is_approximate(many, "exact")
    assert not is_approximate(few, "auto")
    assert is_approximate(few, "approximate")
    assert not is_approximate(many[:, :2], "auto")


def test_an_estimator_tells_its_recall_and_clusters_the_same():
    X, _ = make_blobs(1200, 10, centers=4, random_state=1)
    approximately = AFCM(4, neighbor_search="approximate", random_state=0).fit(X)
    exactly = AFCM(4, neighbor_search="exact", random_state=0).fit(X)
    assert exactly.neighbor_recall_ == 1.0
    assert approximate.RECALL <= approximately.neighbor_recall_ <= 1
    np.testing.assert_array_equal(approximately.labels_, exactly.labels_)


def test_an_unknown_search_is_named():
    with pytest.raises(ValueError, match="neighbor_search='fastest'"):
        AFCM(2, neighbor_search="fastest").fit(np.eye(5))
