"""The multivariate generalized Gaussian and its mixture (proposition 1), one pure function per equation.

Samples are rows. ``distances`` are squared Mahalanobis distances ``y_ij = (x_i − v_j)ᵀ Σ_j⁻¹ (x_i − v_j)`` (n×c),
``shapes`` are β_j (c), ``scale`` is m, ``shares`` are ``w_ij = m_i u_ij`` (sample weight times membership), ``totals``
are ``N_j = Σ_i w_ij``, ``power_totals`` are ``T_j = Σ_i w_ij y_ij^β_j`` and ``dimension`` is d.
Equation labels are the LaTeX labels of the paper. The paper leaves the M-step of v, Σ and β open: it is derived here
from pro1_e1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, logsumexp, polygamma, softmax

from afcm._typing import Floats
from afcm.equations import paper

Equation = Callable[[float], tuple[float, float]]

# m and Σ are redundant, (Σ, m) ~ (sΣ, s^β m): where Σ is free m is this, and β = 1 is the usual Gaussian.
GAUSSIAN_SCALE = 0.5
# Bounds of β: below, the density is a needle; above, it is almost uniform on an ellipsoid.
SHAPE_BOUNDS = (0.05, 20.0)
# y^{β−1} is singular at the center for β < 1: there y counts as at least this share of its typical size.
MIN_RELATIVE_DISTANCE = 1e-12
# The largest argument of exp and the smallest of log, so that no density is NaN.
LARGEST_EXPONENT = 700.0
TINY = 1e-300
# Relative precision of β, and the most steps of its solver.
SHAPE_TOL = 1e-10
MAX_SHAPE_STEPS = 100
# Precision of the logarithm of a common size, and the most steps of its solver.
SIZE_TOL = 1e-13
MAX_SIZE_STEPS = 30


class PowerStatistics(NamedTuple):
    """Sums of ``w y^β`` and their logarithmic derivatives; ``T1/T`` and ``T2/T − (T1/T)²`` in the literature."""

    log_total: float  # log Σ w y^β
    mean_log: float  # Σ w y^β log y / Σ w y^β
    variance_log: float  # the variance of log y under the weights w y^β


def log_normalizers(shapes: Any, scale: float, dimension: int) -> Any:
    """The constant of e4: ``log β Γ(d/2) m^{d/(2β)} / (π^{d/2} Γ(d/(2β)))``."""
    half = 0.5 * dimension
    return (
        np.log(shapes)
        + gammaln(half)
        - half * math.log(math.pi)
        + half / shapes * math.log(scale)
        - gammaln(half / shapes)
    )


def powers(distances: Any, shapes: Any) -> Any:
    """``y^β``, large but finite whatever y is."""
    return np.exp(np.minimum(shapes * np.log(np.maximum(distances, TINY)), LARGEST_EXPONENT)) * (distances > 0)


def log_densities(distances: Any, log_determinants: Any, shapes: Any, scale: float, dimension: int) -> Any:
    """e4: ``log g(x_i | θ_j)``, n×c."""
    peaks = log_normalizers(shapes, scale, dimension) - 0.5 * log_determinants
    return peaks - scale * powers(distances, shapes)


def log_likelihoods(log_joint: Any) -> Any:
    """mle, one sample at a time: ``log Σ_j α_j g(x_i | θ_j)`` from ``log_joint = log α_j g(x_i | θ_j)``."""
    return logsumexp(log_joint, axis=1)


def memberships(log_joint: Any) -> Any:
    """ap14 (= the E-step ea5): ``u_ij = α_j g_ij / Σ_l α_l g_il``."""
    return paper.softmax(log_joint)


def objective(log_joint: Any, memberships: Any, masses: Any = None) -> float:
    """pro1_e1: ``Σ_ij m_i u_ij (log u_ij − log α_j g(x_i | θ_j))``, for any memberships."""
    expected = float(np.sum(paper.weighted(memberships, masses) * log_joint))
    return paper.entropy(memberships, masses) - expected


def component_losses(log_densities: Any, shares: Any) -> Any:
    """part2, each component's part without its mixing weight: ``−Σ_i w_ij log g(x_i | θ_j)`` (c)."""
    return -np.sum(shares * log_densities, axis=0)


def mixing_weights(totals: Any) -> Any:
    """``α_j = N_j / Σ_l N_l``."""
    return totals / totals.sum()


def pulls(distances: Any, shapes: Any, scale: float, dimension: int) -> Any:
    """``y^{β−1}``: the weight of a sample in center and scatter (larger near the center if β < 1)."""
    typical = (0.5 * dimension / (shapes * scale)) ** (1 / shapes)
    floored = np.maximum(distances, MIN_RELATIVE_DISTANCE * typical)
    return np.exp(np.minimum((shapes - 1) * np.log(floored), LARGEST_EXPONENT))


def scale(totals: Any, power_totals: Any, shapes: Any, dimension: int) -> float:
    """``m = Σ_j N_j d / (2β_j) / Σ_j T_j`` (β = 1, Σ = I: op7, AFCM's γ)."""
    return float(0.5 * dimension * np.sum(totals / shapes) / max(float(np.sum(power_totals)), TINY))


