"""How much labels known of some samples help: AFCM beside scikit-learn's LabelSpreading, on the paper's ten sets.

Constants were settled on `SETTLED`; earlier variants were scored on all ten.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.semi_supervised import LabelSpreading

from afcm import AFCM
from afcm.metrics import clustering_accuracy
from studies.common import Problem, load_ten, show, write_csv

SHARES = (0.0, 0.01, 0.05, 0.1)
DRAWS = range(3)
SETTLED = ("iris", "vehicle", "usps", "warppie10p", "pose07")
METHODS = ("AFCM", "LabelSpreading")


def draw_known(y: Any, share: float, draw: int) -> Any:
    """Labels of a random share of the samples, at least one; −1 for the others."""
    known = np.full(len(y), -1)
    if share > 0:
        order = np.random.default_rng([draw, int(1000 * share)]).permutation(len(y))
        rows = order[: max(1, round(share * len(y)))]
        known[rows] = y[rows]
    return known


def score_by_name(y: Any, labels: Any, seen: Any) -> float:
    """The share of samples in the cluster of their class; only clusters of classes that are not seen are matched."""
    n_classes = int(max(y.max(), labels.max())) + 1
    common = np.bincount(labels * n_classes + y, minlength=n_classes**2).reshape(n_classes, n_classes)
    others = np.setdiff1d(np.arange(n_classes), seen)
    left = common[np.ix_(others, others)]
    rows, columns = linear_sum_assignment(left, maximize=True)
    return float(common[seen, seen].sum() + left[rows, columns].sum()) / len(y)


def fit_labels(problem: Problem, known: Any, prepared: Any) -> dict[str, Any]:
    """Labels by each method, and what AFCM followed."""
    model = AFCM(problem.n_clusters, random_state=0).fit_prepared(prepared, known)
    found = {"AFCM": model.labels_}
    if (known >= 0).any():
        found["LabelSpreading"] = LabelSpreading(kernel="knn", n_neighbors=10).fit(problem.X, known).transduction_
    return found


def measure(problem: Problem) -> list[dict[str, Any]]:
    """Scores of the samples whose label is not given, a row for each method and share: means over the draws."""
    rows = []
    y = np.unique(problem.y, return_inverse=True)[1]
    prepared = AFCM(problem.n_clusters).prepare(problem.X)
    for share in SHARES:
        scores: dict[str, list[tuple[float, float]]] = {name: [] for name in METHODS}
        for draw in DRAWS if share else (0,):
            known = draw_known(y, share, draw)
            hidden, seen = known < 0, np.unique(known[known >= 0])
            for name, labels in fit_labels(problem, known, prepared).items():
                own, right = labels[hidden], y[hidden]
                scores[name].append((clustering_accuracy(right, own), score_by_name(right, own, seen)))
        for name, values in scores.items():
            if values:
                row = {"dataset": problem.name, "method": name, "known": 100 * share}
                means = 100 * np.mean(values, axis=0)
                rows.append(row | {"ACC": float(means[0]), "by_name": float(means[1])})
    return rows


def show_scores(rows: list[dict[str, Any]], score: str) -> None:
    """Print data sets down, methods and shares across, the means below."""
    columns = [(name, 100 * share) for name in METHODS for share in SHARES if share or name == "AFCM"]
    table = {(row["dataset"], row["method"], row["known"]): row[score] for row in rows}
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    lines = [[name, *(table[(name, *column)] for column in columns)] for name in names]
    halves = {"mean": names, "mean, settled on": SETTLED, "mean, others": [n for n in names if n not in SETTLED]}
    for title, members in halves.items():
        values = [[table[(name, *column)] for name in members if name in names] for column in columns]
        lines.append([title, *(float(np.mean(value)) for value in values)])
    print()
    show([score, *(f"{name} {share:g} %" for name, share in columns)], lines)


def main(data: Path | None, out: Path) -> None:
    """Score the ten sets with 0, 1, 5 and 10 % of the labels known."""
    rows: list[dict[str, Any]] = []
    for problem in load_ten(data):
        rows += measure(problem)
        print(f"{problem.name} ", end="", flush=True)
    for score in ("ACC", "by_name"):
        show_scores(rows, score)
    write_csv(out / "known.csv", rows)
