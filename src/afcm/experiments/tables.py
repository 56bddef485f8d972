"""The tables of the report as data: our numbers beside the printed ones, and the CSV files made of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from afcm.experiments.printed import Score, Table, cell_errata, printed_score
from afcm.experiments.record import METRICS
from afcm.experiments.summary import Cell, GridPoint, Verdict, canonical, verdict

SCORE_COLUMNS = tuple(f"{metric.lower()}{part}" for metric in METRICS for part in ("", "_std"))


@dataclass(frozen=True, eq=False)
class Comparison:
    """One metric of one cell, ours beside the printed number (either may be missing)."""

    cell: Cell
    metric: str
    ours: Score | None
    printed: Score | None
    errata: tuple[str, ...]

    @property
    def verdict(self) -> Verdict | None:
        """None where there is nothing to compare."""
        return verdict(self.ours.mean, self.printed) if self.ours and self.printed else None


def table1(cells: Iterable[Cell]) -> list[Comparison]:
    """The eight methods against the paper's Table 1."""
    return _compared(_of(cells, "table1"), "results")


def table2(cells: Sequence[Cell]) -> list[Comparison]:
    """The ablations, and AFCM as found for Table 1 on the same data sets, against the paper's Table 2."""
    ablations = _of(cells, "table2")
    datasets = {cell.dataset for cell in ablations}
    afcm = [cell for cell in _of(cells, "table1") if cell.method == "AFCM" and cell.dataset in datasets]
    return _compared([*ablations, *afcm], "ablation")


def flat(cells: Iterable[Cell]) -> list[Comparison]:
    """AFCM with a flat kernel against the AFCM of the paper's Table 1."""
    return _compared(_of(cells, "flat"), "results", "AFCM")


def ours(cells: Iterable[Cell]) -> list[Comparison]:
    """Our configurations against the AFCM of the paper's Table 1."""
    return _compared(_of(cells, "ours"), "results", "AFCM")


def comparison_csv(comparisons: Iterable[Comparison]) -> str:
    """One line per cell and metric."""
    header = (
        "dataset,method,metric,ours,ours_std,paper,paper_std,verdict,errata,oracle,grid_points,seeds,complete,params"
    )
    return csv_text(header.split(","), (_comparison_line(comparison) for comparison in comparisons))


def grid_csv(cells: Iterable[Cell]) -> str:
    """One line per grid point of every experiment."""
    header = ["experiment", "dataset", "method", "params", "chosen", "ok", "failed", "skipped", "missing"]
    lines = (_grid_line(cell, point) for cell in cells for point in cell.points)
    return csv_text([*header, *SCORE_COLUMNS], lines)


def timing_csv(cells: Iterable[Cell]) -> str:
    """Seconds of the fits alone, in sum: the only file that another run of the same command does not repeat."""
    lines = (
        (cell.experiment, cell.dataset, cell.method, sum(p.n_ok for p in cell.points), f"{cell.seconds:.2f}")
        for cell in cells
    )
    return csv_text(["experiment", "dataset", "method", "runs", "seconds"], lines)


def csv_text(header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Comma-separated values with Unix line ends."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(lines)
    return buffer.getvalue()


def _of(cells: Iterable[Cell], experiment: str) -> list[Cell]:
    """Cells in which something was run; data sets that could not be read are left out."""
    return [cell for cell in cells if cell.experiment == experiment and cell.n_tried]


def _compared(cells: Iterable[Cell], table: Table, printed_method: str | None = None) -> list[Comparison]:
    return [
        Comparison(
            cell,
            metric,
            cell.score(metric),
            printed_score(table, cell.dataset, printed_method or cell.method, metric),
            cell_errata(table, cell.dataset, printed_method or cell.method, metric),
        )
        for cell in cells
        for metric in METRICS
    ]


def _comparison_line(comparison: Comparison) -> list[object]:
    cell, best = comparison.cell, comparison.cell.best
    return [
        cell.dataset,
        cell.method,
        comparison.metric,
        *_numbers(comparison.ours),
        *_numbers(comparison.printed),
        comparison.verdict or "",
        " ".join(comparison.errata),
        _yes(cell.oracle),
        cell.n_tried,
        cell.n_seeds,
        _yes(best is not None and best.complete),
        canonical(best.params) if best else "",
    ]


def _grid_line(cell: Cell, point: GridPoint) -> list[object]:
    names = [cell.experiment, cell.dataset, cell.method, canonical(point.params), _yes(point is cell.best)]
    counts = [point.n_ok, point.n_failed, point.n_skipped, point.n_missing]
    scores = [number for metric in METRICS for number in _numbers(point.scores.get(metric))]
    return [*names, *counts, *scores]


def _numbers(score: Score | None) -> tuple[str, str]:
    return (f"{score.mean:z.4f}", f"{score.std:.4f}") if score else ("", "")


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"
