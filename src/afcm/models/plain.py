"""Algorithm 2, the "degenerate" AFCM: fuzzy c-means with entropy regularisation that learns γ.

It is EM for a mixture of equal-weight spherical Gaussians with one variance, γ = 1 / (2σ²).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from afcm import updates
from afcm.backends import is_tensor, torch_side
from afcm.models.centers import CenterProblem, blocks

__all__ = ["PlainProblem", "blocks", "total_scatter"]


@dataclass(frozen=True)
class PlainProblem(CenterProblem):
    """A sweep is op5, op7, op3 (see `CenterProblem.sweep`)."""

    @classmethod
    def from_points(cls, points: Any, masses: Any = None) -> PlainProblem:
        """The problem for these samples."""
        return cls(points, masses)

    @property
    def largest_precision(self) -> float:
        """The cap on γ."""
        return updates.largest_precision(self.total_scatter, self.mass, self.points.shape[1])

    def expectation(self, points: Any, masses: Any, centers: Any, precision: float) -> tuple[Any, updates.Statistics]:
        """op3."""
        return updates.expectation(points, centers, precision, masses)

    def fused(self, centers: Any) -> Any:
        """On a CUDA device one kernel does it all, unless the centres are too far out for it."""
        if not is_tensor(self.points):
            return None
        fits = self._fused is not None and self._fused.fits(self.points, centers.shape[0])
        return self._fused if fits and self._fused.reaches(centers) else None

    @cached_property
    def _fused(self) -> Any:
        return torch_side().fused_look(self.points, self.masses)

    def objective(self, statistics: updates.Statistics, precision: float) -> float:
        """afcm."""
        return updates.objective(float(statistics.free_energy), precision, self.mass, self.points.shape[1])

    def precision(self, scatter: float) -> float:
        """op7 for these data."""
        return updates.precision(scatter, self.mass, self.points.shape[1], self.largest_precision)

    def capped(self, precision: float) -> bool:
        """Did γ run to its cap?"""
        return precision >= self.largest_precision

    def first_precision(self, centers: Any) -> float:
        """op7 for the nearest-centre assignment."""
        return self.precision(self.nearest_scatter(centers))


def total_scatter(points: Any, masses: Any = None) -> float:
    """``Σ_i m_i ‖x_i − mean‖²``."""
    return PlainProblem(points, masses).total_scatter
