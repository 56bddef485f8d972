"""Algorithm 1, AFCM, on an anchor graph: a sweep is one look at the rows, and all else follows from small sums.

The mathematics is in `afcm.models.anchor_equations`. Here are the state, the sweep and what is kept for new samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from afcm.equations import paper
from afcm.graph.anchors.affinity import CoarseGraph, FactoredAffinity, select_masses
from afcm.graph.anchors.embedding import Coefficients
from afcm.graph.similarity import PlacedSamples
from afcm.linalg.products import map_row_blocks, row_block
from afcm.models.anchor_equations import (
    Look,
    Step,
    Sums,
    added,
    centers,
    embedding_step,
    look,
    roughness,
    scatter,
    sums,
)
from afcm.models.embedded import FIRST_PRECISION


@dataclass(frozen=True)
class AnchoredState:
    """U with its sums, V, γ, Z, and the coefficients that made Z."""

    memberships: Any
    sums: Sums
    precision: float
    centers: Any = None
    embedding: Any = None
    on_anchors: Any = None
    on_clusters: Any = None
    vectors: Any = None  # of Gᵀ G, where the next eigen-step searches
    objective: float = math.inf
    change: float = math.inf
    eigen_residual: float = 0.0
    eigen_converged: bool = True


@dataclass(frozen=True)
class AnchoredProblem:
    """Q, the masses (or None), the anchors' graph and λ. Rows are looked at by `summed` and `looked` alone."""

    weights: Any = field(repr=False)
    masses: Any = field(repr=False)
    anchors: CoarseGraph = field(repr=False)
    graph_weight: float

    made: ClassVar[type[AnchoredState]] = AnchoredState
    state_types: ClassVar[tuple[type, ...]] = (AnchoredState, Sums)  # for checkpoints

    @classmethod
    def of(cls, weights: Any, masses: Any, graph_weight: float) -> Self:
        """The anchors' graph is worked out."""
        return cls(weights, masses, CoarseGraph.from_rows(weights, masses), graph_weight)

    def sweep(self, state: AnchoredState) -> AnchoredState:
        """Algorithm 1, lines 4 to 7: op8, then the rest."""
        found = embedding_step(self.anchors, state.sums, self.graph_weight, state.precision, state.vectors)
        return self.from_coefficients(state.memberships, state.sums, found)

    def from_coefficients(self, memberships: Any, found: Sums, coefficients: Coefficients) -> AnchoredState:
        """op5 and op7 from the sums, op3 at the rows, and J."""
        n_dims = coefficients.on_anchors.shape[1]
        precision = paper.precision(scatter(found, coefficients), self.mass, n_dims, self.largest_precision(n_dims))
        step = Step(*coefficients[:2], centers(found, coefficients), precision)
        following, embedding, sums_after = self.looked(memberships, step)
        plain = paper.objective(float(sums_after.free_energy), precision, self.mass, n_dims)
        rough = roughness(self.anchors, found, coefficients)
        return self.made(
            following,
            sums_after,
            precision,
            step.centers,
            embedding,
            *coefficients[:3],
            paper.graph_objective(plain, rough, self.graph_weight),
            sums_after.change,
            *coefficients[3:],
        )

    def summed(self, memberships: Any) -> Sums:
        """The sums of given memberships."""
        return added(self._by_blocks(lambda rows: sums(*self._block(rows, memberships))))

    def looked(self, memberships: Any, step: Step) -> Look:
        """`look` at all blocks."""
        shape = memberships.shape
        following, embedding = np.empty(shape), np.empty((shape[0], step.centers.shape[1]))

        def part(rows: slice) -> Sums:
            following[rows], embedding[rows], own = look(*self._block(rows, memberships), step)
            return own

        return Look(following, embedding, added(self._by_blocks(part)))

    def _block(self, rows: slice, memberships: Any) -> tuple[Any, Any, Any]:
        return row_block(self.weights, rows), memberships[rows], select_masses(self.masses, rows)

    def _by_blocks(self, work: Callable[[slice], Sums]) -> list[Sums]:
        return map_row_blocks(work, self.weights.shape[0])

    @property
    def mass(self) -> float:
        """Number of samples, counted with their masses."""
        return float(self.anchors.sizes.sum())

    @property
    def objective_scale(self) -> float:
        """J is a sum over samples of numbers without a unit, and a constant that has one."""
        return self.mass

    def largest_precision(self, n_dims: int) -> float:
        """The cap on γ; the total scatter of Z is at most tr(Zᵀ M Z) = q."""
        return paper.largest_precision(n_dims, self.mass, n_dims)

    def with_memberships(self, memberships: Any) -> AnchoredState:
        """The paper's start: memberships and γ = 1; V and Z are computed before they are used."""
        return self.made(memberships, self.summed(memberships), FIRST_PRECISION)

    def from_embedding(self, memberships: Any, coefficients: Coefficients) -> AnchoredState:
        """The start from memberships and an embedding that is known."""
        return self.from_coefficients(memberships, self.summed(memberships), coefficients)

    def fitted(self, memberships: Any, precision: float, embedding: Any) -> AnchoredState:
        """The start from a fit on the same nodes; the embedding follows from the memberships."""
        del embedding
        return self.made(memberships, self.summed(memberships), precision)


@dataclass(frozen=True)
class AnchorExtension:
    """What must be kept of a fit to place new samples in it: the anchors' rows of Z, which a sample's weights average.

    A fitted row is ``q_i a + u_i b``; a new sample has the mean memberships of its anchors for its first u.
    """

    embedding: Any  # n×q
    memberships: Any  # n×c
    centers: Any  # c×q
    precision: float
    graph_weight: float
    anchor_embedding: Any  # a + Λ⁻¹ Qᵀ M U b, m×q
    affinity: FactoredAffinity

    def averaged(self, placed: PlacedSamples, values: Any) -> Any:
        """Values of the samples, averaged over a sample's anchors; one that was fitted gets its own."""
        return self._own(placed, values, placed.weights @ self.affinity.means(values))

    def embed(self, placed: PlacedSamples) -> Any:
        """Rows of the embedding for placed samples; one that was fitted gets its own."""
        return self._own(placed, self.embedding, placed.weights @ self.anchor_embedding)

    def memberships_of(self, embedding: Any) -> Any:
        """op3 in the fitted embedding."""
        return paper.memberships(paper.squared_distances(embedding, self.centers), self.precision)

    @staticmethod
    def _own(placed: PlacedSamples, own: Any, others: Any) -> Any:
        return np.where(placed.twins[:, None] >= 0, own[placed.twins], others)


def anchor_extension(problem: AnchoredProblem, state: AnchoredState, affinity: FactoredAffinity) -> AnchorExtension:
    """The extension of a finished run."""
    mean_memberships = problem.anchors.average(state.sums.links)
    return AnchorExtension(
        state.embedding,
        state.memberships,
        state.centers,
        state.precision,
        problem.graph_weight,
        state.on_anchors + mean_memberships @ state.on_clusters,
        affinity,
    )
