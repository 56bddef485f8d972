"""Collects the data that the page's script reads, compact and safe inside HTML."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import numpy as np

from afcm._typing import Floats
from afcm.equations.sparse_memberships import to_dense_rows
from afcm.metrics.ambiguity import AMBIGUOUS
from afcm.models.background import CLEAR
from afcm.plots.colors import cluster_colors, marker, mix_colors, opacity
from afcm.report import words
from afcm.report.features import Ints
from afcm.report.findings import Findings
from afcm.report.views import View, find_middles
from afcm.tables.columns import Column

DIGITS = 5  # significant ones, of the numbers in the page
MAX_TABLE_FEATURES = 20
MAX_TEXT = 80  # characters of an id, a name or a class
MEMBERSHIPS_KEPT = 6  # largest ones of a sample
DECIMALS = 6  # of a membership; smaller ones are left out
GRID = 9999  # positions in the picture are whole numbers up to this
# The markers of `afcm.plots.colors` as SVG paths of about unit size.
SHAPES = {
    "o": "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0z",
    "s": "M-.9-.9h1.8v1.8h-1.8z",
    "^": "M0-1.15l1.1 1.95h-2.2z",
    "D": "M0-1.25l1.25 1.25l-1.25 1.25l-1.25-1.25z",
    "v": "M0 1.15l1.1-1.95h-2.2z",
    "P": "M-.4-1.15h.8v.75h.75v.8h-.75v.75h-.8v-.75h-.75v-.8h.75z",
    "X": "M-1-.5l.5-.5l.5.5l.5-.5l.5.5l-.5.5l.5.5l-.5.5l-.5-.5l-.5.5l-.5-.5l.5-.5z",
    "<": "M-1.15 0l1.95 1.1v-2.2z",
    ">": "M1.15 0l-1.95 1.1v-2.2z",
}


def as_json(value: Any) -> str:
    """JSON that no HTML parser can read as markup."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def round_numbers(values: Any, digits: int = DIGITS) -> list[float | int | None]:
    """Round to few digits, whole numbers without a point; None for what is not finite."""
    short = [float(f"{value:.{digits}g}") for value in np.asarray(values, dtype=np.float64).tolist()]
    return [
        None if not math.isfinite(value) else int(value) if value.is_integer() and abs(value) < 1e15 else value
        for value in short
    ]


def shorten(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def collect_data(findings: Findings) -> dict[str, Any]:
    """Collect what the script needs to know of the samples that are shown."""
    rows, fit = findings.shown, findings.fit
    colors = cluster_colors(findings.n_clusters)
    memberships, labels = to_dense_rows(fit.memberships, rows), fit.labels[rows]
    codes = (mix_colors(memberships, colors) * 255).round().astype(int)
    return {
        "ids": [shorten(findings.ids[i]) for i in rows],
        "labels": labels.tolist(),
        "classes": None if findings.classes is None else [shorten(findings.classes[i] or "") for i in rows],
        "memberships": [list_memberships(row) for row in memberships],
        "ambiguity": round_numbers(findings.ambiguity[rows], 3),
        "colors": "".join(f"{red:02x}{green:02x}{blue:02x}" for red, green, blue in codes),
        "opacity": (100 * opacity(memberships)).round().astype(int).tolist(),
        "clusters": [marker_path(j) for j in range(findings.n_clusters)],
        "views": [describe_view(view, rows, fit.labels, findings.n_clusters) for view in findings.views],
        "features": describe_features(findings, rows),
        "idName": shorten(findings.id_name),
        "threshold": AMBIGUOUS,
        "outliers": list_outlier_scores(findings, rows),
        "outlierThreshold": CLEAR,
        "name": shorten(findings.title),
    }


def list_outlier_scores(findings: Findings, rows: Ints) -> list[float | int | None] | None:
    """Round the scores down, so that one below the threshold stays below it; None where there is no background."""
    scores = findings.fit.outlier_scores
    if scores is None or not findings.fit.noise_share:
        return None
    return round_numbers(np.floor(1000 * scores[rows]) / 1000, 3)


def describe_view(view: View, rows: Ints, labels: Ints, n_clusters: int) -> dict[str, Any]:
    """Put positions as whole numbers on a grid; the script brings them to the size of the picture."""
    low = view.positions.min(axis=0)
    span = np.ptp(view.positions, axis=0)
    unit = np.where(span > 0, span, 1)
    grid = ((view.positions - low) / unit * GRID).round() + np.where(span > 0, 0, GRID // 2)
    spans = span / (span.max() or 1) if view.equal else np.ones(2)
    return {
        "caption": view.caption,
        "jitter": view.jitter,
        "spans": round_numbers(spans),
        "x": grid[rows, 0].astype(int).tolist(),
        "y": grid[rows, 1].astype(int).tolist(),
        "middles": find_middles(grid, labels, n_clusters),
        "grid": GRID,
    }


def describe_features(findings: Findings, rows: Ints) -> dict[str, Any]:
    """List the columns of the table in their own order; ``telling``: those first that tell most."""
    if findings.features.columns:
        return describe_columns(findings, rows)
    telling = findings.profile.telling[:MAX_TABLE_FEATURES]
    columns = np.sort(telling)
    values = [round_numbers(findings.features.values[rows, j]) for j in columns]
    return {
        "names": [shorten(findings.features.names[j]) for j in columns],
        "values": values,
        "decimals": [count_decimals(column) for column in values],
        "telling": np.searchsorted(columns, telling).tolist(),
    }


def describe_columns(findings: Findings, rows: Ints) -> dict[str, Any]:
    """List columns of any kind as `describe_features` does; text, dates and yes/no are words, without decimals."""
    features = findings.features
    telling = list(dict.fromkeys(features.sources[findings.profile.telling].tolist()))[:MAX_TABLE_FEATURES]
    shown = sorted(telling)
    values = [list_values(features.columns[j], rows) for j in shown]
    return {
        "names": [shorten(features.columns[j].name) for j in shown],
        "values": values,
        "decimals": [
            count_decimals(column) if features.columns[j].kind == "number" else None
            for j, column in zip(shown, values, strict=True)
        ],
        "telling": [shown.index(j) for j in telling],
    }


def list_values(column: Column, rows: Ints) -> list[Any]:
    """Return the values of a column as the page shows them; None where one is missing."""
    values = column.values[rows]
    if column.kind == "number":
        return round_numbers(values)
    if column.kind == "text":
        return [None if value is None else shorten(value) for value in values]
    return [None if math.isnan(value) else words.format_value(value, column.kind) for value in values.tolist()]


def count_decimals(column: list[float | int | None]) -> int | None:
    """Count the places after the point that show a column in line; None if its numbers need powers of ten."""
    known = [abs(value) for value in column if value]
    if not known:
        return 0
    before = math.floor(math.log10(max(known)))
    if not -4 <= before < 9:
        return None
    needed = max(-Decimal(repr(value)).normalize().as_tuple().exponent for value in known)  # type: ignore[operator]
    return min(max(needed, 0), max(DIGITS - 1 - before, 0))


def list_memberships(memberships: Floats) -> list[float | int]:
    """``[cluster, membership, cluster, membership, …]``, the largest first, tiny ones left out."""
    best = np.argsort(-memberships, kind="stable")[:MEMBERSHIPS_KEPT]
    kept = [j for j in best if memberships[j] >= 10.0**-DECIMALS] or [best[0]]
    return [value for j in kept for value in (int(j), round(float(memberships[j]), DECIMALS))]


def marker_path(cluster: int) -> str:
    return SHAPES[marker(cluster)]
