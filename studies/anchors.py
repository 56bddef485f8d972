"""The anchor graph beside the neighbour graph: the same kernel, no labels, ten sets and the toys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from afcm import AFCM
from afcm.datasets import make_rings, make_spirals
from afcm.metrics import clustering_accuracy
from studies.common import Problem, load_ten, show, write_csv

SEEDS, TOY_SEEDS = range(3), range(10)
KERNEL = "adaptive"
GRAPHS: dict[str, dict[str, Any]] = {
    "neighbours": {},
    "anchors": {"graph": "anchors"},
    "500 anchors": {"graph": "anchors", "n_anchors": 500},
    "250 anchors": {"graph": "anchors", "n_anchors": 250},
}
TOYS = {"spirals": (make_spirals, 2), "rings": (make_rings, 3)}


def score(problem: Problem, options: dict[str, Any]) -> float:
    """Mean ACC in percent over the seeds; no more anchors than different samples."""
    c, most = problem.n_clusters, np.unique(problem.X, axis=0).shape[0]
    given = options.get("n_anchors", "auto")
    options = options | ({} if given == "auto" else {"n_anchors": min(given, most)})
    prepared = AFCM(c, kernel=KERNEL, **options).prepare(problem.X)
    runs = [AFCM(c, kernel=KERNEL, random_state=seed).fit_prepared(prepared).labels_ for seed in SEEDS]
    return float(np.mean([100 * clustering_accuracy(problem.y, labels) for labels in runs]))


def score_toy(name: str, options: dict[str, Any]) -> float:
    """Worst ACC in percent over the seeds."""
    make, c = TOYS[name]
    found = []
    for seed in TOY_SEEDS:
        X, y = make(random_state=seed)
        labels = AFCM(c, kernel=KERNEL, random_state=seed, **options).fit(X).labels_
        found.append(100 * clustering_accuracy(y, labels))
    return min(found)


def main(data: Path | None, out: Path) -> None:
    """Print and write a row for each set, their mean, and the worst of each toy."""
    rows: list[dict[str, Any]] = []
    for problem in load_ten(data):
        rows.append({"data": problem.name} | {name: score(problem, options) for name, options in GRAPHS.items()})
        print(f"{problem.name} ", end="", flush=True)
    means = {name: float(np.mean([row[name] for row in rows])) for name in GRAPHS}
    rows.append({"data": "mean of the sets", **means})
    for name in TOYS:
        rows.append(
            {"data": f"{name}, worst of 10"} | {graph: score_toy(name, options) for graph, options in GRAPHS.items()}
        )
    print()
    show(["ACC", *GRAPHS], [list(row.values()) for row in rows])
    print(f"anchors − neighbours, mean of the sets: {means['anchors'] - means['neighbours']:+.2f}")
    write_csv(out / "anchors.csv", rows)
