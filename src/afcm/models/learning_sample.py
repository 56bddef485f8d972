"""Samples that densities inside clusters are learned from: which rows, their cores, their unit and their boxes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from afcm._typing import Floats, Integers, Masks
from afcm.arrays import from_host, is_tensor

# The box of the core is wider than the core by this share of its width on each side.
MARGIN = 0.2
# A column whose spread is within rounding of its values is constant.
ROUNDING = 1e-13
# Scaled coordinates are at most this, so that rounding of their products does not matter: further is as far.
LARGEST = 1e6
# Scales of columns that differ by more than this count as differing by so much, where spheres are looked for.
MOST_RATIO = 1e6
# The densest share of each cluster, by mass.
CORE = 0.7
# Samples that a small cluster keeps when not all samples are used.
MIN_ROWS = 50


def rows_by_cluster(labels: Integers, n_clusters: int) -> Sequence[Integers]:
    """The rows of each cluster in rising order; none for an empty one."""
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    return [order[low:high] for low, high in pairwise(bounds)]


def draw_rows(labels: Integers, n_clusters: int, limit: int) -> tuple[Integers, Floats]:
    """All rows, or about ``limit`` random ones, and factors of their masses.

    Each cluster is drawn from by its size, and a small one more than that; its rows then count less. The seed is fixed.
    """
    n = len(labels)
    if n <= limit:
        return np.arange(n), np.ones(n)
    random, drawn, factors = np.random.RandomState(0), [], []
    for rows in rows_by_cluster(labels, n_clusters):
        wanted = len(rows) * limit / n
        size = min(len(rows), max(round(wanted), MIN_ROWS))
        drawn.append(random.permutation(rows)[:size])
        factors.append(np.full(size, wanted / max(size, 1)))
    return np.concatenate(drawn), np.concatenate(factors)


def dense_core(labels: Integers, n_clusters: int, log_distances: Floats, masses: Floats) -> Masks:
    """Which samples are in the densest 70 % of their cluster's mass; equally dense samples are treated alike."""
    core = np.zeros(len(labels), dtype=bool)
    for rows in rows_by_cluster(labels, n_clusters):
        if len(rows):
            own = log_distances[rows]
            order = np.argsort(own)
            sums = np.cumsum(masses[rows][order])
            at = int(np.searchsorted(sums, CORE * sums[-1] * (1.0 - 1e-12)))
            core[rows] = own <= own[order[min(at, len(rows) - 1)]]
    return core


def find_varying_columns(points: Floats) -> Integers:
    """Columns that are not constant but for rounding."""
    low, high = points.min(axis=0), points.max(axis=0)
    return np.flatnonzero(high - low > ROUNDING * np.maximum(high, -low))


class Frame(NamedTuple):
    """Columns that are not constant, and the center and scale of the core in them."""

    columns: Integers
    center: Floats
    scale: Floats

    @classmethod
    def around(cls, points: Floats, core: Masks, masses: Floats) -> Frame:
        """Center and scale by the core, so that far samples do not change them; constant columns are left out."""
        inner, columns = core & (masses > 0), find_varying_columns(points)
        varying = points[:, columns]
        dense, weights = varying[inner], masses[inner]
        center = np.average(dense, axis=0, weights=weights)
        scale = np.sqrt(np.average((dense - center) ** 2, axis=0, weights=weights))
        scale = np.where(scale > ROUNDING * np.abs(dense).max(axis=0), scale, 0.5 * np.ptp(varying, axis=0))
        return cls(columns, center, scale)

    @property
    def unit(self) -> Floats:
        """Variances of the scaled columns of a sphere, relative to the largest."""
        return np.maximum(self.scale.min() / self.scale, 1.0 / MOST_RATIO) ** 2

    def apply(self, points: Floats) -> Floats:
        """Points in the unit of the core."""
        columns, center, scale = (from_host(part, points) for part in self)
        scaled = (points[:, columns] - center) / scale
        if is_tensor(scaled):
            return scaled.clamp_(-LARGEST, LARGEST)
        return np.clip(scaled, -LARGEST, LARGEST, out=scaled)


class Boxes(NamedTuple):
    """The box of all samples by its volume, and the box of the core."""

    log_volumes: Floats
    low: Floats
    high: Floats

    @classmethod
    def around(cls, points: Floats, core: Masks) -> Boxes:
        """Both boxes; the one of the core is widened, but not beyond the samples."""
        low, high = points.min(axis=0), points.max(axis=0)
        core_low, core_high = points[core].min(axis=0), points[core].max(axis=0)
        margin = MARGIN * np.maximum(core_high - core_low, 2.0)  # a core of spread 1 is at least 2 wide
        inner_low, inner_high = np.maximum(core_low - margin, low), np.minimum(core_high + margin, high)
        volumes = np.log(high - low).sum(), np.log(inner_high - inner_low).sum()
        return cls(np.array(volumes), inner_low, inner_high)
