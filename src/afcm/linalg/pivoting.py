"""Groups of rows from the leading eigenvectors of a graph, without a random start.

With clusters that hardly touch, the rows of orthonormal eigenvectors are nearly orthogonal from cluster to cluster. QR
with pivoting of the transposed block picks one row for each cluster, and a rotation that turns these rows into the unit
vectors shows every row's cluster by its largest entry (Damle, Minden and Ying, 2019).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr

from afcm._typing import Floats, Integers


def find_pivots(vectors: Floats, n_pivots: int) -> Integers:
    """So many rows, each the longest outside the span of those before it; there are no more than columns."""
    _, order = qr(vectors.T, mode="r", pivoting=True, check_finite=False)
    return np.asarray(order[:n_pivots])


def assign_by_pivots(vectors: Floats) -> Integers:
    """The group of each row of n×c orthonormal columns, from 0 to c − 1."""
    left, _, right = np.linalg.svd(vectors[find_pivots(vectors, vectors.shape[1])].T)
    return np.abs(vectors @ (left @ right)).argmax(axis=1)
