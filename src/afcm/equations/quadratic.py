"""Samples as columns of a table of features, ``(1, x, x_a x_b for a ≤ b)``: quadratic forms are linear in them."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from array_api_compat import array_namespace, device

from afcm._typing import Floats, Integers
from afcm.arrays import backend_of


@lru_cache(maxsize=64)
def product_indices(dimension: int) -> tuple[Integers, Integers, Floats]:
    """Rows a and columns b of the products ``x_a x_b`` in their order, and how often each is in ``−½ xᵀ P x``."""
    rows, columns = np.triu_indices(dimension)
    return rows, columns, np.where(rows == columns, -0.5, -1.0)


def quadratic_features(points: Floats) -> Floats:
    """``(1, x, x_a x_b for a ≤ b)`` of each sample, F×n with ``F = (d + 1)(d + 2) / 2``."""
    xp, columns = array_namespace(points), backend_of(points).make_contiguous(points.T)
    d, n = columns.shape
    features = xp.empty(((d + 1) * (d + 2) // 2, n), dtype=xp.float64, device=device(points))
    features[0] = 1.0
    features[1 : d + 1] = columns
    at = d + 1
    for a in range(d):
        xp.multiply(columns[a], columns[a:], out=features[at : at + d - a])
        at += d - a
    return features


def dimension_of(features: Floats) -> int:
    """d of an F×n table of features."""
    return (math.isqrt(8 * features.shape[0] + 1) - 3) // 2
