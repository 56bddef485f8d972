"""A fitted clusterer in a notebook: a sentence and a small table with a curve for each cluster, as HTML."""

from __future__ import annotations

import html
from typing import Any, NamedTuple

import numpy as np

from afcm._util.messages import count_noun, format_about
from afcm.arrays import is_chunked, to_host
from afcm.equations.ambiguity import ambiguity, is_ambiguous
from afcm.models.background import CLEAR

MOST_ROWS = 12  # clusters in the table; the largest
POINTS = 24  # of a curve
WIDTH, HEIGHT = 120, 22  # of a curve, in pixels

# Colors are those of the notebook, light or dark: the text's own, and the same drawn thinly.
STYLE = """.afcm-fit{font:14px/1.5 system-ui,sans-serif;overflow-x:auto}
.afcm-fit table{border-collapse:collapse;margin:.5em 0}
.afcm-fit th,.afcm-fit td{padding:.15em .8em .15em 0;text-align:right;background:none}
.afcm-fit th[scope=row]{text-align:left;font-weight:600}.afcm-fit thead th{border-bottom:1px solid currentColor}
.afcm-fit svg{display:block}.afcm-fit p{margin:.3em 0}"""


class ClusterRow(NamedTuple):
    """A cluster as the table shows it."""

    number: int
    size: int
    n_doubtful: int
    n_outliers: int | None
    curve: Any  # largest memberships of its samples, from sure to doubtful


def describe_clusters(model: Any) -> list[ClusterRow]:
    """One row a cluster, the largest first."""
    memberships, labels = to_host(model.memberships_), to_host(model.labels_)
    doubtful, sure = is_ambiguous(ambiguity(memberships)), to_host(model.probabilities_)
    scores = getattr(model, "outlier_scores_", None)
    outliers = None if scores is None else to_host(scores) >= CLEAR
    rows = []
    for cluster in range(memberships.shape[1]):
        own = labels == cluster
        strays = None if outliers is None else int(outliers[own].sum())
        rows.append(ClusterRow(cluster, int(own.sum()), int(doubtful[own].sum()), strays, sample_curve(sure[own])))
    return sorted(rows, key=lambda row: -row.size)


def sample_curve(values: Any) -> Any:
    """Some of the values, evenly spaced in falling order; empty for none."""
    falling = np.sort(values)[::-1]
    return falling[np.linspace(0, falling.size - 1, min(POINTS, falling.size)).round().astype(int)]


def draw_curve(row: ClusterRow) -> str:
    """An area from 0 to 1, as SVG in the color of the text."""
    across = np.linspace(0, WIDTH, max(row.curve.size, 2))
    heights = np.resize(row.curve if row.curve.size else [0.0], across.size)
    top = " ".join(f"{x:.0f},{HEIGHT * (1 - y):.1f}" for x, y in zip(across, heights, strict=True))
    lowest = f"{row.curve.min():.2f}" if row.curve.size else "none"
    return (
        f'<svg role="img" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'aria-label="memberships of cluster {row.number}, lowest {lowest}">'
        f'<polygon points="0,{HEIGHT} {top} {WIDTH},{HEIGHT}" fill="currentColor" fill-opacity=".35"/></svg>'
    )


def write_sentence(model: Any, rows: list[ClusterRow] | None) -> str:
    """Clusters, samples, doubt and background in words."""
    n_samples, n_clusters = model.memberships_.shape
    parts = [f"{count_noun(n_clusters, 'cluster')} in {count_noun(n_samples, 'sample')}"]
    if rows is not None:
        parts.append(f"{count_noun(sum(row.n_doubtful for row in rows), 'sample')} in doubt")
    share = getattr(model, "noise_share_", 0.0)
    if share:
        parts.append(f"{format_about(share)} background")
    if hasattr(model, "converged_"):
        parts.append(
            f"{'converged' if model.converged_ else 'not converged'} after {count_noun(model.n_iter_, 'sweep')}"
        )
    return "; ".join(parts)


def write_table(rows: list[ClusterRow]) -> str:
    """The largest clusters; a last line says how many more there are."""
    with_outliers = rows[0].n_outliers is not None
    heads = [
        "cluster",
        "samples",
        "in doubt",
        *(["outliers"] if with_outliers else []),
        "memberships, sure to doubtful",
    ]
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = ""
    for row in rows[:MOST_ROWS]:
        cells = [f"{row.size:,}", f"{row.n_doubtful:,}", *([f"{row.n_outliers:,}"] if with_outliers else [])]
        numbers = "".join(f"<td>{cell}</td>" for cell in cells)
        body += f'<tr><th scope="row">{row.number}</th>{numbers}<td>{draw_curve(row)}</td></tr>'
    more = f"<p>… and {count_noun(len(rows) - MOST_ROWS, 'more cluster')}</p>" if len(rows) > MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def write_summary(model: Any) -> str:
    """HTML about a fitted clusterer; of lazy memberships a sentence alone, so that looking costs nothing."""
    rows = None if is_chunked(model.memberships_) else describe_clusters(model)
    sentence = html.escape(write_sentence(model, rows))
    table = "" if rows is None else write_table(rows)
    return f'<div class="afcm-fit"><style>{STYLE}</style><p><b>{type(model).__name__}</b>: {sentence}</p>{table}</div>'
