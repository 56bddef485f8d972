"""Sets our numbers beside the printed ones, and writes them as CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from afcm.experiments.printed import Score, Table, cell_errata, printed_score
from afcm.experiments.record import METRICS
from afcm.experiments.summary import Cell, GridPoint, Verdict, encode_params, judge

SCORE_COLUMNS = tuple(f"{metric.lower()}{part}" for metric in METRICS for part in ("", "_std"))


@dataclass(frozen=True, eq=False)
class Comparison:
    """One metric of one cell, our number beside the printed one (either may be missing)."""

    cell: Cell
    metric: str
    ours: Score | None
    printed: Score | None
    errata: tuple[str, ...]

    @property
    def verdict(self) -> Verdict | None:
        """None if there is nothing to compare."""
        return judge(self.ours.mean, self.printed) if self.ours and self.printed else None


def compare_table1(cells: Iterable[Cell]) -> list[Comparison]:
    """Compare the eight methods with the paper's Table 1."""
    return _compare(_select(cells, "table1"), "results")


def compare_table2(cells: Sequence[Cell]) -> list[Comparison]:
    """Compare the ablations, and AFCM as found for Table 1 on the same data sets, with the paper's Table 2."""
    ablations = _select(cells, "table2")
    datasets = {cell.dataset for cell in ablations}
    afcm = [cell for cell in _select(cells, "table1") if cell.method == "AFCM" and cell.dataset in datasets]
    return _compare([*ablations, *afcm], "ablation")


def compare_with_afcm(cells: Iterable[Cell], experiment: str) -> list[Comparison]:
    """Compare all methods of an experiment (``"flat"``, ``"ours"``) with the AFCM of the paper's Table 1."""
    return _compare(_select(cells, experiment), "results", "AFCM")


def comparisons_to_csv(comparisons: Iterable[Comparison]) -> str:
    """Write one line per cell and metric."""
    header = (
        "dataset method metric ours ours_std paper paper_std verdict errata oracle grid_points seeds complete params"
    )
    return to_csv(header.split(), map(_comparison_line, comparisons))


def points_to_csv(cells: Iterable[Cell]) -> str:
    """Write one line per grid point of every experiment."""
    header = ["experiment", "dataset", "method", "params", "chosen", "ok", "failed", "skipped", "missing"]
    lines = (_point_line(cell, point) for cell in cells for point in cell.points)
    return to_csv([*header, *SCORE_COLUMNS], lines)


def times_to_csv(cells: Iterable[Cell]) -> str:
    """Write the seconds of the fits alone, in sum: the only file that a second run does not repeat."""
    lines = (
        (cell.experiment, cell.dataset, cell.method, sum(p.n_ok for p in cell.points), f"{cell.seconds:.2f}")
        for cell in cells
    )
    return to_csv(["experiment", "dataset", "method", "runs", "seconds"], lines)


def to_csv(header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Write comma-separated values with Unix line ends."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(lines)
    return buffer.getvalue()


def _select(cells: Iterable[Cell], experiment: str) -> list[Cell]:
    """Keep cells in which something was run; data sets that could not be read are left out."""
    return [cell for cell in cells if cell.experiment == experiment and cell.n_tried]


def _compare(cells: Iterable[Cell], table: Table, printed_method: str | None = None) -> list[Comparison]:
    found = []
    for cell in cells:
        for metric in METRICS:
            place = table, cell.dataset, printed_method or cell.method, metric
            found.append(Comparison(cell, metric, cell.score(metric), printed_score(*place), cell_errata(*place)))
    return found


def _comparison_line(comparison: Comparison) -> list[object]:
    cell, best = comparison.cell, comparison.cell.best
    names = [cell.dataset, cell.method, comparison.metric]
    scores = [*_format_pair(comparison.ours), *_format_pair(comparison.printed)]
    judged = [comparison.verdict or "", " ".join(comparison.errata), "yes" if cell.oracle else "no"]
    chosen = ["yes" if best and best.complete else "no", encode_params(best.params) if best else ""]
    return [*names, *scores, *judged, cell.n_tried, cell.n_seeds, *chosen]


def _point_line(cell: Cell, point: GridPoint) -> list[object]:
    chosen = "yes" if point is cell.best else "no"
    names = [cell.experiment, cell.dataset, cell.method, encode_params(point.params), chosen]
    counts = [point.n_ok, point.n_failed, point.n_skipped, point.n_missing]
    return [*names, *counts, *(text for metric in METRICS for text in _format_pair(point.scores.get(metric)))]


def _format_pair(score: Score | None) -> tuple[str, str]:
    return (f"{score.mean:z.4f}", f"{score.std:.4f}") if score else ("", "")
