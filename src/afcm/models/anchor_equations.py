"""Algorithm 1 on an anchor graph, as functions of blocks of rows and of sums over them.

The samples' weights on m anchors are the rows of Q (n×m, sparse, rows sum to 1), and with ``Λ = diag(Qᵀ M 1)`` the
graph is ``S = M^{1/2} Q Λ⁻¹ Qᵀ M^{1/2}``, with all degrees 1. Then ``λ S + γ M^{1/2} U B Uᵀ M^{1/2}`` is ``G Gᵀ`` for
``G = M^{1/2} [√λ Q Λ^{-1/2}, √γ U B^{1/2}]``, and op8 is exactly an eigenproblem of ``Gᵀ G``, (m+c)×(m+c). What that
needs of the samples are ``Qᵀ M Q`` (once), ``Qᵀ M U`` and ``Uᵀ M U``: sums over blocks of rows. V and γ follow from the
same sums, and each row of Z is a product of its own: ``z_i = q_i a + u_i b``. So a sweep is one map over blocks, which
gives the next memberships and their sums, wherever the blocks are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from afcm._typing import Floats
from afcm.equations import paper
from afcm.equations.paper import largest_change
from afcm.graph.affinity import normalized_cut_of_volumes
from afcm.graph.anchors.affinity import CoarseGraph
from afcm.graph.anchors.embedding import Coefficients, inverse_roots
from afcm.linalg import eigensolver
from afcm.linalg.operator import GraphPlusLowRank

# The small eigenproblem is solved to rounding: a product costs nothing here.
TRACE_TOL, ANGLE_TOL = 1e-18, 1e-9


class Sums(NamedTuple):
    """All that a sweep needs to know of the memberships of a block of samples; blocks add up."""

    links: Floats  # Qᵀ M U, m×c
    overlaps: Floats  # Uᵀ M U, c×c
    free_energy: float = 0.0  # Σ_i m_i (γ Σ_j u d² + Σ_j u log u) at the best memberships
    change: float = 0.0  # max_ij |u_ij − u'_ij|: the largest, not the sum

    @property
    def totals(self) -> Floats:
        """``N_j = Σ_i m_i u_ij``: rows of Q sum to 1."""
        return np.sum(self.links, axis=0)


class Step(NamedTuple):
    """Tells a block how to take its part in a sweep: ``z_i = q_i a + u_i b``, then op3."""

    on_anchors: Floats  # a, m×q
    on_clusters: Floats  # b, c×q
    centers: Floats  # V, c×q
    precision: float  # γ


# --- what happens at the rows ---


def sums(weights: Any, memberships: Floats, masses: Floats | None) -> Sums:
    shares = paper.weighted(memberships, masses)
    return Sums(weights.T @ shares, memberships.T @ shares)


def embedded_rows(weights: Any, memberships: Floats, step: Step) -> Floats:
    """``z_i = q_i a + u_i b``."""
    rows: Floats = weights @ step.on_anchors
    rows += memberships @ step.on_clusters
    return rows


def look(weights: Any, memberships: Floats, masses: Floats | None, step: Step) -> tuple[Floats, Floats, Sums]:
    """A block's part in a sweep: its new memberships by op3, its rows of Z, and the sums of the new memberships."""
    embedding = embedded_rows(weights, memberships, step)
    costs = paper.squared_distances(embedding, step.centers)
    following = np.ascontiguousarray(paper.memberships(costs, step.precision))
    energy = np.sum(paper.weighted(paper.free_energies(costs, step.precision), masses))
    change = largest_change(memberships, following, masses)
    return following, embedding, sums(weights, following, masses)._replace(free_energy=energy, change=change)


def add_sums(parts: Iterable[Sums]) -> Sums:
    """Add up the sums of blocks; the change is the largest of theirs."""
    links, overlaps, energies, changes = zip(*parts, strict=True)
    return Sums(sum(links), sum(overlaps), sum(energies), max(changes))


# --- what follows from the sums ---


def small_matrix(anchors: CoarseGraph, found: Sums, graph_weight: float, precision: float) -> Floats:
    """``Gᵀ G``, (m+c)×(m+c)."""
    scale = np.sqrt(paper.inverse_totals(found.totals))
    border = math.sqrt(graph_weight * precision) * anchors.scale(found.links) * scale
    corner = precision * scale[:, None] * found.overlaps * scale
    return np.block([[graph_weight * anchors.affinity, border], [border.T, corner]])


