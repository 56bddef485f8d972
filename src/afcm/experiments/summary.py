"""Summarizes rows: mean and spread of each grid point, the best grid point, and the verdict against the paper.

Nothing here reads or writes files, and nothing depends on the order of the rows.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any, Literal

import numpy as np

from afcm.datasets import list_datasets
from afcm.experiments.plan import EXPERIMENTS
from afcm.experiments.printed import Score
from afcm.experiments.record import METRICS, Row

Verdict = Literal["reproduced", "better", "different"]

# Orders in which things are shown; what is not named follows in alphabetical order.
RIVALS = ("FCM", "FCM-ER", "SC", "RSFKM", "CDKM", "FKPS", "FCAG")
OUR_METHODS = ("AFCM-ours", "SC-ours", "AFCM-default", "SC-default")
METHODS = (*RIVALS, "Ablation-1", "Ablation-2", "PlainAFCM", "AFCM", "AFCM-flat", *OUR_METHODS)
DATASETS = (*(info.name for info in list_datasets()), "spirals", "rings")

# A result within this many points of the printed mean is reproduced, even where the printed spread is smaller.
POINTS = 1.0
# Rounding in the difference of two decimal numbers is no difference.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class GridPoint:
    """One setting of a method and how its runs went."""

    params: Mapping[str, Any]
    scores: Mapping[str, Score]  # from metric to mean and population spread over the ok runs; empty without any
    n_ok: int
    n_failed: int
    n_skipped: int
    n_missing: int  # seeds of the experiment that this point has not: given up in a race, or an interrupted run
    seconds: float  # mean of the ok runs

    @property
    def complete(self) -> bool:
        """Every seed was run, and every run went well."""
        return self.n_ok > 0 and not (self.n_failed or self.n_skipped or self.n_missing)

    @property
    def accuracy(self) -> float:
        """Mean ACC to choose by; −∞ without any."""
        mean = self.scores["ACC"].mean if self.scores else math.nan
        return mean if math.isfinite(mean) else -math.inf


@dataclass(frozen=True, eq=False)
class Cell:
    """One method on one data set in one experiment, all its grid points in a fixed order."""

    experiment: str
    dataset: str
    method: str
    points: tuple[GridPoint, ...]
    n_seeds: int  # of the experiment

    @cached_property
    def best(self) -> GridPoint | None:
        """The grid point with the highest mean ACC; None if no run went well.

        Only complete grid points compete. Where there is none, those with the most ok runs do. The first wins a tie.
        """
        most = max(point.n_ok for point in self.points)
        able = [point for point in self.points if point.n_ok == most > 0]
        return max(able, key=lambda point: point.accuracy, default=None)

    @property
    def n_tried(self) -> int:
        """Number of grid points that were run; one that does not apply to the data set is skipped, not tried."""
        return sum(point.n_ok + point.n_failed > 0 for point in self.points)

    @property
    def seconds(self) -> float:
        """Sum over all ok runs."""
        return math.fsum(point.seconds * point.n_ok for point in self.points)

    @property
    def oracle(self) -> bool:
        """Whether the labels chose among several grid points."""
        return self.n_tried > 1

    @property
    def lost(self) -> Counter[str]:
        """Number of runs that are failed, skipped or missing; those of skipped grid points are not missing."""
        return Counter(
            failed=sum(point.n_failed for point in self.points),
            skipped=sum(point.n_skipped for point in self.points),
            missing=sum(point.n_missing for point in self.points if point.n_ok + point.n_failed),
        )

    def score(self, metric: str) -> Score | None:
        """Mean and spread of the chosen grid point; None where there is no number."""
        score = self.best.scores.get(metric) if self.best else None
        return score if score and math.isfinite(score.mean) else None


def summarize(rows: Iterable[Row]) -> list[Cell]:
    """Collect rows into cells, in the order of the report; of rows with one key an ok one counts, if there is any."""
    groups: defaultdict[tuple[str, str, str], list[Row]] = defaultdict(list)
    seeds: defaultdict[str, set[int]] = defaultdict(set)
    for row in drop_repeats(rows):
        groups[row.experiment, row.dataset, row.method].append(row)
        seeds[row.experiment].add(row.seed)
    return [_make_cell(names, groups[names], len(seeds[names[0]])) for names in sorted(groups, key=sort_key)]


def drop_repeats(rows: Iterable[Row]) -> list[Row]:
    """Return rows without repetitions, in a fixed order."""
    found: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: (row.key, row.status != "ok", repr(row))):
        found.setdefault(row.key, row)
    return list(found.values())


def choose_traces(rows: Iterable[Row]) -> list[Row]:
    """Choose the runs of the convergence experiment that have a history: the lowest seed of each data set."""
    runs = drop_repeats(row for row in rows if row.experiment == "convergence" and row.details.get("objective"))
    found: dict[str, Row] = {}
    for row in sorted(runs, key=lambda row: row.seed):
        if row.status == "ok":
            found.setdefault(row.dataset, row)
    return [found[name] for name in sort_names(found, DATASETS)]


def judge(ours: float, printed: Score) -> Verdict:
    """Compare our mean with a printed one: reproduced is within one point or within the printed spread.

    Examples
    --------
    >>> from afcm.experiments.printed import Score
    >>> from afcm.experiments.summary import judge
    >>> judge(95.2, Score(96.13, 1.6)), judge(98.0, Score(96.13, 1.6)), judge(94.0, Score(96.13, 1.6))
    ('reproduced', 'better', 'different')
    """
    if abs(ours - printed.mean) <= max(POINTS, printed.std) + ROUNDING:
        return "reproduced"
    return "better" if ours > printed.mean else "different"


def average(values: Iterable[float]) -> Score:
    """Compute mean and population standard deviation (the paper's, see its Iris row)."""
    array = np.fromiter(values, dtype=float)
    return Score(float(array.mean()), float(array.std()))


def sort_names(names: Iterable[str], order: tuple[str, ...]) -> list[str]:
    """Sort names as in ``order``, unknown ones last."""
    return sorted(set(names), key=lambda name: _rank(name, order))


def sort_key(names: Iterable[str]) -> list[tuple[int, str]]:
    """The place of an experiment, a data set and a method (or the first of them) in a report."""
    return [_rank(name, order) for name, order in zip(names, (EXPERIMENTS, DATASETS, METHODS), strict=False)]


def _rank(name: str, order: tuple[str, ...]) -> tuple[int, str]:
    return (order.index(name) if name in order else len(order)), name


def encode_params(params: Mapping[str, Any]) -> str:
    """Write a grid point as a string that is equal for equal settings."""
    return json.dumps(params, sort_keys=True)


def _make_cell(names: tuple[str, str, str], rows: list[Row], n_seeds: int) -> Cell:
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[encode_params(row.params)].append(row)
    points = sorted((_make_point(group, n_seeds) for group in groups.values()), key=_point_key)
    return Cell(*names, tuple(points), n_seeds)


def _make_point(rows: list[Row], n_seeds: int) -> GridPoint:
    good = [row for row in rows if row.status == "ok"]
    status = Counter(row.status for row in rows)
    return GridPoint(
        params=rows[0].params,
        scores={metric: average(row.metrics.get(metric, math.nan) for row in good) for metric in METRICS if good},
        n_ok=len(good),
        n_failed=status["failed"],
        n_skipped=status["skipped"],
        n_missing=n_seeds - len(rows),
        seconds=fmean(row.seconds for row in good) if good else 0.0,
    )


def _point_key(point: GridPoint) -> list[tuple[str, int, float, str]]:
    """Sort by the parameters in alphabetical order; numbers by size, before anything else."""
    return [
        (name, 0, float(value), "") if isinstance(value, int | float) else (name, 1, 0.0, json.dumps(value))
        for name, value in sorted(point.params.items())
    ]
