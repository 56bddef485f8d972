"""The updates and objectives of the paper, one pure function per equation (arrays in, arrays out).

Samples are rows. ``points`` is the data X (n×d) or the learned embedding Z (n×q), ``memberships`` is U (n×c),
``centers`` V (c×q), ``precision`` γ, ``graph_weight`` λ, ``masses`` the sample weights m_i (None: all 1, and
then every formula is the paper's). Equation labels are the LaTeX labels of the paper; `docs/equations.md`
maps each to its function here and its test. Any array library of the array API standard will do.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from array_api_compat import array_namespace

Array = Any  # an array of any library that follows the array API standard

# A cluster with less mass than this is empty: it keeps its center.
MIN_MASS = 1e-12
# Within-cluster scatter counts as at least this share of the total: it caps γ, since J is unbounded below.
MIN_RELATIVE_SCATTER = 1e-8
# Squared distances below ε to this power of the largest have lost too many digits: 1e-6 in double precision.
BLURRED = 3 / 8


class Statistics(NamedTuple):
    """Sums over a block of samples from which a graph-free sweep follows; those of several blocks are added."""

    totals: Array  # c:   N_j = Σ_i m_i u_ij
    moments: Array  # c×d: Σ_i m_i u_ij (x_i − v_j)
    scatter: Any  # Σ_ij m_i u_ij ‖x_i − v_j‖²
    free_energy: Any  # Σ_i m_i (γ Σ_j u_ij d²_ij + Σ_j u_ij log u_ij)


def squared_distances(points: Array, centers: Array, shifted: Array | None = None) -> Array:
    """``d²_ij = ‖x_i − v_j‖²`` (n×c), each center's column contiguous (faster for few clusters).

    One matrix product gives all of them, about the mean center so that a common offset costs no digits; ``shifted``
    are the points about that mean, if the caller has them. The product cancels numbers as large as ``max_j d²_ij``, so
    far smaller distances are computed again from differences: a sample on a center has distance 0.
    """
    xp = array_namespace(points, centers)
    reference = xp.mean(centers, axis=0)
    shifted, targets = points - reference if shifted is None else shifted, centers - reference
    costs = (-2 * targets) @ shifted.T
    costs += xp.vecdot(shifted, shifted)
    costs += xp.vecdot(targets, targets)[:, None]
    blurred = float(xp.finfo(costs.dtype).eps) ** BLURRED
    if xp.min(costs) <= blurred * xp.max(costs):
        columns, rows = xp.nonzero(costs <= blurred * xp.max(costs, axis=0))
        differences = xp.take(points, rows, axis=0) - xp.take(centers, columns, axis=0)
        costs[columns, rows] = xp.vecdot(differences, differences)
    return costs.T


def memberships(costs: Array, precision: float) -> Array:
    """op3: ``u_ij = softmax_j(−γ d²_ij)``, the minimizer of J over the rows of the simplex."""
    return softmax(-precision * costs)


def softmax(scores: Array) -> Array:
    """``exp(s_ij) / Σ_l exp(s_il)`` without overflow."""
    xp = array_namespace(scores)
    shifted = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    return shifted / xp.sum(shifted, axis=1, keepdims=True)


def free_energies(costs: Array, precision: float) -> Array:
    """``−log Σ_j exp(−γ d²_ij)`` (n), equal to ``γ Σ_j u_ij d²_ij + Σ_j u_ij log u_ij`` at the memberships of op3."""
    xp = array_namespace(costs)
    nearest = xp.min(costs, axis=1)
    spread = xp.sum(xp.exp(precision * (nearest[:, None] - costs)), axis=1)
    return precision * nearest - xp.log(spread)


def weighted(values: Array, masses: Array | None) -> Array:
    """``m_i a_ij`` for n×c values, ``m_i a_i`` for n values."""
    if masses is None:
        return values
    return values * (masses if values.ndim == 1 else masses[:, None])


def cluster_totals(memberships: Array, masses: Array | None = None) -> Array:
    """``N_j = Σ_i m_i u_ij``, the diagonal of B⁻¹."""
    return array_namespace(memberships).sum(weighted(memberships, masses), axis=0)


def centers(points: Array, memberships: Array, masses: Array | None = None) -> Array:
    """op5: ``v_j = Σ_i m_i u_ij x_i / Σ_i m_i u_ij``; an empty cluster goes to the mean of all samples."""
    xp = array_namespace(points, memberships)
    shares = weighted(memberships, masses)
    totals, sums = xp.sum(shares, axis=0), shares.T @ points
    mean = xp.sum(sums, axis=0) / xp.sum(totals)
    return xp.where((totals > MIN_MASS)[:, None], sums * inverse_totals(totals)[:, None], mean)


def moved_centers(centers: Array, moments: Array, totals: Array) -> Array:
    """op5 from statistics: ``v_j + Σ_i m_i u_ij (x_i − v_j) / N_j``; an empty cluster keeps its center."""
    return centers + moments * inverse_totals(totals)[:, None]


def inverse_totals(totals: Array) -> Array:
    """The diagonal of B: ``1 / N_j``, and 0 for an empty cluster."""
    xp = array_namespace(totals)
    filled = totals > MIN_MASS
    return xp.where(filled, 1 / xp.where(filled, totals, xp.ones_like(totals)), xp.zeros_like(totals))


def scatter(costs: Array, memberships: Array, masses: Array | None = None) -> float:
    """``Σ_ij m_i u_ij d²_ij``, the fuzzy within-cluster scatter (the left side of emm)."""
    return float(array_namespace(costs).sum(weighted(memberships, masses) * costs))


def moved_scatter(scatter: float, moments: Array, totals: Array) -> float:
    """Scatter about the moved centers, by the parallel axis theorem: ``scatter − Σ_j ‖moment_j‖² / N_j``."""
    xp = array_namespace(moments)
    gain = xp.sum(xp.sum(moments * moments, axis=1) * inverse_totals(totals))
    return max(float(scatter) - float(gain), 0.0)


def recentered(statistics: Statistics, centers: Array, reference: Array) -> Statistics:
    """Statistics about one point instead of the centers, by the parallel axis theorem."""
    xp = array_namespace(centers)
    shift = centers - reference
    totals, moments, scatter, energy = statistics
    moved = xp.sum(2 * moments * shift) + xp.sum(totals * xp.sum(shift * shift, axis=1))
    return Statistics(totals, moments + totals[:, None] * shift, scatter + moved, energy)


def scaled_statistics(statistics: Statistics, factor: float) -> Statistics:
    """The statistics of samples with ``factor`` times the masses."""
    return Statistics(*(factor * value for value in statistics))


def precision(scatter: float, mass: float, dimension: int, largest: float) -> float:
    """op7: ``γ = (n q / 2) / Σ_ij u_ij d²_ij``, at most ``largest`` (see `largest_precision`)."""
    return min(0.5 * mass * dimension / scatter, largest) if scatter > 0 else largest


def largest_precision(total_scatter: float, mass: float, dimension: int) -> float:
    """The cap on γ: op7 with the scatter at `MIN_RELATIVE_SCATTER` of the total.

    J → −∞ as clusters shrink to points and γ → ∞ (erratum E7). Memberships are hard long before the cap.
    """
    return 0.5 * mass * dimension / (MIN_RELATIVE_SCATTER * total_scatter)


def entropy(memberships: Array, masses: Array | None = None) -> float:
    """``Σ_ij m_i u_ij log u_ij`` (never positive), with 0 log 0 = 0."""
    xp = array_namespace(memberships)
    logs = xp.log(xp.where(memberships > 0, memberships, xp.ones_like(memberships)))
    return float(xp.sum(weighted(memberships, masses) * logs))


def membership_factor(memberships: Array, masses: Array | None = None) -> Array:
    """``G = M^{1/2} U B^{1/2}``: ``G Gᵀ`` is the graph of the memberships, U B Uᵀ, of emm and op8."""
    xp = array_namespace(memberships)
    factor = memberships * xp.sqrt(inverse_totals(cluster_totals(memberships, masses)))
    return factor if masses is None else weighted(factor, xp.sqrt(masses))


def objective(free_energy: float, precision: float, mass: float, dimension: int) -> float:
    """afcm: ``J = Σ_ij u (γ d² + log u) − (n d / 2) log γ`` (the scope of the sum as in erratum E4)."""
    return free_energy - 0.5 * mass * dimension * math.log(precision)


def graph_objective(graph_free: float, roughness: float, graph_weight: float) -> float:
    """obj: ``J = afcm + λ tr(Zᵀ L̂ Z)``."""
    return graph_free + graph_weight * roughness


def roughness(embedding: Array, smoothed: Array) -> float:
    """``tr(Zᵀ L̂ Z) = tr(Zᵀ Z) − tr(Zᵀ S Z)`` from ``smoothed = S Z``."""
    xp = array_namespace(embedding, smoothed)
    return float(xp.sum(embedding * (embedding - smoothed)))


def expectation(
    points: Array, centers: Array, precision: float, masses: Array | None = None
) -> tuple[Array, Statistics]:
    """op3 for a block of samples, and the statistics from which op5, op7 and J follow."""
    xp = array_namespace(points, centers)
    reference = xp.mean(centers, axis=0)
    shifted = points - reference
    costs = squared_distances(points, centers, shifted)
    degrees = memberships(costs, precision)
    shares = weighted(degrees, masses)
    totals = xp.sum(shares, axis=0)
    moments = shares.T @ shifted - totals[:, None] * (centers - reference)
    energy = xp.sum(weighted(free_energies(costs, precision), masses))
    return degrees, Statistics(totals, moments, xp.sum(shares * costs), energy)


def largest_change(before: Any, after: Any, masses: Any = None) -> float:
    """``max_ij |u_ij − u'_ij|``; samples of weight 0 are as if they were absent."""
    xp = array_namespace(before, after)
    changes = abs(after - before)
    return float(xp.max(changes if masses is None else changes * xp.sign(masses)[:, None]))
