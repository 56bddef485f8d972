"""Exact nearest neighbours behind one call.

Few columns: SciPy's kd-tree. Many columns: blocked products with selection by group minima, which is exact because
the k nearest samples lie in the k groups with the smallest minima, and which reads each distance once instead of
sorting it (`make bench`: neighbors). Sparse data: scikit-learn. Candidates are found in float32 about the mean and
their distances computed again in float64, so ties and near-ties come out as they should.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial import KDTree
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

Floats = NDArray[np.floating[Any]]

# Up to this many columns the kd-tree wins on every distribution tried (make bench: neighbors).
TREE_COLUMNS = 6
# Distances are looked at in blocks of so many (rows × all samples), and minima taken over groups of so many columns.
BLOCK_ELEMENTS, GROUP = 1_000_000, 32
# Coordinates of candidates gathered at a time when distances are measured again.
MEASURED_ELEMENTS = 250_000
# Candidates beyond k that survive float32 and are measured again in float64.
SPARE = 6


@dataclass(frozen=True)
class Neighbors:
    """For each row its neighbours, nearest first, and the squared distances to them (float64)."""

    indices: NDArray[np.intp]
    squared: Floats


def nearest(points: Any, k: int, queries: Any = None) -> Neighbors:
    """The ``k`` nearest rows of ``points`` to each of ``queries`` (default: to each other, self excluded)."""
    if sp.issparse(points):
        return _by_sklearn(points, k, queries)
    if points.shape[1] <= TREE_COLUMNS:
        return _by_tree(points, k, queries)
    return _by_blocks(points, k, queries)


def _by_sklearn(points: Any, k: int, queries: Any) -> Neighbors:
    finder = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(points)
    distances, indices = finder.kneighbors(queries)
    return Neighbors(indices, np.square(distances, dtype=np.float64))


def _by_tree(points: Floats, k: int, queries: Floats | None) -> Neighbors:
    tree = KDTree(points)
    if queries is not None:
        return _measured(points, queries, tree.query(queries, k=np.arange(1, k + 1), workers=-1)[1], k)
    indices = tree.query(points, k=np.arange(1, k + 2), workers=-1)[1]
    return _measured(points, points, without_self(indices), k)


def without_self(indices: NDArray[np.intp]) -> NDArray[np.intp]:
    """Drop each row's own number; where many duplicates crowded it out, drop the last column."""
    n, width = indices.shape
    own = indices == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    return indices[~own].reshape(n, width - 1)


def _by_blocks(points: Floats, k: int, queries: Floats | None) -> Neighbors:
    search = _GroupSearch.prepare(points, min(k + SPARE, points.shape[0] - (queries is None)))
    asked = points if queries is None else queries
    rows = max(1, BLOCK_ELEMENTS // search.n_columns)
    starts = range(0, asked.shape[0], rows)

    def block(start: int) -> NDArray[np.intp]:
        return search.candidates(asked[start : start + rows], start if queries is None else None)

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads()) as pool:
        found = np.concatenate(list(pool.map(block, starts)))
    return _measured(points, asked, found, k)


@dataclass(frozen=True)
class _GroupSearch:
    """Samples, centred, in float32, transposed, padded to whole groups: group g holds g, g + G, g + 2G, …"""

    center: Floats
    scale: float  # brings the values to at most 1, so that float32 neither overflows nor vanishes
    targets: Floats  # d×N: −2 xᵀ
    norms: Floats  # N: ‖x‖², infinite for the padding
    n_wanted: int

    @classmethod
    def prepare(cls, points: Floats, n_wanted: int) -> _GroupSearch:
        n, d = points.shape
        center = points.mean(axis=0, dtype=np.float64)
        scale = 1 / max(float(np.abs(points - center).max()), np.finfo(np.float64).tiny)
        size = -(-n // GROUP) * GROUP
        targets = np.zeros((d, size), dtype=np.float32)
        targets[:, :n] = ((points - center) * scale).T
        norms = np.full(size, np.inf, dtype=np.float32)
        norms[:n] = np.einsum("ij,ij->j", targets[:, :n], targets[:, :n])
        targets *= -2
        return cls(center, scale, targets, norms, n_wanted)

    @property
    def n_columns(self) -> int:
        return self.targets.shape[1]

    def candidates(self, queries: Floats, self_start: int | None) -> NDArray[np.intp]:
        """Column numbers of the ``n_wanted`` smallest distances, in no order."""
        costs = ((queries - self.center) * self.scale).astype(np.float32) @ self.targets
        costs += self.norms
        n_rows, n_groups = costs.shape[0], self.n_columns // GROUP
        if self_start is not None:
            own = np.arange(n_rows)
            costs[own, own + self_start] = np.inf
        minima = costs.reshape(n_rows, GROUP, n_groups).min(axis=1)
        groups = smallest(minima, min(self.n_wanted, n_groups))
        columns = (groups[:, :, None] + n_groups * np.arange(GROUP)).reshape(n_rows, -1)
        best = smallest(np.take_along_axis(costs, columns, axis=1), self.n_wanted)
        return np.take_along_axis(columns, best, axis=1)


def smallest(values: Floats, count: int) -> NDArray[np.intp]:
    """Positions of the ``count`` smallest entries of each row, in no order."""
    if count >= values.shape[1]:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return np.argpartition(values, count - 1, axis=1)[:, :count]


def _measured(points: Floats, queries: Floats, indices: NDArray[np.intp], k: int) -> Neighbors:
    """Exact float64 distances to the candidates, sorted (ties by row number), the first k kept."""
    squared = np.empty(indices.shape)
    for rows in _slices(indices.shape[0], indices.shape[1] * points.shape[1]):
        difference = points[indices[rows]].astype(np.float64) - queries[rows, None, :]
        squared[rows] = np.einsum("ijd,ijd->ij", difference, difference)
    order = np.lexsort((indices, squared), axis=1)[:, :k]
    return Neighbors(np.take_along_axis(indices, order, axis=1), np.take_along_axis(squared, order, axis=1))


def _slices(n_rows: int, per_row: int) -> Iterator[slice]:
    size = max(1, MEASURED_ELEMENTS // max(per_row, 1))
    return (slice(start, start + size) for start in range(0, n_rows, size))


def n_threads() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
