"""The history of a fit."""

from __future__ import annotations

import numpy as np
import pytest

from afcm import FCM, PlainAFCM
from afcm.exceptions import NotConvergedWarning
from afcm.plots import ConvergenceDisplay
from tests.plots.artists import texts

HISTORY = {
    "objective": np.array([9.0, 3.0, 1.0, 0.5]),
    "gamma": np.array([1.0, 50.0, 400.0, 400.0]),
    "membership_change": np.array([0.5, 1e-3, 1e-6, 0.0]),
}


def test_every_panel_shows_its_column(graph_model, ax):
    display = ConvergenceDisplay.from_estimator(graph_model, ax=ax)
    assert [axes.get_ylabel() for axes in display.axes_] == [
        "objective J",
        "precision γ",
        "largest change\nof a membership",
    ]
    for axes, values in zip(display.axes_, graph_model.history_.values(), strict=True):
        np.testing.assert_array_equal(
            axes.lines[0].get_xydata(), np.column_stack([np.arange(1, len(values) + 1), values])
        )
    assert display.axes_[0].get_title() == f"converged after {graph_model.n_iter_} sweeps"
    assert display.tol == graph_model.tol


def test_scales_are_logarithmic_where_that_shows_more():
    display = ConvergenceDisplay(HISTORY)
    display.plot()
    assert [axes.get_yscale() for axes in display.axes_] == ["linear", "log", "log"]
    display = ConvergenceDisplay(HISTORY | {"gamma": np.array([5.0, 6, 7, 7])})
    assert display.plot()[1].get_yscale() == "linear"


def test_zeros_on_a_logarithmic_scale_are_triangles_on_the_bottom():
    change = ConvergenceDisplay(HISTORY).plot()[2]
    assert np.isnan(change.lines[0].get_ydata()[-1])
    assert change.lines[1].get_xydata().tolist() == [[4, 0]]
    assert change.lines[1].get_marker() == "v"
    assert change.lines[1].get_transform() == change.get_xaxis_transform()


def test_the_cap_is_marked_where_gamma_meets_it_and_only_there(graph_model, ax):
    display = ConvergenceDisplay(HISTORY, gamma_cap=400.0 * (1 + 1e-9))
    gamma = display.plot()[1]
    assert display.capped_at == 3
    assert texts(gamma) == ["γ at its cap from sweep 3 on"]
    level, sweep = gamma.lines[1:]
    assert level.get_ydata() == pytest.approx([400, 400])
    assert list(sweep.get_xdata()) == [3, 3]
    assert texts(display.axes_[0]) == []

    free = ConvergenceDisplay(HISTORY, gamma_cap=500.0)
    assert free.capped_at is None
    assert texts(free.plot()[1]) == []
    assert ConvergenceDisplay.from_estimator(graph_model, ax=ax).gamma_cap == graph_model.gamma_cap_


def test_a_late_cap_is_labelled_on_its_left():
    early, late = (ConvergenceDisplay(HISTORY, gamma_cap=cap).plot()[1].texts[0] for cap in (50.0, 400.0))
    assert (early.get_ha(), late.get_ha()) == ("left", "right")


def test_tolerance_is_a_line():
    change = ConvergenceDisplay(HISTORY, tol=1e-4).plot()[2]
    assert texts(change) == ["tol = 0.0001"]
    assert change.lines[-1].get_ydata() == pytest.approx([1e-4, 1e-4])


def test_a_run_that_did_not_converge_says_so(iris, ax):
    with pytest.warns(NotConvergedWarning):
        model = PlainAFCM(3, max_iter=2, random_state=0).fit(iris)
    display = ConvergenceDisplay.from_estimator(model, ax=ax)
    assert display.axes_[0].get_title() == "NOT converged after 2 sweeps"


def test_models_without_gamma_have_two_panels(iris, ax):
    display = ConvergenceDisplay.from_estimator(FCM(3, random_state=0).fit(iris), ax=ax)
    assert len(display.axes_) == 2
    assert len(ConvergenceDisplay({"objective": [1.0]}).plot()) == 1


def test_one_axes_is_divided_and_several_are_used_as_they_are(ax):
    from matplotlib.figure import Figure

    display = ConvergenceDisplay(HISTORY)
    display.plot(ax)
    assert display.ax_ is ax
    assert list(display.axes_) == ax.child_axes
    boxes = [axes.get_position().y0 for axes in display.axes_]
    assert boxes == sorted(boxes, reverse=True)
    three = Figure().subplots(3)
    assert list(display.plot(three)) == list(three)
    with pytest.raises(ValueError, match="ax holds 2 axes, but there are 3 panels; give 3, or one"):
        display.plot(Figure().subplots(2))


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="history has nothing to draw"):
        ConvergenceDisplay({"gamma": [np.nan]}).plot()
