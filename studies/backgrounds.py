"""Clusters of many shapes, and background scattered over them, with densities where they have a formula."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm
from sklearn.datasets import make_blobs, make_circles, make_moons

from afcm.datasets import make_rings, make_spirals

LogDensity = Callable[[Any], Any]
BACKGROUND = -1  # label of background samples


class Sample(NamedTuple):
    """Samples, the clusters they come from, and the logarithm of their density if it has a formula."""

    X: Any
    y: Any
    log_density: LogDensity | None = None

    @property
    def n_clusters(self) -> int:
        return int(np.unique(self.y[self.y != BACKGROUND]).size)


class Noisy(NamedTuple):
    """A sample with background; ``best_score`` is the logarithm of the ratio of both densities, or None."""

    X: Any
    y: Any
    best_score: Any


def mixture_density(y: Any, centers: Any, covariances: Iterable[Any]) -> LogDensity:
    """Log density of Gaussians, each weighted by its number of samples."""
    weights = np.bincount(y) / y.size
    laws = [multivariate_normal(center, covariance) for center, covariance in zip(centers, covariances, strict=True)]

    def log_density(X: Any) -> Any:
        terms = [np.log(weight) + law.logpdf(X) for weight, law in zip(weights, laws, strict=True)]
        return logsumexp(terms, axis=0)

    return log_density


def draw_blobs(sizes: int | list[int], centers: Any, spread: Any, seed: int, n_features: int = 2) -> Sample:
    """Draw round Gaussians about given centers, or about a number of random ones."""
    X, y, places = make_blobs(
        sizes, n_features, centers=centers, cluster_std=spread, random_state=seed, return_centers=True
    )
    variances = np.broadcast_to(np.square(spread), len(places))
    return Sample(X, y, mixture_density(y, places, variances))


def draw_scattered_blobs(seed: int) -> Sample:
    """Draw four blobs in the plane, some of which may touch."""
    X, y, places = make_blobs(600, 2, centers=4, center_box=(-12, 12), random_state=seed + 40, return_centers=True)
    return Sample(X, y, mixture_density(y, places, np.ones(4)))


def draw_stretched(seed: int) -> Sample:
    """Draw the stretched blobs of scikit-learn's gallery, narrower and with a little more noise from the seed."""
    X, y, places = make_blobs(600, 2, centers=3, cluster_std=0.6, random_state=170, return_centers=True)
    stretch = np.array([[0.6, -0.64], [-0.4, 0.85]])
    X = (X + 0.1 * np.random.default_rng(seed).normal(size=X.shape)) @ stretch
    covariance = (0.6**2 + 0.1**2) * stretch.T @ stretch
    return Sample(X, y, mixture_density(y, places @ stretch, [covariance] * 3))


