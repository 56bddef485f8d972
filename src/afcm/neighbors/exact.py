"""Exact neighbors in many dimensions: float32 products, cells that can be ruled out, selection by group minima.

Samples are sorted into cells (a rough k-means). For the queries of a cell the distances within it bound how far
their neighbors can be, and cells that lie farther by the triangle inequality are skipped: most of them if the data have
clusters. Among the samples that remain, the k nearest lie in the k groups of columns with the smallest minima, so that
each distance is read once and not sorted. Distances are computed about the cell's center, where float32 is finest, and
each search returns the distance from which on it could have missed a sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from afcm._typing import Floats, Integers
from afcm._util.optional import is_loaded

# Distances in memory at a time (rows × columns).
BLOCK_ELEMENTS = 750_000
# The same for compiled loops, and how many of them are worked out at a time: so many stay in the cache, but products of
# fewer rows take twice as long.
COMPILED_ELEMENTS, CACHED_ELEMENTS, ROWS_AT_A_TIME = 12_000_000, 400_000, 64
# Samples per cell, most cells, samples per cell that cells are learned from, and rounds of learning.
CELL_SIZE, MOST_CELLS, LEARNED_FROM, ROUNDS = 512, 256, 16, 4
NOBODY = np.empty(0, np.intp)
# Queries that a thread takes at a time where there is one cell.
BAND_ROWS = 512
# If more than this share of the samples is within reach, all are searched, in one frame that all cells share.
MOST_WORTH_COPYING = 0.5
# Squared distances in float32 are wrong by at most about this share of the largest squared length.
ROUNDING = 2e-6
# Samples have coordinates of at most 1; the squares of queries beyond this one would overflow in float32.
FAR = 1e15


class Frame(NamedTuple):
    """Samples as float32 columns about an origin."""

    samples: Integers  # their numbers, rising
    columns: Floats  # d×m: −2 (x − origin)ᵀ
    norms: Floats  # m: ‖x − origin‖²
    origin: Floats
    scale: float  # brings coordinates to at most 1, so that float32 neither overflows nor vanishes

    def transform(self, queries: Floats) -> Floats:
        """Queries in this frame. One too far for float32 is brought nearer, and its results are then not proven."""
        rows = (queries - self.origin) * self.scale
        return np.clip(rows, -FAR, FAR, out=rows).astype(np.float32)


class Candidates(NamedTuple):
    """Candidates for the nearest neighbors of some queries."""

    samples: Integers
    beyond: Floats  # squared distance of each query below which there is no other sample


@dataclass(frozen=True)
class CellTable:
    """Samples sorted into cells."""

    points: Floats
    order: Integers  # samples cell by cell
    offsets: Integers  # where each cell begins, and n
    centers: Floats
    radii: Floats  # of each cell: the largest distance of a sample to the center

    @classmethod
    def of(cls, points: Floats) -> CellTable:
        """Learn the cells; the results of a search do not depend on them."""
        centers = learn_centers(points)
        cells, distances = assign_to_centers(points, centers)
        order = np.argsort(cells)
        radii = np.zeros(centers.shape[0])
        np.maximum.at(radii, cells, distances)
        return cls(points, order, np.searchsorted(cells[order], np.arange(radii.size + 1)), centers, radii)

    @classmethod
    def undivided(cls, points: Floats) -> CellTable:
        """All samples in one cell."""
        center = points.mean(axis=0, dtype=np.float64, keepdims=True)
        return cls(points, np.arange(len(points)), np.array([0, len(points)]), center, np.zeros(1))

    def group_queries(self, queries: Floats) -> list[tuple[int, Integers]]:
        """Cells and the numbers of their queries, the largest group first, so that threads finish together."""
        if self.radii.size == 1:
            return [(0, rows) for rows in np.split(np.arange(len(queries)), range(BAND_ROWS, len(queries), BAND_ROWS))]
        cells, _ = assign_to_centers(queries, self.centers)
        groups = [(cell, np.flatnonzero(cells == cell)) for cell in range(self.radii.size)]
        return sorted((group for group in groups if group[1].size), key=lambda group: -group[1].size)

    def find_candidates(self, cell: int, queries: Floats, own: Integers | None, count: int) -> Candidates:
        """The ``count`` nearest samples of each query of a cell, in no order.

        ``own`` are the numbers of the queries if they are samples themselves, which must not find themselves.
        """
        frame, search, most = self.frame_within_reach(cell, queries, count), search_frame, BLOCK_ELEMENTS
        if is_loaded("numba", "fast") and has_groups(frame.samples.size, count):
            search, most = search_frame_compiled, COMPILED_ELEMENTS
        size = max(1, most // frame.samples.size)
        blocks = [slice(first, first + size) for first in range(0, queries.shape[0], size)]
        parts = [search(frame, queries[rows], None if own is None else own[rows], count) for rows in blocks]
        return Candidates(
            np.concatenate([part.samples for part in parts]), np.concatenate([part.beyond for part in parts])
        )

    def frame_within_reach(self, cell: int, queries: Floats, count: int) -> Frame:
        """The samples of all cells that can hold one of the ``count`` nearest of a query, besides the query itself."""
        home = self.members([cell])
        if self.radii.size == 1 or home.size <= count:
            return self.everything
        frame = make_frame(self.points, home, self.centers[cell])
        reach = np.sqrt(search_frame(frame, queries, None, count + 1).beyond + 2 * rounding_error(frame))
        far = np.sqrt(squared_distances(queries, self.centers)) - reach[:, None]
        near = np.flatnonzero(far.min(axis=0) <= self.radii * (1 + ROUNDING))
        if (self.offsets[near + 1] - self.offsets[near]).sum() > MOST_WORTH_COPYING * self.order.size:
            return self.everything
        return make_frame(self.points, self.members(near), self.centers[cell])

    def members(self, cells: Any) -> Integers:
        """Samples of these cells, in rising order."""
        return np.sort(np.concatenate([self.order[self.offsets[c] : self.offsets[c + 1]] for c in cells]))

    @cached_property
    def everything(self) -> Frame:
        """All samples about their mean."""
        return make_frame(self.points, np.arange(self.order.size), self.points.mean(axis=0, dtype=np.float64))


def make_frame(points: Floats, samples: Integers, origin: Floats) -> Frame:
    shifted = (points if samples.size == len(points) else points[samples]) - origin  # all are in rising order
    scale = 1 / (float(np.abs(shifted).max()) or 1.0)  # all samples equal: any scale will do
    shifted *= scale
    columns = shifted.T.astype(np.float32, order="C")
    norms = np.einsum("ij,ij->j", columns, columns)
    columns *= -2
    return Frame(samples, columns, norms, origin, scale)


def rounding_error(frame: Frame) -> float:
    """A bound on the error of squared distances in a frame."""
    return ROUNDING * float(frame.norms.max()) / frame.scale**2


def search_frame(frame: Frame, queries: Floats, own: Integers | None, count: int) -> Candidates:
    """The ``count`` samples of a frame with the smallest distances to each query (``own``: see `find_candidates`)."""
    rows = frame.transform(queries)
    costs = rows @ frame.columns
    costs += frame.norms
    if own is not None:
        costs[np.arange(own.size), np.searchsorted(frame.samples, own)] = np.inf
    found = select_smallest_by_groups(costs, count)
    return as_candidates(frame, rows, found, take_entries(costs, found).max(axis=1))


def search_frame_compiled(frame: Frame, queries: Floats, own: Integers | None, count: int) -> Candidates:
    """`search_frame` by loops whose tables of costs stay in the cache."""
    rows = frame.transform(queries)
    numbers = NOBODY if own is None else np.searchsorted(frame.samples, own)
    found, last = select_columns(frame, rows, count, 1, numbers)
    return as_candidates(frame, rows, found, last[:, 0])


def select_columns(
    frame: Frame, rows: Floats, count: int, n_last: int, own: Integers = NOBODY
) -> tuple[Integers, Floats]:
    """The columns nearest to each transformed row, the last few in rising order, and their costs. Needs Numba."""
    from afcm.compiled import neighbors

    n = frame.samples.size
    found, last = np.empty((len(rows), count), np.intp), np.empty((len(rows), n_last), np.float32)
    step = min(max(CACHED_ELEMENTS // n, ROWS_AT_A_TIME), max(1, COMPILED_ELEMENTS // n), max(1, len(rows)))
    plan = step, group_size(n, count)
    neighbors.search_columns(rows, (frame.columns, frame.norms), own, plan, found, last)
    return found, last


def as_candidates(frame: Frame, rows: Floats, found: Integers, last: Floats) -> Candidates:
    """Columns of a frame that were found for some rows; ``last`` are the largest costs among them."""
    lengths = np.einsum("ij,ij->i", rows, rows).astype(np.float64)
    beyond = np.maximum((last + lengths) / frame.scale**2 - rounding_error(frame), 0)
    return Candidates(frame.samples[found], beyond)


def select_smallest_by_groups(costs: Floats, count: int) -> Integers:
    """Columns of the ``count`` smallest entries of each row: the groups with the smallest minima, then their members.

    Group g of G holds columns g, g + G, g + 2G, …, so that minima run along memory. Columns that fill no group are
    members always.
    """
    n_rows, n_columns = costs.shape
    size = group_size(n_columns, count)
    n_groups = n_columns // size
    if n_groups <= count:
        return select_smallest(costs, count)
    minima = costs[:, : size * n_groups].reshape(n_rows, size, n_groups).min(axis=1)
    columns = (select_smallest(minima, count)[:, :, None] + n_groups * np.arange(size)).reshape(n_rows, count * size)
    rest = np.broadcast_to(np.arange(size * n_groups, n_columns), (n_rows, n_columns - size * n_groups))
    columns = np.concatenate([columns, rest], axis=1)
    best = select_smallest(take_entries(costs, columns), count)
    return take_entries(columns, best)


def take_entries(values: Any, columns: Integers) -> Any:
    """Entries of each row at its own columns: ``np.take_along_axis`` of contiguous rows, in half the time."""
    return values.ravel().take(columns + np.arange(len(values))[:, None] * values.shape[1])


def group_size(n_columns: int, count: int) -> int:
    """Columns in a group: balances the minima (n_columns / size) and the members of the best groups (count · size)."""
    return int(np.clip(np.sqrt(n_columns / count), 1, 64))


def has_groups(n_columns: int, count: int) -> bool:
    """Whether there are so many columns that groups of them help to find the smallest."""
    return n_columns // group_size(n_columns, count) > count


def select_smallest(values: Floats, count: int) -> Integers:
    """Positions of the ``count`` smallest entries of each row, in no order."""
    if count >= values.shape[1]:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return np.argpartition(values, count - 1)[:, :count]


def learn_centers(points: Floats) -> Floats:
    """Centers of cells, by a few rounds of k-means on some of the samples."""
    n_cells = int(np.clip(points.shape[0] // CELL_SIZE, 1, MOST_CELLS))
    chosen = np.random.default_rng(0).choice(
        points.shape[0], min(points.shape[0], LEARNED_FROM * n_cells), replace=False
    )
    sample = points[chosen].astype(np.float64)
    centers = sample[:n_cells].copy()
    for _ in range(ROUNDS):
        cells, _ = assign_to_centers(sample, centers)
        sizes = np.bincount(cells, minlength=n_cells)
        sums = np.zeros_like(centers)
        np.add.at(sums, cells, sample)
        centers = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centers)
    return centers


def assign_to_centers(points: Floats, centers: Floats) -> tuple[Integers, Floats]:
    """The nearest center of each row, and the distance to it (0 if there is one center)."""
    if centers.shape[0] == 1:
        return np.zeros(points.shape[0], dtype=np.intp), np.zeros(points.shape[0])
    cells, distances = np.empty(points.shape[0], dtype=np.intp), np.empty(points.shape[0])
    size = max(1, BLOCK_ELEMENTS // (8 * (centers.shape[0] + points.shape[1])))
    for first in range(0, points.shape[0], size):
        rows = slice(first, first + size)
        squared = squared_distances(points[rows], centers)
        cells[rows] = np.argmin(squared, axis=1)
        distances[rows] = np.sqrt(squared.min(axis=1))
    return cells, distances


def squared_distances(points: Floats, centers: Floats) -> Floats:
    """Squared distances in float64, computed about the mean of the centers."""
    middle = centers.mean(axis=0)
    rows, targets = points - middle, centers - middle
    squared = rows @ (-2 * targets.T)
    squared += np.einsum("ij,ij->i", rows, rows)[:, None]
    squared += np.einsum("ij,ij->i", targets, targets)
    return np.maximum(squared, 0)
