"""The equations of the methods that AFCM is compared with, one pure function each (arrays in, arrays out).

Equations that are also the paper's are in `afcm.equations.paper`: centers, squared distances and the graph of the
memberships U B Uᵀ. ``fuzziness`` is g, ``cap`` τ, ``fidelity`` b of the publications; samples are rows.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, solve

from afcm._typing import Floats, Integers
from afcm.equations import paper

# A re-weighting divides by at least this distance: a center may sit on a sample.
MIN_DISTANCE = 1e-12
# A label changes only if that is better by this share, so that rounding cannot make it cycle.
TIE = 1e-12
# Rows whose residuals are summed together.
BLOCK_ROWS = 1024


# --- memberships under g‖U‖² (RSFKM, FKPS) ---


def project_on_simplex(scores: Floats) -> Floats:
    """The point of the probability simplex nearest to each row: ``max(z − θ, 0)`` with θ such that it sums to 1."""
    shifted = scores - scores.max(axis=1, keepdims=True)  # the projection does not see a shift
    falling = -np.sort(-shifted, axis=1)
    thresholds = (np.cumsum(falling, axis=1) - 1) / np.arange(1, scores.shape[1] + 1)
    support = np.count_nonzero(falling > thresholds, axis=1)
    return np.maximum(shifted - np.take_along_axis(thresholds, support[:, None] - 1, axis=1), 0)


def quadratic_memberships(costs: Floats, fuzziness: float) -> Floats:
    """``argmin Σ_j u_ij h_ij + g ‖u_i‖²`` on the simplex: row i is the projection of ``−h_i / (2g)``."""
    above_best = costs - costs.min(axis=1, keepdims=True)
    with np.errstate(over="ignore"):  # g → 0: infinitely far, and the membership is 0
        return project_on_simplex(above_best / (-2 * fuzziness))


def quadratic_objective(costs: Floats, memberships: Floats, fuzziness: float) -> float:
    """``Σ_ij u_ij h_ij + g ‖U‖²``."""
    return paper.scatter(costs, memberships) + fuzziness * float(np.sum(memberships * memberships))


# --- RSFKM ---


def cap_distances(distances: Floats, cap: float) -> Floats:
    """``min(d_ij, τ)``: beyond τ a sample pulls no harder."""
    return np.minimum(distances, cap)


def reweights(distances: Floats, cap: float) -> Floats:
    """``s_ij = 1 / (2 d_ij)`` up to τ and 0 beyond: ``s d² + d/2`` touches d from above."""
    return np.where(distances <= cap, 0.5 / np.maximum(distances, MIN_DISTANCE), 0.0)


def reweighted_centers(points: Floats, memberships: Floats, reweights: Floats, centers: Floats) -> Floats:
    """``v_j = Σ_i s_ij u_ij x_i / Σ_i s_ij u_ij``; without any weight v_j stays."""
    shares = memberships * reweights
    totals, reference = shares.sum(axis=0), centers.mean(axis=0)
    moments = shares.T @ (points - reference) - totals[:, None] * (centers - reference)
    return paper.moved_centers(centers, moments, totals)


# --- FKPS ---


def smooth(points: Floats, factor: Floats, fidelity: float) -> Floats:
    """``(M + bI)⁻¹ X`` with ``M = I − G Gᵀ`` and ``factor`` G (n×c), by Woodbury: O(n d c + c³), not O(n³)."""
    inner = (1 + fidelity) * np.eye(factor.shape[1]) - factor.T @ factor
    return (points + factor @ solve(inner, factor.T @ points, assume_a="pos")) / (1 + fidelity)


def shrunk_patterns(points: Floats, factor: Floats, fidelity: float) -> Floats:
    """``F = b (M + bI)⁻¹ X``, the minimiser of ``tr(Fᵀ M F) + b ‖X − F‖²``."""
    return fidelity * smooth(points, factor, fidelity)


def pull_patterns(points: Floats, memberships: Floats, centers: Floats, fidelity: float) -> Floats:
    """``f_i = (Σ_j u_ij v_j + b x_i) / (1 + b)``, the patterns of samples among fixed centers."""
    return (memberships @ centers + fidelity * points) / (1 + fidelity)


def recover_samples(patterns: Floats, memberships: Floats, centers: Floats, fidelity: float) -> Floats:
    """``x_i = f_i + (f_i − Σ_j u_ij v_j) / b``, the inverse of `pull_patterns`."""
    return patterns + (patterns - memberships @ centers) / fidelity


def discriminant_directions(points: Floats, factor: Floats, fidelity: float, n_directions: int) -> Floats:
    """W (d×r), ``Wᵀ Xᵀ X W = I``: the leading generalized eigenvectors of ``Xᵀ (M + bI)⁻¹ X`` and ``Xᵀ X``."""
    d = points.shape[1]
    between = points.T @ smooth(points, factor, fidelity)
    symmetric = (between + between.T) / 2
    return eigh(symmetric, points.T @ points, subset_by_index=[d - n_directions, d - 1])[1][:, ::-1]


# --- CDKM ---


def cluster_means(points: Floats, labels: Integers, n_clusters: int) -> Floats:
    """``m_k``, the mean of the samples with label k: `paper.centers` for hard memberships in O(n d), not O(n d c)."""
    ones, offsets = np.ones(labels.size), np.arange(labels.size + 1)
    indicator = sp.csr_array((ones, labels, offsets), shape=(labels.size, n_clusters))
    return (indicator.T @ points) / np.bincount(labels, minlength=n_clusters)[:, None]


def hard_scatter(points: Floats, labels: Integers, centers: Floats) -> float:
    """``Σ_i ‖x_i − m_{label(i)}‖²``, from differences and in blocks of rows that stay in cache."""
    starts = range(0, labels.size, BLOCK_ROWS)
    parts = (points[i : i + BLOCK_ROWS] - centers[labels[i : i + BLOCK_ROWS]] for i in starts)
    return float(sum(np.vdot(part, part) for part in parts))


def move_costs(squared: Floats, sizes: Integers, labels: Integers) -> Floats:
    """Hartigan's rule: ``n_k/(n_k+1) d²_ik`` for joining k, ``n_p/(n_p−1) d²_ip`` for staying in p.

    Their difference is the change of the k-means objective. A sample alone in its cluster stays at cost 0.
    """
    rows = np.arange(labels.size)
    costs = squared * (sizes / (sizes + 1))
    own = sizes[labels]
    costs[rows, labels] = np.where(own > 1, squared[rows, labels] * own / np.maximum(own - 1, 1), 0)
    return costs


def cheapest_moves(costs: Floats, labels: Integers) -> Integers:
    """The cluster of the lowest cost (the first of equals), or the present one unless another is better by `TIE`."""
    rows = np.arange(labels.size)
    own, best = costs[rows, labels], np.argmin(costs, axis=1)
    return np.where(costs[rows, best] < own - TIE * np.abs(own), best, labels)


# --- FCAG ---


def move_losses(squares: Floats, links: Floats, weights: Floats, sizes: Integers, labels: Integers) -> Floats:
    """Minus the gain of ``Σ_k √t_k`` when anchor i joins each cluster: ``√t_k − √(t_k + 2 P_ik + G_ii)``.

    ``squares`` is t, ``links`` P = G Q, ``weights`` the diagonal of G. In its own cluster p: ``√(t_p − 2 P_ip + G_ii)
    − √t_p``, and an anchor alone in its cluster stays at any price.
    """
    rows = np.arange(labels.size)
    losses = np.sqrt(squares) - np.sqrt(squares + 2 * links + weights[:, None])
    rest = np.maximum(squares[labels] - 2 * links[rows, labels] + weights, 0)
    losses[rows, labels] = np.where(sizes[labels] > 1, np.sqrt(rest) - np.sqrt(squares[labels]), -np.inf)
    return losses


def cluster_squares(links: Floats, indicator: Floats) -> Floats:
    """``t_k = q_kᵀ G q_k = ‖B q_k‖²``."""
    return np.maximum(np.einsum("ik,ik->k", indicator, links), 0)
