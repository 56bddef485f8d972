"""The compiled loops over the samples of an anchor graph against slow formulas."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("numba", reason="the loops need Numba (afcm[fast])")
from afcm.compiled import anchors as anchor_loops
from tests.neighbors.brute import sort_neighbors, squared_distances


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("n_anchors", [3, 16, 70])
@pytest.mark.parametrize("n_columns", [1, 4, 6])
def test_candidates_have_the_smallest_costs(n_anchors, n_columns):
    points, anchors = normal(40, n_columns).astype(np.float32), normal(n_anchors, n_columns, seed=1).astype(np.float32)
    columns, norms = np.ascontiguousarray(-2 * anchors.T), (anchors**2).sum(axis=1)
    candidates, last = np.empty((40, 3), np.int32), np.empty(40, np.float32)
    anchor_loops.find_candidates(points, *anchor_loops.pad_to_groups(columns, norms), candidates, last)
    costs = squared_distances(points, anchors) - (points.astype(float) ** 2).sum(axis=1)[:, None]
    order = np.argsort(costs, axis=1)[:, :3]
    np.testing.assert_array_equal(candidates, order)
    np.testing.assert_allclose(last, np.take_along_axis(costs, order, axis=1)[:, -1], rtol=1e-4, atol=1e-5)


def test_candidates_are_measured_and_sorted_with_ties_by_number():
    points, anchors = np.round(normal(30, 2)), np.round(normal(12, 2, seed=1))
    candidates = np.random.default_rng(2).permuted(np.tile(np.arange(12, dtype=np.int32), (30, 1)), axis=1)
    indices, squared = np.empty((30, 4), np.int32), np.empty((30, 4))
    anchor_loops.measure_candidates(points, anchors, candidates, indices, squared)
    order, distances = sort_neighbors(anchors, 4, points)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(squared, distances)


@pytest.mark.parametrize("masses", [np.zeros(0), np.arange(20.0)])
def test_the_gram_matrix_is_added(masses):
    weights = sp.random_array((20, 6), density=0.4, format="csr", rng=np.random.default_rng(0))
    total = np.ones((6, 6))
    anchor_loops.add_gram(weights.indptr, weights.indices, weights.data, masses, total)
    dense = weights.toarray()
    expected = dense.T @ ((masses if masses.size else np.ones(20))[:, None] * dense)
    np.testing.assert_allclose(total, 1 + expected, rtol=1e-12)


@pytest.mark.parametrize(("n_anchors", "width"), [(15, 16), (16, 16), (17, 32)])
def test_padding_is_infinitely_far(n_anchors, width):
    columns, norms = normal(3, n_anchors), normal(n_anchors)
    padded, lengths = anchor_loops.pad_to_groups(columns, norms)
    assert padded.shape == (3, width)
    np.testing.assert_array_equal(padded[:, :n_anchors], columns)
    np.testing.assert_array_equal(lengths[:n_anchors], norms)
    assert np.isinf(lengths[n_anchors:]).all()
