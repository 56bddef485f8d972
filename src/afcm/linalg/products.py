"""Products of a sparse matrix with a block of vectors on all cores.

SciPy's product runs on one core but lets other threads run meanwhile, so each multiplies its share of the rows. A row
is summed by one thread in the order it is stored: the result does not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from afcm._typing import Floats, Integers
from afcm._util.optional import is_usable
from afcm._util.threads import count_cores, for_each, map_in_threads
from afcm.arrays import backend_of
from afcm.arrays.numpy_arrays import BLOCK_ROWS
from afcm.compiled.dispatch import is_fused

T = TypeVar("T")

# Fewer stored entries than this are multiplied faster than threads are woken; and so are fewer entries times columns.
WORTH_THREADS, WORTH_WAKING = 50_000, 1_000_000
# Entries times columns from which on it pays to load Numba; entries of a band of rows that a thread takes at a time.
WORTH_COMPILING, BAND_ENTRIES, MOST_BANDS = 2_000_000, 8_000, 16
# Entries of a block from which on it pays to arrange the rows first: two such blocks are more than a cache holds.
WORTH_ARRANGING = 400_000
# Rows of which one neighbor is looked at, to tell whether they are arranged.
LOOKED_AT = 1000


class ParallelSparse:
    """A CSR matrix in as many bands of rows as there are cores; it knows only ``@`` and ``toarray``."""

    def __init__(self, matrix: Any) -> None:
        self.shape, self.matrix = matrix.shape, matrix
        shares = np.searchsorted(matrix.indptr, np.linspace(0, matrix.nnz, count_cores() + 1)[1:-1])
        self._rows = [slice(a, b) for a, b in pairwise([0, *(int(row) for row in shares), matrix.shape[0]])]
        self._bands = [row_block(matrix, rows) for rows in self._rows]

    def __matmul__(self, block: Floats) -> Floats:
        block = np.ascontiguousarray(block)
        width = block.shape[1] if block.ndim == 2 else 1
        if self.matrix.nnz * width < WORTH_WAKING:
            return self.matrix @ block
        if block.ndim == 2 and block.dtype == self.matrix.dtype and is_worth_compiling(self.matrix, width):
            return self.compiled @ block
        product = np.empty((self.shape[0], *block.shape[1:]), dtype=np.result_type(self._bands[0].dtype, block.dtype))

        def multiply(number: int) -> None:
            product[self._rows[number]] = self._bands[number] @ block

        for_each(multiply, range(len(self._bands)))
        return product

    @cached_property
    def compiled(self) -> CompiledSparse:
        return CompiledSparse.from_matrix(self.matrix)

    def toarray(self) -> Floats:
        return np.concatenate([band.toarray() for band in self._bands])


class CompiledSparse(NamedTuple):
    """A CSR matrix for compiled loops, which add the entries of a row one by one as SciPy does. Needs Numba."""

    offsets: Integers
    columns: Integers
    entries: Floats
    bands: tuple[tuple[int, int], ...]  # rows that a thread takes at a time

    @property
    def shape(self) -> tuple[int, int]:
        return (self.offsets.size - 1,) * 2

    @classmethod
    def from_matrix(cls, matrix: Any, dtype: Any = None) -> CompiledSparse:
        """Share the memory of the matrix, or copy its entries to another ``dtype``."""
        n_bands = int(np.clip(matrix.nnz // BAND_ENTRIES, 1, MOST_BANDS))
        shares = np.searchsorted(matrix.indptr, np.linspace(0, matrix.nnz, n_bands + 1)[1:-1])
        bands = tuple(pairwise([0, *(int(row) for row in shares), matrix.shape[0]]))
        columns = matrix.indices.astype(np.int32, copy=False)
        entries = matrix.data.astype(matrix.dtype if dtype is None else dtype, copy=False)
        return cls(matrix.indptr.astype(np.int64, copy=False), columns, entries, bands)

    def __matmul__(self, block: Floats) -> Floats:
        from afcm.compiled.sparse import multiply_rows

        product = np.empty((self.offsets.size - 1, block.shape[1]), block.dtype)

        def multiply(band: tuple[int, int]) -> None:
            multiply_rows(self.offsets, self.columns, self.entries, block, *band, product)

        for_each(multiply, self.bands)
        return product

    def recur(
        self, block: Floats, before: Floats, factors: Sequence[float], result: Floats, fixed: Floats | None = None
    ) -> None:
        """``result ← f₀ A block + f₁ fixed + f₂ before``; ``fixed`` is the block unless it is given."""
        from afcm.compiled.sparse import filter_rows

        numbers = np.array(factors, dtype=block.dtype)
        parts = (block, block if fixed is None else fixed, before, numbers)

        def work(band: tuple[int, int]) -> None:
            filter_rows(self.offsets, self.columns, self.entries, *parts, *band, result)

        for_each(work, self.bands)


class SingleSparse:
    """A CSR matrix in single precision that knows ``@`` and ``recur``, by SciPy's products."""

    def __init__(self, matrix: Any) -> None:
        self.shape, self._operator = matrix.shape, parallelize(matrix.astype(np.float32))

    def __matmul__(self, block: Floats) -> Floats:
        product: Floats = self._operator @ block
        return product

    def recur(
        self, block: Floats, before: Floats, factors: Sequence[float], result: Floats, fixed: Floats | None = None
    ) -> None:
        """``result ← f₀ A block + f₁ fixed + f₂ before``; ``fixed`` is the block unless it is given."""
        first, second, third = np.array(factors, dtype=np.float32)
        np.multiply(block if fixed is None else fixed, second, out=result)
        result += third * before
        result += first * (self @ block)


