"""Families of clusters whose probabilities are known: each has a density by a formula or a sum over a curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import stats
from scipy.special import logsumexp

CURVE_POINTS = 400  # a curve is so many points, a sample of it one of them with noise


class Part(Protocol):
    """The density of one cluster."""

    def draw(self, n_samples: int, random: np.random.Generator) -> Any:
        """Samples of the cluster."""

    def log_density(self, X: Any) -> Any:
        """Logarithm of the density at given samples."""


@dataclass(frozen=True)
class Gaussian:
    """A Gaussian by its mean and its covariance, or the variances of its columns."""

    mean: Sequence[float]
    covariance: Any

    @property
    def law(self) -> Any:
        matrix = np.asarray(self.covariance, dtype=float)
        return stats.multivariate_normal(self.mean, np.diag(matrix) if matrix.ndim == 1 else matrix)

    def draw(self, n_samples: int, random: np.random.Generator) -> Any:
        return self.law.rvs(n_samples, random_state=random).reshape(n_samples, -1)

    def log_density(self, X: Any) -> Any:
        return self.law.logpdf(X)


@dataclass(frozen=True)
class HeavyTailed:
    """A t-distribution about a mean, with the unit matrix as its shape."""

    mean: Sequence[float]
    degrees: float

    def draw(self, n_samples: int, random: np.random.Generator) -> Any:
        return self.law.rvs(n_samples, random_state=random).reshape(n_samples, -1)

    def log_density(self, X: Any) -> Any:
        return self.law.logpdf(X)

    @property
    def law(self) -> Any:
        return stats.multivariate_t(self.mean, np.eye(len(self.mean)), df=self.degrees)


@dataclass(frozen=True)
class Skewed:
    """A gamma distribution along the first column, from ``start`` on; a normal one in the second."""

    start: tuple[float, float]
    direction: int
    shape: float = 2.0

    def draw(self, n_samples: int, random: np.random.Generator) -> Any:
        first = self.start[0] + self.direction * random.gamma(self.shape, size=n_samples)
        return np.stack([first, self.start[1] + random.standard_normal(n_samples)], axis=1)

    def log_density(self, X: Any) -> Any:
        along = self.direction * (X[:, 0] - self.start[0])
        return stats.gamma.logpdf(along, self.shape) + stats.norm.logpdf(X[:, 1], self.start[1])


@dataclass(frozen=True)
class Curve:
    """Points on an arc, uniformly, with round noise."""

    center: tuple[float, float]
    radius: float
    angles: tuple[float, float]
    noise: float

    @property
    def points(self) -> Any:
        angles = np.linspace(*self.angles, CURVE_POINTS, endpoint=False)
        return np.asarray(self.center) + self.radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)

    def draw(self, n_samples: int, random: np.random.Generator) -> Any:
        rows = random.integers(CURVE_POINTS, size=n_samples)
        return self.points[rows] + self.noise * random.standard_normal((n_samples, 2))

    def log_density(self, X: Any) -> Any:
        squared = ((X[:, None] - self.points) ** 2).sum(axis=2)
        constant = np.log(CURVE_POINTS * 2 * np.pi * self.noise**2)
        return logsumexp(-squared / (2 * self.noise**2), axis=1) - constant


class Known(NamedTuple):
    """Samples, the cluster that each was drawn from, and its true probabilities."""

    X: Any
    y: Any
    posterior: Any


@dataclass(frozen=True)
class Family:
    """Clusters with their weights. ``gaussian``: each is one Gaussian, and a Gaussian mixture is the right model."""

    parts: Sequence[Part]
    weights: Sequence[float] | None = None

    @property
    def n_clusters(self) -> int:
        return len(self.parts)

    @property
    def gaussian(self) -> bool:
        return all(isinstance(part, Gaussian) for part in self.parts)

    def posterior(self, X: Any) -> Any:
        """True probabilities of the clusters at given samples."""
        weights = np.ones(self.n_clusters) if self.weights is None else np.asarray(self.weights)
        joint = np.log(weights) + np.stack([part.log_density(X) for part in self.parts], axis=1)
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def draw(self, n_samples: int, seed: int) -> Known:
        """Independent samples."""
        random = np.random.default_rng(seed)
        y = random.choice(self.n_clusters, n_samples, p=self.weights)
        drawn = [part.draw(n_samples, random) for part in self.parts]
        X = np.stack(drawn)[y, np.arange(n_samples)]
        return Known(X, y, self.posterior(X))


def make_moons(noise: float) -> Family:
    lower = Curve((1.0, 0.5), 1.0, (np.pi, 2 * np.pi), noise)
    return Family([Curve((0.0, 0.0), 1.0, (0.0, np.pi), noise), lower])


def make_rings(noise: float) -> Family:
    return Family([Curve((0.0, 0.0), radius, (0.0, 2 * np.pi), noise) for radius in (0.5, 1.0)])


def make_round(distance: float) -> Family:
    """Two round Gaussians of variance 1."""
    return Family([Gaussian([0.0, 0.0], [1, 1]), Gaussian([distance, 0.0], [1, 1])])


def make_different() -> Family:
    """Three Gaussians in five columns, each stretched and turned in its own way."""
    random, parts = np.random.default_rng(5), []
    for shift in ([0, 0, 0, 0, 0], [4, 0, 0, 0, 0], [0, 4, 2, 0, 0]):
        axes, _ = np.linalg.qr(random.standard_normal((5, 5)))
        parts.append(Gaussian(shift, (axes * [2.0, 1.5, 1.0, 0.6, 0.4]) @ axes.T))
    return Family(parts, [0.4, 0.35, 0.25])


def turn(variances: Sequence[float], degrees: float) -> Any:
    """Covariance of given variances along axes turned by an angle."""
    angle = np.deg2rad(degrees)
    axes = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return (axes * variances) @ axes.T


FAMILIES: dict[str, Family] = {
    "2 apart": make_round(2),
    "3 apart": make_round(3),
    "4 apart": make_round(4),
    "unequal": Family([Gaussian([0, 0], [1.5, 1.5]), Gaussian([3, 0], [0.3, 0.3])], [0.75, 0.25]),
    "tiny beside large": Family([Gaussian([0, 0], [2.25, 2.25]), Gaussian([4, 0], [0.16, 0.16])], [0.95, 0.05]),
    "stretched 3 : 1": Family([Gaussian([0, 0], turn([9, 1], 30)), Gaussian([-1.8, 3.2], turn([9, 1], 30))]),
    "stretched 4 : 1": Family([Gaussian([0, 0], [9, 0.6]), Gaussian([0, 3], [9, 0.6])]),
    "stretched 8 : 1": Family([Gaussian([0, 2.8 * j], [32, 0.5]) for j in range(3)]),
    "crossed": Family([Gaussian([0, 0], [6, 0.4]), Gaussian([3.2, 2.4], [0.4, 6])]),
    "five in 10-d": Family([Gaussian(3.2 * np.eye(10)[j], np.ones(10)) for j in range(5)]),
    "three in 5-d": make_different(),
    "t, 3 degrees": Family([HeavyTailed([0.0, 0.0], 3), HeavyTailed([5.0, 0.0], 3)]),
    "skewed": Family([Skewed((0.0, 0.0), 1), Skewed((-1.0, 3.5), 1), Skewed((9.0, 1.75), -1)]),
    "moons .12": make_moons(0.12),
    "moons .18": make_moons(0.18),
    "moons .25": make_moons(0.25),
    "rings .10": make_rings(0.10),
    "rings .15": make_rings(0.15),
}
