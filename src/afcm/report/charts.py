"""Line charts of the report as SVG coordinates, each with a description in words; the template draws them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from afcm._typing import Floats
from afcm._util.messages import count_noun
from afcm.plots.colors import PALETTE
from afcm.report.words import SUPERSCRIPTS, format_number
from afcm.selection.choosing import CRITERIA

if TYPE_CHECKING:
    from afcm.estimators.levels import Levels
    from afcm.selection import Selection

WIDTH, HEIGHT = 360, 200
LEFT, RIGHT, TOP, BOTTOM = 62, 350, 12, 166  # the field inside the axes
MAX_POINTS = 200
MOST_LEAVES = 12  # of a tree
SMALLEST = 1e-16  # on a logarithmic axis: what is smaller is rounding
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "1 2")


@dataclass(frozen=True)
class Line:
    """A curve: its points as SVG wants them, its marks, how it is drawn."""

    points: str
    dots: list[tuple[float, float]]
    name: str = ""
    color: str = ""
    dash: str = ""


@dataclass(frozen=True)
class Chart:
    """A picture of curves; ``description`` says in words what they show."""

    title: str
    description: str
    lines: list[Line]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    x_name: str
    mark: float | None = None  # a vertical line


def chart_history(history: Mapping[str, Floats]) -> list[Chart]:
    """Chart objective, γ and change of memberships over the sweeps; nothing for a single sweep."""
    titles = {"objective": "Objective J", "gamma": "Sharpness γ", "membership_change": "Largest membership change"}
    return [
        _chart_sweeps(title, history[name], name != "objective")
        for name, title in titles.items()
        if name in history and history[name].size > 1 and np.isfinite(history[name]).all()
    ]


def _chart_sweeps(title: str, values: Floats, logarithmic: bool) -> Chart:
    kept = np.unique(np.linspace(0, values.size - 1, MAX_POINTS).astype(int))
    logarithmic = logarithmic and values.min() >= 0 and values.max() > 100 * max(values.min(), SMALLEST)
    heights = np.log10(np.maximum(values, SMALLEST)) if logarithmic else values
    ticks = (decade_ticks if logarithmic else round_ticks)(heights.min(), heights.max())
    y = make_scale(min(ticks[0], heights.min()), max(ticks[-1], heights.max()), BOTTOM, TOP)
    x = make_scale(1, values.size, LEFT, RIGHT)
    line = draw_line([(x(k + 1), y(heights[k])) for k in kept])
    last = f"below {format_power(-16)}" if logarithmic and values[-1] < SMALLEST else format_number(values[-1])
    description = f"{title}: from {format_number(values[0])} to {last} in {count_noun(values.size, 'sweep')}."
    y_ticks = [(y(tick), (format_power if logarithmic else format_number)(tick)) for tick in ticks]
    x_ticks = [(x(tick), f"{tick:,.0f}") for tick in round_ticks(1, values.size) if tick == int(tick) and tick >= 1]
    name = "sweep" + (" (logarithmic scale)" if logarithmic else "")
    return Chart(title, description, [line], x_ticks, y_ticks, name)


def chart_selection(selection: Selection) -> Chart:
    """Chart each criterion over the number of clusters, from its worst (0) to its best (1)."""
    counts = np.array([row["n_clusters"] for row in selection.table], dtype=np.float64)
    x, y = make_scale(counts[0], counts[-1], LEFT, RIGHT), make_scale(0, 1, BOTTOM, TOP)
    votes = {name: (name.replace("_", " "), vote) for name, vote in selection.votes.items()}
    lines = []
    for name, curve in selection.curves.items():
        points = [(x(count), y(value)) for count, value in zip(counts, curve, strict=True) if np.isfinite(value)]
        j = list(CRITERIA).index(name)  # a criterion keeps its color when another says nothing
        lines.append(draw_line(points, "{} → {}".format(*votes[name]), j))
    chosen = ", ".join(f"{name} {count}" for name, count in votes.values())
    description = f"Recommended: {selection.n_clusters}. Best by each criterion alone: {chosen}."
    x_ticks = [(x(count), f"{count:.0f}") for count in counts[:: math.ceil(counts.size / 13)]]
    y_ticks = [(y(0), "worst"), (y(1), "best")]
    return Chart("Criteria", description, lines, x_ticks, y_ticks, "number of clusters", x(selection.n_clusters))


def chart_levels(levels: Levels) -> Chart | None:
    """Draw the tree over few clusters; None if there are many, or no more than two."""
    n_clusters = len(levels) + 1
    if not 2 < n_clusters <= MOST_LEAVES:
        return None
    x, y = make_scale(n_clusters, 1, LEFT, RIGHT), make_scale(0, n_clusters - 1, TOP, BOTTOM)
    lines = [Line(draw_line([(x(left), y(row)) for left, row in bracket]).points, []) for bracket in levels.brackets]
    joins = "; ".join(f"{level.words} leaves {level.n_clusters}" for level in levels)
    x_ticks = [(x(count), str(count)) for count in range(n_clusters, 0, -1)]
    y_ticks = [(y(row), f"cluster {number}") for row, number in enumerate(levels.order)]
    return Chart("Tree of the clusters", f"Joined in this order: {joins}.", lines, x_ticks, y_ticks, "clusters left")


def format_power(exponent: float) -> str:
    """``10⁻⁸``; small powers written out."""
    return f"{10.0**exponent:g}" if -3 <= exponent <= 3 else f"10{str(int(exponent)).translate(SUPERSCRIPTS)}"


def draw_line(points: list[tuple[float, float]], name: str = "", j: int = 0) -> Line:
    """Make the j-th curve, through these points; few of them get dots."""
    text = " ".join(f"{x:g},{y:g}" for x, y in points)
    return Line(text, points if len(points) <= 25 else [], name, PALETTE[j % len(PALETTE)], DASHES[j % len(DASHES)])


def make_scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """Return the linear function that takes ``low`` to ``start`` and ``high`` to ``end``."""
    span = (high - low) or 1.0
    return lambda value: round(start + (value - low) / span * (end - start), 1)


def round_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Choose round numbers from within [low, high]; both ends if there is nothing between them."""
    span = high - low
    if not span > 1e-12 * max(abs(low), abs(high), SMALLEST):
        return [float(low)]
    unit = 10 ** math.floor(math.log10(span / most))
    step = next(unit * factor for factor in (1, 2, 5, 10, 20) if span / (unit * factor) <= most)
    ticks = [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return ticks if len(ticks) > 1 else [float(low), float(high)]


def decade_ticks(low: float, high: float, most: int = 4) -> list[int]:
    """Choose whole exponents that embrace [low, high]."""
    start, end = math.floor(low), math.ceil(high)
    step = max(math.ceil((end - start) / most), 1)
    return list(range(start, end + step, step))