def is_worth_compiling(matrix: Any, width: int) -> bool:
    """Whether products with blocks of this width are so large that compiled loops pay, and can be made."""
    if matrix.nnz * width < WORTH_COMPILING:
        return False
    return bool(getattr(matrix, "on_device", False) or is_usable("numba", "fast"))


def to_single_precision(matrix: Any, width: int) -> Any:
    """A copy of the matrix in float32 that can be multiplied with blocks of this width and knows ``recur``."""
    if not getattr(matrix, "on_device", False):
        compiled = is_worth_compiling(matrix, width)
        return CompiledSparse.from_matrix(matrix, np.float32) if compiled else SingleSparse(matrix)
    from afcm.linalg.torch_products import DeviceSparse

    return DeviceSparse.from_tensor(matrix, backend_of(matrix).to_single(matrix.data).dtype)


def is_stored(matrix: Any) -> bool:
    """Whether the matrix is stored with its zeros left out, on the host or on a device."""
    return bool(sp.issparse(matrix) or getattr(matrix, "on_device", False))


def parallelize(matrix: Any) -> Any:
    """The matrix, ready to be multiplied on all cores if that pays, or by the kernel of its device."""
    if getattr(matrix, "on_device", False):
        from afcm.linalg.torch_products import DeviceSparse

        return DeviceSparse.from_tensor(matrix)
    if not sp.issparse(matrix):
        return matrix
    return ParallelSparse(matrix) if matrix.nnz >= WORTH_THREADS and count_cores() > 1 else matrix


def arrange_rows(matrix: Any, width: int) -> tuple[Any, Any]:
    """``P A Pᵀ`` in single precision with rows that share neighbors near each other, and the old number of each row.

    A row of a product reads the rows of its neighbors. Where these lie together, most are in the cache already. The
    entries of a row keep their order, so products with a block are the same to the last bit. The matrix as it is, and
    None, where blocks of this width fit in the cache anyway.
    """
    if is_fused(getattr(matrix, "data", None)):
        from afcm.linalg import torch_products

        return torch_products.arrange_rows(matrix)
    large = sp.issparse(matrix) and matrix.shape[0] * width >= WORTH_ARRANGING and is_worth_compiling(matrix, width)
    return _arrange_rows(matrix) if large and not is_arranged(matrix, width) else (matrix, None)


def is_arranged(matrix: Any, width: int) -> bool:
    """Whether most neighbors of a row are near it already: what lies between them in a block fits in the cache."""
    rows = np.arange(0, matrix.shape[0], max(1, matrix.shape[0] // LOOKED_AT))
    firsts = matrix.indptr[rows]
    middle = (firsts + matrix.indptr[rows + 1]) // 2
    apart = np.abs(matrix.indices[np.minimum(middle, matrix.nnz - 1)] - rows)
    return bool(np.median(apart) * width <= WORTH_ARRANGING)


def _arrange_rows(matrix: Any) -> tuple[Any, Any]:
    from afcm.compiled.sparse import arrange_entries, walk_by_breadth

    order, _ = walk_by_breadth(matrix.indptr, matrix.indices)
    places, starts = np.empty_like(order), np.zeros_like(matrix.indptr)
    places[order] = np.arange(order.size, dtype=order.dtype)
    np.cumsum(np.diff(matrix.indptr)[order], out=starts[1:])
    columns, entries = np.empty(matrix.nnz, np.int32), np.empty(matrix.nnz, np.float32)
    old = matrix.indptr, matrix.indices, matrix.data

    def arrange(rows: slice) -> None:
        arrange_entries(old, order, places, starts, rows.start, rows.stop, columns, entries)

    map_row_blocks(arrange, order.size)
    return sp.csr_array((entries, columns, starts), shape=matrix.shape), order


def row_block(matrix: Any, rows: slice) -> Any:
    """A block of rows of a CSR matrix that shares its memory (SciPy's constructor would copy a small block)."""
    offsets = matrix.indptr[rows.start : rows.stop + 1]
    entries = slice(offsets[0], offsets[-1])
    block = sp.csr_array((rows.stop - rows.start, matrix.shape[1]))
    block.data, block.indices, block.indptr = matrix.data[entries], matrix.indices[entries], offsets - offsets[0]
    return block


def map_row_blocks(work: Callable[[slice], T], n_rows: int, size: int = BLOCK_ROWS) -> list[T]:
    """Results of ``work`` for each block of rows, in their order, computed on all cores."""
    return map_in_threads(work, (slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)))
