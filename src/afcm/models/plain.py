"""Algorithm 2, the "degenerate" AFCM: fuzzy c-means with entropy regularisation that learns γ.

It is EM for a mixture of equal-weight spherical Gaussians with one variance, γ = 1 / (2σ²).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from afcm.equations import paper
from afcm.models.centers import CenterProblem, blocks

__all__ = ["PlainProblem", "blocks", "total_scatter"]


@dataclass(frozen=True)
class PlainProblem(CenterProblem):
    """A sweep is op5, op7, op3 (see `CenterProblem.sweep`)."""

    @property
    def fusible(self) -> bool:
        """Always."""
        return True

    @classmethod
    def from_points(cls, points: Any, masses: Any = None) -> PlainProblem:
        """The problem for these samples."""
        return cls(points, masses)

    @property
    def largest_precision(self) -> float:
        """The cap on γ."""
        return paper.largest_precision(self.total_scatter, self.mass, self.points.shape[1])

    def expectation(self, points: Any, masses: Any, centers: Any, precision: float) -> tuple[Any, paper.Statistics]:
        """op3."""
        return paper.expectation(points, centers, precision, masses)

    @property
    def objective_scale(self) -> float | None:
        """J is a sum over samples of numbers without a unit, and a constant that has one."""
        return self.mass

    def objective(self, statistics: paper.Statistics, precision: float) -> float:
        """afcm."""
        return paper.objective(float(statistics.free_energy), precision, self.mass, self.points.shape[1])

    def precision(self, scatter: float) -> float:
        """op7 for these data."""
        return paper.precision(scatter, self.mass, self.points.shape[1], self.largest_precision)

    def capped(self, precision: float) -> bool:
        """Did γ run to its cap?"""
        return precision >= self.largest_precision

    def first_precision(self, centers: Any) -> float:
        """op7 for the nearest-centre assignment."""
        return self.precision(self.nearest_scatter(centers))


def total_scatter(points: Any, masses: Any = None) -> float:
    """``Σ_i m_i ‖x_i − mean‖²``."""
    return PlainProblem(points, masses).total_scatter
