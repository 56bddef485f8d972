"""How many clusters: what ``AFCM("auto")`` says of blobs, toys, real sets, and data without clusters."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from afcm import AFCM
from studies.common import show, side, write_csv
from studies.draws import HARD, NULLS, SHAPES, Draw, random_blobs

# Seeds that no constant was chosen with.
BLOBS, SEEDS = range(1000, 1050), range(1000, 1010)


def counted(X: Any) -> int:
    """The number that AFCM finds."""
    return AFCM("auto", random_state=0).fit(X).n_clusters_


def summary(kind: str, name: str, draw: Draw, seeds: Iterable[int]) -> dict[str, Any]:
    """Shares over the seeds."""
    wrong = []
    for seed in seeds:
        X, y = draw(seed)
        wrong.append(counted(X) - np.unique(y).size)
    off = np.abs(wrong)
    row = {"kind": kind, "name": name, "draws": off.size}
    return row | {"right": float(np.mean(off == 0)), "within_1": float(np.mean(off <= 1))}


def drawn() -> list[dict[str, Any]]:
    """Blobs, toys and data without clusters."""
    rows = [summary("blobs", "c = 2…12, d = 2…50", random_blobs, BLOBS)]
    rows += [summary("toy", name, draw, SEEDS) for name, draw in SHAPES.items()]
    rows += [summary("hard toy", name, draw, SEEDS) for name, draw in HARD.items()]
    return rows + [summary("no clusters", name, draw, SEEDS) for name, draw in NULLS.items()]


def real() -> list[dict[str, Any]]:
    """Scikit-learn's sets: classes and what is counted."""
    return [{"dataset": p.name, "classes": p.n_clusters, "counted": counted(p.X)} for p in side()]


def pooled(rows: list[dict[str, Any]]) -> list[list[Any]]:
    """Each kind of data over all its draws."""
    kinds = dict.fromkeys(row["kind"] for row in rows)
    groups = {kind: [row for row in rows if row["kind"] == kind] for kind in kinds}
    weights = {kind: [row["draws"] for row in group] for kind, group in groups.items()}
    return [
        [f"all {kind}", sum(weights[kind])]
        + [float(np.average([row[key] for row in group], weights=weights[kind])) for key in ("right", "within_1")]
        for kind, group in groups.items()
    ]


def main(data: Path | None, out: Path) -> None:
    """Shares of right numbers; then the real sets."""
    del data
    rows = drawn()
    write_csv(out / "count.csv", rows)
    lines = [[row["name"], row["draws"], row["right"], row["within_1"]] for row in rows]
    show(["data", "draws", "right", "within ±1"], lines + pooled(rows), 2)
    sets = real()
    write_csv(out / "count_real.csv", sets)
    print()
    show(["data set", "classes", "counted"], [list(row.values()) for row in sets])
