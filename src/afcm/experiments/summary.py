"""From rows to results: mean and spread of each grid point, the best grid point, and the verdict against the paper.

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
    """One setting of a method and how its runs went.

    Attributes
    ----------
    params : dict
    scores : dict
        From metric to mean and population spread over the ok runs; empty without any.
    n_ok, n_failed, n_skipped : int
        Runs by status.
    n_missing : int
        Seeds of the experiment that this grid point has not: given up in a race, or an interrupted run.
    seconds : float
        Mean of the ok runs.
    """

    params: Mapping[str, Any]
    scores: Mapping[str, Score]
    n_ok: int
    n_failed: int
    n_skipped: int
    n_missing: int
    seconds: float

    @property
    def complete(self) -> bool:
        """Every seed was run, and every run went well."""
        return self.n_ok > 0 and not (self.n_failed or self.n_skipped or self.n_missing)

    @property
    def accuracy(self) -> float:
        """Mean ACC to choose by; nothing to choose is −∞."""
        mean = self.scores["ACC"].mean if self.scores else math.nan
        return mean if math.isfinite(mean) else -math.inf


@dataclass(frozen=True, eq=False)
class Cell:
    """One method on one data set in one experiment, all its grid points in a fixed order.

    ``n_seeds`` is the number of seeds of the experiment.
    """

    experiment: str
    dataset: str
    method: str
    points: tuple[GridPoint, ...]
    n_seeds: int

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
        """Of all ok runs in sum."""
        return math.fsum(point.seconds * point.n_ok for point in self.points)

    @property
    def oracle(self) -> bool:
        """Whether the labels chose among several grid points."""
        return self.n_tried > 1

    @property
    def lost(self) -> Counter[str]:
        """Number of runs that are not ok, by what became of them; those of skipped grid points are not missing."""
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
    """All cells, in the order in which a report shows them.

    Parameters
    ----------
    rows : iterable of Row
        In any order. Of rows with the same key one counts, an ok one if there is any.
    """
    groups: defaultdict[tuple[str, str, str], list[Row]] = defaultdict(list)
    seeds: defaultdict[str, set[int]] = defaultdict(set)
    for row in distinct(rows):
        groups[row.experiment, row.dataset, row.method].append(row)
        seeds[row.experiment].add(row.seed)
    return [_cell(names, groups[names], len(seeds[names[0]])) for names in sorted(groups, key=place)]


def distinct(rows: Iterable[Row]) -> list[Row]:
    """Rows without repetitions, in a fixed order."""
    found: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: (row.key, row.status != "ok", repr(row))):
        found.setdefault(row.key, row)
    return list(found.values())


def traces(rows: Iterable[Row]) -> list[Row]:
    """The runs of the convergence experiment that have a history: the lowest seed of each data set."""
    runs = distinct(row for row in rows if row.experiment == "convergence" and row.details.get("objective"))
    found: dict[str, Row] = {}
    for row in sorted(runs, key=lambda row: row.seed):
        if row.status == "ok":
            found.setdefault(row.dataset, row)
    return [found[name] for name in in_order(found, DATASETS)]


def verdict(ours: float, printed: Score) -> Verdict:
    """Our mean against a printed one: reproduced is within one point or within the printed spread.

    Examples
    --------
    >>> from afcm.experiments.printed import Score
    >>> from afcm.experiments.summary import verdict
    >>> verdict(95.2, Score(96.13, 1.6)), verdict(98.0, Score(96.13, 1.6)), verdict(94.0, Score(96.13, 1.6))
    ('reproduced', 'better', 'different')
    """
    if abs(ours - printed.mean) <= max(POINTS, printed.std) + ROUNDING:
        return "reproduced"
    return "better" if ours > printed.mean else "different"


def mean_score(values: Iterable[float]) -> Score:
    """Mean and population standard deviation (the paper's, see its Iris row)."""
    array = np.fromiter(values, dtype=float)
    return Score(float(array.mean()), float(array.std()))


def in_order(names: Iterable[str], order: tuple[str, ...]) -> list[str]:
    """Names sorted as in ``order``, unknown ones last."""
    return sorted(set(names), key=lambda name: _rank(name, order))


def place(names: Iterable[str]) -> list[tuple[int, str]]:
    """Where an experiment, a data set and a method (or the first of them) come in a report, as a sort key."""
    return [_rank(name, order) for name, order in zip(names, (EXPERIMENTS, DATASETS, METHODS), strict=False)]


def canonical(params: Mapping[str, Any]) -> str:
    """A grid point as a string, the same for the same setting."""
    return json.dumps(params, sort_keys=True)


def _cell(names: tuple[str, str, str], rows: list[Row], n_seeds: int) -> Cell:
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[canonical(row.params)].append(row)
    points = sorted((_grid_point(group, n_seeds) for group in groups.values()), key=_point_order)
    return Cell(*names, tuple(points), n_seeds)


def _grid_point(rows: list[Row], n_seeds: int) -> GridPoint:
    good = [row for row in rows if row.status == "ok"]
    status = Counter(row.status for row in rows)
    return GridPoint(
        params=rows[0].params,
        scores={metric: mean_score(row.metrics.get(metric, math.nan) for row in good) for metric in METRICS if good},
        n_ok=len(good),
        n_failed=status["failed"],
        n_skipped=status["skipped"],
        n_missing=n_seeds - len(rows),
        seconds=fmean(row.seconds for row in good) if good else 0.0,
    )


def _point_order(point: GridPoint) -> list[tuple[str, int, float, str]]:
    """By the parameters in alphabetical order; numbers by size, before anything else."""
    return [
        (name, 0, float(value), "") if isinstance(value, int | float) else (name, 1, 0.0, json.dumps(value))
        for name, value in sorted(point.params.items())
    ]


def _rank(name: str, order: tuple[str, ...]) -> tuple[int, str]:
    return (order.index(name) if name in order else len(order)), name
