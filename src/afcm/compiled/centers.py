"""One pass over all samples of a graph-free model, compiled by Numba: `afcm.equations.paper.expectation`, fused.

Samples are read once, tile by tile, and the n×c matrix never reaches memory (`afcm.compiled.tiles`). Chunks of rows are
summed in their order, so that the result does not depend on the number of threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from afcm._util.threads import for_each
from afcm.compiled.tiles import CLUSTERS_AT_ONCE, COLUMNS_AT_ONCE, scan_samples
from afcm.equations.paper import Statistics

# Rows that a thread takes at a time.
CHUNK_ROWS = 65_536
# The change of the memberships is watched on so many samples, spread evenly; a run ends only if it holds for all.
WATCHED_ROWS = 8_192
WATCHED_ENTRIES = 1 << 19
# With more columns matrix products are faster; fewer elementary steps in a pass are done before Numba is loaded.
MOST_COLUMNS, WORTH_COMPILING = 128, 30_000_000


@dataclass(frozen=True)
class NumbaPass:
    """Passes over these samples: statistics at given centers (and γ), and the change of memberships.

    ``fuzzy``: the memberships are those of FCM with m = 2.
    """

    points: Any
    masses: Any
    fuzzy: bool = False
    _last: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)  # centers, their memberships

    partial: ClassVar[bool] = True  # the change covers the watched samples only

    def is_worthwhile(self, points: Any, n_clusters: int) -> bool:
        """Is there enough to do, and are there few enough columns to beat matrix products?"""
        return points.shape[1] <= MOST_COLUMNS and points.size * n_clusters >= WORTH_COMPILING

    def is_accurate_for(self, centers: Any) -> bool:
        return True

    def __call__(self, centers: Any, precision: Any, before: Any = None) -> tuple[Statistics, float]:
        """Statistics of all samples; and the largest change of a watched membership since ``before`` (centers, γ)."""
        change = math.inf if before is None else self._watched_change(centers, precision, *before)
        return self.statistics(centers, precision), change

    def statistics(self, centers: Any, precision: Any) -> Statistics:
        dtype, (n_clusters, n_columns) = self.points.dtype, centers.shape
        targets, reference = self._targets(centers)
        cuts = range(0, self.points.shape[0], CHUNK_ROWS)
        totals, moments = np.zeros((len(cuts), n_clusters)), np.zeros((len(cuts), *targets.shape))
        sums, nowhere = np.zeros((len(cuts), 2)), np.empty((0, 0), dtype)

        def work(number: int) -> None:
            rows = slice(cuts[number], cuts[number] + CHUNK_ROWS)
            masses = np.empty(0, dtype) if self.masses is None else self.masses[rows]
            sums[number] = self._scan(
                self.points[rows], masses, targets, reference, precision, totals[number], moments[number], nowhere
            )

        for_each(work, range(len(cuts)))
        total, moved = totals.sum(axis=0), moments.sum(axis=0)[:n_clusters, :n_columns]
        about = moved - total[:, None] * (np.asarray(centers, dtype=dtype).astype(np.float64) - reference)
        scatter, energy = sums.sum(axis=0)
        return Statistics(total.astype(dtype), about.astype(dtype), scatter, energy)

    def _targets(self, centers: Any) -> tuple[Any, Any]:
        """The centers about their mean, filled up with zeros as the loops need it, and that mean."""
        centers = np.asarray(centers, dtype=self.points.dtype)
        (n_clusters, n_columns), reference = centers.shape, centers.mean(axis=0)
        shape = n_clusters + -n_clusters % CLUSTERS_AT_ONCE, n_columns + -n_columns % COLUMNS_AT_ONCE
        targets = np.zeros(shape, centers.dtype)
        targets[:n_clusters, :n_columns] = centers - reference
        return targets, reference

    def _scan(self, points: Any, masses: Any, targets: Any, reference: Any, precision: Any, *found: Any) -> Any:
        gamma = 1.0 if precision is None else float(precision)  # any number where a model has none
        return scan_samples(np.ascontiguousarray(points), masses, targets, reference, gamma, self.fuzzy, *found)

    @cached_property
    def watched(self) -> Any:
        """Samples spread evenly over all that have positive weight."""
        if self.masses is None:
            return np.ascontiguousarray(self.points[:: max(self.points.shape[0] // WATCHED_ROWS, 1)])
        present = np.flatnonzero(self.masses)
        return self.points[present[:: max(present.size // WATCHED_ROWS, 1)]]

    def _watched_change(self, centers: Any, precision: Any, old_centers: Any, old_precision: Any) -> float:
        known = self._last and self._last[0] is old_centers
        old = self._last[1] if known else self._memberships(old_centers, old_precision)
        new = self._memberships(centers, precision)
        self._last[:] = [centers, new]
        return float(np.abs(new - old).max())

    def _memberships(self, centers: Any, precision: Any) -> Any:
        """Memberships of the watched samples, a row for each cluster."""
        step = -(-len(self.watched) * len(centers) // WATCHED_ENTRIES)  # fewer samples of very many clusters
        points, (targets, reference) = self.watched[::step], self._targets(centers)
        memberships, totals = np.empty((len(centers), len(points)), points.dtype), np.zeros(len(centers))
        nothing, moments = np.empty(0, points.dtype), np.zeros(targets.shape)
        self._scan(points, nothing, targets, reference, precision, totals, moments, memberships)
        return memberships
