"""Every way of finding neighbours against all distances, sorted."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from afcm._util import threads
from afcm.neighbors import exact, find_neighbors
from afcm.neighbors.search import MISS_TOLERANCE, _search_cells, _search_tree

WAYS = {"tree": _search_tree, "blocks": _search_cells, "any": find_neighbors}


def by_sorting(points, k, queries=None):
    asked = points if queries is None else queries
    squared = ((asked[:, None, :].astype(float) - points[None, :, :]) ** 2).sum(axis=2)
    if queries is None:
        np.fill_diagonal(squared, np.inf)
    order = np.argsort(squared, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(squared, order, axis=1)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n_features", [1, 3, 12])
@pytest.mark.parametrize("k", [1, 7, 99])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_neighbors_are_those_of_a_full_sort(way, n_features, k, dtype):
    rng = np.random.default_rng(k)
    points = rng.standard_normal((100, n_features)).astype(dtype)
    found = WAYS[way](points, k, None)
    order, squared = by_sorting(points, k)
    np.testing.assert_array_equal(found.indices, order)
    np.testing.assert_allclose(found.squared, squared, rtol=1e-12)
    queries = rng.standard_normal((9, n_features)).astype(dtype)
    order, squared = by_sorting(points, k, queries)
    found = WAYS[way](points, k, queries)
    np.testing.assert_array_equal(found.indices, order)
    np.testing.assert_allclose(found.squared, squared, rtol=1e-12)


@pytest.mark.parametrize("way", ["tree", "blocks"])
def test_many_copies_do_not_make_a_sample_its_own_neighbor(way):
    points = np.repeat(np.eye(3, 8), 10, axis=0)
    found = WAYS[way](points, 5, None)
    assert (found.indices != np.arange(30)[:, None]).all()
    assert (found.squared == 0).all()
    assert all(np.unique(row).size == 5 for row in found.indices)


@pytest.mark.parametrize("offset", [1e6, -1e8])
def test_an_offset_costs_no_neighbors(offset):
    rng = np.random.default_rng(0)
    points = np.round(rng.standard_normal((200, 10)), 6) + offset
    order, squared = by_sorting(points, 6)
    found = find_neighbors(points, 6)
    np.testing.assert_allclose(found.squared, squared, rtol=1e-9)
    assert (found.indices == order).mean() > 0.999


def test_several_blocks_and_threads_give_one_answer(monkeypatch):
    points = np.random.default_rng(0).standard_normal((301, 9))
    whole = find_neighbors(points, 4)
    monkeypatch.setattr(exact, "BLOCK_ELEMENTS", 1000)
    monkeypatch.setattr(threads, "for_each", lambda work, items, done: [work(item) for item in items])
    parts = find_neighbors(points, 4)
    np.testing.assert_array_equal(whole.indices, parts.indices)
    np.testing.assert_array_equal(whole.squared, parts.squared)


def test_sparse_data_have_the_same_neighbors():
    dense = np.random.default_rng(0).standard_normal((60, 20)) * (np.random.default_rng(1).random((60, 20)) < 0.3)
    order, squared = by_sorting(dense, 3)
    found = find_neighbors(sp.csr_array(dense), 3)
    np.testing.assert_array_equal(found.indices, order)
    np.testing.assert_allclose(found.squared, squared, rtol=1e-7)


@pytest.mark.parametrize("spread", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("k", [1, 10, 60])
def test_cells_out_of_reach_hide_no_neighbor(monkeypatch, spread, k):
    """Far apart, touching and overlapping clusters, one of them small, and an outlier far from all."""
    monkeypatch.setattr(exact, "CELL_SIZE", 40)
    rng = np.random.default_rng(0)
    centers = 2 * rng.standard_normal((6, 8))
    points = centers[rng.integers(6, size=700)] + spread * rng.standard_normal((700, 8))
    points[0] = 1e4
    order, squared = by_sorting(points, k)
    found = find_neighbors(points, k)
    np.testing.assert_array_equal(found.indices, order)
    np.testing.assert_allclose(found.squared, squared, rtol=1e-9)
    queries = rng.standard_normal((50, 8)) * 3
    np.testing.assert_array_equal(find_neighbors(points, k, queries).indices, by_sorting(points, k, queries)[0])


def test_separated_clusters_are_searched_one_at_a_time(monkeypatch):
    monkeypatch.setattr(exact, "CELL_SIZE", 50)
    rng = np.random.default_rng(0)
    points = np.repeat(100 * rng.standard_normal((10, 8)), 100, axis=0) + rng.standard_normal((1000, 8))
    table = exact.CellTable.of(points)
    looked_at = [
        table.frame_within_reach(cell, points[rows], 10).samples.size for cell, rows in table.group_queries(points)
    ]
    assert np.mean(looked_at) < 300


def test_rows_too_fine_for_float32_are_found_in_float64():
    rng = np.random.default_rng(0)
    points = 1e-4 * rng.standard_normal((300, 8))
    points[:3] = 1e5 * rng.standard_normal((3, 8))
    found = find_neighbors(points, 5)
    order, squared = by_sorting(points, 5)
    np.testing.assert_array_equal(found.indices[3:], order[3:])
    np.testing.assert_allclose(found.squared, squared, rtol=MISS_TOLERANCE)  # all are equally far for the first 3
