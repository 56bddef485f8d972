"""Many small clusters: AFCM's default beside graphs with a fixed number of neighbors."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

from sklearn.datasets import make_blobs

from afcm.metrics import adjusted_rand, clustering_accuracy
from studies.common import Problem
from studies.quality import fit_afcm, fit_spectral
from studies.suite import OURS
from studies.suite_page import publish

N_CLUSTERS, SIZE = 100, 20
# Columns and spread, from easy to hard, and fewer columns.
SETTINGS = ((10, 1.0), (10, 1.7), (10, 2.2), (10, 3.0), (4, 1.2))
SEEDS = (100, 101, 102)
KERNELS, NEIGHBORS = ("adaptive", "local"), (6, 10, 14, 20)


def measure(n_features: int, spread: float, seed: int, n_clusters: int = N_CLUSTERS) -> list[dict[str, Any]]:
    """ARI and accuracy of the default and of every fixed graph, in percent."""
    X, y = make_blobs(n_clusters * SIZE, n_features, centers=n_clusters, cluster_std=spread, random_state=seed)
    problem = Problem("blobs", X, y)
    methods = {OURS: fit_afcm(problem)}
    methods |= {f"{kernel} k={k}": fit_spectral(problem, kernel, k) for kernel, k in product(KERNELS, NEIGHBORS)}
    rows = []
    for name, label in methods.items():
        labels = label(0)
        row = {"columns": n_features, "spread": spread, "seed": seed, "graph": name}
        rows.append(row | {"ACC": 100 * clustering_accuracy(y, labels), "ARI": 100 * adjusted_rand(y, labels)})
    return rows


def main(
    data: Path | None, out: Path, settings: Any = SETTINGS, seeds: Any = SEEDS, n_clusters: int = N_CLUSTERS
) -> None:
    """Fit all settings with all seeds; write the table and the page."""
    del data
    rows = []
    for setting, seed in product(settings, seeds):
        rows += measure(*setting, seed, n_clusters)
        print(".", end="", flush=True)
    publish("small", rows, out)
