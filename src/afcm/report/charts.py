"""Line charts as SVG coordinates, with their text alternatives; the template draws them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from afcm._typing import Floats
from afcm._util.messages import count_noun
from afcm.plots.colors import PALETTE
from afcm.report.words import SUPERSCRIPTS, number
from afcm.selection.criteria import CRITERIA

if TYPE_CHECKING:
    from afcm.selection import Selection

WIDTH, HEIGHT = 360, 200
LEFT, RIGHT, TOP, BOTTOM = 62, 350, 12, 166  # the field inside the axes
MAX_POINTS = 200
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
    """A picture of curves; ``told`` says in words what they show."""

    title: str
    told: str
    lines: list[Line]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    x_name: str
    mark: float | None = None  # a vertical line


def of_history(history: Mapping[str, Floats]) -> list[Chart]:
    """Objective, γ and change of memberships over the sweeps; none from a single sweep."""
    titles = {"objective": "Objective J", "gamma": "Sharpness γ", "membership_change": "Largest membership change"}
    known = {name: history[name] for name in titles if name in history and history[name].size > 1}
    return [
        _of_sweeps(titles[name], values, name != "objective")
        for name, values in known.items()
        if np.isfinite(values).all()
    ]


def _of_sweeps(title: str, values: Floats, logarithmic: bool) -> Chart:
    sweeps = np.arange(1, values.size + 1)
    kept = np.unique(np.linspace(0, values.size - 1, MAX_POINTS).astype(int))
    logarithmic = logarithmic and values.min() >= 0 and values.max() > 100 * max(values.min(), SMALLEST)
    heights = np.log10(np.maximum(values, SMALLEST)) if logarithmic else values
    ticks = decades(heights.min(), heights.max()) if logarithmic else rounds(heights.min(), heights.max())
    low, high = min(ticks[0], heights.min()), max(ticks[-1], heights.max())
    y, x = scale(low, high, BOTTOM, TOP), scale(1, values.size, LEFT, RIGHT)
    line = drawn([(x(sweeps[k]), y(heights[k])) for k in kept])
    last = f"below {power(-16)}" if logarithmic and values[-1] < SMALLEST else number(values[-1])
    told = f"{title}: from {number(values[0])} to {last} in {count_noun(values.size, 'sweep')}."
    y_ticks = [(y(tick), power(tick) if logarithmic else number(tick)) for tick in ticks]
    x_ticks = [(x(tick), f"{tick:,.0f}") for tick in rounds(1, values.size) if tick == int(tick) and tick >= 1]
    name = "sweep" + (" (logarithmic scale)" if logarithmic else "")
    return Chart(title, told, [line], x_ticks, y_ticks, name)


def of_selection(selection: Selection) -> Chart:
    """Each criterion scaled from its worst (0) to its best (1), over the number of clusters."""
    counts = np.array([row["n_clusters"] for row in selection.table], dtype=np.float64)
    x, y = scale(counts[0], counts[-1], LEFT, RIGHT), scale(0, 1, BOTTOM, TOP)
    lines = []
    for name, curve in selection.curves.items():
        points = [(x(count), y(value)) for count, value in zip(counts, curve, strict=True) if np.isfinite(value)]
        j = list(CRITERIA).index(name)  # a criterion keeps its color when another says nothing
        lines.append(drawn(points, f"{_spaced(name)} → {selection.votes[name]}", j))
    chosen = ", ".join(f"{_spaced(name)} {count}" for name, count in selection.votes.items())
    told = f"Recommended: {selection.n_clusters}. Best by each criterion alone: {chosen}."
    ticks = [(x(count), f"{count:.0f}") for count in counts[:: math.ceil(counts.size / 13)]]
    recommended = x(selection.n_clusters)
    return Chart("Criteria", told, lines, ticks, [(y(0), "worst"), (y(1), "best")], "number of clusters", recommended)


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def power(exponent: float) -> str:
    """``10⁻⁸``; small powers written out."""
    return f"{10.0**exponent:g}" if -3 <= exponent <= 3 else f"10{str(int(exponent)).translate(SUPERSCRIPTS)}"


def drawn(points: list[tuple[float, float]], name: str = "", j: int = 0) -> Line:
    """The curve through these points; dots where they are few."""
    text = " ".join(f"{x:g},{y:g}" for x, y in points)
    return Line(text, points if len(points) <= 25 else [], name, PALETTE[j % len(PALETTE)], DASHES[j % len(DASHES)])


def scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """The straight line that takes ``low`` to ``start`` and ``high`` to ``end``."""
    span = (high - low) or 1.0
    return lambda value: round(start + (value - low) / span * (end - start), 1)


def rounds(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from within [low, high]; both ends if there is nothing between them."""
    span = high - low
    if not span > 1e-12 * max(abs(low), abs(high), SMALLEST):
        return [float(low)]
    unit = 10 ** math.floor(math.log10(span / most))
    step = next(unit * factor for factor in (1, 2, 5, 10, 20) if span / (unit * factor) <= most)
    ticks = [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return ticks if len(ticks) > 1 else [float(low), float(high)]


def decades(low: float, high: float, most: int = 4) -> list[int]:
    """Whole exponents that embrace [low, high]."""
    start, end = math.floor(low), math.ceil(high)
    step = max(math.ceil((end - start) / most), 1)
    return list(range(start, end + step, step))
