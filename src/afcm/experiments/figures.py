"""Draws the figures of the report. Needs matplotlib, which is loaded only when a figure is drawn.

Figures are plain `matplotlib.figure.Figure` objects: no window, no pyplot, no state that is shared with the caller.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from afcm._util.optional import require
from afcm.datasets import make_rings, make_spirals
from afcm.estimators.afcm import AFCM
from afcm.estimators.fuzzy import FCM
from afcm.estimators.plain import PlainAFCM
from afcm.exceptions import AFCMWarning
from afcm.experiments.printed import Score, printed_score
from afcm.experiments.record import Row
from afcm.experiments.summary import DATASETS, choose_traces, sort_names, summarize
from afcm.experiments.tables import format_params
from afcm.plots.colors import PALETTE, cluster_colors, to_rgb
from afcm.plots.common import annotate_beside
from afcm.plots.layout import project_embedding

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, VERMILION, GREEN, PINK, ORANGE = PALETTE[:5]
GRAY = "#6b6b6b"
LIGHT = "#dddddd"

# The series of the dot plot: experiment, method → name, color, marker. The printed numbers are gray bars.
SERIES = {
    ("table1", "AFCM"): ("AFCM, paper's configuration (oracle)", BLUE, "o"),
    ("ours", "AFCM-ours"): ("AFCM, our kernels and start (oracle)", GREEN, "^"),
    ("ours", "AFCM-default"): ("AFCM, defaults (label-free)", VERMILION, "D"),
}


class MissingMatplotlib(ImportError): ...


class NothingToDraw(ValueError):
    """No row has what the figure shows."""


def draw_convergence(rows: Iterable[Row]) -> Figure:
    """Draw J and ACC over the sweeps of the convergence experiment, one panel per data set; a line marks γ's cap."""
    runs = choose_traces(rows)
    if not runs:
        raise NothingToDraw("rows hold no run of the experiment 'convergence' with an objective; run it first")
    columns = min(4, len(runs))
    lines = ceil(len(runs) / columns)
    figure = new_figure(3.4 * columns, 2.7 * lines + 0.3)
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for panel, row in zip(panels, runs, strict=False):
        _draw_trace(panel, row)
    for panel in panels[len(runs) :]:
        panel.set_axis_off()
    return figure


def draw_toys() -> Figure:
    """Draw spirals and rings by FCM, PlainAFCM and AFCM, and AFCM's embedding (the paper's Figure 2).

    The models are fitted here, with fixed seeds. The color of a sample is the mixture of its clusters' colors by
    its memberships. In the embedding samples of one cluster lie on top of each other, so they are jittered.
    """
    figure = new_figure(12.8, 6.6)
    toys = [("spirals", make_spirals(random_state=0)[0], 2), ("rings", make_rings(random_state=0)[0], 3)]
    for line, (name, X, n_clusters) in zip(figure.subplots(2, 4), toys, strict=True):
        for panel, kind in zip(line, (FCM, PlainAFCM, AFCM), strict=False):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AFCMWarning)  # the colors show hard memberships
                model = kind(n_clusters, random_state=0).fit(X)
            _scatter(panel, X, model.memberships_, f"{name}: {kind.__name__}")
        points = project_embedding(model.embedding_)
        points += np.random.default_rng(0).normal(scale=0.03 * np.ptp(points), size=points.shape)
        _scatter(line[3], points, model.memberships_, f"{name}: AFCM, learned space (jittered)")
    return figure


