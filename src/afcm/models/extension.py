"""New samples in a learned embedding: the Nyström step that the fitted samples satisfy themselves.

At a fixed point of Algorithm 1 every fitted row obeys ``z_i Θ = λ Σ_j s_ij z_j + γ u_i V`` with
``Θ = λ Ẑᵀ S Ẑ + γ Vᵀ diag(N) V``. A new sample gets its s and its first u from its neighbours and the same equation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from afcm.arrays import backend_of, from_host, to_host
from afcm.equations import paper
from afcm.equations.sparse_memberships import choose_twins
from afcm.graph.similarity import PlacedSamples
from afcm.models.embedded import EmbeddedProblem, EmbeddedState


@dataclass(frozen=True)
class Extension:
    """Places new samples in a fit: the nodes' embedding and memberships, and the equation that they obey."""

    embedding: Any  # n×q
    memberships: Any  # n×c, maybe sparse
    centers: Any  # c×q
    precision: float
    graph_weight: float
    degrees: Any  # n
    masses: Any  # n or None: how much each node counts among the neighbors of a new sample
    inverse_spectrum: Any  # Θ⁻¹, q×q

    @property
    def n_clusters(self) -> int:
        return int(self.centers.shape[0])

    def shares(self, weights: Any) -> Any:
        """Similarities to the nodes, times the masses, as rows that sum to 1."""
        return backend_of(weights).normalize_rows(weights, self.masses)

    def averaged(self, placed: PlacedSamples, values: Any) -> Any:
        """Values of the nodes, averaged over a sample's neighbours; one identical to a node gets that node's."""
        return choose_twins(placed.twins, values, self.shares(placed.weights) @ values)

    def embed(self, placed: PlacedSamples) -> Any:
        """Rows of the embedding for placed samples; one identical to a node gets that node's row.

        With the shares ``p_j`` of `shares`, the term ``Σ_j s_ij z_j`` of a sample is ``√d Σ_j p_j z_j / √d_j``. A
        fitted node's degree d is the sum of its own similarities times the masses; a new sample's is the mean degree
        of its neighbors, weighted by its shares: ``d = Σ_j p_j d_j``.
        """
        xp = array_namespace(self.embedding)
        weights, twins = placed
        shares = self.shares(weights)
        scale = xp.sqrt(xp.where(self.degrees > 0, self.degrees, xp.ones_like(self.degrees)))
        smoothed = (shares @ (self.embedding / scale[:, None])) * xp.sqrt(shares @ self.degrees)[:, None]
        pulled = (shares @ self.memberships) @ self.centers
        placed_rows = (self.graph_weight * smoothed + self.precision * pulled) @ self.inverse_spectrum
        return xp.where(twins[:, None] >= 0, self.embedding[twins], placed_rows)

    def memberships_of(self, embedding: Any) -> Any:
        """op3 in the fitted embedding."""
        return paper.memberships(paper.squared_distances(embedding, self.centers), self.precision)


def extend(problem: EmbeddedProblem, state: EmbeddedState, degrees: Any, scale: Any = None) -> Extension:
    """The extension of a finished run; ``scale`` is what balanced the graph's similarities, None for 1."""
    learned = (problem.embedding(state.vectors), state.memberships, state.centers, state.precision)
    counts = problem.masses if scale is None else problem.masses * scale
    return Extension(*learned, problem.graph_weight, degrees, counts, inverse_spectrum(problem, state))


def inverse_spectrum(problem: EmbeddedProblem, state: EmbeddedState) -> Any:
    """Θ⁻¹ (pseudo-inverse: merged clusters make Θ singular)."""
    totals = paper.cluster_totals(state.memberships, problem.masses)
    graph_part = state.vectors.T @ state.smoothed
    membership_part = state.centers.T @ (totals[:, None] * state.centers)
    spectrum = problem.graph_weight * graph_part + state.precision * membership_part
    return from_host(np.linalg.pinv(to_host(spectrum), hermitian=True), spectrum)
