"""Bezdek's fuzzy c-means (FCM) and its entropy-regularized form (FCM-ER), one pure function per equation.

Conventions are those of `afcm.equations.paper`, whose functions are used where the equation is the same. ``exponent``
is Bezdek's m > 1.
"""

from __future__ import annotations

import math

from array_api_compat import array_namespace

from afcm.equations import paper
from afcm.equations.paper import Array, Statistics


def fuzzy_memberships(costs: Array, exponent: float) -> Array:
    """FCM: ``u_ij = softmax_j(−log d²_ij / (m − 1))``; centers at distance 0 share a sample equally.

    For m = 2 that is ``(1/d²_ij) / Σ_l 1/d²_il``, without logarithms unless 1/d² could overflow.
    """
    xp = array_namespace(costs)
    smallest = float(xp.min(costs))
    if smallest == 0:
        costs = _let_zeros_win(costs)
    elif exponent == 2 and smallest > costs.shape[1] * float(xp.finfo(costs.dtype).smallest_normal):
        inverse = 1 / costs
        inverse /= xp.sum(inverse, axis=1, keepdims=True)
        return inverse
    return paper.softmax(xp.log(costs) / (1 - exponent))


def _let_zeros_win(costs: Array) -> Array:
    """In rows with a zero, 1 for the zeros and infinity for the others, so that the zeros share all mass."""
    xp = array_namespace(costs)
    zero = costs == 0
    hit = xp.any(zero, axis=1)[:, None]
    return xp.where(hit, xp.where(zero, xp.ones_like(costs), xp.full_like(costs, math.inf)), costs)


def fuzzy_shares(memberships: Array, exponent: float) -> Array:
    """``u_ij^m``, the weight of a sample in a center of FCM."""
    return memberships * memberships if exponent == 2 else memberships**exponent


def fuzzy_centers(points: Array, memberships: Array, exponent: float, masses: Array | None = None) -> Array:
    """FCM: ``v_j = Σ_i m_i u_ij^m x_i / Σ_i m_i u_ij^m``."""
    return paper.centers(points, fuzzy_shares(memberships, exponent), masses)


def fuzzy_objective(costs: Array, memberships: Array, exponent: float, masses: Array | None = None) -> float:
    """FCM: ``J = Σ_ij m_i u_ij^m d²_ij``."""
    return paper.scatter(costs, fuzzy_shares(memberships, exponent), masses)


def entropy_objective(free_energy: float, precision: float) -> float:
    """FCM-ER: ``J = Σ_ij u_ij d²_ij + (1/γ) Σ_ij u_ij log u_ij``, with γ fixed."""
    return free_energy / precision


def distances(points: Array, centers: Array) -> Array:
    """``‖x_i − v_j‖`` (n×c), 0 where they are equal."""
    xp = array_namespace(points, centers)
    return xp.sqrt(paper.squared_distances(points, centers))


def fuzzy_expectation(
    points: Array, centers: Array, exponent: float, masses: Array | None = None
) -> tuple[Array, Statistics]:
    """FCM's memberships for a block of samples, and the statistics from which centers and J follow.

    ``totals``, ``moments`` and ``scatter`` are weighted by u^m, and the scatter is J.
    """
    xp = array_namespace(points, centers)
    reference = xp.mean(centers, axis=0)
    shifted = points - reference
    costs = paper.squared_distances(points, centers, shifted)
    degrees = fuzzy_memberships(costs, exponent)
    shares = paper.weighted(fuzzy_shares(degrees, exponent), masses)
    totals = xp.sum(shares, axis=0)
    moments = shares.T @ shifted - totals[:, None] * (centers - reference)
    costs *= shares
    scatter = xp.sum(costs)
    return degrees, Statistics(totals, moments, scatter, scatter)
