"""Toys whose clusters anybody can see: how well AFCM finds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from afcm import AFCM
from afcm.metrics import adjusted_rand
from studies.common import show, write_csv
from studies.draws import HARD, OVERLAPPING, ROUND, SHAPES, Draw

SEEDS = range(10)


def score_toy(draw: Draw, seed: int) -> tuple[float, float]:
    """ARI of AFCM with its defaults, and of AFCM on a fixed graph."""
    X, y = draw(seed)
    c = int(np.unique(y).size)
    models = AFCM(c, random_state=seed), AFCM(c, kernel="local", n_neighbors=10, random_state=seed)
    return tuple(adjusted_rand(y, model.fit(X).labels_) for model in models)


def main(data: Path | None, out: Path) -> None:
    """Print and write a row for each toy: mean and worst ARI over the seeds."""
    del data
    rows: list[dict[str, Any]] = []
    for name, draw in (SHAPES | ROUND | HARD).items():
        default, local = np.array([score_toy(draw, seed) for seed in SEEDS]).T
        row = {"toy": name, "separable": name not in OVERLAPPING, "mean": default.mean(), "worst": default.min()}
        rows.append(row | {"local_10_mean": local.mean(), "local_10_worst": local.min()})
    show(["ARI", "separable", "mean", "worst", "local k=10", "worst"], [list(row.values()) for row in rows], 3)
    separable = [row["mean"] for row in rows if row["separable"]]
    print(f"separable: lowest mean {min(separable):.3f} over {len(SEEDS)} seeds")
    write_csv(out / "toys.csv", rows)
