"""Clusters that overlap: ARI to the labels of the true posterior, on seeds that no constant was chosen with."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

from afcm.metrics import adjusted_rand
from studies.noise import cluster_spectral, make_plain
from studies.posteriors import Family, Gaussian, make_moons, make_rings
from studies.suite import OURS, cluster_afcm, cluster_converged, cluster_gaussians
from studies.suite_page import publish

SEEDS, N_SAMPLES = (100, 101, 102), 1500


def make_stretched(ratio: float, n_clusters: int) -> Family:
    """Gaussians side by side, each ``ratio`` times as long as wide."""
    return Family([Gaussian([0, 3 * j], [0.8 * ratio**2, 0.8]) for j in range(n_clusters)])


FAMILIES: dict[str, Family] = (
    {f"moons {noise:.2f}": make_moons(noise) for noise in (0.10, 0.12, 0.15, 0.18, 0.20, 0.25)}
    | {f"rings {noise:.2f}": make_rings(noise) for noise in (0.07, 0.10, 0.12, 0.15)}
    | {
        f"{words} stretched {ratio} : 1": make_stretched(ratio, count)
        for words, count in (("two", 2), ("three", 3))
        for ratio in (3, 5, 8)
    }
    | {
        "unequal spreads": Family([Gaussian([0, 0], [2.25, 2.25]), Gaussian([3.5, 0], [0.25, 0.25])]),
        "unequal sizes": Family([Gaussian([0, 0], [1, 1]), Gaussian([3.5, 0], [1, 1])], [0.85, 0.15]),
        "unequal spreads and sizes": Family([Gaussian([0, 0], [1.5, 1.5]), Gaussian([3, 0], [0.3, 0.3])], [0.75, 0.25]),
    }
)
METHODS = {
    OURS: cluster_afcm,
    "AFCM, no densities": lambda X, c: make_plain(c).fit(X).labels_,
    "SpectralClustering": cluster_spectral,
    "GaussianMixture": cluster_gaussians,
    "GaussianMixture, converged": cluster_converged,
}


def measure(name: str, seed: int, n_samples: int) -> dict[str, Any]:
    """ARI of every method on one draw."""
    known = FAMILIES[name].draw(n_samples, seed)
    best = known.posterior.argmax(axis=1)
    scores = {method: cluster(known.X, FAMILIES[name].n_clusters) for method, cluster in METHODS.items()}
    return {"family": name, "seed": seed} | {key: float(adjusted_rand(best, found)) for key, found in scores.items()}


def main(data: Path | None, out: Path, seeds: tuple[int, ...] = SEEDS, n_samples: int = N_SAMPLES) -> None:
    """Draw every family with every seed; write the table and the page."""
    del data
    publish("overlap", [measure(name, seed, n_samples) for name, seed in product(FAMILIES, seeds)], out)
