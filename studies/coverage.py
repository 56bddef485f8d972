"""How often is the right cluster in a sample's cluster set? Promised is 1 − alpha, if memberships are right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import make_moons
from sklearn.metrics import confusion_matrix

from afcm import AFCM
from studies.common import Problem, load_ten, show, write_csv

ALPHAS = (0.05, 0.1, 0.2)
SEEDS = range(3)
SAMPLES = 1500
# Round Gaussians: clusters, dimensions, and the typical distance of two centers in standard deviations.
FLAT = ((2, 2, 2.0), (2, 2, 3.0), (2, 2, 4.0), (5, 10, 5.0))
HIGH = ((5, 30, 5.0), (3, 60, 4.0), (10, 100, 6.0), (2, 40, 3.0))


def draw_gaussians(n_clusters: int, n_features: int, distance: float, seed: int) -> tuple[Any, Any]:
    """Round Gaussians of variance 1; two centers lie on a line, more of them anywhere."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_clusters, size=SAMPLES)
    centers = rng.standard_normal((n_clusters, n_features)) * distance / np.sqrt(2 * n_features)
    if n_clusters == 2:
        centers = np.outer([0.0, distance], np.eye(n_features)[0])
    return rng.standard_normal((SAMPLES, n_features)) + centers[y], y


def draw_known(seed: int) -> Iterator[Problem]:
    """Draw samples whose clusters are known and overlap."""
    for c, d, distance in (*FLAT, *HIGH):
        yield Problem(f"{c} Gaussians in {d}-d, {distance:g} apart", *draw_gaussians(c, d, distance, seed))
    for noise in (0.15, 0.2):
        yield Problem(f"moons, noise {noise:g}", *make_moons(SAMPLES, noise=noise, random_state=seed))


def cluster_of_class(y: Any, labels: Any) -> Any:
    """The cluster of each sample's class, under the best matching of the two."""
    classes = np.unique(y, return_inverse=True)[1]
    true, found = linear_sum_assignment(confusion_matrix(classes, labels), maximize=True)
    return found[np.argsort(true)][classes]


def measure(problem: Problem, seed: int) -> list[dict[str, Any]]:
    """Share of sets with the right cluster in them, and their mean size, for each alpha."""
    model = AFCM(problem.n_clusters, random_state=seed).fit(problem.X)
    right = cluster_of_class(problem.y, model.labels_)
    rows = []
    for alpha in ALPHAS:
        sets = model.cluster_sets(alpha)
        covered = sets[np.arange(right.size), right]
        row = {"data": problem.name, "method": model.membership_method_, "seed": seed, "alpha": alpha}
        labels, held = (100 * float(np.mean(hits)) for hits in (right == model.labels_, covered))
        rows.append(row | {"labels": labels, "coverage": held, "size": float(sets.sum(axis=1).mean())})
    return rows


def main(data: Path | None, out: Path) -> None:
    """Print and write the coverage on known clusters and on the ten sets."""
    known = [row for seed in SEEDS for problem in draw_known(seed) for row in measure(problem, seed)]
    ten = [row for problem in load_ten(data) for seed in SEEDS for row in measure(problem, seed)]
    for title, rows in (("known clusters", known), ("ten sets", ten)):
        names = dict.fromkeys(row["data"] for row in rows)
        lines = [summarize(name, [row for row in rows if row["data"] == name]) for name in names]
        columns = [f"{what} {1 - alpha:.0%}" for alpha in ALPHAS for what in ("right", "size")]
        show([title, "method", "labels", *columns], [*lines, summarize("mean", rows)])
        print()
    write_csv(out / "coverage.csv", [*known, *ten])


def summarize(name: str, rows: list[dict[str, Any]]) -> list[Any]:
    """Means over the seeds: one line of the table."""
    by_alpha = [[row for row in rows if row["alpha"] == alpha] for alpha in ALPHAS]
    cells = [float(np.mean([row[key] for row in group])) for group in by_alpha for key in ("coverage", "size")]
    methods = "/".join(sorted({row["method"] for row in rows})) if name != "mean" else ""
    return [name, methods, float(np.mean([row["labels"] for row in rows])), *cells]