def embedding_step(
    anchors: CoarseGraph, found: Sums, graph_weight: float, precision: float, start: Floats | None = None
) -> Coefficients:
    """op8: the leading eigenvectors of ``Gᵀ G`` as what the rows of Q and U are multiplied with."""
    n_anchors, n_clusters = found.links.shape
    bound = graph_weight + precision  # of the norm of Gᵀ G
    operator = GraphPlusLowRank(small_matrix(anchors, found, graph_weight, precision) / bound, bound)
    clusters = np.eye(n_anchors + n_clusters)[:, n_anchors:]
    first = np.random.RandomState(0).standard_normal(clusters.shape) if start is None else start
    eigen = eigensolver.leading_eigenvectors(
        operator, first, n_clusters, extra=clusters, trace_tol=TRACE_TOL, angle_tol=ANGLE_TOL
    )
    vectors = eigen.vectors * inverse_roots(eigen.values)
    return Coefficients(
        math.sqrt(graph_weight) * anchors.scale(vectors[:n_anchors]),
        math.sqrt(precision) * np.sqrt(paper.inverse_totals(found.totals))[:, None] * vectors[n_anchors:],
        eigen.vectors,
        eigen.residual,
        eigen.converged,
    )


def cluster_sums(found: Sums, coefficients: Coefficients) -> Floats:
    """``Uᵀ M Z``, c×q, without a look at the rows."""
    return found.links.T @ coefficients.on_anchors + found.overlaps @ coefficients.on_clusters


def cluster_step(found: Sums, coefficients: Coefficients) -> Step:
    """op5 and op7 from the sums: what the rows need for op3."""
    n_dims = coefficients.on_anchors.shape[1]
    mass = float(found.totals.sum())
    precision = paper.precision(scatter(found, coefficients), mass, n_dims, largest_precision(mass, n_dims))
    return Step(*coefficients[:2], centers(found, coefficients), precision)


def centers(found: Sums, coefficients: Coefficients) -> Floats:
    """op5; an empty cluster goes to the mean of all samples, as in `paper.centers`."""
    moments, totals = cluster_sums(found, coefficients), found.totals
    mean = np.zeros_like(moments) + moments.sum(axis=0) / totals.sum()
    return paper.moved_centers(mean, moments - totals[:, None] * mean, totals)


def n_used_columns(coefficients: Coefficients | Step) -> float:
    """``tr(Zᵀ M Z)``: the number of columns of Z that are not 0."""
    return float(np.any(coefficients.on_anchors, axis=0).sum())


def scatter(found: Sums, coefficients: Coefficients) -> float:
    """``Σ_ij m_i u_ij ‖z_i − v_j‖²``, by parallel axes from ``tr(Zᵀ M Z)``."""
    return paper.moved_scatter(n_used_columns(coefficients), cluster_sums(found, coefficients), found.totals)


def largest_precision(mass: float, n_dims: int) -> float:
    """The cap on γ; the total scatter of Z is at most ``tr(Zᵀ M Z) = q``."""
    return paper.largest_precision(n_dims, mass, n_dims)


def roughness(anchors: CoarseGraph, found: Sums, coefficients: Coefficients | Step) -> float:
    """``tr(Zᵀ L̂ Z) = tr(Zᵀ M Z) − ‖Λ^{-1/2} Qᵀ M Z‖²``."""
    image = anchors.weights @ coefficients.on_anchors + found.links @ coefficients.on_clusters
    return n_used_columns(coefficients) - float(np.sum(anchors.scale(image) ** 2))


def objective(anchors: CoarseGraph, before: Sums, after: Sums, step: Step, graph_weight: float) -> float:
    """J after a sweep: the free energy of the new memberships, and the roughness of Z, made from the old ones."""
    mass, n_dims = float(after.totals.sum()), step.on_anchors.shape[1]
    plain = paper.objective(float(after.free_energy), step.precision, mass, n_dims)
    return paper.graph_objective(plain, roughness(anchors, before, step), graph_weight)


def normalized_cut(anchors: CoarseGraph, links: Floats) -> float:
    """Of hard memberships with these links: ``Σ_j (1 − ‖Λ^{-1/2} Qᵀ M h_j‖² / N_j)``."""
    return normalized_cut_of_volumes(np.sum(anchors.scale(links) ** 2, axis=0), links.sum(axis=0))
