"""Approximate neighbours of many samples, with a recall that is measured while searching.

All samples are sorted into small random cells, and the members of a cell meet: each keeps the nearest it has met. With
other cells each time the lists fill with true neighbours, and at last each takes in neighbours of its neighbours. Some
samples are searched exactly beside, so that the search knows its recall and ends when that is good enough.

X is read where it is, never copied. Lists do not depend on the number of threads, and not on a random state: the
graph of the same samples is the same. docs/performance.md has the comparison with other libraries. Needs Numba.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from afcm._typing import Floats, Integers
from afcm._util import progress, threads
from afcm.neighbors import exact

# The recall to reach, estimated on so many samples, and with how many partitions at the most.
RECALL, ASKED, MOST_PARTITIONS = 0.97, 512, 64
# Neighbours of neighbours leave about this share of the errors: so they are asked when that will do.
DESCENT_GAIN = 0.5
# Members of a cell, and for each neighbour wanted; neighbours through whom others are met.
CELL_SIZE, PER_NEIGHBOR, DESCENT_WIDTH = 256, 8, 12
# A cell of more than this times its size is shuffled, rows converted at a time, and bands that threads share.
LARGE = 3
BLOCK_ROWS, BANDS = 4096, 64


class ApproximateNeighbors(NamedTuple):
    """Neighbours nearest first, their squared distances in float64, and the share of true ones among them."""

    indices: NDArray[np.intp]
    squared: Floats
    recall: float


class Cells(NamedTuple):
    """Samples cell by cell."""

    order: Integers
    offsets: Integers


@dataclass(frozen=True)
class Frame:
    """Samples as float32 about where most of them are, in the unit of their spread."""

    points: Floats
    origin: Floats
    scale: float

    @classmethod
    def of(cls, points: Floats) -> Frame:
        """About the medians, so that an outlier does not cost the others their digits."""
        some = points[:: max(1, points.shape[0] // ASKED)].astype(np.float64)
        origin = np.median(some, axis=0)
        spreads = np.abs(some - origin)
        spread = float(np.median(spreads)) or float(spreads.max())
        return cls(points, origin, 1 / max(spread, np.finfo(np.float64).tiny))

    def rows(self, numbers: Integers) -> Floats:
        """Some of the samples."""
        from afcm.compiled import neighbors as neighbor_loops

        values = np.empty((numbers.size, self.origin.size), np.float32)
        neighbor_loops.scale_samples(self.points, numbers.astype(np.int32, copy=False), self.origin, self.scale, values)
        return values


def find_approximate_neighbors(points: Floats, k: int, recall: float = RECALL) -> ApproximateNeighbors:
    """The ``k`` nearest other samples of each, most of them."""
    frame, search, random = Frame.of(points), _Lists.of(points, k), np.random.default_rng(0)
    truth, reached, size = RecallSample.of(points, k, random), 0.0, max(CELL_SIZE, PER_NEIGHBOR * k)
    tell = progress.start_stage("finding neighbours")
    for number in range(1, MOST_PARTITIONS + 1):
        search.meet(draw_cells(frame, size, random), frame.scale)
        tell(number, None)
        reached = truth.recall(search.lists)
        if DESCENT_GAIN * (1 - reached) <= 1 - recall or number == MOST_PARTITIONS:
            search.descend(frame.scale)
            reached = truth.recall(search.lists)
        if reached >= recall:
            break
    return ApproximateNeighbors(*search.measure(), reached)


@dataclass(frozen=True)
class _Lists:
    """Lists of the nearest samples met so far (−1: none yet)."""

    points: Floats
    lists: Integers
    squared: Floats  # in the frame's scale
    order: Integers  # samples that are near each other follow each other

    @classmethod
    def of(cls, points: Floats, k: int) -> _Lists:
        shape = points.shape[0], k
        lists, squared = np.full(shape, -1, np.int32), np.full(shape, np.inf, np.float32)
        return cls(points, lists, squared, np.arange(shape[0], dtype=np.int32))

    def meet(self, partition: Cells, scale: float) -> None:
        """The members of each cell meet."""
        from afcm.compiled import neighbors as neighbor_loops

        self.order[:] = partition.order

        def work(band: slice) -> None:
            offsets = partition.offsets[band.start : band.stop + 1]
            neighbor_loops.join_cells(self.points, partition.order, offsets, scale, self.lists, self.squared)

        threads.for_each(work, split_evenly(partition.offsets.size - 1))

    def descend(self, scale: float) -> None:
        """Each sample meets the neighbours of its neighbours."""
        from afcm.compiled import neighbors as neighbor_loops

        before = self.lists[:, :DESCENT_WIDTH].copy()

        def work(band: slice) -> None:
            neighbor_loops.descend(self.points, self.order[band], scale, before, self.lists, self.squared)

        threads.for_each(work, split_evenly(self.order.size))

    def measure(self) -> tuple[NDArray[np.intp], Floats]:
        """All lists with distances in float64; a list that is not full is sorted out by the caller."""
        from afcm.compiled import neighbors as neighbor_loops

        indices, squared = np.empty(self.lists.shape, np.intp), np.empty(self.lists.shape)

        def work(band: slice) -> None:
            neighbor_loops.measure_lists(self.points, self.order[band], self.lists, indices, squared)

        threads.for_each(work, split_evenly(self.order.size))
        return indices, squared


def split_evenly(size: int, count: int = BANDS) -> Iterator[slice]:
    """About equal parts."""
    cuts = np.linspace(0, size, min(count, size) + 1).astype(int)
    return (slice(int(first), int(end)) for first, end in pairwise(cuts))


def draw_cells(frame: Frame, size: int, random: np.random.Generator) -> Cells:
    """A partition into cells of about ``size``: the nearest of some random samples, and within those once more."""
    n = frame.points.shape[0]
    n_coarse = max(1, round(float(np.sqrt(n / size))))
    coarse = group_by_cell(assign_all_to_seeds(frame, random.choice(n, n_coarse, replace=False)), n_coarse)
    groups = [coarse.order[a:b] for a, b in pairwise(coarse.offsets)]
    states = random.integers(2**63, size=n_coarse)

    def split(number: int) -> Cells:
        return split_cell(frame, groups[number], size, np.random.default_rng(states[number]))

    fine = threads.map_in_threads(split, range(n_coarse))
    starts = np.cumsum([0, *(part.order.size for part in fine)])
    offsets = [part.offsets[:-1] + start for part, start in zip(fine, starts, strict=False)]
    return Cells(np.concatenate([part.order for part in fine]), np.concatenate([*offsets, [n]]))


def split_cell(frame: Frame, group: Integers, size: int, random: np.random.Generator) -> Cells:
    """Cells of about ``size`` within one; the members of a large one, which will not all meet, in random order."""
    n_seeds = min(group.size, max(1, round(group.size / size)))
    seeds = random.choice(group, n_seeds, replace=False) if n_seeds else group
    found = group_by_cell(assign_to_seeds(frame, group, seeds), seeds.size)
    order = group[found.order]
    for first, end in pairwise(found.offsets):
        if end - first > LARGE * size:
            random.shuffle(order[first:end])
    return Cells(order, found.offsets)


def assign_all_to_seeds(frame: Frame, seeds: Integers) -> Integers:
    """`assign_to_seeds` for all samples, on all cores."""

    def work(band: slice) -> Integers:
        return assign_to_seeds(frame, np.arange(band.start, band.stop, dtype=np.int32), seeds)

    return np.concatenate(threads.map_in_threads(work, split_evenly(frame.points.shape[0])))


def assign_to_seeds(frame: Frame, numbers: Integers, seeds: Integers) -> Integers:
    """For each of these samples the nearest of the seeds."""
    found = np.zeros(numbers.size, np.uint16)
    targets = frame.rows(seeds)
    halves, columns = np.einsum("ij,ij->i", targets, targets) / 2, targets.T
    for first in range(0, numbers.size, BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        costs = frame.rows(numbers[rows]) @ columns
        found[rows] = np.argmin(np.subtract(halves, costs, out=costs), axis=1)
    return found


def group_by_cell(cells_of: Integers, count: int) -> Cells:
    """Positions cell by cell."""
    order = np.argsort(cells_of, kind="stable").astype(np.int32)
    return Cells(order, np.concatenate([[0], np.cumsum(np.bincount(cells_of, minlength=count))]))


class RecallSample(NamedTuple):
    """Some samples, and the squared distance (float64) to the last of their true neighbours."""

    points: Floats
    asked: Integers
    reach: Floats

    @classmethod
    def of(cls, points: Floats, k: int, random: np.random.Generator) -> RecallSample:
        """Samples drawn at random, compared with all."""
        n = points.shape[0]
        asked = np.sort(random.choice(n, min(ASKED, n), replace=False))
        queries = points[asked]

        def look(part: slice) -> Integers:
            numbers = np.arange(part.start, part.stop)
            frame = exact.make_frame(points, numbers, points[numbers[0]])
            return exact.search_frame(frame, queries, None, min(k + 1, numbers.size)).samples

        candidates = threads.map_in_threads(look, split_evenly(n, max(1, n // BLOCK_ROWS)))
        squared = measure_distances(points, asked, np.hstack(candidates))
        return cls(points, asked, np.partition(squared, k - 1, axis=1)[:, k - 1])

    def recall(self, lists: Integers) -> float:
        """The share of true neighbours in the lists of the samples asked."""
        found = measure_distances(self.points, self.asked, lists[self.asked])
        return float(np.mean(found <= self.reach[:, None] * (1 + exact.ROUNDING)))


def measure_distances(points: Floats, asked: Integers, others: Integers) -> Floats:
    """Squared distances in float64 from each sample asked to its row of others; infinite to itself and to none."""
    squared = np.empty(others.shape)
    for row, (own, numbers) in enumerate(zip(asked, others, strict=True)):
        difference = points[numbers].astype(np.float64) - points[own]
        squared[row] = np.einsum("ij,ij->i", difference, difference)
    squared[(others == asked[:, None]) | (others < 0)] = np.inf
    return squared