def size(totals: Any, power_totals: Any, shapes: Any, dimension: int) -> float:
    """Best s for scatters sΣ_j at m = 1/2: ``Σ_j N_j d = Σ_j β_j s^{−β_j} T_j``; with one β, ``s = (2m)^{−1/β}``.

    Newton in log s on the logarithm of both sides, which is a straight line for one β.
    """
    log_size, target = 0.0, math.log(dimension * float(np.sum(totals)))
    log_terms = np.log(shapes * np.maximum(power_totals, TINY))
    if np.size(shapes) == 1:  # one step along the straight line
        return math.exp((float(log_terms[0]) - target) / float(shapes[0]))
    for _ in range(MAX_SIZE_STEPS):
        terms = log_terms - shapes * log_size
        step = (float(logsumexp(terms)) - target) / float(softmax(terms) @ shapes)
        log_size += step
        if abs(step) <= SIZE_TOL:
            break
    return math.exp(log_size)


def power_statistics(log_distances: Any, log_shares: Any, shape: float) -> PowerStatistics:
    """T, T1 and T2 of the shape equation from ``log y`` and ``log w``, in a form that cannot overflow."""
    exponents = log_shares + shape * log_distances
    top = float(np.max(exponents))
    weights = np.exp(exponents - top)
    total = float(weights.sum())
    mean = float((weights * log_distances).sum()) / total
    variance = float((weights * (log_distances - mean) ** 2).sum()) / total
    return PowerStatistics(math.log(total) + top, mean, variance)


def shape_equation(shape: float, statistics: PowerStatistics, mass: float, dimension: int) -> tuple[float, float]:
    """φ(β), zero at the best shape when the scale follows it (m profiled out), and φ′(β).

    ``φ = 1 + a (ψ(a) − log m(β)) − (d/2) T1/T`` with ``a = d/(2β)``; J falls with β where φ is positive.
    """
    a = 0.5 * dimension / shape
    log_scale = math.log(mass * a) - statistics.log_total
    gap = float(digamma(a)) - log_scale
    value = 1 + a * gap - 0.5 * dimension * statistics.mean_log
    slope = a * (1 / shape + statistics.mean_log) - 0.5 * dimension * statistics.variance_log
    return value, slope - a * gap / shape - a * a / shape * float(polygamma(1, a))


def shape_equation_at_scale(
    shape: float, statistics: PowerStatistics, mass: float, dimension: int, scale: float
) -> tuple[float, float]:
    """φ(β) and φ′(β) for a fixed scale: ``φ = 1 + a (ψ(a) − log m) − (β m / N) T1``."""
    a = 0.5 * dimension / shape
    gap = float(digamma(a)) - math.log(scale)
    energy = scale / mass * math.exp(min(statistics.log_total, LARGEST_EXPONENT))
    mean, square = statistics.mean_log, statistics.variance_log + statistics.mean_log**2
    value = 1 + a * gap - shape * energy * mean
    return value, -a * gap / shape - a * a / shape * float(polygamma(1, a)) - energy * (mean + shape * square)


def solve_shape(equation: Equation, start: float) -> float:
    """The root of a shape equation on `SHAPE_BOUNDS`: Newton in log β, bisection where Newton leaves the bracket."""
    lower, upper = SHAPE_BOUNDS
    low, high = 0.0, math.inf  # φ > 0 at low, φ < 0 at high
    shape = start
    for _ in range(MAX_SHAPE_STEPS):
        value, slope = equation(shape)
        low, high = (shape, high) if value > 0 else (low, shape)
        if low >= upper or high <= lower:
            break
        step = -value / (shape * slope) if slope < 0 else math.copysign(1.0, value)
        following = min(max(shape * math.exp(min(max(step, -1.0), 1.0)), lower), upper)
        if not low < following < high:
            following = math.sqrt(max(low, lower) * min(high, upper))
        if abs(following - shape) <= SHAPE_TOL * shape:
            break
        shape = following
    return shape


def covariance_factors(shapes: Any, scale: float, dimension: int) -> Any:
    """``Cov = m^{−1/β} Γ((d+2)/(2β)) / (d Γ(d/(2β))) Σ``; 1 for the Gaussian (β = 1, m = 1/2)."""
    half = 0.5 / np.asarray(shapes)
    logs = gammaln((dimension + 2) * half) - gammaln(dimension * half) - 2 * half * math.log(scale)
    return np.exp(logs) / dimension


def draw_standard(n_samples: int, dimension: int, shape: float, scale: float, random: np.random.RandomState) -> Floats:
    """Samples with center 0 and Σ = I: a uniform direction times r, where ``m r^{2β} ~ Gamma(d/(2β))``."""
    directions = random.standard_normal((n_samples, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radii = (random.gamma(0.5 * dimension / shape, size=n_samples) / scale) ** (0.5 / shape)
    return np.asarray(directions * radii[:, None], dtype=np.float64)
