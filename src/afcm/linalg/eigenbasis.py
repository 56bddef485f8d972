"""Many eigen-steps on one small graph: in the basis of the graph's own eigenvectors the graph is diagonal.

With ``S = Q diag(s) Qᵀ`` and ``H = Qᵀ G`` the operator ``λ S + γ G Gᵀ`` becomes ``λ diag(s) + γ H Hᵀ``. Its leading
eigenvectors lie almost wholly in the first few coordinates (where s is largest) and in the columns of
``(θ − λ s)⁻¹ H``. After Rayleigh–Ritz there, the residual divided by that same diagonal is the missing direction
(Davidson). One or two such corrections reach rounding however narrow the gaps are; a polynomial in S would need
hundreds of products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from afcm._typing import Floats
from afcm.linalg.eigensolver import DenseSolver
from afcm.linalg.operator import Eigenpairs, GraphPlusLowRank
from afcm.linalg.search_space import RitzPairs, column_lengths, orthonormal_complement

# All eigenvectors cost about as much as this many dense solves for a few of them (make bench NAME=eigen).
WORTH_BASIS = 5
# Q has n² entries and costs 10 n³ operations.
MOST_NODES = 3000
# First coordinates in the search space, per wanted vector.
COORDINATES = 2
# Corrections before a plain dense solve is the shorter way.
MAX_CORRECTIONS = 4
# A correction divides by at least this share of the graph's largest eigenvalue.
MIN_DISTANCE = 1e-4


class LearningSolver(DenseSolver):
    """Dense eigen-solves on one graph; after a few of them it learns the graph's eigenvectors and uses those."""

    basis: EigenBasis | None = None

    @property
    def has_basis(self) -> bool:  # type: ignore[override]
        return self.basis is not None

    def learn(self, graph: Any) -> None:
        """Compute the eigenvectors, once, unless the graph is too large."""
        if self.basis is None and graph.shape[0] <= MOST_NODES:
            self.basis = EigenBasis.from_graph(graph)

    def __call__(self, operator: GraphPlusLowRank, n_wanted: int, trace_tol: float, angle_tol: float) -> Eigenpairs:
        """The leading eigenvectors, as `eigensolver.leading_eigenvectors` promises them."""
        self.n_solves += 1
        if self.n_solves > WORTH_BASIS:
            self.learn(operator.graph)
        found = None if self.basis is None else self.basis.solve(operator, n_wanted, trace_tol, angle_tol)
        return super().__call__(operator, n_wanted, trace_tol, angle_tol) if found is None else found


@dataclass(frozen=True)
class EigenBasis:
    """All eigenvectors of a graph, the leading ones first."""

    vectors: Floats  # Q, n×n
    values: Floats  # s, falling

    @classmethod
    def from_graph(cls, graph: Any) -> EigenBasis:
        values, vectors = eigh(GraphPlusLowRank(graph).to_dense(), overwrite_a=True, check_finite=False)
        return cls(np.ascontiguousarray(vectors[:, ::-1]), values[::-1].copy())

    def solve(self, operator: GraphPlusLowRank, n_wanted: int, trace_tol: float, angle_tol: float) -> Eigenpairs | None:
        """The leading eigenvectors of ``operator``, whose graph is that of this basis; None if it takes too long."""
        if operator.factor is None:
            return self._eigenpairs(operator, np.eye(self.values.size, n_wanted), operator.weight * self.values)
        factor = np.sqrt(operator.factor_weight) * (self.vectors.T @ operator.factor)
        space = _Coordinates(operator.weight * self.values, factor, n_wanted)
        for _ in range(MAX_CORRECTIONS + 1):
            ritz, residuals = space.rayleigh_ritz()
            if ritz.trace_error <= trace_tol * operator.scale or ritz.angle <= angle_tol:
                return self._eigenpairs(operator, ritz.vectors, ritz.values, ritz)
            space.correct(ritz, residuals)
        return None

    def _eigenpairs(
        self, operator: GraphPlusLowRank, coefficients: Floats, values: Floats, ritz: RitzPairs | None = None
    ) -> Eigenpairs:
        vectors = self.vectors @ coefficients
        residual = 0.0 if ritz is None else float(ritz.norms.max()) / max(float(values[0]), np.finfo(float).tiny)
        trace_error = 0.0 if ritz is None else ritz.trace_error
        values = values[: coefficients.shape[1]]
        return Eigenpairs(vectors, values, operator.graph @ vectors, residual, trace_error, 0, True)


class _Coordinates:
    """Rayleigh–Ritz for ``diag(a) + H Hᵀ`` in all of the first m coordinates and a few directions W of the others."""

    def __init__(self, diagonal: Floats, factor: Floats, n_wanted: int) -> None:
        self.n_wanted = n_wanted
        m = min(COORDINATES * n_wanted + 1, diagonal.size)
        self.first, self.others = diagonal[:m], diagonal[m:, None]
        self.first_factor, self.factor = factor[:m], factor[m:]
        start = self.factor / self._distance(diagonal[n_wanted - 1] + np.sum(factor**2) / n_wanted)
        self.directions = orthonormal_complement(start, np.empty((start.shape[0], 0)))

    def _distance(self, values: Any) -> Floats:
        """``θ − a`` over the other coordinates, at least a share of the largest a."""
        return np.maximum(values - self.others, MIN_DISTANCE * abs(self.first[0]))

    def rayleigh_ritz(self) -> tuple[RitzPairs, Floats]:
        """The wanted Ritz pairs, and their residuals in the other coordinates (in the first ones there are none)."""
        first, directions, q = self.first_factor, self.directions, self.n_wanted
        inner, m = directions.T @ self.factor, self.first.size
        projected = np.vstack([first, inner])
        matrix, size = projected @ projected.T, projected.shape[0]
        matrix[range(m), range(m)] += self.first
        matrix[m:, m:] += directions.T @ (self.others * directions)
        values, rotation = eigh(matrix, subset_by_index=[max(size - q - 1, 0), size - 1], overwrite_a=True)
        values, rotation = values[::-1], rotation[:, ::-1][:, :q]
        head, tail = rotation[:m], directions @ rotation[m:]
        residuals = (self.others - values[:q]) * tail + self.factor @ (first.T @ head + self.factor.T @ tail)
        return RitzPairs(np.vstack([head, tail]), values, column_lengths(residuals), q, values[:0]), residuals

    def correct(self, ritz: RitzPairs, residuals: Floats) -> None:
        """Add ``(θ − a)⁻¹ r`` for each wanted pair."""
        new = residuals / self._distance(ritz.values[: self.n_wanted])
        self.directions = np.hstack([self.directions, orthonormal_complement(new, self.directions)])
