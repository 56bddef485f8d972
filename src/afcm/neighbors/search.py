"""`find_neighbors`, the one call for nearest neighbors of dense, sparse and tensor data.

Few columns: SciPy's kd-tree. Many columns: `afcm.neighbors.exact`, blocked products that skip what is out of reach, or
for very many samples `afcm.neighbors.approximate`, which knows its recall. Sparse data: scikit-learn. Tensors:
`afcm.neighbors.torch`. Candidates are found in float32 and measured again in float64, so that near-ties come out right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from afcm import arrays
from afcm._typing import Floats, Integers
from afcm._util import progress, threads
from afcm._util.optional import is_loaded, is_usable
from afcm.neighbors import approximate, exact
from afcm.neighbors.result import Neighbors

# Up to this many columns the kd-tree wins on every distribution tried (make bench: neighbors).
TREE_COLUMNS = 6
# From so many samples on the approximate search is faster than the exact one (make bench: neighbors); from the second
# number on if there are more columns than this, which take it more rounds.
MANY_SAMPLES, MANY_WIDE_SAMPLES, WIDE = 15_000, 30_000, 64
# From so many samples on a graph is built on samples in the order of `order_nearby` (below, a cache holds them all).
WORTH_ORDERING = 30_000
# Up to so many samples all are compared: ruling some out costs as much.
FEW_SAMPLES = 4096
SEARCHES = ("auto", "exact", "approximate")
# A neighbor that float32 may have missed matters if its squared distance could be smaller by more than this share.
MISS_TOLERANCE = 1e-4
# Coordinates of candidates in memory at a time when distances are measured again.
MEASURED_ELEMENTS = 100_000
# Candidates beyond k that survive float32 and are measured again in float64: enough to find most ties.
SPARE = 6


def find_neighbors(points: Any, k: int, queries: Any = None, search: str = "exact") -> Neighbors:
    """The ``k`` nearest rows of ``points`` to each query; without ``queries``, the nearest other rows to each row.

    ``search`` is one of `SEARCHES`. ``"auto"`` is approximate for an array of very many samples if Numba is installed.
    Sparse data, tensors and ``queries`` are always searched exactly.
    """
    if queries is None and is_approximate(points, search):
        return _search_approximately(points, k)
    if arrays.is_tensor(points):
        from afcm.neighbors import torch

        return Neighbors(*torch.find_tensor_neighbors(points, k, queries))
    if sp.issparse(points):
        return _search_sparse(points, k, queries)
    if points.shape[1] <= TREE_COLUMNS:
        return _search_tree(points, k, queries)
    return _search_cells(points, k, queries)


def order_nearby(points: Any) -> Integers | None:
    """An order of many samples that keeps near ones together, if Numba is installed; None where it is not worth it.

    Whatever visits samples and then their neighbors finds most of these in the cache.
    """
    if not isinstance(points, np.ndarray) or points.shape[0] < WORTH_ORDERING or not is_usable("numba", "fast"):
        return None
    return approximate.order_by_cells(points)


def is_approximate(points: Any, search: str) -> bool:
    """Will these samples be searched approximately?"""
    if search == "exact" or arrays.is_tensor(points) or sp.issparse(points):
        return False
    many = MANY_WIDE_SAMPLES if points.shape[1] > WIDE else MANY_SAMPLES
    worth = points.shape[0] >= many and points.shape[1] > TREE_COLUMNS and is_usable("numba", "fast")
    return search == "approximate" or worth


def _search_approximately(points: Floats, k: int) -> Neighbors:
    found = approximate.find_approximate_neighbors(points, k)
    not_full = np.flatnonzero(found.indices.min(axis=1) < 0)
    return _search_again(found, points, None, not_full) if not_full.size else found


def _search_sparse(points: Any, k: int, queries: Any) -> Neighbors:
    finder = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(points)
    distances, indices = finder.kneighbors(queries)
    return Neighbors(indices, np.square(distances, dtype=np.float64))


def _search_tree(points: Floats, k: int, queries: Floats | None) -> Neighbors:
    tree = KDTree(points)
    if queries is not None:
        return measure_candidates(points, queries, tree.query(queries, k=np.arange(1, k + 1), workers=-1)[1], k)
    indices = tree.query(points, k=np.arange(1, k + 2), workers=-1)[1]
    return measure_candidates(points, points, drop_self(indices), k)


def drop_self(indices: Integers) -> Integers:
    """Drop each row's own number, or its last one if many duplicates crowded the own number out."""
    n, width = indices.shape
    own = indices == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    return indices[~own].reshape(n, width - 1)


