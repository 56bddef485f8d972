"""Algorithm 1 on an anchor graph of samples in Dask's chunks: a sweep is one map over chunks and one tree of sums.

The memberships of a row follow from its weights on the anchors and from the steps so far, so nothing of the rows is
kept: each pass makes their weights again, replays the steps (c·k numbers a row, little beside the weights) and gives
the sums of the next ones. Rows that are lost with a worker are made again from X, and a new sample is placed by the
very steps that placed the fitted ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from afcm.equations import paper
from afcm.graph.anchors.embedding import Coefficients, spectral_coefficients
from afcm.graph.similarity import PlacedSamples
from afcm.linalg.operator import Eigenpairs
from afcm.models import anchor_equations
from afcm.models.anchor_equations import Step, Sums, add_sums, embedded_rows
from afcm.models.anchored import AnchoredProblem, AnchoredState, hard_links
from afcm.models.passes import add_parts, sample_pass


@dataclass(frozen=True)
class Replay:
    """Memberships of a row from its weights q on the anchors: ``u = q F``, then each step's ``z = q a + u b``, op3."""

    first: Any  # F, m×c
    on_anchors: Any  # of t steps: a, t×m×q
    on_clusters: Any  # b, t×c×q
    centers: Any  # V, t×c×q
    precisions: Any  # γ, t

    @classmethod
    def begin(cls, first: Any) -> Self:
        """The clusters of the anchors; no step yet."""
        (n_anchors, n_clusters), n_dims = first.shape, first.shape[1]
        shapes = ((0, n_anchors, n_dims), (0, n_clusters, n_dims), (0, n_clusters, n_dims), (0,))
        return cls(first, *map(np.zeros, shapes))

    @property
    def shape(self) -> tuple[int, int]:
        return self.first.shape

    def then(self, step: Step) -> Self:
        held = (self.on_anchors, self.on_clusters, self.centers, self.precisions)
        longer = (np.concatenate([old, np.asarray(new)[None]]) for old, new in zip(held, step, strict=True))
        return type(self)(self.first, *longer)

    def steps(self) -> Iterator[Step]:
        rows = zip(self.on_anchors, self.on_clusters, self.centers, self.precisions, strict=True)
        return (Step(a, b, centers, float(precision)) for a, b, centers, precision in rows)

    def memberships(self, weights: Any) -> Any:
        """U of rows with these weights."""
        return self.place(weights)[0]

    def place(self, weights: Any) -> tuple[Any, Any]:
        """U, and Z of the last step (None before the first)."""
        memberships, embedding = weights @ self.first, None
        for step in self.steps():
            embedding = embedded_rows(weights, memberships, step)
            costs = paper.squared_distances(embedding, step.centers)
            memberships = np.ascontiguousarray(paper.memberships(costs, step.precision))
        return memberships, embedding


@dataclass(frozen=True)
class ChunkedState(AnchoredState):
    """A state whose memberships are the steps that make them."""

    memberships: Replay


@dataclass(frozen=True)
class ChunkedProblem(AnchoredProblem):
    """`AnchoredProblem` for samples in chunks, whose weights on the anchors are made where the samples are."""

    points: Any = field(repr=False)
    similarity: Any = field(repr=False)

    state_types: ClassVar[tuple[type, ...]] = (ChunkedState, Replay, Sums)

    def part(self, points: Any, masses: Any) -> Self:
        """This problem for some of the samples, which need not know the graph of the anchors."""
        return replace(self, points=points, masses=masses, anchors=None)  # type: ignore[arg-type]

    def sweep(self, state: ChunkedState, coefficients: Coefficients | None = None) -> ChunkedState:  # type: ignore[override]
        """Algorithm 1, lines 4 to 7, in one pass over the chunks."""
        if coefficients is None:  # op8
            how = (self.anchors, state.sums, self.graph_weight, state.precision, state.vectors)
            coefficients = anchor_equations.embedding_step(*how)
        step = anchor_equations.cluster_step(state.sums, coefficients)  # op5, op7
        sums = self.sums_after(state.memberships, step)  # op3
        return ChunkedState(
            state.memberships.then(step), sums, *self._results(state.sums, sums, coefficients, step, None)
        )

    def from_spectral(self, eigen: Eigenpairs, memberships: Any) -> ChunkedState:
        """Start from clusters of the anchors and their eigenvectors."""
        start: Any = self.from_memberships(Replay.begin(memberships))
        return self.sweep(start, spectral_coefficients(self.anchors, eigen, memberships.shape[1]))

    @sample_pass(add_sums)
    def sum_memberships(self, memberships: Replay) -> Sums:
        weights = self.similarity.weigh(self.points)
        return anchor_equations.sums(weights, memberships.memberships(weights), self.masses)

    @sample_pass(add_sums)
    def sums_after(self, memberships: Replay, step: Step) -> Sums:
        weights = self.similarity.weigh(self.points)
        return anchor_equations.look(weights, memberships.memberships(weights), self.masses, step)[2]

    @sample_pass(add_parts)
    def hard_links(self, memberships: Replay) -> Any:
        """``Qᵀ M H`` of the labels, m×c."""
        weights = self.similarity.weigh(self.points)
        return hard_links(weights, memberships.memberships(weights), self.masses)


@dataclass(frozen=True)
class ReplayExtension:
    """Places new samples, and fitted ones again, by the steps of the fit."""

    replay: Replay

    @property
    def n_clusters(self) -> int:
        return int(self.replay.shape[1])

    def embed(self, placed: PlacedSamples) -> Any:
        return self.replay.place(placed.weights)[1]

    def memberships_of(self, embedding: Any) -> Any:
        """op3 in the fitted embedding."""
        costs = paper.squared_distances(embedding, self.replay.centers[-1])
        return paper.memberships(costs, float(self.replay.precisions[-1]))
