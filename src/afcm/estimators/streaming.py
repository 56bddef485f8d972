"""Learning from batches: the additive statistics of a sweep, in which older batches fade."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from afcm import arrays
from afcm.equations import paper
from afcm.models.centers import CenterProblem, CenterState

# The t-th batch counts t^−FADING: batches are forgotten slowly enough to average out their noise, and fast enough for
# those to go that were seen with poor centers (online EM converges for anything above 1/2 and up to 1).
FADING = 0.6
# Attributes that `partial_fit` sets and a new `fit` deletes.
STREAM_ATTRIBUTES = ("_stream", "n_batches_", "mass_seen_")


@dataclass(frozen=True)
class Stream:
    """Statistics of all batches so far, about one point and for a mass of 1 (on the host, float64)."""

    reference: Any  # d
    totals: Any  # c
    moments: Any  # c×d, about the reference
    scatter: float  # about the reference
    n_batches: int
    mass: float

    @property
    def statistics(self) -> paper.Statistics:
        return paper.Statistics(self.totals, self.moments, self.scatter, 0.0)

    @classmethod
    def from_batch(cls, state: CenterState, reference: Any = None) -> Stream:
        """The statistics of one batch, about the mean of its samples by default."""
        reference = to_double(state.problem.mean) if reference is None else reference
        mass = state.problem.mass
        statistics = paper.Statistics(*map(to_double, state.statistics))
        about = paper.recentered(statistics, to_double(state.centers), reference)
        totals, moments, scatter, _ = paper.scaled_statistics(about, 1 / mass)
        return cls(reference, totals, moments, float(scatter), 1, mass)

    def with_batch(self, state: CenterState) -> Stream:
        batch, weight = Stream.from_batch(state, self.reference), (self.n_batches + 1) ** -FADING
        blend = ((1 - weight) * a + weight * b for a, b in zip(self.statistics, batch.statistics, strict=True))
        totals, moments, scatter, _ = blend
        return Stream(self.reference, totals, moments, scatter, self.n_batches + 1, self.mass + batch.mass)

    def update_centers(self, problem: CenterProblem) -> tuple[Any, Any]:
        """The best centers (and γ) for these statistics; an empty cluster goes to the reference."""
        home = np.zeros_like(self.moments) + self.reference
        known = paper.scaled_statistics(self.statistics, problem.mass)
        one = paper.moved_scatter(known.scatter, known.moments.sum(axis=0)[None, :], known.totals.sum()[None])
        return problem.with_total_scatter(one).update_centers(home, known)


def to_double(array: Any) -> Any:
    return np.asarray(arrays.to_host(array), dtype=np.float64)
