"""Many small clusters: AFCM's default beside graphs with a fixed number of neighbors."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

from sklearn.datasets import make_blobs

from afcm import AFCM
from afcm.metrics import adjusted_rand, clustering_accuracy
from studies.suite import OURS
from studies.suite_page import publish

N_CLUSTERS, SIZE = 100, 20
# Columns and spread: an easy and a hard one beside that of the middle, and other dimensions.
SETTINGS = ((10, 1.0), (10, 1.7), (10, 2.2), (10, 3.0), (4, 1.2), (50, 7.0))
SEEDS, NEIGHBORS = (100, 101, 102), (6, 10, 14, 20)


def measure(n_features: int, spread: float, seed: int, n_clusters: int = N_CLUSTERS) -> list[dict[str, Any]]:
    """ARI and accuracy of the default and of every fixed graph, in percent."""
    X, y = make_blobs(n_clusters * SIZE, n_features, centers=n_clusters, cluster_std=spread, random_state=seed)
    graphs: dict[str, dict[str, Any]] = {OURS: {}}
    for kernel, k in product(("adaptive", "local"), NEIGHBORS):
        graphs[f"{kernel} k={k}"] = {"kernel": kernel, "n_neighbors": k}
    rows = []
    for name, graph in graphs.items():
        labels = AFCM(n_clusters, random_state=0, **graph).fit(X).labels_
        row = {"columns": n_features, "spread": spread, "seed": seed, "graph": name}
        rows.append(row | {"ACC": 100 * clustering_accuracy(y, labels), "ARI": 100 * adjusted_rand(y, labels)})
    return rows


def main(
    data: Path | None, out: Path, settings: Any = SETTINGS, seeds: Any = SEEDS, n_clusters: int = N_CLUSTERS
) -> None:
    """Fit all settings with all seeds; write the table and the page."""
    del data
    drawn = ((*setting, seed) for setting in settings for seed in seeds)
    publish("small", [row for one in drawn for row in measure(*one, n_clusters)], out)
