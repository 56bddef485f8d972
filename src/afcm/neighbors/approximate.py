"""Approximate neighbors of many samples, with a recall that is estimated during the search.

All samples are sorted into small random cells, and each sample keeps the nearest members of its cell. With new cells in
each round the lists fill with true neighbors; at last each list takes in neighbors of neighbors. Some samples are also
searched exactly, so that the search knows its recall and ends when that is good enough.

X is read where it is, never copied. Results do not depend on the number of threads, nor on a random state: the same
samples have the same graph. docs/performance.md compares with other libraries. Needs Numba.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from afcm._typing import Floats, Integers
from afcm._util import progress, threads
from afcm.neighbors import exact
from afcm.neighbors.result import Neighbors

# The recall to reach, the number of samples it is estimated on, and the most partitions to try.
RECALL, ASKED, MOST_PARTITIONS = 0.97, 512, 64
# Neighbors of neighbors leave about this share of the errors, so they are taken in when that is enough.
DESCENT_GAIN = 0.4
# Members of a cell: at least so many, and so many for each neighbor. Neighbors whose neighbors are taken in.
CELL_SIZE, PER_NEIGHBOR, DESCENT_WIDTH = 256, 8, 12
# Cells larger than so many times the wanted size are shuffled; rows converted at a time; pieces of work for threads.
LARGE = 3
BLOCK_ROWS, BANDS = 4096, 64
# Coordinates in memory at a time when distances are measured in float64.
MEASURED_ELEMENTS = 100_000


class Cells(NamedTuple):
    """Samples in the order of their cells, and where each cell begins."""

    order: Integers
    offsets: Integers


@dataclass(frozen=True)
class ScaledSamples:
    """Samples as float32 about the middle of most of them, in units of their spread."""

    points: Floats
    origin: Floats
    scale: float

    @classmethod
    def of(cls, points: Floats) -> ScaledSamples:
        """Scale about the medians, so that an outlier does not cost the other samples their digits."""
        some = points[:: max(1, points.shape[0] // ASKED)].astype(np.float64)
        origin = np.median(some, axis=0)
        spreads = np.abs(some - origin)
        spread = float(np.median(spreads)) or float(spreads.max())
        return cls(points, origin, 1 / max(spread, np.finfo(np.float64).tiny))

    def to_float32(self, numbers: Integers) -> Floats:
        from afcm.compiled import neighbors as neighbor_loops

        values = np.empty((numbers.size, self.origin.size), np.float32)
        neighbor_loops.scale_samples(self.points, numbers.astype(np.int32), self.origin, self.scale, values)
        return values


def find_approximate_neighbors(points: Floats, k: int, recall: float = RECALL) -> Neighbors:
    """Most of the ``k`` nearest other samples of each sample; −1 in lists that are not full."""
    samples, lists, random = ScaledSamples.of(points), _NeighborLists.of(points, k), np.random.default_rng(0)
    check, size = RecallSample.of(points, k, random), max(CELL_SIZE, PER_NEIGHBOR * k)
    report = progress.start_stage("finding neighbours")
    for number in range(1, MOST_PARTITIONS + 1):
        lists.join(draw_cells(samples, size, random), samples.scale)
        report(number, None)
        reached = check.estimate_recall(lists.lists)
        if DESCENT_GAIN * (1 - reached) <= 1 - recall or number == MOST_PARTITIONS:
            lists.descend(samples.scale)
            reached = check.estimate_recall(lists.lists)
        if reached >= recall:
            break
    return Neighbors(*lists.measure(), reached)


@dataclass(frozen=True)
class _NeighborLists:
    """Lists of the nearest samples found so far (−1: none yet)."""

    points: Floats
    lists: Integers
    squared: Floats  # in the scale of `ScaledSamples`
    order: Integers  # samples in an order that keeps near ones together

    @classmethod
    def of(cls, points: Floats, k: int) -> _NeighborLists:
        shape = points.shape[0], k
        lists, squared = np.full(shape, -1, np.int32), np.full(shape, np.inf, np.float32)
        return cls(points, lists, squared, np.arange(shape[0], dtype=np.int32))

    def join(self, partition: Cells, scale: float) -> None:
        """Compare the members of each cell with each other."""
        from afcm.compiled import neighbors as neighbor_loops

        self.order[:], places = partition.order, np.empty_like(self.order)
        places[partition.order] = np.arange(places.size, dtype=places.dtype)

        def work(band: slice) -> None:
            offsets = partition.offsets[band.start : band.stop + 1]
            neighbor_loops.join_cells(self.points, partition.order, offsets, places, scale, self.lists, self.squared)

        threads.for_each(work, split_evenly(partition.offsets.size - 1))

    def descend(self, scale: float) -> None:
        """Compare each sample with the neighbors of its neighbors."""
        from afcm.compiled import neighbors as neighbor_loops

        before = self.lists[:, :DESCENT_WIDTH].copy()

        def work(band: slice) -> None:
            neighbor_loops.descend(self.points, self.order[band], scale, before, self.lists, self.squared)

        threads.for_each(work, split_evenly(self.order.size))

    def measure(self) -> tuple[Integers, Floats]:
        """All lists with distances in float64; the caller deals with lists that are not full."""
        from afcm.compiled import neighbors as neighbor_loops

        indices, squared = np.empty(self.lists.shape, np.intp), np.empty(self.lists.shape)

        def work(band: slice) -> None:
            neighbor_loops.measure_lists(self.points, self.order[band], self.lists, indices, squared)

        threads.for_each(work, split_evenly(self.order.size))
        return indices, squared


def split_evenly(size: int, count: int = BANDS) -> Iterator[slice]:
    cuts = np.linspace(0, size, min(count, size) + 1).astype(int)
    return (slice(int(first), int(end)) for first, end in pairwise(cuts))


def draw_cells(samples: ScaledSamples, size: int, random: np.random.Generator) -> Cells:
    """A random partition into cells of about ``size``: by the nearest of some samples, and within those once more."""
    n = samples.points.shape[0]
    n_coarse = max(1, round(float(np.sqrt(n / size))))
    seeds = random.choice(n, n_coarse, replace=False)

    def assign(band: slice) -> Integers:
        return assign_to_seeds(samples, np.arange(band.start, band.stop), seeds)

    coarse = group_by_cell(np.concatenate(threads.map_in_threads(assign, split_evenly(n))), n_coarse)
    groups = [coarse.order[a:b] for a, b in pairwise(coarse.offsets)]
    states = random.integers(2**63, size=n_coarse)

    def split(number: int) -> Cells:
        return split_cell(samples, groups[number], size, np.random.default_rng(states[number]))

    fine = threads.map_in_threads(split, range(n_coarse))
    sizes = np.concatenate([np.diff(part.offsets) for part in fine])
    return Cells(np.concatenate([part.order for part in fine]), np.concatenate([[0], np.cumsum(sizes)]))


def order_by_cells(points: Floats) -> Integers:
    """An order of the samples that keeps near ones together: that of the cells of a partition."""
    return draw_cells(ScaledSamples.of(points), CELL_SIZE, np.random.default_rng(0)).order.astype(np.intp)


def split_cell(samples: ScaledSamples, group: Integers, size: int, random: np.random.Generator) -> Cells:
    """Split a group into cells of about ``size``. Members of a large cell, not all compared, are shuffled."""
    n_seeds = min(group.size, max(1, round(group.size / size)))
    seeds = random.choice(group, n_seeds, replace=False) if n_seeds else group
    found = group_by_cell(assign_to_seeds(samples, group, seeds), seeds.size)
    order = group[found.order]
    for first, end in pairwise(found.offsets):
        if end - first > LARGE * size:
            random.shuffle(order[first:end])
    return Cells(order, found.offsets)


def assign_to_seeds(samples: ScaledSamples, numbers: Integers, seeds: Integers) -> Integers:
    """The number of the nearest seed of each of these samples."""
    found = np.empty(numbers.size, np.uint16)
    targets = samples.to_float32(seeds)
    halves, columns = np.einsum("ij,ij->i", targets, targets) / 2, targets.T
    for first in range(0, numbers.size, BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        found[rows] = np.argmin(halves - samples.to_float32(numbers[rows]) @ columns, axis=1)
    return found


def group_by_cell(cells: Integers, count: int) -> Cells:
    """Positions in the order of their cells."""
    order = np.argsort(cells, stable=True).astype(np.int32)
    return Cells(order, np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=count))]))


class RecallSample(NamedTuple):
    """Some samples with the squared distance (float64) to the last of their true neighbors."""

    points: Floats
    asked: Integers
    reach: Floats

    @classmethod
    def of(cls, points: Floats, k: int, random: np.random.Generator) -> RecallSample:
        """Draw the samples, and compare them with all others in float64: a neighbor missed here would raise the recall.

        Distances are taken about the median, so that an outlier does not cost the other samples their digits.
        """
        n = points.shape[0]
        asked = np.sort(random.choice(n, min(ASKED, n), replace=False))
        queries = points[asked].astype(np.float64)
        origin = np.median(queries, axis=0)
        queries -= origin

        def search(part: slice) -> Integers:
            block = points[part] - origin
            costs = queries @ block.T
            costs *= -2
            costs += np.einsum("ij,ij->i", block, block)
            return part.start + exact.select_smallest_by_groups(costs, min(k + 1, block.shape[0]))

        candidates = threads.map_in_threads(search, split_evenly(n, max(1, n // BLOCK_ROWS)))
        squared = measure_distances(points, asked, np.hstack(candidates))
        return cls(points, asked, np.partition(squared, k - 1)[:, k - 1])

    def estimate_recall(self, lists: Integers) -> float:
        """The share of true neighbors in the lists of these samples."""
        found = measure_distances(self.points, self.asked, lists[self.asked])
        return float(np.mean(found <= self.reach[:, None] * (1 + exact.ROUNDING)))


def measure_distances(points: Floats, asked: Integers, others: Integers) -> Floats:
    """Squared distances (float64) of each sample asked to its row of others; infinite to itself and to −1."""
    squared, step = np.empty(others.shape), max(1, MEASURED_ELEMENTS // (others.shape[1] * points.shape[1]))
    for first in range(0, asked.size, step):
        rows = slice(first, first + step)
        difference = points[others[rows]].astype(np.float64) - points[asked[rows], None]
        np.einsum("ijd,ijd->ij", difference, difference, out=squared[rows])
    squared[(others == asked[:, None]) | (others < 0)] = np.inf
    return squared
