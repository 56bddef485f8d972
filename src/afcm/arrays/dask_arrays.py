"""Dask arrays, as `afcm.arrays.numpy_arrays` is for NumPy's: what is asked of them here is lazy, or small when it comes."""

from __future__ import annotations

import math
from typing import Any

import dask.array as da
import numpy as np

from afcm.arrays.dask_execution import computed
from afcm.arrays.dask_inputs import beside, entered, few_rows, largest_size, listed, row_sums, sized_rows, weight_totals
from afcm.arrays.dask_passes import by_rows, folded, mapped, reduced
from afcm.arrays.numpy_arrays import square_sum

__all__ = [
    "beside",
    "by_rows",
    "entered",
    "extent",
    "few_rows",
    "from_host",
    "largest_size",
    "mapped",
    "moved",
    "random_rows",
    "reduced",
    "row_sums",
    "rows",
    "sized_rows",
    "to_host",
    "weight_totals",
]


def to_host(array: Any) -> Any:
    """All of it as a NumPy array: for what is small."""
    return computed(array) if isinstance(array, da.Array) else array


def from_host(array: Any, reference: Any) -> Any:  # noqa: ARG001
    """It stays there: chunks meet it where they are."""
    return array


def moved(value: Any, reference: Any) -> Any:  # noqa: ARG001
    """It stays there."""
    return value


def rows(array: Any, numbers: Any) -> Any:
    """Some rows, in rising order."""
    return array[numbers]


def extent(memberships: Any) -> tuple[float, float, float, float]:
    """Sum of squares, smallest, largest, and the smallest of the rows' largest: one pass."""
    squares, smallest, largest, least = zip(*folded(extent_of, [memberships], listed), strict=True)
    return math.fsum(squares), min(smallest), max(largest), min(least)


def extent_of(memberships: Any) -> list[tuple[float, float, float, float]]:
    """The same of a chunk."""
    sure = memberships.max(axis=1)
    return [(square_sum(memberships), float(memberships.min()), float(sure.max()), float(sure.min()))]


def random_rows(n_columns: int, seed: int, X: Any) -> Any:
    """Uniform numbers from 0 to 1, n×columns with X's chunks: each row's the same however X is chunked."""
    sizes = np.array(X.chunks[0])
    where = [da.from_array(numbers[:, None], chunks=1) for numbers in (np.cumsum(sizes) - sizes, sizes)]
    chunks = (X.chunks[0], (n_columns,))
    return da.map_blocks(drawn_rows, *where, n_columns=n_columns, seed=seed, chunks=chunks, meta=np.empty((0, 0)))


def drawn_rows(start: Any, size: Any, n_columns: int, seed: int) -> Any:
    """The rows from ``start`` on: the stream of the seed, moved on by what the rows before have drawn."""
    stream = np.random.PCG64(seed)
    stream.advance(int(start[0, 0]) * n_columns)
    return np.random.Generator(stream).random((int(size[0, 0]), n_columns))
