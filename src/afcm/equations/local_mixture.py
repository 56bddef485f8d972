"""Mixtures of full Gaussians with a background, one pure function per equation.

Samples enter as ``features`` (`afcm.equations.quadratic`). The logarithm of a Gaussian is linear in them, and so are
the sums of an M-step, so both steps of EM are matrix products for all Gaussians at once. Samples should be centered and
scaled: variances are differences of moments.

The background has three parts: a wide axis-parallel Gaussian and two boxes. Where there is one, rows of ``log_joint``
are the M Gaussians, the wide Gaussian and the two boxes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace
from scipy.optimize import brentq

from afcm._typing import Floats, Masks
from afcm.arrays import from_host
from afcm.equations.cluster_forms import COVARIANCES, GAUSSIANS, Form, n_numbers, student_factors, to_student
from afcm.equations.quadratic import dimension_of, product_indices

# Added to every variance of a Gaussian; samples have variances of about 1.
RIDGE = 1e-6
# A Gaussian of less mass is empty: it keeps this mass and a unit covariance.
MIN_MASS = 1e-10
# A part of the background never has a smaller weight, so that it can grow again.
MIN_WEIGHT = 1e-12
# A part of the background with a smaller weight does not count as a parameter.
USED_WEIGHT = 1e-3
# Entries of the table of log densities that a block of samples makes: as many as stay in the cache.
BLOCK_ENTRIES = 1 << 17
N_BOXES = 2
# Parts of the background that can be left out, by their place among its weights.
WIDE, CORE_BOX = 0, 2
# Samples further than this from the center of the core, in its unit, must not widen the wide Gaussian.
FAR = 8.0
# Ratios of densities beyond ``exp`` of this are as good as infinite, and sums of them stay finite.
LARGEST_LOG = 600.0


class Background(NamedTuple):
    """Weights of the parts (wide Gaussian, box of all, box of the core), and the wide Gaussian."""

    weights: Floats  # 3
    mean: Floats  # d
    variances: Floats  # d


class Parameters(NamedTuple):
    """Weights, means and covariances of M Gaussians, and the background or None; all weights sum to 1.

    With finite ``degrees`` of freedom they are t-distributions, and there is no background.
    """

    weights: Floats  # M
    means: Floats  # M×d
    covariances: Floats  # M×d×d
    background: Background | None
    degrees: float = math.inf


class Statistics(NamedTuple):
    """Sums over samples: shares times features for each Gaussian (the wide one last), and the masses of the boxes.

    For t-distributions far samples count less in the moments, and ``shares`` are the sums of the shares alone.
    """

    moments: Floats  # M×F, or (M+1)×F with a background
    boxes: Floats  # 2
    shares: Floats | None = None  # M


def cholesky_factors(covariances: Floats) -> Floats:
    """Lower factors of a stack of covariances; rounding may have made one indefinite, which is mended."""
    try:
        return np.linalg.cholesky(covariances)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariances)
        floor = np.maximum(RIDGE, 1e-12 * values[:, -1:])
        mended = (vectors * np.maximum(values, floor)[:, None, :]) @ vectors.transpose(0, 2, 1)
        return np.linalg.cholesky(mended)


def gaussian_coefficients(weights: Floats, means: Floats, covariances: Floats) -> tuple[Floats, Floats]:
    """``log w_j N(x | μ_j, Σ_j)`` as coefficients of the features (M×F), and its largest value (M)."""
    d = means.shape[1]
    lower = cholesky_factors(covariances)
    inverse = np.linalg.inv(lower)
    precisions = inverse.transpose(0, 2, 1) @ inverse
    log_determinants = 2.0 * np.log(np.einsum("jaa->ja", lower)).sum(axis=1)
    peaks = np.log(weights) - 0.5 * (d * math.log(2.0 * math.pi) + log_determinants)
    linear = np.matmul(precisions, means[:, :, None])[:, :, 0]
    rows, columns, factors = product_indices(d)
    constant = peaks - 0.5 * (means * linear).sum(axis=1)
    return np.concatenate([constant[:, None], linear, precisions[:, rows, columns] * factors], axis=1), peaks


def joint_coefficients(parameters: Parameters) -> tuple[Floats, Floats]:
    """Coefficients and peaks of all Gaussians, the wide one of a background last."""
    weights, means, covariances, background, _ = parameters
    if background is not None:
        weights = np.append(weights, background.weights[0])
        means = np.vstack([means, background.mean])
        covariances = np.concatenate([covariances, np.diag(background.variances)[None]])
    return gaussian_coefficients(weights, means, covariances)


def box_log_densities(points: Floats, log_volumes: Floats, low: Floats, high: Floats) -> Floats:
    """Log densities of the two boxes, 2×n. The box of all samples has its density everywhere, new samples included."""
    xp, levels = array_namespace(points), (-float(log_volumes[0]), -float(log_volumes[1]), -math.inf)
    whole, core, none = (xp.full_like(points[:, 0], level) for level in levels)
    inside = (points >= from_host(low, points)) & (points <= from_host(high, points))
    return xp.stack([whole, xp.where(xp.all(inside, axis=1), core, none)])


def log_joint(
    features: Floats,
    coefficients: Floats,
    peaks: Floats,
    boxes: Floats,
    background: Background | None,
    *,
    degrees: float = math.inf,
) -> Floats:
    """``log w_k p_k(x_i)`` of all Gaussians and, with a background, its boxes: rows are parts, columns samples."""
    xp, gaussians = array_namespace(features), coefficients @ features
    xp.minimum(gaussians, peaks[:, None], out=gaussians)  # very far samples: rounding must not exceed the peak
    if math.isfinite(degrees):
        return to_student(gaussians, peaks, dimension_of(features), degrees)
    if background is None:
        return gaussians
    return xp.concat([gaussians, boxes + from_host(np.log(background.weights[1:, None]), boxes)])


def normalize(joint: Floats) -> tuple[Floats, Floats]:
    """Responsibilities (columns sum to 1; written over ``joint``) and the log likelihood of each sample."""
    xp = array_namespace(joint)
    largest = xp.max(joint, axis=0)
    joint -= largest
    xp.exp(joint, out=joint)
    totals = xp.sum(joint, axis=0)
    joint /= totals
    return joint, largest + xp.log(totals)


def row_blocks(n_samples: int, n_parts: int, n_entries: int = BLOCK_ENTRIES) -> list[slice]:
    """Blocks of samples whose tables of log densities have about so many entries."""
    size = max(256, n_entries // n_parts)
    return [slice(start, start + size) for start in range(0, n_samples, size)]


def expected_statistics(
    features: Floats, boxes: Floats, masses: Floats, parameters: Parameters
) -> tuple[Statistics, float]:
    """The E-step: sums of all samples' shares, and the log likelihood (each sample counted by its mass)."""
    coefficients, peaks = joint_coefficients(parameters)
    background, degrees = parameters.background, parameters.degrees
    moments, sums, log_likelihood = np.zeros_like(coefficients), np.zeros(len(peaks) + N_BOXES), 0.0
    for block in row_blocks(len(masses), len(sums)):
        part = features[:, block]
        joint = log_joint(part, coefficients, peaks, boxes[:, block], background, degrees=degrees)
        heavy = math.isfinite(degrees)
        factors = student_factors(joint, peaks, dimension_of(features), degrees) if heavy else None
        shares, likelihoods = normalize(joint)
        log_likelihood += float(likelihoods @ masses[block])
        shares *= masses[block]
        sums[: len(shares)] += shares.sum(axis=1)
        moments += (shares[: len(peaks)] if factors is None else shares * factors) @ part.T
    in_gaussians = sums[: len(peaks)] if math.isfinite(degrees) else None
    return Statistics(moments, sums[len(peaks) :], in_gaussians), log_likelihood


