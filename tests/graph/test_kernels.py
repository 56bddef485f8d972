"""Kernels equal their formulas, also where a scale is 0 and for new samples."""

from __future__ import annotations

import numpy as np
import pytest

from afcm.graph import kernels
from afcm.graph.affinity import neighbor_weights
from afcm.graph.kernels import KERNELS, NeighborLists, adaptive, binary, gaussian, local, neighbor_lists
from afcm.neighbors.search import Neighbors, find_neighbors


def test_kernels_are_their_formulas():
    points = np.random.default_rng(0).standard_normal((20, 2))
    k = 4
    found = find_neighbors(points, k + 1)
    lists = neighbor_lists(found, k, bandwidth=0.7)
    scale = np.sqrt(found.squared[:, k - 1])
    for i in range(20):
        e = found.squared[i]
        for j in range(k):
            other = found.indices[i, j]
            assert gaussian(lists)[i, j] == pytest.approx(np.exp(-e[j] / (2 * 0.7**2)))
            assert local(lists)[i, j] == pytest.approx(np.exp(-e[j] / (scale[i] * scale[other])))
            assert adaptive(lists)[i, j] == pytest.approx((e[k] - e[j]) / (k * e[k] - e[:k].sum()))
    np.testing.assert_allclose(adaptive(lists).sum(axis=1), 1)
    assert (binary(lists) == 1).all()


def test_local_kernel_of_copies_is_one_and_of_others_zero():
    points = np.array([[0.0], [0.0], [0.0], [5.0], [6.0], [8.0]])
    weights = neighbor_weights(find_neighbors(points, 3), 2, kernel="local")
    dense = weights.toarray()
    np.testing.assert_array_equal(dense[:3, :3], 1 - np.eye(3))
    assert np.isfinite(dense).all()
    assert (dense[3:, :3] == 0).all()


def test_neighbor_lists_of_new_samples_take_the_scales_of_the_nodes():
    found = Neighbors(np.array([[2, 0, 1]]), np.array([[1.0, 4.0, 9.0]]))
    lists = neighbor_lists(found, 2, 1.0, scales=np.array([5.0, 6.0, 7.0]))
    np.testing.assert_array_equal(lists.their_scale, [[7.0, 5.0]])
    np.testing.assert_array_equal(lists.own_scale, [2.0])
    np.testing.assert_array_equal(lists.beyond, [9.0])
    np.testing.assert_array_equal(lists.squared, [[1.0, 4.0]])


def test_the_local_kernel_without_a_scale():
    near = np.array([[0.0, 0.25, 4.0]])
    lists = NeighborLists(near, np.array([4.0]), np.array([1.0]), np.array([[0, 1, 2]]), np.zeros(3), 1.0)
    np.testing.assert_array_equal(local(lists), [[1.0, 0.0, 0.0]])


def test_kernels_go_by_their_names():
    named = {name: getattr(kernels, name) for name in ("adaptive", "local", "gaussian", "binary")}
    assert named == KERNELS


def test_adaptive_kernel_of_equidistant_neighbors_is_one_over_k():
    lists = NeighborLists(
        np.full((4, 3), 9.0), np.full(4, 9.0), np.full(4, 3.0), np.ones((4, 3), int), np.full(4, 3.0), 1.0
    )
    np.testing.assert_array_equal(adaptive(lists), np.full((4, 3), 1 / 3))
