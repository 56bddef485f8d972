"""Algorithm 1, AFCM, on an anchor graph: a sweep is one pass over the rows, and all else follows from small sums.

The mathematics is in `afcm.models.anchor_equations`. Here are the state, the sweep and what is kept for new samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from afcm.equations import paper
from afcm.equations.sparse_memberships import choose_twins
from afcm.graph.anchors.affinity import CoarseGraph, FactoredAffinity, select_masses
from afcm.graph.anchors.embedding import Coefficients, spectral_coefficients
from afcm.graph.similarity import PlacedSamples
from afcm.linalg.operator import Eigenpairs
from afcm.linalg.products import map_row_blocks, row_block
from afcm.models import anchor_equations
from afcm.models.anchor_equations import Step, Sums
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
    """Q, the masses (or None), the graph of the anchors and λ."""

    weights: Any = field(repr=False)
    masses: Any = field(repr=False)
    anchors: CoarseGraph = field(repr=False)
    graph_weight: float

    state_types: ClassVar[tuple[type, ...]] = (AnchoredState, Sums)

    @classmethod
    def of(cls, weights: Any, masses: Any, graph_weight: float) -> Self:
        """The problem of these weights; the graph of the anchors is worked out."""
        return cls(weights, masses, CoarseGraph.from_rows(weights, masses), graph_weight)

    def sweep(self, state: AnchoredState, coefficients: Coefficients | None = None) -> AnchoredState:
        """Algorithm 1, lines 4 to 7: Z, V, γ, U. Given ``coefficients`` take the place of the first step."""
        if coefficients is None:  # op8
            how = (self.anchors, state.sums, self.graph_weight, state.precision, state.vectors)
            coefficients = anchor_equations.embedding_step(*how)
        step = anchor_equations.cluster_step(state.sums, coefficients)  # op5, op7
        memberships = np.empty(state.memberships.shape)
        embedding = np.empty((memberships.shape[0], step.centers.shape[1]))

        def look(rows: slice) -> Sums:
            block = self._block(rows, state.memberships)
            memberships[rows], embedding[rows], sums = anchor_equations.look(*block, step)  # op3
            return sums

        sums = anchor_equations.add_sums(self._by_blocks(look))
        return AnchoredState(memberships, sums, *self._results(state.sums, sums, coefficients, step, embedding))

    def _results(self, before: Sums, after: Sums, coefficients: Coefficients, step: Step, embedding: Any) -> Any:
        """Fields of the next state after its memberships and sums, in their order."""
        objective = anchor_equations.objective(self.anchors, before, after, step, self.graph_weight)
        learned = (step.precision, step.centers, embedding, *coefficients[:3])
        return (*learned, objective, after.change, *coefficients[3:])

    def sum_memberships(self, memberships: Any) -> Sums:
        """Sums of given memberships, one pass."""
        return anchor_equations.add_sums(
            self._by_blocks(lambda rows: anchor_equations.sums(*self._block(rows, memberships)))
        )

    def normalized_cut(self, memberships: Any) -> float:
        """The normalized cut of the labels."""
        return anchor_equations.normalized_cut(self.anchors, self.hard_links(memberships))

    def cluster_links(self, memberships: Any) -> Any:
        """``Hᵀ M Q Λ⁻¹ Qᵀ M H`` of the labels: the graph's weights between clusters, c×c."""
        scaled = self.anchors.scale(self.hard_links(memberships))
        return scaled.T @ scaled

    def hard_links(self, memberships: Any) -> Any:
        """``Qᵀ M H`` of the labels, m×c."""
        return hard_links(self.weights, memberships, self.masses)

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
        return anchor_equations.largest_precision(self.mass, n_dims)

    def from_memberships(self, memberships: Any) -> AnchoredState:
        """The paper's start: memberships and γ = 1; V and Z are computed before they are used."""
        return AnchoredState(memberships, self.sum_memberships(memberships), FIRST_PRECISION)

    def from_spectral(self, eigen: Eigenpairs, memberships: Any) -> AnchoredState:
        """Start from clusters of the anchors and their eigenvectors; samples have those of their anchors, by weight."""
        start = self.from_memberships(self.weights @ memberships)
        return self.sweep(start, spectral_coefficients(self.anchors, eigen, memberships.shape[1]))

    def from_fit(self, memberships: Any, precision: float, embedding: Any) -> AnchoredState:
        """Start where an earlier fit on the same nodes ended; the embedding follows from the memberships."""
        return AnchoredState(memberships, self.sum_memberships(memberships), precision)


def hard_links(weights: Any, memberships: Any, masses: Any) -> Any:
    """``Qᵀ M H`` with H the labels (argmax of the memberships) as 0 and 1, m×c."""
    labels = np.argmax(memberships, axis=1)
    return weights.T @ paper.weighted(np.eye(memberships.shape[1])[labels], masses)


@dataclass(frozen=True)
class AnchorExtension:
    """Places new samples in a fit: the anchors have rows of Z, which the weights of a sample average.

    A fitted row is ``q_i a + u_i b``; a new sample has the mean memberships of its anchors for its first u.
    """

    embedding: Any  # n×q
    memberships: Any  # n×c, maybe sparse
    centers: Any  # c×q
    precision: float
    graph_weight: float
    anchor_embedding: Any  # a + Λ⁻¹ Qᵀ M U b, m×q
    affinity: FactoredAffinity

    @property
    def n_clusters(self) -> int:
        return int(self.centers.shape[0])

    def averaged(self, placed: PlacedSamples, values: Any) -> Any:
        """Values of the samples, averaged over a sample's anchors; one that was fitted gets its own."""
        return choose_twins(placed.twins, values, placed.weights @ self.affinity.means(values))

    def embed(self, placed: PlacedSamples) -> Any:
        """Rows of the embedding for placed samples; one that was fitted gets its own."""
        return choose_twins(placed.twins, self.embedding, placed.weights @ self.anchor_embedding)

    def memberships_of(self, embedding: Any) -> Any:
        """op3 in the fitted embedding."""
        return paper.memberships(paper.squared_distances(embedding, self.centers), self.precision)


def extend_anchors(problem: AnchoredProblem, state: AnchoredState, affinity: FactoredAffinity) -> AnchorExtension:
    mean_memberships = problem.anchors.average(state.sums.links)
    learned = (state.embedding, state.memberships, state.centers, state.precision, problem.graph_weight)
    return AnchorExtension(*learned, state.on_anchors + mean_memberships @ state.on_clusters, affinity)
