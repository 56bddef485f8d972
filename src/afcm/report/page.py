"""Writes `Findings` as one HTML file: context for the template, hashes for the security policy."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from afcm._util.atomic_files import replace_file
from afcm._util.messages import format_share
from afcm._util.optional import require
from afcm.equations.sparse_memberships import to_dense_rows
from afcm.estimators.levels import Levels
from afcm.models.fitted_graph import METHOD_WORDS
from afcm.plots.colors import cluster_colors
from afcm.report import charts, words
from afcm.report.data import MAX_TABLE_FEATURES, as_json, collect_data, marker_path
from afcm.report.findings import Findings
from afcm.selection.choosing import CRITERIA

MAX_PROFILE_FEATURES = 40
MAX_LISTED = 30  # ambiguous samples in the list
MAX_LEVELS = 20
MAX_CLASSES = 15  # in the table of clusters against classes
BLOCK = 6  # clusters side by side in a table of profiles: fits on paper
SCRIPTS = ("samples.js", "picture.js", "table.js", "controls.js")


def write_report(findings: Findings, path: str | os.PathLike[str]) -> Path:
    """Write the page; an interrupt leaves the old file or the new one, never a part.

    Parameters
    ----------
    findings : Findings
    path : path of the HTML file; its folder must exist

    Returns
    -------
    Path

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from afcm import PlainAFCM
    >>> from afcm.report import Findings, write_report
    >>> X = load_iris().data
    >>> findings = Findings.of(PlainAFCM(3, random_state=0).fit(X), X)
    >>> write_report(findings, os.path.join(tempfile.mkdtemp(), "report.html")).name
    'report.html'
    """
    page = render_page(findings).encode("utf-8", errors="replace")
    with replace_file(path) as draft:
        draft.write_bytes(page)
    return Path(path)


def render_page(findings: Findings) -> str:
    jinja = require("jinja2", "report", "the report page needs", "Jinja2")
    from markupsafe import Markup

    environment = jinja.Environment(
        autoescape=True, undefined=jinja.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    scripts = "\n".join(_read_asset(name) for name in SCRIPTS)
    js = '"use strict";\n(() => {\n' + scripts + "})();\n"  # in a function of their own: nothing is global
    parts = {"css": _read_asset("page.css"), "theme": _read_asset("theme.js"), "js": js}
    css, theme, js = (_hash(text) for text in parts.values())
    policy = (
        f"default-src 'none'; style-src {css}; script-src {theme} {js}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    own = {name: Markup(text) for name, text in parts.items()}  # ours, and hashed as they are
    data = Markup(as_json(collect_data(findings)))  # as_json leaves no < in it
    template = environment.from_string(_read_asset("page.html.jinja"))
    return template.render(build_context(findings), policy=policy, data=data, **own)


def build_context(findings: Findings) -> dict[str, Any]:
    colors, stability = cluster_colors(findings.n_clusters), findings.fit.stability
    clusters = [
        {"number": j, "color": colors[j], "path": marker_path(j), "size": f"{size:,}"}
        | {"share": words.format_percent(size, findings.n_samples)}
        | {"stability": "" if stability is None else f"{stability[j]:.2f}"}
        for j, size in enumerate(findings.profile.sizes.tolist())
    ]
    return {
        "f": findings,
        "clusters": clusters,
        "figures": list_figures(findings),
        "blocks": [clusters[start : start + BLOCK] for start in range(0, len(clusters), BLOCK)],
        "profiles": list_profiles(findings),
        "doubtful": list_ambiguous(findings),
        "pairs": [(first, second, f"{count:,}") for first, second, count in findings.pairs[:10]],
        "crossed": cross_classes(findings),
        "charts": charts.chart_history(findings.fit.history),
        "selection_chart": charts.chart_selection(findings.selection) if findings.selection else None,
        "levels": list_levels(findings.levels),
        "tree": charts.chart_levels(findings.levels) if findings.levels else None,
        "criteria": CRITERIA,
        "box": charts,
        "number": words.format_number,
        "python_name": json.dumps(findings.model_file, ensure_ascii=False),
        "kind": METHOD_WORDS.get(findings.fit.method or ""),
        "outliers": f"{np.isin(findings.outliers, findings.shown).sum():,}" if findings.fit.noise_share else None,
        "table_features": min(len(findings.features.names), MAX_TABLE_FEATURES),
    }


def list_figures(findings: Findings) -> list[tuple[str, str]]:
    """Name the numbers at the top of the page."""
    fit = findings.fit
    shown = [("samples", f"{findings.n_samples:,}"), ("clusters", f"{findings.n_clusters:,}")]
    if findings.n_clusters > 1:
        part = words.format_percent(findings.ambiguous.size, findings.n_samples)
        shown += [("ambiguous", f"{findings.ambiguous.size:,} ({part})"), ("crispness", f"{fit.crispness:.2f}")]
    if fit.noise_share:
        shown.append(("background", format_share(fit.noise_share)))
    if fit.n_iter is not None:
        shown.append(("sweeps", f"{fit.n_iter:,}"))
    return shown


def list_profiles(findings: Findings) -> list[dict[str, Any]]:
    """Make a row for each telling feature: its name and, for each cluster, mean, deviation and bar."""
    profile, features = findings.profile, findings.features
    rows = []
    for j in profile.telling[:MAX_PROFILE_FEATURES]:
        both = zip(profile.means[:, j], profile.deviations[:, j], strict=True)
        rows.append({"name": features.names[j], "cells": [_make_cell(*pair, features.kind(j)) for pair in both]})
    return rows


def _make_cell(mean: float, deviation: float, kind: str) -> dict[str, Any]:
    known = bool(np.isfinite(deviation))
    length = min(abs(deviation), 3.0) / 3 * 50 if known else 0.0
    signed = f"{deviation:+.1f}".replace("-", "−").replace("+0.0", "0.0").replace("−0.0", "0.0")
    return {
        "mean": words.format_value(mean, kind, 4),
        "deviation": signed if known else "–",
        "start": round(50 - length if deviation < 0 else 50, 1),
        "length": round(length, 1),
    }


def list_ambiguous(findings: Findings) -> list[dict[str, Any]]:
    """List the most ambiguous samples, with the two clusters they lie between."""
    places = {int(row): place for place, row in enumerate(findings.shown)}
    listed = []
    for i in findings.ambiguous[:MAX_LISTED].tolist():
        row = to_dense_rows(findings.fit.memberships, [i])[0]
        first, second = np.argsort(-row, kind="stable")[:2].tolist()
        both = [(first, f"{row[first]:.2f}"), (second, f"{row[second]:.2f}")]
        entry = {"id": findings.ids[i], "place": places.get(i), "label": int(findings.fit.labels[i]), "between": both}
        listed.append(entry | {"ambiguity": f"{findings.ambiguity[i]:.2f}"})
    return listed


def list_levels(levels: Levels | None) -> list[dict[str, str]]:
    """Make a row for each of the coarsest levels, the coarsest last; nothing for fewer than three clusters."""
    if levels is None or len(levels) < 2:
        return []
    return [
        {"left": f"{level.n_clusters:,}", "joined": level.words, "cut": words.format_number(level.cut)}
        | {"stability": "" if level.stability is None else f"{level.stability:.2f}"}
        for level in levels[-MAX_LEVELS:]
    ]


def cross_classes(findings: Findings) -> dict[str, Any] | None:
    """Count the samples of each cluster in each known class, if the classes are few; numbers first, by value."""
    names = {label for label in findings.classes or () if label is not None}
    known = sorted(names, key=lambda name: (not name.isdecimal(), float(name) if name.isdecimal() else 0.0, name))
    if not 0 < len(known) <= MAX_CLASSES:
        return None
    counts = np.zeros((findings.n_clusters, len(known)), dtype=int)
    for label, cluster in zip(findings.classes or (), findings.fit.labels.tolist(), strict=True):
        if label is not None:
            counts[cluster, known.index(label)] += 1
    return {"classes": known, "counts": [[f"{count:,}" for count in row] for row in counts.tolist()]}


def _read_asset(name: str) -> str:
    return (files("afcm.report") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
