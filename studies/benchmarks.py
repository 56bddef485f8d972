"""Data sets in the format of the clustering benchmark suite v1 (M. Gagolewski), and its protocol.

A folder holds ``NAME.data.gz`` with ``NAME.labels0.gz``, ``NAME.labels1.gz`` …, or archives ``NAME.npz`` of ``X``,
``y0``, ``y1`` …, itself or in a folder for each battery. The number of clusters is the largest label. Label 0 marks
noise: it is clustered with the rest and not scored. The score of a set is the best over its reference labellings.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from afcm.metrics import adjusted_rand

PUBLISHED = "published.csv"  # published scores, a line for each set


class Benchmark(NamedTuple):
    """Samples and their reference labellings; label 0 is noise."""

    name: str
    X: Any
    labellings: list[Any]

    @property
    def counts(self) -> list[int]:
        """The numbers of clusters of the labellings, each once."""
        return sorted({int(y.max()) for y in self.labellings})


def find_folder(data: Path | None) -> Path:
    """The folder of the sets: the given one, or its folder ``shapes``; a message if there are none."""
    for folder in (data / "shapes", data) if data else ():
        if next(list_files(folder), None):
            return folder
    raise SystemExit(
        f"no benchmark sets in {data}: use make study NAME=suite DATA=FOLDER, a folder with NAME.data.gz and "
        "NAME.labels0.gz (the clustering benchmark suite v1) or with NAME.npz of X, y0, y1, …"
    )


def list_files(folder: Path) -> Iterator[Path]:
    """The files of samples, sorted; archives without reference labellings are none."""
    for path in sorted(folder.rglob("*")):
        if path.name.endswith(".data.gz") or (path.suffix == ".npz" and "y0" in np.load(path).files):
            yield path


def load_benchmarks(folder: Path) -> Iterator[Benchmark]:
    """Load every set; those in folders are named ``BATTERY-NAME``."""
    for path in list_files(folder):
        stem = path.name.removesuffix(".npz").removesuffix(".data.gz")
        name = "-".join([*path.relative_to(folder).parent.parts, stem])
        if path.suffix == ".npz":
            with np.load(path) as archive:
                keys = sorted(key for key in archive.files if key.startswith("y"))
                X, labellings = archive["X"], [archive[key] for key in keys]
        else:
            X = np.loadtxt(path, ndmin=2)
            labellings = [np.loadtxt(file, dtype=int) for file in sorted(path.parent.glob(f"{stem}.labels*.gz"))]
        yield Benchmark(name, np.asarray(X, dtype=float), [np.asarray(y, dtype=int) for y in labellings])


def read_published(folder: Path) -> dict[str, dict[str, float]]:
    """Published scores by set and method; nothing where the folder has none."""
    path = folder / PUBLISHED
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {row.pop("set"): {key: float(row[key]) for key in row if key not in ("n", "d")} for row in rows}


def score_benchmark(cluster: Callable[[Any, int], Any], benchmark: Benchmark) -> float:
    """Best ARI over the reference labellings, each with its own number of clusters."""
    found = {count: cluster(benchmark.X, count) for count in benchmark.counts}
    return max(float(adjusted_rand(y[y > 0], found[int(y.max())][y > 0])) for y in benchmark.labellings)
