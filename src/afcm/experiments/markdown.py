"""Small pieces of Markdown: tables, numbers, grid points, spans of time."""

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


def table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are centred."""
    rule = ["---", *[":-:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *lines))


def score_text(score: Score | None) -> str:
    """Mean ± spread with two decimals, as the paper prints them."""
    return f"{score.mean:z.2f} ± {score.std:.2f}" if score else NOTHING


def comparison_text(comparison: Comparison) -> str:
    """Ours / paper's, the mark, and the errata of the printed number."""
    best = comparison.cell.best
    parts = [
        f"{score_text(comparison.ours)} / {score_text(comparison.printed)}",
        MARKS[comparison.verdict],
        f"({best.n_ok} of {comparison.cell.n_seeds} runs)" if best and not best.complete else "",
        references(comparison.errata),
    ]
    return " ".join(part for part in parts if part)


def references(ids: Iterable[str]) -> str:
    """Ids of errata in brackets."""
    return " ".join(f"[{name}]" for name in ids)


def params_text(params: Mapping[str, Any]) -> str:
    """A grid point in a few characters."""
    names = sorted(params, key=lambda name: (name not in LETTERS, LETTERS.get(name, name)))
    items = ", ".join(f"{LETTERS.get(name, name)}={_value(params[name])}" for name in names)
    return plain(items) if items else "as it comes"


def plain(text: str) -> str:
    """Text that fits into one cell of a table: one line, no bars, not too long."""
    line = " ".join(text.split())
    short = line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"
    return short.replace("|", "\\|")


def time_text(seconds: float) -> str:
    """Hours, minutes and seconds.

    Examples
    --------
    >>> from afcm.experiments.markdown import time_text
    >>> time_text(3725.4), time_text(59.96)
    ('1 h 2 min 5 s', '1 min 0 s')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    shown = [f"{hours} h" if hours else "", f"{minutes} min" if hours or minutes else "", f"{rest} s"]
    return " ".join(part for part in shown if part)


def _value(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    power = log10(value) if value >= 1000 else 0.5
    return f"1e{power:.0f}" if power.is_integer() else f"{value:g}"
