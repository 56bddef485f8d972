"""A background told by distances to neighbors alone, where full Gaussians of the points cannot be learned.

Inside a cluster the logarithm of the distance to the k-th neighbor is taken as normal, with the cluster's own mean and
spread; background has one normal density with a larger mean for all clusters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from afcm._typing import Floats, Integers, Masks
from afcm.equations import local_mixture as equations

MAX_STEPS, TOL = 200, 1e-7
# Logarithms of distances never spread less than this: a per mille of the distance.
MIN_SD = 1e-3
# Skewed distances and heavy tails of one population stay below this; background in many columns lies far above.
MIN_SEPARATION = 8.0
MAX_SHARE = 0.5
# The mean, the spread and the weight of the background.
EXTRA_PARAMETERS = 3


class Densities(NamedTuple):
    """Weight of the background, normal densities of the clusters, and that of the background."""

    share: float
    means: Floats
    sds: Floats
    mean: float
    sd: float


@dataclass(frozen=True)
class DistanceBackground:
    """Normal densities of log distances: one for each cluster, and one for the background with weight ``share``.

    ``share`` is 0 where there is no background.
    """

    share: float
    means: Floats
    sds: Floats
    background_mean: float
    background_sd: float

    def outlier_scores(self, points: object, labels: Integers, log_distances: Floats) -> Floats:
        """The probability of each sample to be background, given its cluster; it never falls with the distance.

        ``points`` are not needed and may be None.
        """
        labels, values = np.asarray(labels), finite(np.asarray(log_distances, dtype=np.float64))
        if self.share == 0.0:
            return np.zeros(len(values))
        means = self.means[labels]
        between = np.clip(values, means, np.maximum(self.background_mean, means))
        densities = Densities(self.share, self.means, self.sds, self.background_mean, self.background_sd)
        return background_shares(densities, labels, between)[0]


@dataclass(frozen=True)
class Distances:
    """Log distances of samples with labels and masses."""

    labels: Integers
    n_clusters: int
    values: Floats
    masses: Floats

    def maximize(self, outside: Floats, share: float | None) -> Densities:
        """The M-step: means and spreads by the probabilities of background; ``share`` is kept if given."""
        inside, beyond = self.masses * (1.0 - outside), self.masses * outside
        means, sds = weighted_normal(self.labels, self.values, inside, self.n_clusters, self.overall)
        mean, sd = normal_of_all(self.values, beyond, self.overall)
        learned = float(beyond.sum()) / max(float(self.masses.sum()), equations.MIN_MASS)
        return Densities(learned if share is None else share, means, sds, mean, sd)

    @cached_property
    def overall(self) -> tuple[float, float]:
        """Mean and standard deviation of all samples."""
        return normal_of_all(self.values, self.masses, (0.0, 1.0))

    def alternate(self, outside: Floats, share: float | None) -> tuple[Densities, float]:
        """EM with the cluster of each sample given; the densities and their log likelihood."""
        old, total = -math.inf, float(self.masses.sum())
        for _ in range(MAX_STEPS):
            densities = self.maximize(outside, share)
            outside, likelihoods = background_shares(densities, self.labels, self.values)
            log_likelihood = float(self.masses @ likelihoods)
            if log_likelihood - old < TOL * total:
                break
            old = log_likelihood
        return densities, log_likelihood

    def gain(self, plain: Densities, log_likelihood: float) -> float:
        """How much lower BIC is with a background of this log likelihood."""
        means, sds = plain.means[self.labels], plain.sds[self.labels]
        without, total = float(self.masses @ equations.log_normal(self.values, means, sds)), float(self.masses.sum())
        with_background = equations.bayesian_criterion(log_likelihood, EXTRA_PARAMETERS, total)
        return equations.bayesian_criterion(without, 0, total) - with_background

    def mean_separation(self, densities: Densities) -> float:
        """How many spreads of its own a cluster is from the background, averaged by the mass inside clusters.

        The background's own spread does not count: haze and far stray samples together are wide.
        """
        outside, _ = background_shares(densities, self.labels, self.values)
        inside = np.bincount(self.labels, self.masses * (1.0 - outside), self.n_clusters) + equations.MIN_MASS
        return float(np.average((densities.mean - densities.means) / densities.sds, weights=inside))


def fit_distance_background(
    distances: Distances, core: Masks, share: float | Literal["auto"] | None = "auto"
) -> DistanceBackground:
    """Learn the densities by EM that starts from each cluster's core; ``share`` as in ``fit_local_mixture``."""
    plain = distances.maximize(np.zeros(len(core)), 0.0)
    if share is None:
        return DistanceBackground(*plain)
    given = None if share == "auto" else share
    found, log_likelihood = distances.alternate(np.where(core, 0.0, 1.0), given)
    accepted = given is not None or (
        distances.gain(plain, log_likelihood) > 0.0
        and found.share <= MAX_SHARE
        and distances.mean_separation(found) >= MIN_SEPARATION
    )
    return DistanceBackground(*(found if accepted else plain))


def finite(log_distances: Floats) -> Floats:
    """Distances of 0 count as the least positive one."""
    known = np.isfinite(log_distances)
    return np.where(known, log_distances, log_distances[known].min() if known.any() else 0.0)


def normal_of_all(values: Floats, weights: Floats, otherwise: tuple[float, float]) -> tuple[float, float]:
    """Weighted mean and standard deviation; ``otherwise`` without weight."""
    total = float(weights.sum())
    if total <= equations.MIN_MASS:
        return otherwise
    mean = float(weights @ values) / total
    return mean, max(math.sqrt(float(weights @ (values - mean) ** 2) / total), MIN_SD)


def weighted_normal(
    groups: Integers, values: Floats, weights: Floats, n_groups: int, otherwise: tuple[float, float]
) -> tuple[Floats, Floats]:
    """`normal_of_all` of each group."""
    sums = np.bincount(groups, weights, n_groups)
    known, some = sums > equations.MIN_MASS, np.maximum(sums, equations.MIN_MASS)
    means = np.where(known, np.bincount(groups, weights * values, n_groups) / some, otherwise[0])
    variances = np.bincount(groups, weights * (values - means[groups]) ** 2, n_groups) / some
    return means, np.where(known, np.maximum(np.sqrt(variances), MIN_SD), otherwise[1])


def background_shares(densities: Densities, labels: Integers, values: Floats) -> tuple[Floats, Floats]:
    """The E-step: the probability of background, and the log likelihood, of each sample."""
    share = min(max(densities.share, equations.MIN_WEIGHT), 1.0 - equations.MIN_WEIGHT)
    outside = math.log(share) + equations.log_normal(values, densities.mean, densities.sd)
    inside = math.log1p(-share) + equations.log_normal(values, densities.means[labels], densities.sds[labels])
    likelihoods = np.logaddexp(inside, outside)
    return np.exp(outside - likelihoods), likelihoods
