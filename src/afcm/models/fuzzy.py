"""Fuzzy c-means with a fuzziness that the user chooses: Bezdek's exponent m, or the precision γ of an entropy term."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from afcm.compiled.dispatch import choose_pass
from afcm.equations import fuzzy_c_means, paper
from afcm.models.centers import CenterProblem
from afcm.models.plain import PlainProblem


@dataclass(frozen=True)
class FuzzyProblem(CenterProblem):
    """FCM (Bezdek): ``min Σ_ij u_ij^m d²_ij``. There is no γ."""

    exponent: float = 2.0

    columns_first: ClassVar[bool] = True

    @cached_property
    def _compiled_pass(self) -> Any:
        return choose_pass(self.points, self.masses, fuzzy=True) if self.exponent == 2 else None

    def expectation(self, points: Any, masses: Any, centers: Any, precision: None) -> tuple[Any, paper.Statistics]:
        """FCM's memberships and the statistics of a block."""
        return fuzzy_c_means.fuzzy_expectation(points, centers, self.exponent, masses)

    def objective(self, statistics: paper.Statistics, precision: None) -> float:
        return float(statistics.scatter)

    def shares(self, memberships: Any) -> Any:
        """FCM weighs samples by ``u_ij^m``."""
        return fuzzy_c_means.fuzzy_shares(memberships, self.exponent)

    def precision(self, scatter: float) -> None:
        """None: there is no γ."""

    def first_precision(self, centers: Any) -> None:
        """None: there is no γ."""


@dataclass(frozen=True)
class EntropyProblem(PlainProblem):
    """FCM-ER: Algorithm 2 with γ fixed, ``min Σ_ij u_ij d²_ij + (1/γ) Σ_ij u_ij log u_ij``."""

    gamma: float = 1.0

    def objective(self, statistics: paper.Statistics, precision: float) -> float:
        """J without the terms of a learned γ, in the unit of d²."""
        return fuzzy_c_means.entropy_objective(float(statistics.free_energy), self.gamma)

    @property
    def objective_scale(self) -> None:
        """None: J has no part without a unit, so that its changes are measured against itself."""

    def precision(self, scatter: float) -> float:
        return self.gamma

    def first_precision(self, centers: Any) -> float:
        return self.gamma

    def is_capped(self, precision: float) -> bool:
        """Never: the user chose γ."""
        return False
