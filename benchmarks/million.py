"""AFCM on 10⁴ to 10⁶ samples, part by part: how time grows, what it costs beyond the neighbours, and the peers.

First a million samples with nothing set, where clusters touch and on a curved sheet; the rest has clusters apart.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from afcm import AFCM
from afcm.fitting import starts
from afcm.graph import prepared, similarity
from benchmarks.defaults import MILLION, show_parts
from benchmarks.measuring import best_of, measure

SIZES, N_FEATURES, N_CLUSTERS, K = (10_000, 30_000, 100_000, 300_000, 1_000_000), 16, 10, 10
PARTS = ("neighbours", "graph", "spectral start", "sweeps")
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "growth.png"


class Clock:
    """Adds up the time spent in functions of a module or class."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def watch(self, owner, name, part):
        function = getattr(owner, name)

        def timed(*arguments, **options):
            began = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - began

        setattr(owner, name, timed)


def make_samples(n):
    return make_blobs(n, N_FEATURES, centers=N_CLUSTERS, random_state=0)


def fit_in_parts(n, kernel):
    """Fit once; seconds of each part, ARI and recall. Runs in a process of its own, where the watches stay."""
    X, y = make_samples(n)
    small, _ = make_samples(2000)
    model = AFCM(N_CLUSTERS, n_neighbors=K, kernel=kernel, neighbor_search="approximate", random_state=0)
    model.fit(small)  # loads what was compiled
    clock = Clock()
    clock.watch(similarity, "find_neighbors", "neighbours")
    clock.watch(prepared.GraphSetting, "from_points", "built")
    clock.watch(starts, "start_prepared", "spectral start")
    began = time.perf_counter()
    model.fit(X)
    whole = time.perf_counter() - began
    spent = clock.seconds
    parts = [spent["neighbours"], spent["built"] - spent["neighbours"], spent["spectral start"]]
    return [*parts, whole - sum(parts)], adjusted_rand_score(y, model.labels_), model.neighbor_recall_


def measure_growth(kernel):
    print(f"\nAFCM, kernel {kernel}, d = {N_FEATURES}, c = {N_CLUSTERS}, k = {K}, approximate neighbours (seconds)")
    print(f"{'n':>9}" + "".join(f"{part:>16}" for part in PARTS) + "   total  / neighbours    MB   recall     ARI")
    rows = []
    for n in SIZES:
        result = best_of(2 if n <= 100_000 else 1, fit_in_parts, n, kernel)
        parts, score, recall = result.value
        rows.append(parts)
        print(
            f"{n:>9}"
            + "".join(f"{part:>16.2f}" for part in parts)
            + f"{sum(parts):>8.2f}{sum(parts) / parts[0]:>14.2f}"
            f"{result.megabytes:>6.0f}{recall:>9.4f}{score:>8.4f}",
            flush=True,
        )
    totals = np.sum(rows, axis=1)
    power = np.polyfit(np.log(SIZES), np.log(totals), 1)[0]
    print(f"time grows as n^{power:.2f}")
    return np.array(rows), power


def draw(rows, power):
    """Draw the seconds of each part against n, on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for part, seconds, marker in zip(PARTS, rows.T, "osv^", strict=True):
        axes.loglog(SIZES, seconds, marker=marker, label=part)
    axes.loglog(SIZES, rows.sum(axis=1), color="black", marker="D", label=f"total, n^{power:.2f}")
    axes.set(
        xlabel="samples", ylabel="seconds on two cores", title=f"AFCM, d = {N_FEATURES}, c = {N_CLUSTERS}, k = {K}"
    )
    axes.legend()
    axes.grid(alpha=0.3)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=150)


def fit_ours(X):
    return AFCM(N_CLUSTERS, n_neighbors=K, random_state=0).fit(X).labels_


def fit_peer(X, solver):
    model = SpectralClustering(
        N_CLUSTERS, n_neighbors=K, affinity="nearest_neighbors", eigen_solver=solver, random_state=0, n_jobs=-1
    )
    return model.fit(X).labels_


def compare_with_spectral_clustering(n=100_000):
    X, y = make_samples(n)
    quick = best_of(2, fit_ours, X)
    print(f"\nwhole fits, n = {n} (seconds, MB, ARI, times AFCM)")
    for name, result in [("AFCM", quick), *((solver, measure(fit_peer, X, solver)) for solver in ("lobpcg", "amg"))]:
        score, ratio = adjusted_rand_score(y, result.value), result.seconds / quick.seconds
        print(f"{name:>9}{result.seconds:>8.1f}{result.megabytes:>7.0f}{score:>8.4f}{ratio:>7.1f}", flush=True)


def main() -> None:
    for kind in ("touching", "sheet"):
        show_parts(kind, (MILLION,))
    compare_with_spectral_clustering()
    draw(*measure_growth("sharpened"))
    measure_growth("local")


if __name__ == "__main__":
    main()
