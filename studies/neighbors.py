"""Large clusters: do more neighbors than the default's help?

The rule ``1.5 log2(n / c)`` beside fixed numbers, on clusters that are larger than 4,000 samples.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.defaults import make_samples
from sklearn.datasets import make_moons

from afcm import AFCM
from afcm.datasets import make_rings, make_spirals
from afcm.graph.similarity import connecting_neighbors
from afcm.metrics import adjusted_rand
from studies.common import show, write_csv
from studies.draws import Draw, unequal

N_SAMPLES = 60_000
# The first seed was looked at when the limit was settled, the other was not.
SEEDS = (0, 1)
NEIGHBORS = ("rule", 20, 18, 16, 14)


def draw_in_haze(draw: Draw, seed: int) -> tuple[Any, Any]:
    """A quarter of background, uniform in a box around the samples; only the samples are judged."""
    X, y = draw(seed)
    low, high = X.min(axis=0), X.max(axis=0)
    margin, shape = 0.2 * (high - low), (len(X) // 3, X.shape[1])
    haze = np.random.default_rng(seed).uniform(low - margin, high + margin, shape)
    return np.vstack([X, haze]), y


def draw_moons(noise: float, seed: int) -> tuple[Any, Any]:
    return make_moons(N_SAMPLES, noise=noise, random_state=seed)


def draw_rings(seed: int) -> tuple[Any, Any]:
    return make_rings(N_SAMPLES, random_state=seed)


SETS: dict[str, Draw] = {
    "touching": partial(make_samples, "touching", N_SAMPLES, 10),
    "sheet": partial(make_samples, "sheet", N_SAMPLES, 10),
    "moons 0.07": partial(draw_moons, 0.07),
    "moons 0.10": partial(draw_moons, 0.10),
    "moons 0.15": partial(draw_moons, 0.15),
    "rings": draw_rings,
    "spirals": lambda seed: make_spirals(N_SAMPLES, random_state=seed),
    "moons in haze": partial(draw_in_haze, partial(draw_moons, 0.05)),
    "rings in haze": partial(draw_in_haze, draw_rings),
    "sizes 40,000 to 400": unequal(
        [40_000, 12_000, 4_000, 400], [[0, 0], [-7, 3], [6, 0], [3, 6]], [1.5, 1.2, 0.8, 0.4]
    ),
}


def score(X: Any, y: Any, neighbors: str | int, seed: int) -> tuple[float, float]:
    """ARI of a fit, and its seconds."""
    n_clusters = int(np.unique(y).size)
    k = connecting_neighbors(len(X), n_clusters) if neighbors == "rule" else neighbors
    began = time.perf_counter()
    labels = AFCM(n_clusters, n_neighbors=k, random_state=seed).fit(X).labels_
    return adjusted_rand(y, labels[: len(y)]), time.perf_counter() - began


def main(data: Path | None, out: Path) -> None:
    """Print and write a row for each set: ARI by each number of neighbors, for each seed."""
    del data
    rows: list[dict[str, Any]] = []
    for name, draw in SETS.items():
        for seed in SEEDS:
            X, y = draw(seed)
            found = {str(neighbors): score(X, y, neighbors, seed) for neighbors in NEIGHBORS}
            row: dict[str, Any] = {"set": name, "seed": seed, **{key: value[0] for key, value in found.items()}}
            rows.append(row | {f"seconds {key}": value[1] for key, value in found.items()})
    names = [str(neighbors) for neighbors in NEIGHBORS]
    means = [
        ["mean", seed, *(np.mean([row[key] for row in rows if row["seed"] == seed]) for key in names)] for seed in SEEDS
    ]
    show(["ARI", "seed", *names], [[row[key] for key in ("set", "seed", *names)] for row in rows] + means, 4)
    write_csv(out / "neighbors.csv", rows)
