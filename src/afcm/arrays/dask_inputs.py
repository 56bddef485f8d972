"""Check Dask arrays and data frames that users give, without gathering them."""

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
    """X as an array of one of these dtypes, with chunks of known sizes that hold all columns.

    New samples (``reset=False``) are checked for NaN and infinity when they are computed.
    """
    name, kind = type(estimator).__name__, "array" if isinstance(X, da.Array) else "data frame"
    if device is not None:
        raise ValueError(f"device={device!r} is for arrays in memory and X is a Dask {kind}; use device=None")
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; {name} needs 2: one row per sample, one column per feature")
    validate_data(estimator, make_stand_in(X), reset=reset, skip_check_array=True)
    X = to_numeric_array(X)
    X = X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})
    if not X.shape[0] or not X.shape[1]:
        raise ValueError(f"X has shape {X.shape}; {name} needs at least 1 sample and 1 feature")
    X = X if X.dtype in dtypes else X.astype(np.float64)
    return X if reset else X.map_blocks(check_finite, dtype=X.dtype, meta=X._meta)


def make_stand_in(X: Any) -> Any:
    """A small array or frame with the columns of X, for scikit-learn's check of names and counts."""
    if not isinstance(X, da.Array):
        return X._meta
    if math.isnan(X.shape[1]):
        raise ValueError("X has an unknown number of columns; call X.compute_chunk_sizes() first")
    return np.empty((1, X.shape[1]))


def to_numeric_array(X: Any) -> Any:
    """A Dask array of real numbers, with chunks of known sizes."""
    if not isinstance(X, da.Array):
        words = [str(name) for name, dtype in X.dtypes.items() if getattr(dtype, "kind", "O") not in "biuf"]
        if words:
            raise ValueError(f"X has columns that are not numbers: {', '.join(words[:5])}; drop or encode them")
        X = X.to_dask_array(lengths=True)
    if not isinstance(X._meta, np.ndarray) or X.dtype.kind not in "biuf":
        held = X.dtype if isinstance(X._meta, np.ndarray) else type(X._meta).__name__
        raise ValueError(f"X holds chunks of {held}; give chunks that are NumPy arrays of real numbers")
    return with_known_chunks(X)


def to_row_array(array: Any) -> Any:
    """A Dask array, series or frame with one row per sample, in doubles and chunks of known sizes."""
    array = array if isinstance(array, da.Array) else array.to_dask_array(lengths=True)
    return with_known_chunks(array).astype(np.float64)


def with_known_chunks(array: Any) -> Any:
    """The array; sizes of chunks that are not known are computed."""
    if any(math.isnan(size) for size in array.shape):
        array = copy.copy(array)  # the next line works in place
        array.compute_chunk_sizes()
    return array


def check_finite(rows: Any) -> Any:
    if not np.isfinite(rows).all():
        raise ValueError(NOT_FINITE)
    return rows


def find_largest_magnitude(X: Any) -> float:
    """``max |x|``, computed from all of X; raises a ValueError if that is not finite."""
    size = float(reduce_chunks(find_chunk_magnitude, [X], np.max))
    if not math.isfinite(size):
        raise ValueError(NOT_FINITE)
    return size


def find_chunk_magnitude(rows: Any) -> float:
    return float(np.max([np.max(rows), -np.min(rows)]))  # NaN where there is one


def chunk_like(array: Any, X: Any) -> Any:
    """An array with one row per sample as a Dask array with the chunks of X."""
    chunks = (X.chunks[0], *((size,) for size in array.shape[1:]))
    return array.rechunk(chunks) if isinstance(array, da.Array) else da.from_array(np.asarray(array), chunks=chunks)


def summarize_weights(array: Any) -> tuple[bool, float, float, float]:
    """Are all weights finite and at least 0? Their sum, the smallest one above 0, and the largest."""
    fine, total, smallest, largest = zip(*reduce_chunks(summarize_chunk_weights, [array], join_lists), strict=True)
    return all(fine), math.fsum(total), min(smallest), max(largest)


def summarize_chunk_weights(weights: Any) -> list[tuple[bool, float, float, float]]:
    smallest = np.min(weights, where=weights > 0, initial=math.inf)
    return [(is_nonnegative(weights), float(weights.sum()), float(smallest), float(weights.max()))]


def summarize_row_sums(array: Any) -> tuple[bool, float]:
    """Are all memberships finite and at least 0? And the sum of the row that misses 1 the most."""
    fine, sums = zip(*reduce_chunks(summarize_chunk_sums, [array], join_lists), strict=True)
    return all(fine), max(sums, key=lambda total: abs(total - 1))


def summarize_chunk_sums(memberships: Any) -> list[tuple[bool, float]]:
    sums = memberships.sum(axis=1)
    return [(is_nonnegative(memberships), float(sums[np.argmax(abs(sums - 1))]))]


def is_nonnegative(array: Any) -> bool:
    """Are all entries finite and at least 0?"""
    return bool(np.isfinite(array).all() and (array >= 0).all())


def join_lists(parts: Sequence[list[Any]]) -> list[Any]:
    return [item for part in parts for item in part]


def collect_rows(X: Any, weights: Any, enough: int, choose: Any) -> Any:
    """Rows kept by ``choose(rows, weights, enough)``, from as many chunks as it takes to have enough of them."""
    kept, start, batch = np.empty((0, X.shape[1]), dtype=X.dtype), 0, 1
    columns = [X] if weights is None else [X, weights[:, None]]
    work = partial(choose_from_chunk, enough=enough, choose=choose)
    while start < X.numblocks[0] and kept.shape[0] < enough:
        chunks = [column.blocks[start : start + batch] for column in columns]
        unknown = ((math.nan,) * chunks[0].numblocks[0], X.chunks[1])
        found = da.map_blocks(work, *chunks, chunks=unknown, meta=X._meta)
        kept = choose(np.concatenate([kept, compute(found)]), None, enough)
        start, batch = start + batch, 2 * batch
    return kept


def choose_from_chunk(rows: Any, weights: Any = None, *, enough: int, choose: Any) -> Any:
    return choose(rows, None if weights is None else weights[:, 0], enough)
