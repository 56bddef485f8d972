"""Formats small pieces of Markdown: tables, numbers, grid points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log10
from typing import Any

from afcm.experiments.printed import Score
from afcm.experiments.tables import Comparison

MARKS = {"reproduced": "=", "better": "+", "different": "≠", None: ""}
NOTHING = "–"
# Names of parameters that the paper has a letter for.
LETTERS = {"n_neighbors": "k", "graph_weight": "λ", "weight_per_sample": "λ/n", "gamma": "γ", "bandwidth": "σ"}
LONGEST_REASON = 200


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