def _search_cells(points: Floats, k: int, queries: Floats | None) -> Neighbors:
    table = (exact.CellTable.undivided if points.shape[0] <= FEW_SAMPLES else exact.CellTable.of)(points)
    asked = points if queries is None else queries
    count = min(k + SPARE, points.shape[0] - (queries is None))
    found, beyond = np.empty((asked.shape[0], count), dtype=np.intp), np.empty(asked.shape[0])

    def search(group: tuple[int, Integers]) -> None:
        cell, rows = group
        found[rows], beyond[rows] = table.find_candidates(cell, asked[rows], rows if queries is None else None, count)

    report, groups = progress.start_stage("finding neighbours"), table.group_queries(asked)
    ends = np.cumsum([rows.size for _, rows in groups])
    with threads.one_blas_thread():
        threads.for_each(search, groups, lambda number: report(int(ends[number - 1]), asked.shape[0]))
    result = measure_candidates(points, asked, found, k)
    farthest = result.squared[:, -1]
    doubtful = np.flatnonzero(farthest - beyond > MISS_TOLERANCE * farthest)
    return _search_again(result, points, queries, doubtful) if doubtful.size else result


def _search_again(result: Neighbors, points: Floats, queries: Floats | None, rows: Integers) -> Neighbors:
    """Search some rows again in float64: float32 was too coarse for them (an outlier far from everything, say)."""
    indices, squared = result.indices.copy(), result.squared.copy()
    k = indices.shape[1]
    for chosen in _slices(rows.size, points.shape[0]):
        part = rows[chosen]
        asked = (points if queries is None else queries)[part]
        costs = cdist(asked, points, "sqeuclidean")
        if queries is None:
            costs[np.arange(part.size), part] = np.inf
        again = measure_candidates(points, asked, exact.select_smallest(costs, k), k)
        indices[part], squared[part] = again.indices, again.squared
    return replace(result, indices=indices, squared=squared)


def measure_candidates(points: Floats, queries: Floats, indices: Integers, k: int) -> Neighbors:
    """The k nearest of each query's candidates by distances in float64, nearest first, ties by row number."""
    k = min(k, indices.shape[1])
    if queries is points and is_loaded("numba", "fast"):
        return _measure_compiled(points, indices, k)
    result = Neighbors(np.empty((indices.shape[0], k), indices.dtype), np.empty((indices.shape[0], k)))

    def measure(rows: slice) -> None:
        candidates = np.sort(indices[rows], axis=1)
        difference = points[candidates].astype(np.float64, copy=False)
        difference -= queries[rows, None, :]
        squared = sum_squares(difference)
        order = np.argsort(squared, axis=1, kind="stable")[:, :k]
        result.indices[rows] = np.take_along_axis(candidates, order, axis=1)
        result.squared[rows] = np.take_along_axis(squared, order, axis=1)

    threads.for_each(measure, _slices(indices.shape[0], indices.shape[1] * points.shape[1]))
    return result


def sum_squares(differences: Floats) -> Floats:
    """Sums of squares along the last axis, in four parts: in the order in which compiled loops add them, too.

    So a result is the same to the last bit, whether Numba is loaded or not.
    """
    columns = np.ascontiguousarray(differences.reshape(-1, differences.shape[-1]).T)  # each in one piece of memory
    columns *= columns
    parts = [np.zeros(columns.shape[1]) for _ in range(4)]
    for axis, column in enumerate(columns):
        parts[axis % 4] += column
    return ((parts[0] + parts[1]) + (parts[2] + parts[3])).reshape(differences.shape[:-1])


def _measure_compiled(points: Floats, candidates: Integers, k: int) -> Neighbors:
    """`measure_candidates` of all samples themselves, by compiled loops."""
    from afcm.compiled import neighbors

    indices, squared = np.empty(candidates.shape, np.intp), np.empty(candidates.shape)
    rows = np.arange(len(points))

    def measure(part: slice) -> None:
        neighbors.measure_lists(points, rows[part], candidates, indices, squared)

    threads.for_each(measure, _slices(len(points), candidates.shape[1] * points.shape[1]))
    return Neighbors(np.ascontiguousarray(indices[:, :k]), np.ascontiguousarray(squared[:, :k]))


def _slices(n_rows: int, per_row: int) -> Iterator[slice]:
    size = max(1, MEASURED_ELEMENTS // max(per_row, 1))
    return (slice(start, start + size) for start in range(0, n_rows, size))
