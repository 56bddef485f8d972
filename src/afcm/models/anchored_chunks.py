"""Algorithm 1 on an anchor graph of samples in chunks elsewhere: one map over chunks and one tree of sums a sweep.

A row's memberships are a function of its weights on the anchors and of the steps so far, so nothing of the rows is
kept: each look makes their weights again, replays the steps (c·k numbers a row each, little beside the weights) and
gives the sums of the next ones. What is lost with a worker is made again from X, and a new sample is placed by the very
steps that placed the fitted ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from afcm.equations import paper
from afcm.graph.anchors.affinity import CoarseGraph
from afcm.graph.similarity import PlacedSamples
from afcm.models.anchor_equations import Look, Step, Sums, added, embedded_rows
from afcm.models.anchored import AnchoredProblem, AnchoredState
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
        """That of F."""
        return self.first.shape

    def then(self, step: Step) -> Self:
        """With one more step."""
        held = (self.on_anchors, self.on_clusters, self.centers, self.precisions)
        longer = (np.concatenate([old, np.asarray(new)[None]]) for old, new in zip(held, step, strict=True))
        return type(self)(self.first, *longer)

    def steps(self) -> Iterator[Step]:
        """In their order."""
        rows = zip(self.on_anchors, self.on_clusters, self.centers, self.precisions, strict=True)
        return (Step(a, b, centers, float(precision)) for a, b, centers, precision in rows)

    def memberships(self, weights: Any) -> Any:
        """U of rows with these weights."""
        return self.placed(weights)[0]

    def placed(self, weights: Any) -> tuple[Any, Any]:
        """U, and Z of the last step (None before the first)."""
        memberships, embedding = weights @ self.first, None
        for step in self.steps():
            embedding = embedded_rows(weights, memberships, step)
            costs = paper.squared_distances(embedding, step.centers)
            memberships = np.ascontiguousarray(paper.memberships(costs, step.precision))
        return memberships, embedding


@dataclass(frozen=True)
class ChunkedState(AnchoredState):
    """As in memory, with memberships that are yet to be worked out."""

    memberships: Replay
    sums: Sums


@dataclass(frozen=True)
class ChunkedProblem(AnchoredProblem):
    """`AnchoredProblem` for X in chunks, whose weights on the anchors are made where they are."""

    points: Any = field(default=None, repr=False)
    similarity: Any = field(default=None, repr=False)

    made: ClassVar[type[AnchoredState]] = ChunkedState
    state_types: ClassVar[tuple[type, ...]] = (ChunkedState, Replay, Sums)

    def part(self, points: Any, masses: Any) -> Self:
        """The same for some of the samples, which need not know the anchors' graph."""
        return replace(self, points=points, masses=masses, anchors=None)  # type: ignore[arg-type]

    def summed(self, memberships: Replay) -> Sums:
        """The sums of the memberships, one pass."""
        return self.sums_of(memberships)

    def looked(self, memberships: Replay, step: Step) -> Look:
        """The sums after a step, one pass."""
        return Look(memberships.then(step), None, self.sums_after(memberships, step))  # type: ignore[arg-type]

    @sample_pass(added)
    def sums_of(self, memberships: Replay) -> Sums:
        """Of a chunk."""
        rows = self._rows()
        return rows.summed(memberships.memberships(rows.weights))

    @sample_pass(added)
    def sums_after(self, memberships: Replay, step: Step) -> Sums:
        """Of a chunk, after a step."""
        rows = self._rows()
        return rows.looked(memberships.memberships(rows.weights), step).sums

    @sample_pass(add_parts)
    def hard_links(self, memberships: Replay) -> Any:
        """``Qᵀ M H`` of the labels, m×c."""
        weights = self.similarity.weigh(self.points)
        labels = np.argmax(memberships.memberships(weights), axis=1)
        return weights.T @ paper.weighted(np.eye(memberships.shape[1])[labels], self.masses)

    @sample_pass(add_parts)
    def gram(self) -> Any:
        """``Qᵀ M Q``, m×m, sparse."""
        return CoarseGraph.from_rows(self.similarity.weigh(self.points), self.masses).weights

    def _rows(self) -> AnchoredProblem:
        """A chunk in memory."""
        return AnchoredProblem(self.similarity.weigh(self.points), self.masses, self.anchors, self.graph_weight)


def anchor_graph(points: Any, masses: Any, similarity: Any) -> CoarseGraph:
    """``Qᵀ M Q`` of samples in chunks."""
    unknown = ChunkedProblem(None, masses, None, 0.0, points, similarity)  # type: ignore[arg-type]
    return CoarseGraph(unknown.gram())


@dataclass(frozen=True)
class ReplayExtension:
    """What places new samples, and fitted ones again: the steps of the fit."""

    replay: Replay

    def embed(self, placed: PlacedSamples) -> Any:
        """Rows of the embedding."""
        return self.replay.placed(placed.weights)[1]

    def memberships_of(self, embedding: Any) -> Any:
        """op3 in the fitted embedding."""
        costs = paper.squared_distances(embedding, self.replay.centers[-1])
        return paper.memberships(costs, float(self.replay.precisions[-1]))
