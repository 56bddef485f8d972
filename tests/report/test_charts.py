"""Charts: ticks, scales, and words for those who do not see them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afcm.estimators.levels import Level, Levels
from afcm.report import charts
from tests.report.built import selection


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_ticks_are_few_and_within(low, span):
    ticks = charts.round_ticks(low, low + span)
    assert 1 <= len(ticks) <= 6
    assert all(low - 1e-6 * span <= tick <= low + span * (1 + 1e-6) for tick in ticks)


def test_decades_embrace():
    assert charts.decade_ticks(-16, 0) == [-16, -12, -8, -4, 0]
    assert charts.decade_ticks(0.2, 0.9) == [0, 1]


def test_the_history_of_a_run():
    history = {
        "objective": np.array([5.0, 3.0]),
        "gamma": np.array([1.0, 1e6]),
        "membership_change": np.array([0.5, 0]),
    }
    objective, gamma, change = charts.chart_history(history)
    assert objective.description == "Objective J: from 5 to 3 in 2 sweeps."
    assert gamma.description == "Sharpness γ: from 1 to 1.00 × 10⁶ in 2 sweeps."
    assert change.description == "Largest membership change: from 0.5 to below 10⁻¹⁶ in 2 sweeps."
    assert objective.lines[0].points == f"{charts.LEFT},{charts.TOP} {charts.RIGHT},{charts.BOTTOM}"
    assert gamma.x_name == "sweep (logarithmic scale)"


@pytest.mark.parametrize(
    "history",
    [{}, {"objective": np.array([1.0])}, {"objective": np.array([1.0, np.nan])}, {"shape": np.array([1.0, 2])}],
)
def test_nothing_to_draw(history):
    assert charts.chart_history(history) == []


def test_a_flat_or_long_run_is_drawn_too():
    flat, long = (charts.chart_history({"objective": values})[0] for values in (np.ones(5), np.linspace(9, 1, 5000)))
    assert len(flat.y_ticks) == 1
    assert len(long.lines[0].points.split()) <= charts.MAX_POINTS
    assert long.lines[0].dots == []


def test_a_selection():
    chart = charts.chart_selection(selection())
    assert len(chart.lines) == 6
    assert chart.lines[0].name == "eigengap → 3"
    assert chart.description.startswith("Recommended: 2. Best by each criterion alone: eigengap 3, stability 3,")


def test_a_criterion_that_says_nothing_has_no_line():
    chosen = selection()
    del chosen.votes["xie_beni"]
    for row in chosen.table:
        row |= {"xie_beni": float("nan"), "plain_bic": 7.0}
    whole, part = charts.chart_selection(selection()), charts.chart_selection(chosen)
    silent = ("xie beni", "plain bic")
    assert part.lines == [line for line in whole.lines if not line.name.startswith(silent)]
    assert len(part.lines) == 4


def test_the_tree_of_few_clusters_is_drawn_and_told():
    levels = Levels([Level(2, ((0,), (2,)), 0.5, None), Level(1, ((0, 2), (1,)), 0.0, None)])
    chart = charts.chart_levels(levels)
    assert [text for _, text in chart.y_ticks] == ["cluster 0", "cluster 2", "cluster 1"]
    assert [text for _, text in chart.x_ticks] == ["3", "2", "1"]
    assert chart.description == "Joined in this order: 0 with 2 leaves 2; 0, 2 with 1 leaves 1."
    (left, *_), (right, *_) = chart.x_ticks[0], chart.x_ticks[1]
    top, middle, _ = (place for place, _ in chart.y_ticks)
    assert chart.lines[0].points == f"{left:g},{top:g} {right:g},{top:g} {right:g},{middle:g} {left:g},{middle:g}"
    assert charts.chart_levels(Levels(levels[1:])) is None
    many = Levels(Level(12 - j, ((0,), (j + 1,)), 0.0, None) for j in range(12))
    assert charts.chart_levels(many) is None