def log_densities(features: Floats, boxes: Floats, parameters: Parameters) -> Floats:
    """``log p(x_i)`` of the whole mixture."""
    coefficients, peaks = joint_coefficients(parameters)
    joint = log_joint(features, coefficients, peaks, boxes, parameters.background, degrees=parameters.degrees)
    return normalize(joint)[1]


def means_and_covariances(moments: Floats) -> tuple[Floats, Floats]:
    """Means (M×d) and covariances (M×d×d) of Gaussians whose shares have these sums of features."""
    means_of_features = moments / moments[:, :1]
    d = dimension_of(moments.T)
    means = means_of_features[:, 1 : d + 1]
    rows, columns, _ = product_indices(d)
    covariances = np.empty((len(moments), d, d))
    covariances[:, rows, columns] = means_of_features[:, d + 1 :] - means[:, rows] * means[:, columns]
    covariances[:, columns, rows] = covariances[:, rows, columns]
    return means, covariances


def robust_variances(features: Floats, masses: Floats) -> Floats:
    """Variances of the columns (d) of scaled samples, far ones moved to where they count little."""
    points = np.clip(features[1 : dimension_of(features) + 1], -FAR, FAR)
    means = points @ masses / masses.sum()
    return (points**2) @ masses / masses.sum() - means**2


def best_gaussians(moments: Floats, spherical: Masks) -> tuple[Floats, Floats, Floats]:
    """The M-step of the Gaussians: masses, means and covariances; the spherical ones get equal variances."""
    d = dimension_of(moments.T)
    masses = np.maximum(moments[:, 0], MIN_MASS)
    empty = moments[:, 0] <= MIN_MASS
    if empty.any():
        moments = np.where(empty[:, None], np.eye(1, moments.shape[1]), moments)
    means, covariances = means_and_covariances(moments)
    if spherical.any():
        own = np.trace(covariances[spherical], axis1=1, axis2=2) / d
        covariances[spherical] = own[:, None, None] * np.eye(d)
    variances = np.einsum("jaa->ja", covariances)  # a view
    np.maximum(variances, 0.0, out=variances)
    variances += RIDGE
    covariances[empty] = np.eye(d)
    return masses, means, covariances


