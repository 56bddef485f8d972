"""Ablation: how much each step of the label-free graph adds, and how much its constants matter."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from afcm import AFCM
from afcm.graph import sharpening, similarity
from afcm.graph.prepared import PreparedGraph
from afcm.metrics import clustering_accuracy
from studies.common import Problem, load_ten, show, start_labels, write_csv

SEEDS = range(3)


class Factor(float):
    """A number whose product with a count is a count."""

    def __mul__(self, count: Any) -> int:
        return math.ceil(float(self) * count)


# Module and constant → values; the one in use is among them.
CONSTANTS: list[tuple[Any, str, tuple[Any, ...]]] = [
    (similarity, "PER_DOUBLING", (1.25, 1.5, 1.75, 2.0)),
    (sharpening, "SHARPNESS", (2, 4, 8)),
    (sharpening, "FINEST", (Factor(1.5), 2, 3)),
]


@contextmanager
def replace_constant(module: Any, name: str, value: Any) -> Iterator[None]:
    """Give a constant another value within the block."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def undo_sharpening(prepared: PreparedGraph) -> PreparedGraph:
    """Samples with their graph as it was before it was sharpened."""
    p = prepared
    return PreparedGraph(p.samples, p.nodes, p.points, p.similarity, p.base, p.base)


def accuracy(problem: Problem, labels: Callable[[int], Any]) -> float:
    """Mean accuracy over the seeds, in percent."""
    return float(np.mean([100 * clustering_accuracy(problem.y, labels(seed)) for seed in SEEDS]))


def score_start(problem: Problem, prepared: PreparedGraph) -> float:
    """Accuracy without any sweep."""
    return accuracy(problem, lambda seed: start_labels(prepared, problem.n_clusters, seed))


def score_fit(problem: Problem, prepared: PreparedGraph) -> float:
    """Accuracy of AFCM on this graph."""
    c = problem.n_clusters
    return accuracy(problem, lambda seed: AFCM(c, random_state=seed).fit_prepared(prepared).labels_)


def score_steps(problem: Problem) -> dict[str, float]:
    """Accuracy from a fixed graph to AFCM with its defaults, one step at a time."""
    X, c = problem.X, problem.n_clusters
    plain = AFCM(c, kernel="adaptive", n_neighbors=10).prepare(X)
    natural = AFCM(c, kernel="adaptive").prepare(X)
    full = AFCM(c).prepare(X)
    return {
        "adaptive kernel, k = 10": score_start(problem, plain),
        "k = 1.5 log2(n/c)": score_start(problem, natural),
        "agreed weights": score_start(problem, undo_sharpening(full)),
        "sharpened": score_start(problem, full),
        "AFCM's sweeps (the default)": score_fit(problem, full),
        "sweeps on adaptive, k = 10": score_fit(problem, plain),
        "sweeps on agreed weights": score_fit(problem, undo_sharpening(full)),
    }


def score_constants(problem: Problem) -> dict[str, float]:
    """Accuracy of AFCM with one constant changed at a time."""
    found = {}
    for module, name, values in CONSTANTS:
        for value in values:
            with replace_constant(module, name, value):
                found[f"{name} = {value:g}"] = score_fit(problem, AFCM(problem.n_clusters).prepare(problem.X))
    return found


def main(data: Path | None, out: Path) -> None:
    """Print and write the accuracy of each configuration on each set."""
    columns = {}
    for problem in load_ten(data):
        columns[problem.name] = score_steps(problem) | score_constants(problem)
        print(f"{problem.name} ", end="", flush=True)
    print()
    configurations = list(next(iter(columns.values())))
    rows = [
        {"configuration": key}
        | {name: column[key] for name, column in columns.items()}
        | {"mean": float(np.mean([column[key] for column in columns.values()]))}
        for key in configurations
    ]
    show(["ACC", *columns, "mean"], [list(row.values()) for row in rows])
    write_csv(out / "ablation.csv", rows)
