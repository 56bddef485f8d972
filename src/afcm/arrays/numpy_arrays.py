"""The backend for NumPy arrays and SciPy's sparse matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from afcm._typing import Floats, Integers
from afcm._util.threads import for_each

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


def take_columns(array: Any, numbers: Any) -> Any:
    """Columns of a table by their numbers, as rows in memory: ``np.take`` goes from entry to entry."""
    taken = np.empty((array.shape[0], len(numbers)), array.dtype)

    def work(rows: slice) -> None:
        for column, number in enumerate(numbers):
            taken[rows, column] = array[rows, number]

    for_each(work, split_rows(array.shape[0]))
    return taken


def draw_normal(shape: tuple[int, int], seed: int, reference: Any, dtype: str = "float64") -> Floats:  # noqa: ARG001
    """Normal numbers of a fixed seed."""
    if dtype == "float32":
        return np.random.default_rng(seed).standard_normal(shape, np.float32)
    return np.random.RandomState(seed).standard_normal(shape)


def draw_signs(shape: tuple[int, int], seed: int, reference: Any) -> Floats:  # noqa: ARG001
    """−1 or 1 in single precision, of a fixed seed."""
    return np.where(np.random.RandomState(seed).random_sample(shape) < 0.5, -1, 1).astype(np.float32)


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


def pad_width(width: int, reference: Any) -> int:  # noqa: ARG001
    """The width of a block that products with a matrix like best: any."""
    return width


def to_single(block: Any) -> Floats:
    """The block in rows of single precision."""
    return np.ascontiguousarray(block, dtype=np.float32)


def column_dots(left: Any, right: Any) -> Floats:
    """The inner products of columns with the same number."""
    return np.einsum("ij,ij->j", left, right)


def column_norms(block: Any) -> Floats:
    return np.sqrt(np.einsum("ij,ij->j", block, block))


def sum_squares(array: Any) -> float:
    """The sum of all squares in float64, without a second array."""
    return float(np.einsum("ij,ij->", array, array, dtype=np.float64))


def build_directed(weights: Floats, indices: Integers, n_nodes: int) -> Any:
    """The sparse matrix with ``weights`` at the neighbors of each row."""
    n_rows, k = weights.shape
    index = np.int32 if max(n_nodes, n_rows * k) < 2**31 else np.int64
    offsets, columns = np.arange(0, n_rows * k + 1, k, dtype=index), indices[:, :k].astype(index).ravel()
    matrix = sp.csr_array((weights.ravel(), columns, offsets), shape=(n_rows, n_nodes))
    matrix.eliminate_zeros()
    return matrix


def may_have_equal_rows(points: Any) -> bool:
    """Could two rows be equal? Not if all have different numbers in the first column."""
    first = np.sort(points[:, 0])
    return bool((first[1:] == first[:-1]).any())


def symmetrize(weights: Any) -> Any:
    """``(W + Wᵀ) / 2``."""
    return sp.csr_array((weights + weights.T) * 0.5)


def square_root(weights: Any) -> Any:
    """``√w_ij``."""
    return sp.csr_array(weights).sqrt()


def square(weights: Any) -> Any:
    """``w_ij²``."""
    return sp.csr_array(weights).power(2)


def scale_rows_and_columns(weights: Any, scale: Floats, *, spare: bool = False) -> Any:
    """``s_i w_ij s_j`` in float64; ``spare``: the result may take the place of the weights."""
    matrix = sp.csr_array(weights)
    matrix = matrix if matrix.has_canonical_format else matrix.copy()
    entries = matrix.data if spare and matrix.dtype == np.float64 else np.empty(matrix.nnz)

    def work(rows: slice) -> None:
        offsets = matrix.indptr[rows.start : rows.stop + 1]
        part = slice(offsets[0], offsets[-1])
        factors = np.repeat(scale[rows], np.diff(offsets))
        np.multiply(factors, matrix.data[part], out=factors)
        np.multiply(factors, scale[matrix.indices[part]], out=entries[part])

    for_each(work, split_rows(matrix.shape[0]))
    return sp.csr_array((entries, matrix.indices, matrix.indptr), shape=matrix.shape)  # one table of places for both


def normalize_rows(weights: Any, masses: Floats | None) -> Any:
    """``m_j w_ij`` divided by the sums of the rows; ``masses`` of None are all 1."""
    shares = weights if masses is None else weights.multiply(masses[None, :]).tocsr()
    totals = np.asarray(shares.sum(axis=1)).ravel()
    return shares.multiply(1 / totals[:, None]).tocsr()


def multiply_edges(weights: Any, measure: Callable[[Any, Any], Any]) -> Any:
    """Symmetric weights times ``measure(rows, columns)`` of their edges, which is symmetric too; no diagonal.

    An edge is measured once, in its lower row. Its other entry comes later in the order of the columns.
    """
    matrix = sp.csr_array(weights)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()  # and columns in rising order
    rows = np.repeat(np.arange(matrix.shape[0], dtype=matrix.indices.dtype), np.diff(matrix.indptr))
    upper, lower = rows < matrix.indices, rows > matrix.indices
    begins, columns = rows[upper], matrix.indices[upper]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(begins, minlength=matrix.shape[0]))])
    kept = matrix.data[upper] * measure(begins, columns)
    half = sp.csr_array((kept, columns, offsets), shape=matrix.shape)
    entries = np.zeros(matrix.nnz, kept.dtype)
    entries[upper], entries[lower] = kept, half.tocsc().data
    result = sp.csr_array((entries, matrix.indices, matrix.indptr), shape=matrix.shape)
    if not entries.all():
        result = result.copy()  # places are shared
        result.eliminate_zeros()
    return result


def find_components(affinity: Any, isolated: Any) -> tuple[int, Integers]:
    """Number of connected components among nodes that are not isolated, and each node's component (isolated: −1)."""
    return number_pieces(connected_components(affinity, directed=False)[1], isolated)


def number_pieces(pieces: Integers, isolated: Any) -> tuple[int, Integers]:
    """Pieces numbered anew without isolated nodes, which get −1."""
    kept = np.bincount(pieces[~isolated], minlength=pieces.max(initial=-1) + 1) > 0
    labels = (np.cumsum(kept) - 1)[pieces]
    labels[isolated] = -1
    return int(kept.sum()), labels
