"""The cost of choosing nothing: whole fits at n = 30,000 against a fit with given settings. Read ratios."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs, make_moons

from afcm import AFCM
from afcm.metrics import adjusted_rand
from studies.common import show, write_csv

N_SAMPLES, ROUNDS = 30_000, 3
GIVEN = "given: local, k = 10"


def make_problems() -> dict[str, tuple[Any, Any, int]]:
    return {
        "blobs d=16 c=10": (*make_blobs(N_SAMPLES, 16, centers=10, random_state=0), 10),
        "blobs d=16 c=10, spread 4": (*make_blobs(N_SAMPLES, 16, centers=10, cluster_std=4.0, random_state=0), 10),
        "moons 0.07": (*make_moons(N_SAMPLES, noise=0.07, random_state=0), 2),
    }


def make_models(n_clusters: int) -> dict[str, AFCM]:
    """Make AFCM with all settings given, with the number of clusters given, and with nothing given."""
    return {
        GIVEN: AFCM(n_clusters, kernel="local", n_neighbors=10, random_state=0),
        "AFCM(c)": AFCM(n_clusters, random_state=0),
        'AFCM("auto")': AFCM("auto", random_state=0),
    }


def time_in_turns(tasks: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Wall and processor seconds of every round, in turns, so that a busy spell hits all."""
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            begin = time.perf_counter(), time.process_time()
            task()
            spent[name].append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
    return spent


def compare_costs(models: dict[str, Any], sizes: Iterable[tuple[int, int]]) -> list[dict[str, Any]]:
    """Median seconds of two models on touching blobs of each size, in turns, and the first's as a multiple.

    ``sizes`` are pairs of the number of samples and the rounds.
    """
    rows = []
    for n_samples, rounds in sizes:
        X, _ = make_blobs(n_samples, 16, centers=10, cluster_std=4.0, random_state=0)
        for model in models.values():  # load, compile and warm up: not counted
            model.fit(X)
        spent = time_in_turns({name: partial(model.fit, X) for name, model in models.items()}, rounds)
        median = {name: np.median(times, axis=0) for name, times in spent.items()}
        row: dict[str, Any] = {"n_samples": n_samples, "rounds": rounds}
        row |= {f"{name}_seconds": median[name][0] for name in models}
        first, second = median.values()
        wall, cpu = first / second
        rows.append(row | {"ratio": wall, "cpu_ratio": cpu})
        print(f"n = {n_samples:,}: {wall:.2f} times as long", flush=True)
    return rows


def measure_seconds(tasks: dict[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, tuple[float, float]]:
    """Wall and processor seconds, the least of some rounds."""
    spent = time_in_turns(tasks, rounds)
    return {name: tuple(map(min, zip(*pairs, strict=True))) for name, pairs in spent.items()}


def main(data: Path | None, out: Path) -> None:
    """Print and write seconds, ratios to the given settings, and ARI; processor time counts all threads."""
    del data
    for model in make_models(3).values():  # load and start everything
        model.fit(make_blobs(1000, 16, centers=3, random_state=0)[0])
    rows: list[dict[str, Any]] = []
    for name, (X, y, n_clusters) in make_problems().items():
        fits = make_models(n_clusters)
        seconds = measure_seconds({key: partial(model.fit, X) for key, model in fits.items()})
        for key, model in fits.items():
            wall, cpu = seconds[key]
            row = {"data": name, "model": key, "seconds": wall, "ratio": wall / seconds[GIVEN][0]}
            row |= {"cpu_seconds": cpu, "cpu_ratio": cpu / seconds[GIVEN][1]}
            rows.append(row | {"n_clusters": model.n_clusters_, "ARI": adjusted_rand(y, model.labels_)})
    show(["data", *list(rows[0])[1:]], [list(row.values()) for row in rows], 2)
    write_csv(out / "cost.csv", rows)