def best_background(
    statistics: Statistics, total: Floats, variances: Floats, share: float | None
) -> tuple[Background, float]:
    """The M-step of the background, never narrower than ``variances``; its weights have the sum ``share`` if given.

    ``total`` are the features of all samples, summed. The second result is the mass left for the Gaussians, in
    the unit of the weights.
    """
    wide = statistics.moments[-1] + MIN_WEIGHT * total
    mean, covariance = means_and_covariances(wide[None])
    weights = np.maximum(np.append(statistics.moments[-1, 0], statistics.boxes) / total[0], MIN_WEIGHT)
    if share is not None:
        weights *= share / weights.sum()
    return Background(weights, mean[0], np.maximum(np.diagonal(covariance[0]), variances)), 1.0 - weights.sum()


def maximize(
    statistics: Statistics,
    total: Floats,
    variances: Floats,
    spherical: Masks,
    share: float | None,
    *,
    form: Form = GAUSSIANS,
) -> Parameters:
    """The M-step. ``share`` is the given weight of the background, or None where it is learned."""
    n_gaussians = len(spherical)
    background, left = None, 1.0
    if len(statistics.moments) > n_gaussians:
        background, left = best_background(statistics, total, variances, share)
    masses, means, covariances = best_gaussians(statistics.moments[:n_gaussians], spherical)
    covariances = COVARIANCES[form.covariances](masses, covariances, form.unit)
    masses = masses if statistics.shares is None else np.maximum(statistics.shares, MIN_MASS)
    masses = np.ones(n_gaussians) if form.balanced else masses
    return Parameters(masses / masses.sum() * left, means, covariances, background, form.degrees)


def has_background(parameters: Parameters) -> bool:
    """Whether a part of the background has more than a negligible weight."""
    return parameters.background is not None and bool((parameters.background.weights > USED_WEIGHT).any())


def without_background(parameters: Parameters) -> Parameters:
    """The Gaussians alone, their weights with the sum 1."""
    return parameters._replace(weights=parameters.weights / parameters.weights.sum(), background=None)


def without_part(parameters: Parameters, part: int) -> Parameters:
    """The background with the weight of one part given to the others."""
    background = parameters.background
    if background is None:
        return parameters
    weights = np.where(np.arange(len(background.weights)) == part, 0.0, background.weights)
    weights = np.maximum(weights * background.weights.sum() / weights.sum(), MIN_WEIGHT)
    return parameters._replace(background=background._replace(weights=weights))


def n_parameters(parameters: Parameters, form: Form = GAUSSIANS) -> int:
    """Free numbers of a mixture as BIC counts them; parts of the background that are hardly used do not count."""
    n_gaussians, d = parameters.means.shape
    count = n_numbers(form, n_gaussians, d)
    if parameters.background is None:
        return count
    used = parameters.background.weights > USED_WEIGHT
    return count + int(used.sum()) + 2 * d * int(used[0])


def likelihood_gain(log_ratios: Floats, masses: Floats, most: float) -> float:
    """``max Σ m_i log(1 − s + s b_i / p_i)`` over 0 ≤ s ≤ ``most``: what a share s of densities b adds to densities p.

    The sum is concave in s, so its slope ``Σ m_i u_i / (1 + s u_i)`` with ``u = b / p − 1`` falls through 0 once.
    """
    excess = np.expm1(np.minimum(log_ratios, LARGEST_LOG))

    def slope(share: float) -> float:
        return float((excess / (1.0 + share * excess)) @ masses)

    if slope(0.0) <= 0.0:
        return 0.0
    share = most if slope(most) >= 0.0 else brentq(slope, 0.0, most)
    return float(np.log1p(share * excess) @ masses)


def bayesian_criterion(log_likelihood: float, n_free: float, total: float) -> float:
    """BIC, ``−2 log L + p log n`` with n the sum of the masses: lower is better."""
    return -2.0 * log_likelihood + n_free * math.log(max(total, 2.0))


def cluster_contrast(features: Floats, boxes: Floats, masses: Floats, parameters: Parameters) -> float:
    """Mean of ``log (density of clusters / density of background)``, each sample by its probability of a cluster."""
    coefficients, peaks = joint_coefficients(parameters)
    n_gaussians, ratios, weights = len(parameters.weights), 0.0, 0.0
    for block in row_blocks(len(masses), len(peaks) + N_BOXES):
        joint = log_joint(features[:, block], coefficients, peaks, boxes[:, block], parameters.background)
        shares, _ = normalize(joint)
        clusters = np.maximum(shares[:n_gaussians].sum(axis=0), 1e-300)
        outside = np.maximum(shares[n_gaussians:].sum(axis=0), 1e-300)
        weight = clusters * masses[block]
        ratios += float(weight @ (np.log(clusters) - np.log(outside)))
        weights += float(weight.sum())
    return ratios / max(weights, MIN_MASS)


def log_normal(values: Floats, means: Floats | float, sds: Floats | float) -> Floats:
    """Logarithm of the normal density of one number."""
    return -0.5 * ((values - means) / sds) ** 2 - np.log(sds) - 0.5 * math.log(2.0 * math.pi)