def draw_accuracies(rows: Iterable[Row]) -> Figure:
    """Draw ACC per data set as dots: AFCM as printed, in the paper's configuration, ours, and as it comes."""
    cells = summarize(row for row in rows if (row.experiment, row.method) in SERIES)
    scores = {(c.dataset, (c.experiment, c.method)): score for c in cells if (score := c.score("ACC"))}
    datasets = sort_names((dataset for dataset, _ in scores), DATASETS)
    if not datasets:
        raise NothingToDraw("rows hold no ok run of AFCM in the experiments 'table1' or 'ours'; run one of them first")
    figure = new_figure(8.6, 1.5 + 0.55 * len(datasets))
    axes = figure.subplots()
    _draw_printed(axes, [printed_score("results", dataset, "AFCM", "ACC") for dataset in datasets])
    for offset, (key, (label, color, marker)) in zip((-0.22, 0.0, 0.22), SERIES.items(), strict=True):
        places = [place for place, name in enumerate(datasets) if (name, key) in scores]
        found = [scores[datasets[place], key] for place in places]
        means, spreads = [score.mean for score in found], [score.std for score in found]
        style: dict[str, Any] = {"fmt": marker, "color": color, "markersize": 6, "elinewidth": 1.3, "label": label}
        if found:
            axes.errorbar(means, np.array(places) + offset, xerr=spreads, **style)
    _finish_dot_plot(axes, datasets)
    return figure


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure (inches), or fail with an error that says what to install."""
    try:
        figure = require("matplotlib.figure", "plot", "figures need")
    except ImportError as error:
        raise MissingMatplotlib(str(error)) from error
    return figure.Figure(figsize=(width, height), layout="constrained")


def blend_colors(memberships: Any) -> Any:
    """Mix the clusters' colors by membership (red, green, blue in [0, 1])."""
    colors = to_rgb(cluster_colors(np.shape(memberships)[1]))
    return np.clip(np.asarray(memberships) @ colors, 0, 1)


def _draw_trace(axes: Axes, row: Row) -> None:
    objective, accuracy = row.details["objective"], row.details.get("acc") or []
    axes.plot(np.arange(1, len(objective) + 1), objective, color=BLUE, linewidth=1.8)
    axes.set_title(f"{row.dataset} ({format_params(row.params)})", fontsize=10)
    axes.set_xlabel("sweep", fontsize=9)
    _color_axis(axes, "J", BLUE)
    small = np.max(np.abs(objective)) < 1e5
    axes.yaxis.set_major_formatter("{x:,.6g}" if small else lambda x, _: f"{x / 1000:,.6g} k".replace("-", "−"))
    if accuracy:
        other = axes.twinx()
        other.plot(np.arange(1, len(accuracy) + 1), accuracy, color=ORANGE, linewidth=1.8)
        other.set_ylim(0, 103)
        _color_axis(other, "ACC (%)", ORANGE)
    if row.details.get("capped_at"):
        _mark_cap(axes, row.details["capped_at"], len(objective), accuracy)


def _color_axis(axes: Axes, label: str, color: str) -> None:
    axes.set_ylabel(label, color=color, fontsize=9)
    axes.tick_params(axis="y", colors=color, labelsize=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.spines["top"].set_visible(False)


def _mark_cap(axes: Axes, sweep: int, last: int, accuracy: Sequence[float]) -> None:
    """Draw a dotted line at a sweep, with a label on the wider side of it, clear of the curve of ACC."""
    axes.axvline(sweep, color=GRAY, linestyle=":", linewidth=1.4)
    right = sweep <= last / 2
    beside = accuracy[sweep:] if right else accuracy[:sweep]
    height = 0.5 if all(abs(value - 50) > 10 for value in beside) else 0.75
    style: dict[str, Any] = {"right": right, "va": "center", "color": GRAY, "fontsize": 8}
    annotate_beside(axes, f"γ capped (sweep {sweep})", (sweep, height), **style)


def _scatter(axes: Axes, points: Any, memberships: Any, title: str) -> None:
    axes.scatter(points[:, 0], points[:, 1], c=blend_colors(memberships), s=7, linewidths=0)
    axes.set_title(title, fontsize=11)
    axes.set(xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="datalim")


def _draw_printed(axes: Axes, printed: Sequence[Score | None]) -> None:
    """Draw a gray bar of ± one printed spread, at least wide enough to be seen, with the mean as a line."""
    found = [(place, score) for place, score in enumerate(printed) if score]
    places, means = [place for place, _ in found], [score.mean for _, score in found]
    half = np.array([max(score.std, 0.25) for _, score in found])
    axes.barh(places, 2 * half, left=np.array(means) - half, height=0.78, color=LIGHT, label="AFCM, printed ± spread")
    axes.vlines(means, np.array(places) - 0.39, np.array(places) + 0.39, color=GRAY, linewidth=1.5)


def _finish_dot_plot(axes: Axes, datasets: Sequence[str]) -> None:
    axes.set_yticks(range(len(datasets)), datasets)
    axes.set_ylim(len(datasets) - 0.5, -0.5)
    axes.set_xlabel("ACC (%), mean ± standard deviation over the seeds")
    axes.grid(axis="x", color=LIGHT, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=9)
