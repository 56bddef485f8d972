"""Label-free AFCM beside the paper's oracle, fixed graphs and the usual rivals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.mixture import GaussianMixture

from afcm import AFCM
from afcm.baselines import SpectralBaseline
from afcm.experiments.printed import printed_score
from afcm.plots.colors import PALETTE
from studies.common import METRICS, Problem, load_side, load_ten, score, show, write_csv

SEEDS = range(5)
FIXED = [(kernel, k) for kernel in ("local", "adaptive") for k in (5, 10)]
ORACLE = "paper (oracle)"
# No more than this below the paper's number on any set.
ALLOWED = 5.0

Labels = Callable[[int], Any]


def fit_afcm(problem: Problem) -> Labels:
    """AFCM with its defaults."""
    prepared = AFCM(problem.n_clusters).prepare(problem.X)
    return lambda seed: AFCM(problem.n_clusters, random_state=seed).fit_prepared(prepared).labels_


def fit_spectral(problem: Problem, kernel: str, k: int) -> Labels:
    """Spectral clustering with unit-length rows on a graph that is the same for all sets."""
    c = problem.n_clusters
    prepared = AFCM(c, kernel=kernel, n_neighbors=k).prepare(problem.X)
    return lambda seed: SpectralBaseline(c, row_normalized=True, random_state=seed).fit_prepared(prepared).labels_


def graph_methods(problem: Problem) -> dict[str, Labels]:
    """AFCM and the fixed graphs."""
    return {"AFCM": fit_afcm(problem)} | {f"{kernel} k={k}": fit_spectral(problem, kernel, k) for kernel, k in FIXED}


def rival_methods(problem: Problem) -> dict[str, Labels]:
    """Scikit-learn's, with its defaults but for ten restarts of k-means."""
    X, c = problem.X, problem.n_clusters
    return {
        "k-means": lambda seed: KMeans(c, n_init=10, random_state=seed).fit_predict(X),
        "spherical mixture": lambda seed: GaussianMixture(
            c, covariance_type="spherical", random_state=seed
        ).fit_predict(X),
        "SpectralClustering": lambda seed: SpectralClustering(
            c, affinity="nearest_neighbors", random_state=seed
        ).fit_predict(X),
    }


def measure(problem: Problem, methods: dict[str, Labels]) -> list[dict[str, Any]]:
    """Mean and standard deviation over the seeds, a row for each method and metric."""
    rows = []
    for method, labels in methods.items():
        runs = [score(problem.y, labels(seed)) for seed in SEEDS]
        for metric in METRICS:
            values = [run[metric] for run in runs]
            row = {"dataset": problem.name, "method": method, "metric": metric}
            rows.append(row | {"mean": float(np.mean(values)), "std": float(np.std(values))})
    return rows


def read_oracle(problem: Problem) -> list[dict[str, Any]]:
    """Read the paper's scores of AFCM, with k and λ chosen by the labels."""
    rows = []
    for metric in METRICS:
        printed = printed_score("results", problem.name, "AFCM", metric)
        row = {"dataset": problem.name, "method": ORACLE, "metric": metric}
        rows.append(row | {"mean": printed.mean, "std": printed.std})
    return rows


def group_by_method(rows: Iterable[dict[str, Any]], metric: str) -> dict[str, dict[str, float]]:
    """Method → data set → mean of a metric."""
    table: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["metric"] == metric:
            table.setdefault(row["method"], {})[row["dataset"]] = row["mean"]
    return table


def show_metric(rows: list[dict[str, Any]], metric: str) -> None:
    """Print data sets down, methods across, the mean below."""
    table = group_by_method(rows, metric)
    names = list(next(iter(table.values())))
    lines = [[name, *(column[name] for column in table.values())] for name in names]
    means = ["mean", *(float(np.mean(list(column.values()))) for column in table.values())]
    print()
    show([metric, *table], [*lines, means])


def show_margins(rows: list[dict[str, Any]]) -> None:
    """Print how far AFCM is above the allowed minimum, and the best fixed graph."""
    table = group_by_method(rows, "ACC")
    margins = {name: value - (table[ORACLE][name] - ALLOWED) for name, value in table["AFCM"].items()}
    deviations = {row["dataset"]: row["std"] for row in rows if (row["method"], row["metric"]) == ("AFCM", "ACC")}
    print()
    show(["ACC of AFCM", "std", "over paper − 5"], [[n, deviations[n], m] for n, m in margins.items()])
    means = {method: float(np.mean(list(column.values()))) for method, column in table.items()}
    best = max((f"{kernel} k={k}" for kernel, k in FIXED), key=means.__getitem__)
    print(f"mean {means['AFCM']:.2f}, best fixed graph {means[best]:.2f} ({best})")


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the accuracy on each set: AFCM, the paper's oracle, the range of the fixed graphs, k-means."""
    table = group_by_method(rows, "ACC")
    names = list(table["AFCM"])
    places = np.arange(len(names))
    axes = Figure(figsize=(7.5, 4.2), layout="constrained").subplots()
    spread = np.array([[table[f"{kernel} k={k}"][name] for name in names] for kernel, k in FIXED])
    axes.vlines(places, spread.min(axis=0), spread.max(axis=0), color="#c8c8c8", linewidth=9, label="four fixed graphs")
    series = (("AFCM", "AFCM, label-free", "o"), (ORACLE, "paper's AFCM (oracle)", "D"), ("k-means", "k-means", "x"))
    for (method, label, marker), color in zip(series, PALETTE, strict=False):
        values = [table[method][name] for name in names]
        axes.plot(places, values, marker, color=color, label=label)
    axes.set(ylabel="ACC in %", ylim=(0, 100), xticks=places)
    axes.set_xticklabels(names, rotation=30, ha="right")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    axes.figure.savefig(path, dpi=120)


def main(data: Path | None, out: Path) -> None:
    """Score the paper's ten sets, then scikit-learn's."""
    rows: list[dict[str, Any]] = []
    for problem in load_ten(data):
        rows += measure(problem, graph_methods(problem) | rival_methods(problem)) + read_oracle(problem)
        print(f"{problem.name} ", end="", flush=True)
    for metric in METRICS:
        show_metric(rows, metric)
    show_margins(rows)
    write_csv(out / "quality.csv", rows)
    draw(rows, out / "quality.png")
    sides = [row for problem in load_side() for row in measure(problem, graph_methods(problem))]
    show_metric(sides, "ACC")
    write_csv(out / "quality_side.csv", sides)
