"""Dask arrays and data frames at the door, checked without being gathered."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from sklearn.utils.validation import validate_data

from afcm.arrays.dask_execution import compute
from afcm.arrays.dask_passes import reduce_chunks

NOT_FINITE = "Input X contains NaN or infinity; remove or replace such values"


def validate_samples(estimator: Any, X: Any, *, device: Any, reset: bool, dtypes: tuple[Any, ...]) -> Any:
    """X as an array of known chunks with all columns in each, finite where it is used."""
    name = type(estimator).__name__
    if device is not None:
        raise ValueError(f"device={device!r} is for arrays in memory and X is a Dask {name_kind(X)}; use device=None")
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; {name} needs 2: one row per sample, one column per feature")
    validate_data(estimator, column_stand_in(X), reset=reset, skip_check_array=True)
    X = with_whole_rows(to_numeric_array(X))
    if not X.shape[0] or not X.shape[1]:
        raise ValueError(f"X has shape {X.shape}; {name} needs at least 1 sample and 1 feature")
    X = X if X.dtype in dtypes else X.astype(np.float64)
    return X if reset else X.map_blocks(check_finite, dtype=X.dtype, meta=X._meta)


def find_largest_magnitude(X: Any) -> float:
    """``max |x|``, which must be finite: a look at all of X."""
    size = float(reduce_chunks(largest, [X], np.max))
    if not math.isfinite(size):
        raise ValueError(NOT_FINITE)
    return size


def name_kind(X: Any) -> str:
    """The word for it."""
    return "array" if isinstance(X, da.Array) else "data frame"


def column_stand_in(X: Any) -> Any:
    """A stand-in without samples that has X's columns."""
    if not isinstance(X, da.Array):
        return X._meta
    if math.isnan(X.shape[1]):
        raise ValueError("X has an unknown number of columns; call X.compute_chunk_sizes() first")
    return np.empty((1, X.shape[1]))


def to_numeric_array(X: Any) -> Any:
    """As an array of numbers with chunks of known sizes (they are counted where they are not known)."""
    if not isinstance(X, da.Array):
        words = [str(name) for name, dtype in X.dtypes.items() if getattr(dtype, "kind", "O") not in "biuf"]
        if words:
            raise ValueError(f"X has columns that are not numbers: {', '.join(words[:5])}; drop or encode them")
        X = X.to_dask_array(lengths=True)
    if not isinstance(X._meta, np.ndarray) or X.dtype.kind not in "biuf":
        held = X.dtype if isinstance(X._meta, np.ndarray) else type(X._meta).__name__
        raise ValueError(f"X holds chunks of {held}; give chunks that are NumPy arrays of real numbers")
    if any(math.isnan(size) for size in X.chunks[0]):
        X = copy.copy(X)  # the sizes are learned in place
        X.compute_chunk_sizes()
    return X


def with_whole_rows(X: Any) -> Any:
    """With all columns in each chunk."""
    return X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})


def check_finite(rows: Any) -> Any:
    """The rows, or an error where they are used."""
    if not np.isfinite(rows).all():
        raise ValueError(NOT_FINITE)
    return rows


def chunk_like(array: Any, X: Any) -> Any:
    """An array with one row per sample, in the chunks of X."""
    chunks = (X.chunks[0], *((size,) for size in array.shape[1:]))
    return array.rechunk(chunks) if isinstance(array, da.Array) else da.from_array(np.asarray(array), chunks=chunks)


def to_row_array(array: Any) -> Any:
    """A Dask array, series or frame with one row per sample, in doubles and chunks of known sizes."""
    if not isinstance(array, da.Array):
        array = array.to_dask_array(lengths=True)
    if any(math.isnan(size) for size in array.shape):
        array = copy.copy(array)
        array.compute_chunk_sizes()
    return array.astype(np.float64)


def summarize_weights(array: Any) -> tuple[bool, float, float, float]:
    """Are all numbers finite and not negative, what is their sum, the smallest above 0, the largest?"""
    fine, total, smallest, largest = zip(*reduce_chunks(summarize_chunk_weights, [array], join_lists), strict=True)
    return all(fine), math.fsum(total), min(smallest), max(largest)


def summarize_chunk_weights(weights: Any) -> list[tuple[bool, float, float, float]]:
    """The same of a chunk."""
    smallest = np.min(weights, where=weights > 0, initial=math.inf)
    return [(is_nonnegative(weights), float(weights.sum()), float(smallest), float(weights.max()))]


def summarize_row_sums(array: Any) -> tuple[bool, float]:
    """Are all numbers finite and not negative, and what is the sum of the row that misses 1 the most?"""
    fine, sums = zip(*reduce_chunks(summarize_chunk_sums, [array], join_lists), strict=True)
    return all(fine), max(sums, key=lambda total: abs(total - 1))


def summarize_chunk_sums(memberships: Any) -> list[tuple[bool, float]]:
    """The same of a chunk."""
    sums = memberships.sum(axis=1)
    return [(is_nonnegative(memberships), float(sums[np.argmax(abs(sums - 1))]))]


def largest(rows: Any) -> float:
    """``max |x|``; NaN where there is one."""
    return float(np.max([np.max(rows), -np.min(rows)]))


def is_nonnegative(array: Any) -> bool:
    """Finite and not negative, all of it?"""
    return bool(np.isfinite(array).all() and (array >= 0).all())


def join_lists(parts: Sequence[list[Any]]) -> list[Any]:
    """All parts, in one list."""
    return [item for part in parts for item in part]


def collect_rows(X: Any, weights: Any, enough: int, choose: Any) -> Any:
    """``choose(rows, weights, enough)``, which keeps at most so many rows, of as many chunks as it takes."""
    kept, start, batch = np.empty((0, X.shape[1]), dtype=X.dtype), 0, 1
    columns = [X] if weights is None else [X, weights[:, None]]
    while start < X.numblocks[0] and kept.shape[0] < enough:
        chunks = [column.blocks[start : start + batch] for column in columns]
        unknown = ((math.nan,) * chunks[0].numblocks[0], X.chunks[1])
        work = partial(choose_from_chunk, enough=enough, choose=choose)
        found = da.map_blocks(work, *chunks, chunks=unknown, meta=X._meta)
        kept = choose(np.concatenate([kept, compute(found)]), None, enough)
        start, batch = start + batch, 2 * batch
    return kept


def choose_from_chunk(rows: Any, weights: Any = None, *, enough: int, choose: Any) -> Any:
    """What ``choose`` keeps of a chunk."""
    return choose(rows, None if weights is None else weights[:, 0], enough)
