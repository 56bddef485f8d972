"""What each step of the label-free graph adds, and how much its constants matter."""

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
from studies.common import Problem, show, start_labels, ten, write_csv

SEEDS = range(3)


class Factor(float):
    """A number whose product with a count is a count."""

    def __mul__(self, count: Any) -> int:
        """Rounded up."""
        return math.ceil(float(self) * count)


# Module and constant → values; the one in use is among them.
CONSTANTS: list[tuple[Any, str, tuple[Any, ...]]] = [
    (similarity, "PER_DOUBLING", (1.25, 1.5, 1.75, 2.0)),
    (sharpening, "SHARPNESS", (2, 4, 8)),
    (sharpening, "FINEST", (Factor(1.5), 2, 3)),
]


@contextmanager
def constant(module: Any, name: str, value: Any) -> Iterator[None]:
    """Another value for a while."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def unsharpened(prepared: PreparedGraph) -> PreparedGraph:
    """The same samples with the graph as it was before it looked at itself."""
    p = prepared
    return PreparedGraph(p.samples, p.nodes, p.points, p.similarity, p.base, p.base)


def accuracy(problem: Problem, labels: Callable[[int], Any]) -> float:
    """Mean over the seeds, in percent."""
    return float(np.mean([100 * clustering_accuracy(problem.y, labels(seed)) for seed in SEEDS]))


def from_start(problem: Problem, prepared: PreparedGraph) -> float:
    """Without any sweep."""
    return accuracy(problem, lambda seed: start_labels(prepared, problem.n_clusters, seed))


def after_sweeps(problem: Problem, prepared: PreparedGraph) -> float:
    """AFCM on this graph."""
    c = problem.n_clusters
    return accuracy(problem, lambda seed: AFCM(c, random_state=seed).fit_prepared(prepared).labels_)


def steps(problem: Problem) -> dict[str, float]:
    """From a fixed graph to AFCM as it comes, one step at a time."""
    X, c = problem.X, problem.n_clusters
    plain = AFCM(c, kernel="adaptive", n_neighbors=10).prepare(X)
    natural = AFCM(c, kernel="adaptive").prepare(X)
    full = AFCM(c).prepare(X)
    return {
        "adaptive kernel, k = 10": from_start(problem, plain),
        "k = 1.5 log2(n/c)": from_start(problem, natural),
        "agreed weights": from_start(problem, unsharpened(full)),
        "sharpened": from_start(problem, full),
        "AFCM's sweeps (the default)": after_sweeps(problem, full),
        "sweeps on adaptive, k = 10": after_sweeps(problem, plain),
        "sweeps on agreed weights": after_sweeps(problem, unsharpened(full)),
    }


def sensitivity(problem: Problem) -> dict[str, float]:
    """AFCM with one constant changed at a time."""
    found = {}
    for module, name, values in CONSTANTS:
        for value in values:
            with constant(module, name, value):
                found[f"{name} = {value:g}"] = after_sweeps(problem, AFCM(problem.n_clusters).prepare(problem.X))
    return found


def main(data: Path | None, out: Path) -> None:
    """ACC of each configuration on each set."""
    columns = {}
    for problem in ten(data):
        columns[problem.name] = steps(problem) | sensitivity(problem)
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
