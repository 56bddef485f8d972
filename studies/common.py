"""Shared by the studies: data sets, scores in percent, tables on the screen and in files."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets as sk_datasets

from afcm.datasets import DatasetNotFound, load_dataset
from afcm.datasets.loaders import scale_to_unit
from afcm.fitting import starts
from afcm.graph.prepared import PreparedGraph
from afcm.metrics import adjusted_rand, clustering_accuracy, normalized_mutual_info

TEN = ("iris", "breast", "vehicle", "usps", "jaffe50", "warppie10p", "olivetti", "orl64x64", "pose07", "pose29")
SIDE = {
    "digits": sk_datasets.load_digits,
    "wine": sk_datasets.load_wine,
    "breast_cancer": sk_datasets.load_breast_cancer,
    "iris": sk_datasets.load_iris,
}
METRICS = {"ACC": clustering_accuracy, "NMI": normalized_mutual_info, "ARI": adjusted_rand}


class Problem(NamedTuple):
    """Samples and the labels they are judged by."""

    name: str
    X: Any
    y: Any

    @property
    def n_clusters(self) -> int:
        return int(np.unique(self.y).size)


def load_ten(folder: Path | None) -> Iterator[Problem]:
    """Load the paper's sets, every feature from 0 to 1; a set that is not there is left out, with a message."""
    for name in TEN:
        try:
            found = load_dataset(name, folder=folder, scale="minmax", download=False)
        except DatasetNotFound as reason:
            print(f"{name} left out: {str(reason).splitlines()[0]}", flush=True)
            continue
        yield Problem(name, np.ascontiguousarray(found.X, dtype=float), found.y)


def standardize(X: Any) -> Any:
    """Give every feature mean 0 and variance 1; a constant one becomes 0."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


SCALINGS = {"min-max": scale_to_unit, "raw": np.asarray, "standardised": standardize}


def load_side() -> Iterator[Problem]:
    """Load scikit-learn's own sets in three scalings."""
    for name, load in SIDE.items():
        X, y = load(return_X_y=True)
        for scaling, scaled in SCALINGS.items():
            yield Problem(f"{name} {scaling}", scaled(X), y)


def score(y: Any, labels: Any) -> dict[str, float]:
    """All metrics in percent."""
    return {name: 100 * metric(y, labels) for name, metric in METRICS.items()}


def start_labels(prepared: PreparedGraph, n_clusters: int, seed: int) -> Any:
    """Labels before any sweep: k-means on the unit-length rows of the graph's eigenvectors."""
    _, memberships = starts.start_prepared(prepared, n_clusters, np.random.RandomState(seed))
    return memberships.argmax(axis=1)[prepared.nodes.inverse]


def write_csv(path: Path, rows: Sequence[dict[str, Any]], digits: int = 4) -> None:
    """Write a line per row, numbers to some digits after the point."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: format_value(value, digits) for key, value in row.items()} for row in rows)


def format_value(value: Any, digits: int) -> Any:
    """Round a number, so that the text does not change with its last bits."""
    return f"{value:.{digits}f}" if isinstance(value, float | np.floating) else value


def show(columns: Sequence[str], rows: Iterable[Sequence[Any]], digits: int = 1) -> None:
    """Print a table; the first column is aligned to the left."""
    cells = [list(columns)] + [[f"{v:.{digits}f}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    for row in cells:
        texts = [f"{text:>{width}}" for text, width in zip(row, widths, strict=True)]
        print("  ".join([row[0].ljust(widths[0]), *texts[1:]]), flush=True)
