"""Nearest neighbors by sorting all distances: slow, and as plain as possible."""

from __future__ import annotations

import numpy as np


def squared_distances(queries, points):
    return ((queries[:, None, :].astype(float) - points[None, :, :].astype(float)) ** 2).sum(axis=2)


def sort_neighbors(points, k, queries=None):
    """Indices of the k nearest rows (ties by row number) and their squared distances; no row finds itself."""
    squared = squared_distances(points if queries is None else queries, points)
    if queries is None:
        np.fill_diagonal(squared, np.inf)
    order = np.argsort(squared, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(squared, order, axis=1)


def assert_same(found, expected, rtol=1e-12):
    """The indices are equal, and the distances to rounding."""
    indices, squared = expected
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.squared, squared, rtol=rtol)
    assert found.squared.dtype == np.float64
