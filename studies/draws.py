"""Functions that draw samples from a seed: toys of all shapes, separable blobs, and data without clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs, make_circles, make_moons

from afcm.datasets import make_rings, make_spirals

Draw = Callable[[int], tuple[Any, Any]]
DIMENSIONS = (2, 3, 5, 10, 20, 50)


def draw_centers(n_clusters: int, n_features: int, gap: float, random: np.random.RandomState) -> Any:
    """Gaussian centres, scaled so that the two nearest are ``gap`` apart (clusters have σ = 1)."""
    centers = random.standard_normal((n_clusters, n_features))
    apart = np.linalg.norm(centers[:, None] - centers, axis=2)
    return centers * gap / apart[~np.eye(n_clusters, dtype=bool)].min()


def gaussians(n_samples: int, n_clusters: int, n_features: int, gap: float) -> Draw:

    def draw(seed: int) -> tuple[Any, Any]:
        random = np.random.RandomState(seed)  # one stream: with the seed again the noise would repeat the centres
        return make_blobs(n_samples, centers=draw_centers(n_clusters, n_features, gap, random), random_state=random)

    return draw


def draw_stretched(seed: int) -> tuple[Any, Any]:
    """Three blobs under a linear map."""
    X, y = make_blobs(600, centers=[[0, 0], [6, 0], [0, 6]], random_state=seed)
    return X @ np.array([[1, 0.8], [0, 0.5]]), y


def draw_slanted(seed: int) -> tuple[Any, Any]:
    """The anisotropic blobs of scikit-learn's gallery, whatever the seed."""
    del seed
    X, y = make_blobs(500, centers=3, random_state=170)
    return X @ np.array([[0.6, -0.6], [-0.4, 0.8]]), y


def moons(noise: float, n_samples: int) -> Draw:
    return lambda seed: make_moons(n_samples, noise=noise, random_state=seed)


def circles(n_samples: int) -> Draw:
    """A circle in a circle of twice its size."""
    return lambda seed: make_circles(n_samples, noise=0.05, factor=0.5, random_state=seed)


def unequal(sizes: list[int], centers: list[list[float]], spread: float | list[float] = 1.0) -> Draw:
    """Blobs of their own sizes and spreads."""
    return lambda seed: make_blobs(sizes, centers=np.array(centers), cluster_std=spread, random_state=seed)


# Moons that overlap, and two blobs that do not but whose sizes a normalised cut weighs badly.
HARD: dict[str, Draw] = {
    "moons 0.10 n=300": moons(0.10, 300),
    "moons 0.10 n=1000": moons(0.10, 1000),
    "sizes 1000/30": unequal([1000, 30], [[0, 0], [7, 0]]),
}
OVERLAPPING = ("moons 0.10 n=300", "moons 0.10 n=1000")
SHAPES: dict[str, Draw] = {
    "spirals": lambda seed: make_spirals(random_state=seed),
    "rings": lambda seed: make_rings(random_state=seed),
    "moons 0.05 n=300": moons(0.05, 300),
    "moons 0.05 n=1000": moons(0.05, 1000),
    "moons 0.08 n=300": moons(0.08, 300),
    "moons 0.08 n=1000": moons(0.08, 1000),
    "circles n=500": circles(500),
    "circles n=1000": circles(1000),
    "anisotropic": draw_stretched,
    "anisotropic (gallery)": draw_slanted,
    "variances 1/4/0.25": unequal([200] * 3, [[-8, -2], [0, 0], [8, 6]], [1.0, 2.0, 0.5]),
    "sizes 500/50/20": unequal([500, 50, 20], [[0, 0], [8, 0], [0, 8]]),
}
ROUND: dict[str, Draw] = {
    f"Gaussian d={d} c={c}": gaussians(600, c, d, 8.0) for d in (2, 5, 10, 20, 50) for c in (3, 8)
} | {
    "Gaussian d=50 c=5 6σ n=300": gaussians(300, 5, 50, 6.0),
    "Gaussian d=10 c=12 6σ n=240": gaussians(240, 12, 10, 6.0),
}


def draw_blobs(seed: int) -> tuple[Any, Any]:
    """2 to 12 blobs of 30 to 119 samples in 2 to 50 dimensions, the two nearest 6 to 9 σ apart."""
    random = np.random.RandomState(seed)
    n_clusters, n_features, gap = random.randint(2, 13), random.choice(DIMENSIONS), random.uniform(6, 9)
    centers = draw_centers(n_clusters, n_features, gap, random)
    sizes = random.randint(30, 120, size=n_clusters)
    return make_blobs([int(size) for size in sizes], centers=centers, random_state=random)


def one_cluster(kind: str, n_samples: int, n_features: int, longest: float = 1.0) -> Draw:
    """A Gaussian or a uniform cube, its first axis ``longest`` times as long."""

    def draw(seed: int) -> tuple[Any, Any]:
        random = np.random.RandomState(seed)
        X = {"Gaussian": random.standard_normal, "cube": random.random_sample}[kind]((n_samples, n_features))
        X[:, 0] *= longest
        return X, np.zeros(n_samples, dtype=int)

    return draw


NULLS: dict[str, Draw] = {
    f"{kind} d={d} n={n}": one_cluster(kind, n, d)
    for kind in ("Gaussian", "cube")
    for d, n in [(d, n) for n in (150, 500) for d in (1, 2, 5, 10, 50)] + [(2, 1500)]
} | {
    "Gaussian 10:1 n=500": one_cluster("Gaussian", 500, 2, 10.0),
    "cube 4:1 n=500": one_cluster("cube", 500, 2, 4.0),
}
