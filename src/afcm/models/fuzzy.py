"""Fuzzy c-means with a fuzziness that the user chooses: Bezdek's exponent m, or the precision γ of an entropy term."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from afcm.compiled.looks import fused_look
from afcm.equations import fuzzy_c_means, paper
from afcm.fitting.loop import run
from afcm.models.centers import CenterProblem
from afcm.models.plain import PlainProblem

# The run of k-means that γ is estimated from need not be finished: its scatter hardly changes any more.
SCALE_SWEEPS, SCALE_TOL = 30, 1e-4


@dataclass(frozen=True)
class FuzzyProblem(CenterProblem):
    """FCM (Bezdek): ``min Σ_ij u_ij^m d²_ij``."""

    exponent: float = 2.0

    columns_first: ClassVar[bool] = True

    @property
    def fusible(self) -> bool:
        """With m = 2."""
        return self.exponent == 2

    @cached_property
    def _fused(self) -> Any:
        return fused_look(self.points, self.masses, fuzzy=True)

    def expectation(self, points: Any, masses: Any, centers: Any, precision: None) -> tuple[Any, paper.Statistics]:
        """FCM's memberships; there is no γ."""
        return fuzzy_c_means.fuzzy_expectation(points, centers, self.exponent, masses)

    def objective(self, statistics: paper.Statistics, precision: None) -> float:
        """``Σ_ij u_ij^m d²_ij``."""
        return float(statistics.scatter)

    def shares(self, memberships: Any) -> Any:
        """``u_ij^m``."""
        return fuzzy_c_means.fuzzy_shares(memberships, self.exponent)

    def precision(self, scatter: float) -> None:
        """There is none."""

    def first_precision(self, centers: Any) -> None:
        """There is none."""


@dataclass(frozen=True)
class EntropyProblem(PlainProblem):
    """FCM-ER: Algorithm 2 with γ fixed, ``min Σ_ij u_ij d²_ij + (1/γ) Σ_ij u_ij log u_ij``."""

    gamma: float = 1.0

    def objective(self, statistics: paper.Statistics, precision: float) -> float:
        """J without the terms of a learned γ, in the unit of d²."""
        return fuzzy_c_means.entropy_objective(float(statistics.free_energy), self.gamma)

    @property
    def objective_scale(self) -> None:
        """J itself, which has no part without a unit."""

    def precision(self, scatter: float) -> float:
        """γ, whatever the scatter."""
        return self.gamma

    def first_precision(self, centers: Any) -> float:
        """γ."""
        return self.gamma

    def capped(self, precision: float) -> bool:
        """A γ that the user chose is none of ours."""
        return False


def k_means_precision(points: Any, masses: Any, centers: Any) -> float:
    """γ of clusters as wide as those of k-means from these centres (op7 for its scatter).

    k-means is FCM-ER at the cap on γ.
    """
    learned = PlainProblem(points, masses)
    hard = EntropyProblem(points, masses, learned.largest_precision)
    result = run(hard, hard.from_centers(centers), max_iter=SCALE_SWEEPS, tol=SCALE_TOL)
    return learned.precision(float(result.state.statistics.scatter))
