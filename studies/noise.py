"""Background noise: does it bend the clusters, are its samples found, and what does looking for it cost?

The parts are ``suite``, ``alarms``, ``cost`` and ``shapes``; each writes a table of its own, and the page shows all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets as sk_datasets
from sklearn.cluster import HDBSCAN, SpectralClustering
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from afcm import AFCM
from afcm.metrics import adjusted_rand
from studies.backgrounds import BACKGROUND, KINDS, SHAPES, Noisy, Sample, add_background, draw_blobs
from studies.benchmarks import load_benchmarks, score_benchmark
from studies.common import Problem, load_ten, show, write_csv
from studies.cost import compare_costs
from studies.noise_page import ALARM, write_page

SMALLEST = (5, 15, 30)  # min_cluster_size of HDBSCAN, of which the labels choose


@dataclass(frozen=True)
class Plan:
    """How much to run."""

    shapes: tuple[str, ...] = tuple(SHAPES)
    shares: tuple[float, ...] = (0.0, 0.1, 0.25, 0.5)
    kinds: tuple[str, ...] = tuple(KINDS)
    seen_seeds: tuple[int, ...] = (0, 1)  # looked at while the constants were chosen
    new_seeds: tuple[int, ...] = (100, 101, 102)  # not looked at
    alarm_seeds: tuple[int, ...] = tuple(range(100, 110))
    sizes: tuple[tuple[int, int], ...] = ((2_000, 9), (30_000, 5), (100_000, 3))  # samples, rounds
    real: bool = True


QUICK = Plan(("moons",), (0.0, 0.25), ("uniform",), (0,), (100,), (100,), ((300, 1),), real=False)


def make_plain(n_clusters: int) -> AFCM:
    """AFCM in whose graph all samples have the same mass, however sparse their surroundings."""
    return AFCM(n_clusters, density_strength=0, random_state=0)


def cluster_spectral(X: Any, n_clusters: int) -> Any:
    model = SpectralClustering(
        n_clusters, affinity="nearest_neighbors", n_neighbors=10, assign_labels="kmeans", random_state=0
    )
    return model.fit_predict(X)


def cluster_genie(X: Any, n_clusters: int) -> Any:
    from genieclust import Genie

    return Genie(n_clusters=n_clusters, gini_threshold=0.3).fit_predict(X)


def score_clean(y: Any, labels: Any) -> float:
    """ARI on the samples that are no background."""
    clean = y != BACKGROUND
    return float(adjusted_rand(y[clean], labels[clean]))


def score_clusters(noisy: Noisy, model: AFCM, n_clusters: int) -> dict[str, float]:
    """Compare a fitted AFCM with itself without densities and with rivals, by ARI on the clean samples."""
    X, y = noisy.X, noisy.y
    condensed = [HDBSCAN(min_cluster_size=size, copy=True).fit_predict(X) for size in SMALLEST]
    return {
        "AFCM": score_clean(y, model.labels_),
        "AFCM, no densities": score_clean(y, make_plain(n_clusters).fit(X).labels_),
        "SpectralClustering": score_clean(y, cluster_spectral(X, n_clusters)),
        "HDBSCAN (oracle)": max(score_clean(y, labels) for labels in condensed),
        "Genie": score_clean(y, cluster_genie(X, n_clusters)) if find_spec("genieclust") else np.nan,
    }


def score_outliers(noisy: Noisy, model: AFCM) -> dict[str, float]:
    """Compare outlier scores by the area under the curve that tells background from clean samples."""
    X, background = noisy.X, noisy.y == BACKGROUND
    distances, _ = NearestNeighbors(n_neighbors=11).fit(X).kneighbors(X)  # the first is the sample itself
    scores = {
        "AFCM": model.outlier_scores_,
        "LocalOutlierFactor": -LocalOutlierFactor().fit(X).negative_outlier_factor_,
        "IsolationForest": -IsolationForest(random_state=0).fit(X).score_samples(X),
        "10th neighbor": distances[:, -1],
        "best possible": noisy.best_score,
    }
    return {
        name: np.nan if values is None else float(roc_auc_score(background, values)) for name, values in scores.items()
    }


def list_settings(plan: Plan) -> Iterator[tuple[str, int, float, str]]:
    """Shape, seed, share and kind of background; without any there is but one kind."""
    for shape, seed, share in product(plan.shapes, plan.seen_seeds + plan.new_seeds, plan.shares):
        for kind in plan.kinds if share else ("none",):
            yield shape, seed, share, kind


def run_suite(data: Path | None, plan: Plan) -> dict[str, list[dict[str, Any]]]:
    """Fit every shape under every background; a row of clusters and, with background, of outliers for each."""
    del data
    clusters, outliers = [], []
    for shape, seed, share, kind in list_settings(plan):
        sample = SHAPES[shape](seed)
        noisy = add_background(sample, share, kind if share else "uniform", seed)
        model = AFCM(sample.n_clusters, random_state=0).fit(noisy.X)
        row = {"shape": shape, "share": share, "kind": kind, "seed": seed, "seen": int(seed in plan.seen_seeds)}
        clusters.append(row | score_clusters(noisy, model, sample.n_clusters))
        found = {"true_share": float(np.mean(noisy.y == BACKGROUND)), "noise_share": float(model.noise_share_)}
        outliers.append(row | found | (score_outliers(noisy, model) if share else {}))
        if (share, kind) == (plan.shares[-1], plan.kinds[-1]):
            print(f"{shape} {seed}  ", end="", flush=True)
    print()
    columns = list(outliers[-1])
    return {"clusters": clusters, "outliers": [{key: row.get(key, np.nan) for key in columns} for row in outliers]}


def draw_wide(seed: int) -> Sample:
    """Draw two narrow Gaussians and one of ten times their spread."""
    return draw_blobs(600, [[0, 0], [16, 0], [0, 18]], [0.5, 0.5, 5.0], seed)


def draw_structureless(kind: str, seed: int) -> Sample:
    """Draw one cloud that is to be cut into three all the same."""
    X = getattr(np.random.default_rng(seed), kind)(size=(600, 2))
    return Sample(X, np.arange(600) % 3)


CLEAN: dict[str, Callable[[int], Sample]] = {
    name: SHAPES[name] for name in ("moons", "circles", "rings", "spirals", "blobs", "unequal blobs")
} | {
    "spreads 1 : 1 : 10": draw_wide,
    "uniform, c = 3": partial(draw_structureless, "uniform"),
    "one Gaussian, c = 3": partial(draw_structureless, "normal"),
}


def load_real(data: Path | None) -> Iterator[Problem]:
    """Load real sets; nobody has marked background in them, but they may well hold odd samples."""
    for name in ("digits", "wine", "iris"):
        yield Problem(name, *getattr(sk_datasets, f"load_{name}")(return_X_y=True))
    for problem in load_ten(data):
        yield problem._replace(name=f"{problem.name}, min-max")


def run_alarms(data: Path | None, plan: Plan) -> dict[str, list[dict[str, Any]]]:
    """Estimate the share of background in data that have none."""
    drawn = (Problem(name, *draw(seed)[:2]) for name, draw in CLEAN.items() for seed in plan.alarm_seeds)
    problems = [*drawn, *(load_real(data) if plan.real else ())]
    rows = []
    for problem in problems:
        share = AFCM(problem.n_clusters, random_state=0).fit(problem.X).noise_share_
        rows.append({"data": problem.name, "noise_share": float(share), "alarm": int(share > ALARM)})
    return {"alarms": rows}


def run_cost(data: Path | None, plan: Plan) -> dict[str, list[dict[str, Any]]]:
    """Time the default against a fit that looks for no background, in turns."""
    del data
    models = {
        "default": AFCM(10, random_state=0),
        "without": AFCM(10, noise=None, density_strength=0, random_state=0),
    }
    return {"cost": compare_costs(models, plan.sizes)}


def run_shapes(data: Path | None, plan: Plan) -> dict[str, list[dict[str, Any]]]:
    """Score the batteries fcps, graves and other of the clustering benchmark suite, if they are in the folder."""
    folder = data / "shapes" if data and plan.real else None
    sets = list(load_benchmarks(folder)) if folder else []
    if not sets:
        print("shapes left out: no folder of that name among the data")
    rows = []
    for one in sets:
        default = score_benchmark(lambda X, c: AFCM(c, random_state=0).fit(X).labels_, one)
        without = score_benchmark(lambda X, c: make_plain(c).fit(X).labels_, one)
        rows.append({"set": one.name, "default": default, "without": without})
        print(".", end="", flush=True)
    return {"shapes": rows}


PARTS = {"suite": run_suite, "alarms": run_alarms, "cost": run_cost, "shapes": run_shapes}


def main(data: Path | None, out: Path, part: str | None = None, plan: Plan | None = None) -> None:
    """Run all parts or one; write their tables, and the page that shows all tables there are."""
    folder = out / "noise"
    folder.mkdir(parents=True, exist_ok=True)
    for name in [part] if part else PARTS:
        for file, rows in PARTS[name](data, plan or Plan()).items():
            if rows:
                write_csv(folder / f"{file}.csv", rows)
    for table in write_page(folder, out / "noise-results.md"):
        print(f"\n{table.title}")
        show(table.columns, table.lines, 3)
