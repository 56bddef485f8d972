"""New samples in a learned embedding: the Nyström step that the fitted samples satisfy themselves.

At a fixed point of Algorithm 1 every fitted row obeys ``z_i Θ = λ Σ_j s_ij z_j + γ u_i V`` with
``Θ = λ Ẑᵀ S Ẑ + γ Vᵀ diag(N) V``. A new sample gets its s and its first u from its neighbours and the same equation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from afcm import updates


@dataclass(frozen=True)
class Extension:
    """What must be kept of a fit to place new samples in it."""

    embedding: Any  # n×q
    memberships: Any  # n×c
    centers: Any  # c×q
    precision: float
    graph_weight: float
    degrees: Any  # n
    masses: Any  # n or None
    inverse_spectrum: Any  # Θ⁻¹, q×q

    def embed(self, weights: Any) -> Any:
        """Rows of the embedding for samples with these similarities (m×n, no empty row) to the fitted ones."""
        shares = weights if self.masses is None else weights.multiply(self.masses[None, :]).tocsr()
        totals = np.asarray(shares.sum(axis=1)).ravel()
        shares = shares.multiply(1 / totals[:, None]).tocsr()
        scale = np.sqrt(np.where(self.degrees > 0, self.degrees, 1.0))
        smoothed = (shares @ (self.embedding / scale[:, None])) * np.sqrt(shares @ self.degrees)[:, None]
        pulled = (shares @ self.memberships) @ self.centers
        return (self.graph_weight * smoothed + self.precision * pulled) @ self.inverse_spectrum

    def memberships_of(self, embedding: Any) -> Any:
        """op3 in the fitted embedding."""
        return updates.memberships(updates.squared_distances(embedding, self.centers), self.precision)


def inverse_spectrum(problem: Any, state: Any) -> Any:
    """Θ⁻¹ (pseudo-inverse: merged clusters make Θ singular)."""
    totals = updates.cluster_totals(state.memberships, problem.masses)
    graph_part = state.vectors.T @ state.smoothed
    membership_part = state.centers.T @ (totals[:, None] * state.centers)
    return np.linalg.pinv(problem.graph_weight * graph_part + state.precision * membership_part, hermitian=True)
