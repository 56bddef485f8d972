"""Numbers of clusters that ``AFCM("auto")`` finds in blobs, toys, real sets, and data without clusters."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from afcm import AFCM
from studies.common import load_side, show, write_csv
from studies.draws import HARD, NULLS, SHAPES, Draw, draw_blobs

# Seeds that no constant was chosen with.
BLOBS, SEEDS = range(1000, 1050), range(1000, 1010)


def count_clusters(X: Any) -> int:
    return AFCM("auto", random_state=0).fit(X).n_clusters_


def summarize(kind: str, name: str, draw: Draw, seeds: Iterable[int]) -> dict[str, Any]:
    """Shares of right numbers over the seeds."""
    wrong = []
    for seed in seeds:
        X, y = draw(seed)
        wrong.append(count_clusters(X) - np.unique(y).size)
    off = np.abs(wrong)
    row = {"kind": kind, "name": name, "draws": off.size}
    return row | {"right": float(np.mean(off == 0)), "within_1": float(np.mean(off <= 1))}


def count_drawn() -> list[dict[str, Any]]:
    """Summarize blobs, toys and data without clusters."""
    rows = [summarize("blobs", "c = 2…12, d = 2…50", draw_blobs, BLOBS)]
    rows += [summarize("toy", name, draw, SEEDS) for name, draw in SHAPES.items()]
    rows += [summarize("hard toy", name, draw, SEEDS) for name, draw in HARD.items()]
    return rows + [summarize("no clusters", name, draw, SEEDS) for name, draw in NULLS.items()]


def count_real() -> list[dict[str, Any]]:
    """Count the clusters of scikit-learn's sets."""
    return [{"dataset": p.name, "classes": p.n_clusters, "counted": count_clusters(p.X)} for p in load_side()]


def pool(rows: list[dict[str, Any]]) -> list[list[Any]]:
    """Average each kind of data over all its draws."""
    kinds = dict.fromkeys(row["kind"] for row in rows)
    groups = {kind: [row for row in rows if row["kind"] == kind] for kind in kinds}
    weights = {kind: [row["draws"] for row in group] for kind, group in groups.items()}
    return [
        [f"all {kind}", sum(weights[kind])]
        + [float(np.average([row[key] for row in group], weights=weights[kind])) for key in ("right", "within_1")]
        for kind, group in groups.items()
    ]


def main(data: Path | None, out: Path) -> None:
    """Print and write shares of right numbers; then the real sets."""
    del data
    rows = count_drawn()
    write_csv(out / "count.csv", rows)
    lines = [[row["name"], row["draws"], row["right"], row["within_1"]] for row in rows]
    show(["data", "draws", "right", "within ±1"], lines + pool(rows), 2)
    sets = count_real()
    write_csv(out / "count_real.csv", sets)
    print()
    show(["data set", "classes", "counted"], [list(row.values()) for row in sets])
