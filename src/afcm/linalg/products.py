"""Products of a sparse matrix with a block of vectors on all cores.

SciPy's product runs on one core but lets other threads run meanwhile, so each multiplies its share of the rows. A row
is summed by one thread in the order it is stored: the result does not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from afcm._typing import Floats
from afcm._util.threads import for_each, gathered, n_threads
from afcm.arrays.numpy_arrays import BLOCK_ROWS

T = TypeVar("T")

# Fewer stored entries than this are multiplied faster than threads are woken.
WORTH_THREADS = 50_000


class ParallelSparse:
    """A CSR matrix cut into as many bands of rows as there are cores; only ``@`` and ``toarray``."""

    def __init__(self, matrix: Any) -> None:
        self.shape = matrix.shape
        n_bands = n_threads()
        shares = np.searchsorted(matrix.indptr, np.linspace(0, matrix.nnz, n_bands + 1)[1:-1])
        self._cuts = [0, *(int(row) for row in shares), matrix.shape[0]]
        self._bands = [band(matrix, a, b) for a, b in zip(self._cuts[:-1], self._cuts[1:], strict=True)]

    def __matmul__(self, block: Floats) -> Floats:
        block = np.ascontiguousarray(block)
        product = np.empty((self.shape[0], *block.shape[1:]), dtype=np.result_type(self._bands[0].dtype, block.dtype))

        def multiply(number: int) -> None:
            product[self._cuts[number] : self._cuts[number + 1]] = self._bands[number] @ block

        for_each(multiply, range(len(self._bands)))
        return product

    def toarray(self) -> Floats:
        """The dense matrix."""
        return np.concatenate([band.toarray() for band in self._bands])


def band(matrix: Any, first: int, end: int) -> Any:
    """Rows of a CSR matrix, on its own memory."""
    entries = slice(matrix.indptr[first], matrix.indptr[end])
    offsets = matrix.indptr[first : end + 1] - matrix.indptr[first]
    parts = (matrix.data[entries], matrix.indices[entries], offsets)
    return sp.csr_array(parts, shape=(end - first, matrix.shape[1]), copy=False)


def parallel(matrix: Any) -> Any:
    """The matrix, ready to be multiplied on all cores where that pays; one on a device is ready."""
    if not sp.issparse(matrix):
        return matrix
    return ParallelSparse(matrix) if matrix.nnz >= WORTH_THREADS and n_threads() > 1 else matrix


def by_blocks(work: Callable[[slice], T], n_rows: int, size: int = BLOCK_ROWS) -> list[T]:
    """What ``work`` gives for each block of rows, in their order, on all cores."""
    return gathered(work, (slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)))


def cut(weights: Any, rows: slice) -> Any:
    """A block of rows of a CSR matrix, on its own memory."""
    return band(weights, rows.start, rows.stop)


def sum_of(parts: list[Any]) -> Any:
    """Of arrays, in their order."""
    return sum(parts[1:], start=parts[0])
