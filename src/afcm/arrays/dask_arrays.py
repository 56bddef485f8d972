"""The backend for Dask arrays: results are lazy, or small once computed."""

from __future__ import annotations

import math
from typing import Any

import dask.array as da
import numpy as np

from afcm.arrays.dask_execution import compute
from afcm.arrays.dask_inputs import (  # noqa: F401 (functions of this backend, too)
    chunk_like,
    collect_rows,
    find_largest_magnitude,
    join_lists,
    summarize_row_sums,
    summarize_weights,
    to_row_array,
    validate_samples,
)
from afcm.arrays.dask_passes import map_method, map_rows, reduce_chunks, reduce_method  # noqa: F401
from afcm.arrays.numpy_arrays import sum_squares


def to_host(array: Any) -> Any:
    """All of the array as a NumPy array, which must fit into memory."""
    return compute(array) if isinstance(array, da.Array) else array


def from_host(array: Any, reference: Any) -> Any:  # noqa: ARG001
    return array  # each chunk receives it where it is


def to_device_of(value: Any, reference: Any) -> Any:  # noqa: ARG001
    return value


def take_rows(array: Any, numbers: Any) -> Any:
    return array[numbers]


def measure_extent(memberships: Any) -> tuple[float, float, float, float]:
    """Sum of squares, smallest and largest membership, and the smallest of the rows' largest, in one pass."""
    parts = reduce_chunks(measure_chunk_extent, [memberships], join_lists)
    squares, smallest, largest, least = zip(*parts, strict=True)
    return math.fsum(squares), min(smallest), max(largest), min(least)


def measure_chunk_extent(memberships: Any) -> list[tuple[float, float, float, float]]:
    top = memberships.max(axis=1)
    return [(sum_squares(memberships), float(memberships.min()), float(top.max()), float(top.min()))]


def draw_uniform_rows(n_columns: int, seed: int, X: Any) -> Any:
    """Uniform numbers from 0 to 1, with the rows and chunks of X; a row is the same however X is chunked."""
    sizes = np.array(X.chunks[0])
    where = [da.from_array(numbers[:, None], chunks=1) for numbers in (np.cumsum(sizes) - sizes, sizes)]
    chunks = (X.chunks[0], (n_columns,))
    return da.map_blocks(draw_chunk, *where, n_columns=n_columns, seed=seed, chunks=chunks, meta=np.empty((0, 0)))


def draw_chunk(start: Any, size: Any, n_columns: int, seed: int) -> Any:
    """Rows from ``start`` on. The stream of the seed is advanced past the numbers of the rows before."""
    stream = np.random.PCG64(seed)
    stream.advance(int(start[0, 0]) * n_columns)
    return np.random.Generator(stream).random((int(size[0, 0]), n_columns))
