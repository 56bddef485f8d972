"""Sets our numbers beside the printed ones, and writes them as CSV files and in Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any

from afcm.experiments.printed import Score, Table, cell_errata, printed_score
from afcm.experiments.record import METRICS
from afcm.experiments.summary import Cell, GridPoint, Verdict, encode_params, judge

MARKS = {"reproduced": "=", "better": "+", "different": "≠", None: ""}
NOTHING = "–"
# Names of parameters that the paper has a letter for.
LETTERS = {"n_neighbors": "k", "graph_weight": "λ", "weight_per_sample": "λ/n", "gamma": "γ", "bandwidth": "σ"}
LONGEST_REASON = 200


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
    header = (
        "dataset method metric ours ours_std paper paper_std verdict errata oracle grid_points seeds complete params"
    )
    return to_csv(header.split(), map(_comparison_line, comparisons))


def points_to_csv(cells: Iterable[Cell]) -> str:
    names = ["experiment", "dataset", "method", "params", "chosen", "ok", "failed", "skipped", "missing"]
    header = [*names, *(f"{metric.lower()}{part}" for metric in METRICS for part in ("", "_std"))]
    return to_csv(header, (_point_line(cell, point) for cell in cells for point in cell.points))


def times_to_csv(cells: Iterable[Cell]) -> str:
    """Write the seconds of the fits alone, in sum: the only file that a second run does not repeat."""
    lines = (
        (cell.experiment, cell.dataset, cell.method, sum(p.n_ok for p in cell.points), f"{cell.seconds:.2f}")
        for cell in cells
    )
    return to_csv(["experiment", "dataset", "method", "runs", "seconds"], lines)


def to_csv(header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
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


def format_table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Write a Markdown table; the first column is text, the others are centered."""
    rule = ["---", *[":-:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *lines))


def format_score(score: Score | None) -> str:
    """Write mean ± spread with two decimals, as the paper prints them."""
    return f"{score.mean:z.2f} ± {score.std:.2f}" if score else NOTHING


def format_comparison(comparison: Comparison) -> str:
    """Write our number / the paper's, the mark, and the errata of the printed number."""
    best = comparison.cell.best
    parts = [
        f"{format_score(comparison.ours)} / {format_score(comparison.printed)}",
        MARKS[comparison.verdict],
        f"({best.n_ok} of {comparison.cell.n_seeds} runs)" if best and not best.complete else "",
        format_references(comparison.errata),
    ]
    return " ".join(part for part in parts if part)


def format_references(ids: Iterable[str]) -> str:
    return " ".join(f"[{name}]" for name in ids)


def format_params(params: Mapping[str, Any]) -> str:
    """Write a grid point in a few characters; the paper's letters come first."""
    names = sorted(params, key=lambda name: (name not in LETTERS, LETTERS.get(name, name)))
    items = ", ".join(f"{LETTERS.get(name, name)}={_format_value(params[name])}" for name in names)
    return to_table_cell(items) if items else "as it comes"


def to_table_cell(text: str) -> str:
    """Make text fit into one cell of a table: one line, no bars, not too long."""
    line = " ".join(text.split())
    short = line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"
    return short.replace("|", "\\|")


def _format_value(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    power = log10(value) if value >= 1000 else 0.5
    return f"1e{power:.0f}" if power.is_integer() else f"{value:g}"