def draw_bars(seed: int) -> Sample:
    """Draw three bars, one above the other, each filled uniformly."""
    random = np.random.default_rng(seed)
    bars = [random.uniform([-5, 2 * i], [5, 2 * i + 0.6], (200, 2)) for i in range(3)]

    def log_density(X: Any) -> Any:
        level = np.clip(X[:, 1] // 2, 0, 2)
        inside = (np.abs(X[:, 0]) <= 5) & (X[:, 1] >= 2 * level) & (X[:, 1] <= 2 * level + 0.6)
        return np.where(inside, -np.log(3 * 10 * 0.6), -np.inf)

    return Sample(np.concatenate(bars), np.repeat(range(3), 200), log_density)


def draw_smile(seed: int) -> Sample:
    """Draw a ring with two eyes and a mouth in it."""
    random = np.random.default_rng(seed)

    def arc(count: int, begin: float, end: float, radius: float) -> Any:
        angle = random.uniform(begin * np.pi, end * np.pi, count)
        return radius * np.c_[np.cos(angle), np.sin(angle)] + 0.12 * random.normal(size=(count, 2))

    ring = arc(300, 0, 2, 4.0)
    eyes = [np.array([x, 1.3]) + 0.25 * random.normal(size=(70, 2)) for x in (-1.5, 1.5)]
    parts = [ring, *eyes, arc(140, 1.15, 1.85, 2.2)]
    return Sample(np.concatenate(parts), np.repeat(range(4), [len(part) for part in parts]))


SHAPES: dict[str, Callable[[int], Sample]] = {
    "moons": lambda seed: Sample(*make_moons(600, noise=0.05, random_state=seed)),
    "circles": lambda seed: Sample(*make_circles(600, factor=0.5, noise=0.04, random_state=seed)),
    "spirals": lambda seed: Sample(*make_spirals(random_state=seed)),
    "rings": lambda seed: Sample(*make_rings(random_state=seed)),
    "blobs": draw_scattered_blobs,
    "stretched blobs": draw_stretched,
    "blobs d=10": lambda seed: draw_blobs(600, 5, 1.5, seed, 10),
    "blobs d=50": lambda seed: draw_blobs(600, 5, 4.0, seed, 50),
    "unequal blobs": lambda seed: draw_blobs(600, [[-8, -5], [0, 5], [9, -4]], [0.5, 2.0, 1.0], seed),
    "bars": draw_bars,
    "smile": draw_smile,
    "tiny cluster": lambda seed: draw_blobs([400, 150, 40], [[0, 0], [7, 0], [3, 6]], [1.1, 0.6, 0.3], seed),
}


class Box(NamedTuple):
    """Axes of the box that the clean samples fill."""

    middle: Any
    width: Any


def draw_uniform(box: Box, count: int, random: np.random.Generator) -> Any:
    """Draw from the box, made wider by 15 % on each side."""
    return random.uniform(box.middle - 0.65 * box.width, box.middle + 0.65 * box.width, (count, box.width.size))


def uniform_density(box: Box, X: Any) -> Any:
    inside = np.all(np.abs(X - box.middle) <= 0.65 * box.width, axis=1)
    return np.where(inside, -np.log(1.3 * box.width).sum(), -np.inf)


def draw_normal(box: Box, count: int, random: np.random.Generator, spread: float) -> Any:
    """Draw from a Gaussian whose deviations are ``spread`` times the widths of the box."""
    return random.normal(size=(count, box.width.size)) * box.width * spread + box.middle


def normal_density(box: Box, X: Any, spread: float) -> Any:
    return norm(box.middle, spread * box.width).logpdf(X).sum(axis=1)


# Widths of the wide Gaussian and of stray points, and how many points are stray: the axes of the box are about
# two deviations of the first long, and most stray points are outside of it.
WIDE, FAR, STRAY = 0.45, 3.0, 0.1
# Kind of background → its parts: share, draw, log density.
KINDS: dict[str, list[tuple[float, Callable[..., Any], Callable[..., Any]]]] = {
    "uniform": [(1.0, draw_uniform, uniform_density)],
    "Gaussian": [(1.0, partial(draw_normal, spread=WIDE), partial(normal_density, spread=WIDE))],
    "uniform and stray": [
        (1 - STRAY, draw_uniform, uniform_density),
        (STRAY, partial(draw_normal, spread=FAR), partial(normal_density, spread=FAR)),
    ],
}


def add_background(sample: Sample, share: float, kind: str, seed: int) -> Noisy:
    """Scatter ``share`` times as many background samples as there are clean ones, and shuffle."""
    random = np.random.default_rng(1000 + seed)
    n, count = len(sample.X), round(share * len(sample.X))
    low, high = sample.X.min(axis=0), sample.X.max(axis=0)
    box = Box((low + high) / 2, high - low)
    others = [int(part * count) for part, _, _ in KINDS[kind][1:]]
    counts = [count - sum(others), *others]
    drawn = [draw(box, size, random) for (_, draw, _), size in zip(KINDS[kind], counts, strict=True)]
    order = random.permutation(n + count)
    X = np.concatenate([sample.X, *drawn])[order]
    y = np.concatenate([sample.y, np.full(count, BACKGROUND)])[order]
    if sample.log_density is None:
        return Noisy(X, y, None)
    background = logsumexp([np.log(part) + density(box, X) for part, _, density in KINDS[kind]], axis=0)
    return Noisy(X, y, np.clip(background - sample.log_density(X), -1e9, 1e9))
