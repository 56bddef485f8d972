"""From `Findings` to one HTML file: context for the template, hashes for the security policy, and the writing."""

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
from afcm._util.optional import require
from afcm.plots.colors import cluster_colors
from afcm.report import charts, words
from afcm.report.data import MAX_TABLE_FEATURES, as_json, script_data, shape_of
from afcm.report.findings import Findings
from afcm.selection.criteria import CRITERIA

MAX_PROFILE_FEATURES = 40
MAX_LISTED = 30  # ambiguous samples in the list
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
    """
    page = rendered(findings).encode("utf-8", errors="replace")
    with replace_file(path) as draft:
        draft.write_bytes(page)
    return Path(path)


def rendered(findings: Findings) -> str:
    """The page as text."""
    jinja = require("jinja2", "report", "the report page needs", "Jinja2")
    from markupsafe import Markup

    environment = jinja.Environment(
        autoescape=True, undefined=jinja.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    parts = {"css": _asset("page.css"), "theme": _asset("theme.js"), "js": script()}
    css, theme, js = (_hash(text) for text in parts.values())
    policy = (
        f"default-src 'none'; style-src {css}; script-src {theme} {js}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    own = {name: Markup(text) for name, text in parts.items()}  # ours, and hashed as they are
    data = Markup(as_json(script_data(findings)))  # as_json leaves no < in it
    template = environment.from_string(_asset("page.html.jinja"))
    return template.render(context(findings), policy=policy, data=data, **own)


def script() -> str:
    """The script's files as one, in a function of their own: nothing global."""
    return '"use strict";\n(() => {\n' + "\n".join(_asset(name) for name in SCRIPTS) + "})();\n"


def context(findings: Findings) -> dict[str, Any]:
    """What the template writes."""
    colors = cluster_colors(findings.n_clusters)
    clusters = [
        {"number": j, "color": color, "path": shape_of(j), "size": f"{size:,}", "share": _share(size, findings)}
        for j, (color, size) in enumerate(zip(colors, findings.profile.sizes.tolist(), strict=True))
    ]
    return {
        "f": findings,
        "clusters": clusters,
        "figures": figures(findings),
        "blocks": [clusters[start : start + BLOCK] for start in range(0, len(clusters), BLOCK)],
        "profiles": profiles(findings),
        "doubtful": doubtful(findings),
        "pairs": [(first, second, f"{count:,}") for first, second, count in findings.pairs[:10]],
        "crossed": crossed(findings),
        "charts": charts.of_history(findings.fit.history),
        "selection_chart": charts.of_selection(findings.selection) if findings.selection else None,
        "criteria": CRITERIA,
        "box": charts,
        "number": words.number,
        "python_name": json.dumps(findings.model_file, ensure_ascii=False),
        "table_features": min(len(findings.features.names), MAX_TABLE_FEATURES),
    }


def figures(findings: Findings) -> list[tuple[str, str]]:
    """The numbers at the top."""
    fit = findings.fit
    shown = [("samples", f"{findings.n_samples:,}"), ("clusters", f"{findings.n_clusters:,}")]
    if findings.n_clusters > 1:
        part = words.percent(findings.ambiguous.size, findings.n_samples)
        shown += [("ambiguous", f"{findings.ambiguous.size:,} ({part})"), ("crispness", f"{fit.crispness:.2f}")]
    if fit.n_iter is not None:
        shown.append(("sweeps", f"{fit.n_iter:,}"))
    return shown


def profiles(findings: Findings) -> list[dict[str, Any]]:
    """A row for each telling feature: its name and, for each cluster, mean, deviation and bar."""
    profile = findings.profile
    return [
        {"name": findings.features.names[j], "cells": [_cell(*pair) for pair in zip(*columns, strict=True)]}
        for j in profile.telling[:MAX_PROFILE_FEATURES]
        for columns in [(profile.means[:, j], profile.deviations[:, j])]
    ]


def _cell(mean: float, deviation: float) -> dict[str, Any]:
    known = bool(np.isfinite(deviation))
    length = min(abs(deviation), 3.0) / 3 * 50 if known else 0.0
    return {
        "mean": words.number(mean, 4),
        "deviation": f"{deviation:+.1f}".replace("-", "−").replace("+0.0", "0.0").replace("−0.0", "0.0")
        if known
        else "–",
        "start": round(50 - length if deviation < 0 else 50, 1),
        "length": round(length, 1),
    }


def doubtful(findings: Findings) -> list[dict[str, Any]]:
    """The most ambiguous samples, with the two clusters they lie between."""
    places = {int(row): place for place, row in enumerate(findings.shown)}
    listed = []
    for i in findings.ambiguous[:MAX_LISTED].tolist():
        row = findings.fit.honest[i]
        first, second = np.argsort(-row, kind="stable")[:2].tolist()
        both = [(first, f"{row[first]:.2f}"), (second, f"{row[second]:.2f}")]
        entry = {"id": findings.ids[i], "place": places.get(i), "label": int(findings.fit.labels[i]), "between": both}
        listed.append(entry | {"ambiguity": f"{findings.ambiguity[i]:.2f}"})
    return listed


def crossed(findings: Findings) -> dict[str, Any] | None:
    """Clusters against known classes, if those are few."""
    known = sorted({label for label in findings.classes or () if label is not None}, key=_by_number)
    if not 0 < len(known) <= MAX_CLASSES:
        return None
    counts = np.zeros((findings.n_clusters, len(known)), dtype=int)
    for label, cluster in zip(findings.classes or (), findings.fit.labels.tolist(), strict=True):
        if label is not None:
            counts[cluster, known.index(label)] += 1
    return {"classes": known, "counts": [[f"{count:,}" for count in row] for row in counts.tolist()]}


def _by_number(name: str) -> tuple[bool, float, str]:
    """Numbers by their value, before other names."""
    whole = name.isdecimal()
    return not whole, float(name) if whole else 0.0, name


def _share(size: int, findings: Findings) -> str:
    return words.percent(size, findings.n_samples)


def _asset(name: str) -> str:
    return (files("afcm.report") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
