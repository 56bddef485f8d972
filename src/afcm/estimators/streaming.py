"""Learning from batches: the additive statistics of a sweep, in which older batches fade."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from afcm import arrays
from afcm.equations import paper
from afcm.estimators.base import SoftClusterer, crispness, hard_labels, summarize
from afcm.estimators.inputs import cast
from afcm.models.centers import CenterProblem, CenterState

# The t-th batch counts t^−FADING: batches are forgotten slowly enough to average out their noise, and fast enough for
# those to go that were seen with poor centres (online EM converges for anything above 1/2 and up to 1).
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
    def from_batch(cls, state: CenterState, reference: Any) -> Stream:
        parts = (np.asarray(arrays.to_host(part), dtype=np.float64) for part in state.statistics)
        centers = np.asarray(arrays.to_host(state.centers), dtype=np.float64)
        mass = state.problem.mass
        about = paper.recentered(paper.Statistics(*parts), centers, reference)
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


class StreamingClusterer(SoftClusterer):
    """`partial_fit` for models whose clusters are their centres."""

    cluster_centers_: Any
    _stream: Stream

    def _state_of(self, X: Any, sample_weight: Any = None) -> CenterState:
        raise NotImplementedError

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch of samples, beside what was learned from those before.

        The first batch is fitted as by `fit` and should show all clusters. Each further one is looked at once: its
        statistics join those of the batches before, which fade slowly, and give new centres (and γ). What belongs to
        samples (``memberships_``, ``labels_``, ``objective_``) is that of this batch; ``n_batches_`` and ``mass_seen_``
        count what was seen.

        Parameters
        ----------
        X : array (n_samples, n_features)
        y : ignored
        sample_weight : array (n_samples,), optional
            As for `fit`.
        """
        if not hasattr(self, "_stream"):
            self.fit(X, sample_weight=sample_weight)
            state = self._state_of(X, sample_weight)
            mean = np.asarray(arrays.to_host(state.problem.mean), dtype=np.float64)
            return self._note(Stream.from_batch(state, mean))
        batch = self._state_of(X, sample_weight)
        stream, problem = self._stream.with_batch(batch), batch.problem
        centers, precision = stream.update_centers(problem)
        centers = np.where(
            stream.totals[:, None] > paper.MIN_MASS,
            centers,
            np.asarray(arrays.to_host(self.cluster_centers_), dtype=np.float64),
        )
        self._store_batch(problem.at(cast(centers, problem.points), precision), X)
        return self._note(stream)

    def _store_batch(self, state: CenterState, X: Any) -> None:
        self.cluster_centers_ = arrays.to_device_of(state.centers, X)
        if state.precision is not None:
            self.gamma_ = state.precision
        self.memberships_, self.objective_ = arrays.to_device_of(state.memberships, X), state.objective
        known = summarize(self.memberships_)
        self.labels_, self.crispness_ = hard_labels(self.memberships_), crispness(known)
        self.membership_state_ = self._judge(known)

    def _note(self, stream: Stream) -> Self:
        self._stream, self.n_batches_, self.mass_seen_ = stream, stream.n_batches, stream.mass
        return self
