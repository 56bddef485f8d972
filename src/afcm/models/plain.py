"""Algorithm 2, the "degenerate" AFCM: fuzzy c-means with entropy regularisation that learns γ.

It is EM for a mixture of equal-weight spherical Gaussians with one variance, γ = 1 / (2σ²).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from afcm import updates

# Rows looked at together: large enough for the matrix product, small enough for the cache.
BLOCK_ROWS = 8192


@dataclass(frozen=True)
class PlainState:
    """Centres and γ, the memberships that follow from them, and the statistics that lead on."""

    centers: Any
    precision: float
    memberships: Any
    statistics: updates.Statistics
    objective: float


@dataclass(frozen=True)
class PlainProblem:
    """Data (n×d), sample masses (or None) and the cap on γ."""

    points: Any
    masses: Any
    mass: float
    total_scatter: float

    @classmethod
    def from_points(cls, points: Any, masses: Any = None) -> PlainProblem:
        """The problem for these samples."""
        mass = float(points.shape[0] if masses is None else masses.sum())
        return cls(points, masses, mass, total_scatter(points, masses))

    @property
    def largest_precision(self) -> float:
        """The cap on γ."""
        return updates.largest_precision(self.total_scatter, self.mass, self.points.shape[1])

    def sweep(self, state: PlainState) -> PlainState:
        """op5, op7, op3: one look at the data."""
        totals, moments, scatter, _ = state.statistics
        centers = updates.moved_centers(state.centers, moments, totals)
        return self.at(centers, self.precision(updates.moved_scatter(scatter, moments, totals)))

    def at(self, centers: Any, precision: float) -> PlainState:
        """The state with the best memberships for these centres and this γ."""
        xp = array_namespace(self.points)
        degrees, statistics = [], []
        for rows in blocks(self.points.shape[0]):
            masses = None if self.masses is None else self.masses[rows]
            block = updates.expectation(self.points[rows], centers, precision, masses)
            degrees.append(block[0])
            statistics.append(block[1])
        total = updates.Statistics(*(sum(parts) for parts in zip(*statistics, strict=True)))
        objective = updates.objective(float(total.free_energy), precision, self.mass, self.points.shape[1])
        return PlainState(centers, precision, xp.concat(degrees, axis=0), total, objective)

    def from_memberships(self, memberships: Any) -> PlainState:
        """The start from given memberships: op5 and op7, then op3."""
        centers = updates.centers(self.points, memberships, self.masses)
        costs = updates.squared_distances(self.points, centers)
        return self.at(centers, self.precision(updates.scatter(costs, memberships, self.masses)))

    def from_centers(self, centers: Any) -> PlainState:
        """The start from given centres: γ is op7 for the nearest-centre assignment."""
        xp = array_namespace(self.points)
        nearest = xp.min(updates.squared_distances(self.points, centers), axis=1)
        return self.at(centers, self.precision(float(xp.sum(updates.weighted(nearest, self.masses)))))

    def precision(self, scatter: float) -> float:
        """op7 for these data."""
        return updates.precision(scatter, self.mass, self.points.shape[1], self.largest_precision)


def blocks(n_rows: int, size: int = BLOCK_ROWS) -> Iterator[slice]:
    """Consecutive row slices."""
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


def total_scatter(points: Any, masses: Any) -> float:
    """``Σ_i m_i ‖x_i − mean‖²``."""
    everyone = np.ones((points.shape[0], 1), dtype=points.dtype)
    mean = updates.centers(points, everyone, masses)
    return updates.scatter(updates.squared_distances(points, mean), everyone, masses)
