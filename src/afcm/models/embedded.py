"""Algorithm 1, AFCM: Algorithm 2 in an embedding that is learned together with the clusters.

Rows of ``embedding`` are scaled so that ``Zᵀ M Z = I`` over the samples' masses M; internally the eigenvectors
``Ẑ = M^{1/2} Z`` are orthonormal. With all masses 1 the two are the same and everything is the paper's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from array_api_compat import array_namespace

from afcm.equations import paper
from afcm.linalg import eigensolver
from afcm.linalg.eigenbasis import LearningSolver
from afcm.linalg.operator import Eigenpairs, GraphPlusLowRank

# γ before the first sweep (baselines: any value well below λ gives the same run).
FIRST_PRECISION = 1.0
# The eigen-step ends when tr(ZᵀAZ) is this close to its maximum (relative) or the subspace this close (radians).
TRACE_TOL, ANGLE_TOL = 1e-13, 1e-6


@dataclass(frozen=True)
class EmbeddedState:
    """U, V, γ and Z, with ``smoothed = S Ẑ`` for the graph's part of J and for new samples."""

    memberships: Any
    precision: float
    centers: Any = None
    vectors: Any = None  # Ẑ, orthonormal
    smoothed: Any = None  # S Ẑ
    objective: float = math.inf
    eigen_residual: float = 0.0
    eigen_converged: bool = True


@dataclass(frozen=True)
class EmbeddedProblem:
    """S, the masses (or None), λ, where the first eigen-step searches, and who solves where the graph is small."""

    affinity: Any
    masses: Any
    graph_weight: float
    search_start: Any
    dense: eigensolver.DenseSolver = field(default_factory=LearningSolver)

    state_types: ClassVar[tuple[type, ...]] = (EmbeddedState,)

    def sweep(self, state: EmbeddedState, eigen: Eigenpairs | None = None) -> EmbeddedState:
        """Algorithm 1, lines 4 to 7: Z, V, γ, U. A given ``eigen`` takes the place of the first step."""
        if eigen is None:  # op8: the leading eigenvectors of λ S + γ M^{1/2} U B Uᵀ M^{1/2}
            factor = paper.membership_factor(state.memberships, self.masses)
            eigen = eigensolver.leading_eigenvectors(
                GraphPlusLowRank(self.affinity, self.graph_weight, factor, state.precision),
                self.search_start if state.vectors is None else state.vectors,
                factor.shape[1],
                extra=factor,
                trace_tol=TRACE_TOL,
                angle_tol=ANGLE_TOL,
                dense=self.dense,
            )
        embedding = self.embedding(eigen.vectors)
        n_dims = embedding.shape[1]
        centers = paper.centers(embedding, state.memberships, self.masses)  # op5
        costs = paper.squared_distances(embedding, centers)
        scatter = paper.scatter(costs, state.memberships, self.masses)
        precision = paper.precision(scatter, self.mass, n_dims, self.largest_precision(n_dims))  # op7
        memberships = paper.memberships(costs, precision)  # op3
        energies = paper.weighted(paper.free_energies(costs, precision), self.masses)
        plain = paper.objective(float(energies.sum()), precision, self.mass, n_dims)
        rough = paper.roughness(eigen.vectors, eigen.graph_image)
        objective = paper.graph_objective(plain, rough, self.graph_weight)
        learned = (memberships, precision, centers, eigen.vectors, eigen.graph_image, objective)
        return EmbeddedState(*learned, eigen.residual, eigen.converged)

    def from_spectral(self, eigen: Eigenpairs, memberships: Any) -> EmbeddedState:
        """Start from memberships and the embedding they were found in."""
        return self.sweep(self.from_memberships(memberships), eigen)

    def from_memberships(self, memberships: Any) -> EmbeddedState:
        """The paper's start: memberships and γ = 1; V and Z are computed before they are used."""
        return EmbeddedState(memberships, FIRST_PRECISION)

    def from_fit(self, memberships: Any, precision: float, embedding: Any) -> EmbeddedState:
        """Start where an earlier fit on the same nodes ended."""
        roots = 1.0 if self.masses is None else array_namespace(embedding).sqrt(self.masses)[:, None]
        return EmbeddedState(memberships, precision, vectors=embedding * roots)

    def embedding(self, vectors: Any) -> Any:
        """``Z = M^{-1/2} Ẑ``."""
        return vectors if self.masses is None else vectors / array_namespace(vectors).sqrt(self.masses)[:, None]

    @cached_property
    def mass(self) -> float:
        """Number of samples, counted with their masses."""
        return float(self.affinity.shape[0] if self.masses is None else self.masses.sum())

    @property
    def objective_scale(self) -> float:
        """J is a sum over samples of numbers without a unit, and a constant that has one."""
        return self.mass

    def largest_precision(self, n_dims: int) -> float:
        """The cap on γ; the total scatter of Z is at most tr(Zᵀ M Z) = q."""
        return paper.largest_precision(n_dims, self.mass, n_dims)

    @property
    def experience(self) -> dict[str, int]:
        """Facts for a checkpoint, beside the state: after some solves the dense solver takes another path."""
        return {"n_solves": self.dense.n_solves}

    def restore(self, experience: dict[str, int]) -> None:
        """Continue with the experience of a checkpoint, so that the result is the same to the last bit."""
        self.dense.n_solves = int(experience["n_solves"])
