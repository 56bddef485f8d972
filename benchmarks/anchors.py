"""AFCM on an anchor graph: time by parts, growth with n, memory, and the neighbour graph beside it at the largest n.

``make bench NAME=anchors``, or ``python -m benchmarks.anchors 10000 100000`` for other sizes without the neighbours.
Blobs, d = 16, c = 10; each fit in a process of its own, both cores.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from benchmarks.measuring import Measured, measure

SIZES = (10_000, 100_000, 1_000_000)
N_FEATURES, N_CLUSTERS, N_NEIGHBORS = 16, 10, 10
KERNEL = "adaptive"
# Samples of a fit before the one that counts.
WARM = 50_000


def make_problem(n_samples: int) -> tuple[Any, Any]:
    """Make ten blobs, well apart."""
    from sklearn.datasets import make_blobs

    return make_blobs(n_samples, N_FEATURES, centers=N_CLUSTERS, cluster_std=2.0, random_state=0)


def fit_anchors(X: Any, y: Any) -> dict[str, Any]:
    """Fit on an anchor graph, part by part."""
    from afcm import AFCM

    model = AFCM(N_CLUSTERS, graph="anchors", kernel=KERNEL, random_state=0)
    model.fit(make_problem(WARM)[0])  # loads and compiles what is used
    stages, began = Stages(), time.perf_counter()
    with stages.listening():
        prepared = model.prepare(X)
        graph = time.perf_counter() - began
        model.fit_prepared(prepared)
    seconds = time.perf_counter() - began
    parts = {"learn": stages.first("finding anchors") - stages.first("learning anchors"), "graph": graph}
    return {"ARI": agreement(y, model), "sweeps": model.n_iter_, "seconds": seconds, **parts, "m": model.n_anchors_}


class Stages:
    """Records when each stage of a fit began."""

    def __init__(self) -> None:
        self.begun: dict[str, float] = {}

    def listening(self) -> Any:
        from afcm._util import progress

        return progress.listen(lambda name, _done, _total: self.begun.setdefault(name, time.perf_counter()))

    def first(self, name: str) -> float:
        return self.begun[name]


def fit_neighbors(X: Any, y: Any) -> dict[str, Any]:
    """Fit on the neighbor graph with the same kernel."""
    from afcm import AFCM

    model = AFCM(N_CLUSTERS, n_neighbors=N_NEIGHBORS, kernel=KERNEL, random_state=0)
    model.fit(make_problem(WARM)[0])
    began = time.perf_counter()
    model.fit(X)
    return {"seconds": time.perf_counter() - began, "ARI": agreement(y, model), "sweeps": model.n_iter_}


def agreement(y: Any, model: Any) -> float:
    from afcm.metrics import adjusted_rand

    return float(adjusted_rand(y, model.labels_))


def format_row(n_samples: int, measured: Measured) -> str:
    found = measured.value
    times = found["learn"], found["graph"] - found["learn"], found["seconds"] - found["graph"]
    parts = "".join(f"{seconds:9.2f}" for seconds in times)
    tail = f"{found['sweeps']:8d}{found['ARI']:8.4f}{measured.megabytes:9.0f}"
    return f"{n_samples:>9,}{found['m']:7d}{parts}{found['seconds']:9.2f}{tail}"


def main(sizes: tuple[int, ...] = SIZES, neighbors: bool = True) -> None:
    print(f"blobs d={N_FEATURES} c={N_CLUSTERS}, kernel {KERNEL}; seconds, extra MB at the peak")
    print(f"{'n':>9}{'m':>7}{'anchors':>9}{'rows':>9}{'fit':>9}{'all':>9}{'sweeps':>8}{'ARI':>8}{'MB':>9}", flush=True)
    seconds = []
    for n_samples in sizes:
        measured = measure(fit_anchors, *make_problem(n_samples))
        seconds.append(measured.value["seconds"])
        print(format_row(n_samples, measured), flush=True)
    if len(sizes) > 1:
        logs = np.log(sizes), np.log(seconds)
        last = (logs[1][-1] - logs[1][-2]) / (logs[0][-1] - logs[0][-2])
        print(f"time grows as n^{np.polyfit(*logs, 1)[0]:.2f}, between the last two as n^{last:.2f}")
    if neighbors:
        other = measure(fit_neighbors, *make_problem(sizes[-1]))
        found, took = other.value, other.value["seconds"]
        print(
            f"neighbour graph, k = {N_NEIGHBORS}, n = {sizes[-1]:,}: {took:.1f} s, {other.megabytes:.0f} MB, "
            f"ARI {found['ARI']:.4f}, {found['sweeps']} sweeps: {took / seconds[-1]:.1f} times the anchors'"
        )


if __name__ == "__main__":
    main(tuple(int(text) for text in sys.argv[1:]) or SIZES, neighbors=not sys.argv[1:])
