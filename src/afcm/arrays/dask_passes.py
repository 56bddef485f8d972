"""Passes over the chunks of Dask arrays: one task for each chunk, then a tree of tasks that combine the results.

The task of a chunk loads it, makes the model's own pass over it and returns the result (for centers: c·d + c + 3
numbers, in double precision). The model, the centers and γ, which all chunks need, are one small task of their own, so
that the graph of a sweep has O(chunks) tasks, and none of them carries more than its own place.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.core import flatten
from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph

from afcm._util.threads import without_threads
from afcm.arrays import is_chunked
from afcm.arrays.dask_execution import compute

# So many results are combined in one task.
SPLIT_EVERY = 8


@dataclass(frozen=True)
class MethodCall:
    """Calls a method of a model on the rows of a chunk. The model comes without samples."""

    model: Any
    method: str
    arguments: tuple[Any, ...]  # `OwnRows` stands for the chunk's rows of a chunked argument
    weighted: bool

    def __call__(self, points: Any, *rows: Any) -> Any:
        own = iter(rows)
        masses = next(own) if self.weighted else None
        arguments = (next(own) if argument is OwnRows else argument for argument in self.arguments)
        return getattr(self.model.part(points, masses), self.method)(*arguments)


class OwnRows:
    """Stands for a chunk's own rows of an argument (see `MethodCall`)."""


def reduce_method(problem: Any, method: str, arguments: tuple[Any, ...], combine: Any) -> Any:
    """Combine the results of a method for each chunk. Each chunk gets its own rows of chunked arguments."""
    return compute(build_method_reduction(problem, method, arguments, combine))


def build_method_reduction(problem: Any, method: str, arguments: tuple[Any, ...], combine: Any) -> Delayed:
    own = [argument for argument in arguments if is_chunked(argument)]
    same = tuple(OwnRows if is_chunked(argument) else argument for argument in arguments)
    call = MethodCall(problem.part(None, None), method, same, problem.masses is not None)
    masses = [] if problem.masses is None else [problem.masses]
    return build_reduction(call, [problem.points, *masses, *own], combine, method)


def reduce_chunks(function: Any, arrays: Sequence[Any], combine: Any) -> Any:
    """Combine the results of ``function`` for the rows of each chunk. The arrays have the same chunks of rows."""
    label = getattr(function, "func", function).__name__  # of a partial
    return compute(build_reduction(function, arrays, combine, label))


def build_reduction(function: Any, arrays: Sequence[Any], combine: Any, label: str) -> Delayed:
    """The graph of `reduce_chunks`: one task for each chunk, which loads it too, and a tree of combinations."""
    name = f"afcm-{label}-{uuid.uuid4().hex}"
    indexed = [item for array in arrays for item in (array, "ij"[: array.ndim])]
    how = {"dtype": object, "meta": np.empty((0,) * arrays[0].ndim, dtype=object), "align_arrays": False}
    shared = delayed(function, pure=False, traverse=False, name=f"{name}-order")
    (parts,) = dask.optimize(da.blockwise(run_on_chunk, indexed[1], *indexed, name=name, function=shared, **how))
    layer, keys = f"{name}-sum", list(flatten(parts.__dask_keys__()))
    graph = dict(tree_tasks(keys, partial(combine_present, combine=combine), layer))
    return Delayed(list(graph)[-1], HighLevelGraph.from_collections(layer, graph, [parts]), layer=layer)


def run_on_chunk(*rows: Any, function: Any) -> Any:
    """The function's result in double precision; None for a chunk without rows."""
    if not rows[0].shape[0]:
        return None
    with without_threads():  # Dask gives each task its core
        return to_float64(function(*rows))


def to_float64(value: Any) -> Any:
    """Convert to double precision, so that a sum over many chunks keeps its digits."""
    if isinstance(value, tuple):
        parts = [to_float64(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    single = isinstance(value, (np.ndarray, np.generic)) and value.dtype == np.float32
    return value.astype(np.float64) if single else value


def tree_tasks(keys: list[Any], combine: Any, name: str) -> Iterator[tuple[Any, Any]]:
    """Tasks that combine a few results each, level by level in a fixed order; the last one is the root."""
    level = 0
    while level == 0 or len(keys) > 1:
        groups = [keys[start : start + SPLIT_EVERY] for start in range(0, len(keys), SPLIT_EVERY)]
        keys = [(name, level, number) for number in range(len(groups))]
        yield from ((key, (combine, group)) for key, group in zip(keys, groups, strict=True))
        level += 1


def combine_present(parts: Sequence[Any], combine: Any) -> Any:
    """Combine the parts that are not None (see `run_on_chunk`)."""
    present = [part for part in parts if part is not None]
    return combine(present) if present else None


def map_method(problem: Any, method: str, arguments: tuple[Any, ...], n_columns: int) -> Any:
    """The rows that a method gives for the samples, as a lazy array with n_columns columns and the samples' chunks."""
    call = MethodCall(problem.part(None, None), method, arguments, weighted=False)
    return map_rows(call, problem.points, (n_columns,))


def map_rows(function: Any, array: Any, widths: tuple[int, ...]) -> Any:
    """A lazy array of the results of ``function`` for each chunk; ``widths`` is the shape of a row's result."""
    sample = function(np.ones((1, *array.shape[1:]), dtype=array.dtype))
    shape = {"chunks": (array.chunks[0], *((width,) for width in widths)), "drop_axis": None if widths else 1}
    safe = partial(apply_to_rows, function=function, empty=sample[:0])
    return array.map_blocks(safe, dtype=sample.dtype, meta=sample[:0], **shape)


def apply_to_rows(rows: Any, function: Any, empty: Any) -> Any:
    """``function(rows)``, or ``empty`` for a chunk without rows, which the function need not know."""
    with without_threads():
        return function(rows) if rows.shape[0] else empty
