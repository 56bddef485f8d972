"""Algorithm 2, the "degenerate" AFCM: fuzzy c-means with entropy regularization that learns γ.

It is EM for a mixture of equal-weight spherical Gaussians with one variance, γ = 1 / (2σ²).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from afcm.compiled.dispatch import choose_pass
from afcm.equations import paper
from afcm.models.centers import CenterProblem


@dataclass(frozen=True)
class PlainProblem(CenterProblem):
    """A sweep is op5, op7, op3 (see `CenterProblem.sweep`)."""

    @cached_property
    def _compiled_pass(self) -> Any:
        return choose_pass(self.points, self.masses)

    @property
    def largest_precision(self) -> float:
        return paper.largest_precision(self.total_scatter, self.mass, self.points.shape[1])

    def expectation(self, points: Any, masses: Any, centers: Any, precision: float) -> tuple[Any, paper.Statistics]:
        """op3 and the statistics of a block."""
        return paper.expectation(points, centers, precision, masses)

    @property
    def objective_scale(self) -> float | None:
        """J is a sum over samples of numbers without a unit, plus a constant that depends on the unit."""
        return self.mass

    def objective(self, statistics: paper.Statistics, precision: float) -> float:
        """J of the equation afcm."""
        return paper.objective(float(statistics.free_energy), precision, self.mass, self.points.shape[1])

    def precision(self, scatter: float) -> float:
        """op7, with the cap of these samples."""
        return paper.precision(scatter, self.mass, self.points.shape[1], self.largest_precision)

    def is_capped(self, precision: float) -> bool:
        """Whether γ ran to its cap."""
        return precision >= self.largest_precision

    def first_precision(self, centers: Any) -> float:
        """op7 for the nearest-center assignment."""
        return self.precision(self.nearest_scatter(centers))


def total_scatter(points: Any, masses: Any = None) -> float:
    """``Σ_i m_i ‖x_i − mean‖²``."""
    return PlainProblem(points, masses).total_scatter
