"""The compiled loops of the approximate search against the same in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba", reason="the loops need Numba (afcm[fast])")
from afcm.compiled import neighbors as neighbor_loops
from tests.neighbors import slow_loops
from tests.neighbors.brute import sort_neighbors

BOTH = neighbor_loops, slow_loops


def empty_lists(n, k):
    return np.full((n, k), -1, np.int32), np.full((n, k), np.inf, np.float32)


def random_points(n_columns, dtype):
    return np.random.default_rng(0).standard_normal((60, n_columns)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_columns", [1, 3, 4, 6])
def test_joined_and_descended_lists_are_the_same(n_columns, dtype):
    points, order = random_points(n_columns, dtype), np.random.default_rng(1).permutation(60).astype(np.int32)
    first, second = np.array([0, 1, 20, 53, 60]), np.array([0, 30, 60])
    found = []
    for loops in BOTH:
        lists, squared = empty_lists(60, 5)
        loops.join_cells(points, order, first, np.argsort(order).astype(np.int32), 0.5, lists, squared)
        turned = order[::-1].copy()
        loops.join_cells(points, turned, second, np.argsort(turned).astype(np.int32), 0.5, lists, squared)
        before = lists[:, :3].copy()
        loops.descend(points, order, 0.5, before, lists, squared)
        found.append((lists, squared))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5, atol=1e-9)  # differences are rounded to float32


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_lists_are_measured_and_sorted_alike(dtype):
    points = np.round(random_points(3, dtype))  # many ties
    lists = np.random.default_rng(2).integers(60, size=(60, 4)).astype(np.int32)
    found = []
    for loops in BOTH:
        indices, squared = np.zeros((60, 4), np.intp), np.zeros((60, 4))
        loops.measure_lists(points, np.arange(1, 60, dtype=np.int32), lists, indices, squared)
        found.append((indices, squared))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert not found[0][0][0].any()  # a row that was not asked


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_samples_are_scaled_alike(dtype):
    points, numbers = random_points(3, dtype), np.array([5, 0, 59, 5], dtype=np.int32)
    points[5, 1], points[0, 0] = 1e30, -1e30
    values = [np.empty((4, 3), np.float32) for _ in BOTH]
    for loops, written in zip(BOTH, values, strict=True):
        loops.scale_samples(points, numbers, np.array([0.5, 1.0, -2.0]), 3.0, written)
    np.testing.assert_array_equal(*values)


def test_a_cell_larger_than_the_room_is_cut():
    points = np.random.default_rng(0).standard_normal((1500, 2))
    lists, squared = empty_lists(1500, 3)
    order = np.arange(1500, dtype=np.int32)
    neighbor_loops.join_cells(points, order, np.array([0, 1500]), order, 1.0, lists, squared)
    for part in (slice(0, 1024), slice(1024, 1500)):
        np.testing.assert_array_equal(lists[part], sort_neighbors(points[part], 3)[0] + part.start)
