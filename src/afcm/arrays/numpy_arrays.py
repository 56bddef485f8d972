"""The backend for NumPy arrays and SciPy's sparse matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from afcm._typing import Floats, Integers

# Rows that are changed in place together: they stay in the cache.
ROWS = 4096
# Rows that models without a graph take together: enough for fast matrix products, few enough for the cache.
BLOCK_ROWS = 8192
# Edges whose cosines are worked out together: they stay in the cache.
BLOCK_EDGES = 1 << 16


def to_host(array: Any) -> Any:
    return array


def from_host(array: Any, reference: Any) -> Any:  # noqa: ARG001
    return array


def to_device_of(value: Any, reference: Any) -> Any:  # noqa: ARG001
    return value


def take_rows(array: Any, numbers: Any) -> Any:
    return array[numbers]


def split_rows(n_rows: int) -> Iterator[slice]:
    """Slices of consecutive rows, each small enough for the cache."""
    return (slice(first, first + ROWS) for first in range(0, n_rows, ROWS))


def allocate_basis(n_rows: int, n_columns: int, reference: Any) -> Any:  # noqa: ARG001
    """An empty array for tall vectors; each column is contiguous."""
    return np.empty((n_rows, n_columns), order="F")


def copy_rows(block: Any) -> Any:
    """A copy in row order."""
    return np.array(block, order="C")


def make_contiguous(block: Any) -> Any:
    return np.ascontiguousarray(block)


def column_norms(block: Any) -> Floats:
    return np.sqrt(np.einsum("ij,ij->j", block, block))


def sum_squares(array: Any) -> float:
    """The sum of all squares in float64, without a second array."""
    return float(np.einsum("ij,ij->", array, array, dtype=np.float64))


def build_directed(weights: Floats, indices: Integers, n_nodes: int) -> Any:
    """The sparse matrix with ``weights`` at the neighbors of each row."""
    n_rows, k = weights.shape
    offsets = np.arange(0, n_rows * k + 1, k)
    matrix = sp.csr_array((weights.ravel(), indices[:, :k].ravel(), offsets), shape=(n_rows, n_nodes))
    matrix.eliminate_zeros()
    return matrix


def symmetrize(weights: Any) -> Any:
    """``(W + Wᵀ) / 2``."""
    return sp.csr_array((weights + weights.T) * 0.5)


def square_root(weights: Any) -> Any:
    """``√w_ij``."""
    return sp.csr_array(weights).sqrt()


def square(weights: Any) -> Any:
    """``w_ij²``."""
    return sp.csr_array(weights.multiply(weights))


def scale_rows_and_columns(weights: Any, scale: Floats) -> Any:
    """``s_i w_ij s_j`` in float64."""
    matrix = sp.csr_array(weights, dtype=np.float64, copy=True)
    matrix.data *= np.repeat(scale, np.diff(matrix.indptr))
    matrix.data *= scale[matrix.indices]
    return matrix


def normalize_rows(weights: Any, masses: Floats | None) -> Any:
    """``m_j w_ij`` divided by the sums of the rows; ``masses`` of None are all 1."""
    shares = weights if masses is None else weights.multiply(masses[None, :]).tocsr()
    totals = np.asarray(shares.sum(axis=1)).ravel()
    return shares.multiply(1 / totals[:, None]).tocsr()


def list_upper_edges(weights: Any) -> tuple[Any, Any, Any]:
    """Rows, columns and weights above the diagonal."""
    half = sp.triu(weights, 1).tocoo()
    return half.row, half.col, half.data


def build_from_upper_edges(edges: tuple[Any, Any, Any], n_nodes: int) -> Any:
    """The symmetric matrix with these edges."""
    rows, columns, data = edges
    upper = sp.csr_array((data, (rows, columns)), shape=(n_nodes, n_nodes))
    return sp.csr_array(upper + upper.T)


def find_components(affinity: Any, isolated: Any) -> tuple[int, Integers]:
    """Number of connected components among nodes that are not isolated, and each node's component (isolated: −1)."""
    _, labels = connected_components(affinity, directed=False)
    labels = labels.astype(np.intp)
    labels[isolated] = -1
    kept, labels[~isolated] = np.unique(labels[~isolated], return_inverse=True)
    return kept.size, labels
