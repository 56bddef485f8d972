"""The printed numbers of the paper (arXiv 2405.13427), and their known errata.

The numbers are in ``published/*.csv``, one line per data set and method, under our names of the data sets;
``errata.toml`` lists cells that are wrong or doubtful, ``remarks.toml`` what was tried where our numbers differ.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

from afcm.experiments.record import METRICS

Table = Literal["results", "ablation"]

# Data sets of ours that stand for one of the paper's under another name.
PRINTED_AS = {"breast-id": "breast"}


@dataclass(frozen=True)
class Score:
    """Mean and population standard deviation over runs, in percent."""

    mean: float
    std: float


@dataclass(frozen=True)
class CellRange:
    """Cells of a printed table: some methods (none named: the data set itself) and some metrics."""

    table: Table
    dataset: str
    methods: tuple[str, ...] = ()
    metrics: tuple[str, ...] = METRICS


@dataclass(frozen=True)
class Erratum:
    """Something printed that is wrong or doubtful, or something that is not said."""

    id: str
    note: str
    cells: tuple[CellRange, ...]


@cache
def printed_scores(table: Table) -> Mapping[tuple[str, str, str], Score]:
    """Every number of the paper's Table 1 (``"results"``) or 2 (``"ablation"``), by data set, method and metric."""
    lines = [line for line in _read_text(f"{table}.csv").splitlines() if not line.startswith("#")]
    scores = {}
    for line in csv.DictReader(lines):
        for metric in METRICS:
            mean, std = float(line[metric.lower()]), float(line[f"{metric.lower()}_std"])
            scores[line["dataset"], line["method"], metric] = Score(mean, std)
    return MappingProxyType(scores)


def printed_score(table: Table, dataset: str, method: str, metric: str) -> Score | None:
    """One number of a table; None where the paper has none.

    Examples
    --------
    >>> from afcm.experiments.printed import printed_score
    >>> printed_score("results", "iris", "AFCM", "ACC")
    Score(mean=96.13, std=1.6)
    """
    return printed_scores(table).get((printed_name(dataset), method, metric))


def printed_name(dataset: str) -> str:
    """The data set whose printed numbers belong to this one."""
    return PRINTED_AS.get(dataset, dataset)


@cache
def read_errata() -> tuple[Erratum, ...]:
    """Read all known errata of the tables, in the order of the file."""
    entries = tomllib.loads(_read_text("errata.toml"))["erratum"]
    return tuple(Erratum(each["id"], each["note"], tuple(map(_read_range, each["cells"]))) for each in entries)


def cell_errata(table: Table, dataset: str, method: str, metric: str) -> tuple[str, ...]:
    """Ids of the errata that name this cell."""

    def is_named(cells: CellRange) -> bool:
        same_row = (cells.table, cells.dataset) == (table, printed_name(dataset))
        return same_row and method in cells.methods and metric in cells.metrics

    return tuple(erratum.id for erratum in read_errata() if any(map(is_named, erratum.cells)))


def dataset_errata(table: Table, dataset: str) -> tuple[str, ...]:
    """Ids of the errata about a data set as a whole."""
    place = CellRange(table, printed_name(dataset))
    return tuple(erratum.id for erratum in read_errata() if place in erratum.cells)


@cache
def read_remarks() -> Mapping[str, str]:
    """Read, for each data set on which our AFCM differs from the printed one, what was tried."""
    return MappingProxyType(tomllib.loads(_read_text("remarks.toml")))


def _read_range(cells: dict[str, Any]) -> CellRange:
    return CellRange(**(cells | {name: tuple(cells[name]) for name in ("methods", "metrics") if name in cells}))


def _read_text(name: str) -> str:
    return files("afcm").joinpath("experiments", "published", name).read_text(encoding="utf-8")
