"""The clustering benchmark suite by its public protocol: AFCM, its count of clusters, and rivals."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from afcm import AFCM
from studies.benchmarks import Benchmark, find_folder, load_benchmarks, read_published, score_benchmark
from studies.noise import cluster_genie, cluster_spectral
from studies.suite_page import publish

MOST_SAMPLES = 10_500  # larger sets are left out
OURS = "AFCM"


def cluster_afcm(X: Any, n_clusters: int) -> Any:
    return AFCM(n_clusters, random_state=0).fit(X).labels_


def cluster_gaussians(X: Any, n_clusters: int) -> Any:
    return GaussianMixture(n_clusters, n_init=5, random_state=0).fit_predict(X)


def cluster_converged(X: Any, n_clusters: int) -> Any:
    """Gaussians whose steps go on until they are done; scikit-learn's default stops early where clusters touch."""
    model = GaussianMixture(n_clusters, n_init=5, max_iter=1000, tol=1e-6, random_state=0)
    return model.fit_predict(X)


def cluster_k_means(X: Any, n_clusters: int) -> Any:
    return KMeans(n_clusters, n_init=10, random_state=0).fit_predict(X)


METHODS: dict[str, Callable[[Any, int], Any]] = {
    OURS: cluster_afcm,
    "SpectralClustering": cluster_spectral,
    "GaussianMixture": cluster_gaussians,
    "GaussianMixture, converged": cluster_converged,
    "k-means": cluster_k_means,
} | ({"Genie": cluster_genie} if find_spec("genieclust") else {})


def count_clusters(X: Any, truths: list[int]) -> dict[str, Any]:
    """What ``AFCM("auto")`` counts; right is the number of any reference."""
    model = AFCM("auto", random_state=0).fit(X)
    fewest, most = model.n_clusters_range_
    off = min(abs(model.n_clusters_ - truth) for truth in truths)
    held = any(fewest <= truth <= most for truth in truths)
    found = {"counted": model.n_clusters_, "fewest": fewest, "most": most}
    return found | {"exact": int(off == 0), "within 1": int(off <= 1), "in range": int(held)}


def measure(benchmark: Benchmark) -> dict[str, Any]:
    """Scores of all methods and the count of clusters."""
    n, d = benchmark.X.shape
    row = {"set": benchmark.name, "n": n, "d": d, "clusters": " or ".join(map(str, benchmark.counts))}
    row |= {name: score_benchmark(cluster, benchmark) for name, cluster in METHODS.items()}
    return row | count_clusters(benchmark.X, benchmark.counts)


def main(data: Path | None, out: Path) -> None:
    """Run all sets of a folder; write the table and the page, with published scores where the folder has them."""
    folder, rows = find_folder(data), []
    published = read_published(folder)
    columns = next(iter(published.values()), {})
    for benchmark in load_benchmarks(folder):
        if len(benchmark.X) > MOST_SAMPLES:
            print(f"{benchmark.name} left out: {len(benchmark.X):,} samples are more than {MOST_SAMPLES:,}")
            continue
        theirs = published.get(benchmark.name, dict.fromkeys(columns, np.nan))
        rows.append(measure(benchmark) | {f"{name}, published": theirs[name] for name in columns})
        print(".", end="", flush=True)
    print()
    publish("benchmarks", rows, out)
