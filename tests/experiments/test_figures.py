"""The figures show what the rows say, and say what they need."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from afcm.experiments import figures
from afcm.experiments.printed import printed_score
from tests.experiments.synthetic import as_printed, row, trace, whole_run


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_convergence_has_a_panel_per_data_set_with_its_grid_point():
    names = ["iris", "vehicle", "usps", "warppie10p", "olivetti"]
    figure = figures.draw_convergence([trace(name) for name in names[::-1]])
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == [f"{name} (k=3, λ=1e3)" for name in names]
    assert sum(not axes.axison for axes in figure.axes) == 3  # of two lines of four


def test_convergence_shows_the_objective_and_the_accuracy():
    row = trace()
    left, right = figures.draw_convergence([row]).axes
    np.testing.assert_array_equal(left.lines[0].get_xydata(), list(enumerate([5.0, 3.0, 2.0, 2.0], start=1)))
    np.testing.assert_array_equal(right.lines[0].get_ydata(), row.details["acc"])


@pytest.mark.parametrize(
    ("objective", "labels"),
    [
        ((3e5, 1e5, 1e5), {"100 k", "200 k", "300 k"}),
        ((-1e6, -3e6), {"−1,000 k", "−3,000 k"}),
        ((3.0, 1.0), {"1", "3"}),
    ],
)
def test_a_large_objective_is_labelled_in_thousands(objective, labels):
    figure = figures.draw_convergence([trace(objective=objective, capped_at=None)])
    figure.draw_without_rendering()
    assert labels <= {label.get_text() for label in figure.axes[0].get_yticklabels()}


def test_convergence_says_where_gamma_meets_its_cap_and_only_there():
    capped, free = figures.draw_convergence([trace("iris", capped_at=3), trace("usps", capped_at=None)]).axes[:2]
    assert texts(capped) == ["γ capped (sweep 3)"]
    assert list(capped.lines[1].get_xdata()) == [3, 3]
    assert texts(free) == []
    assert len(free.lines) == 1


def test_convergence_without_accuracy_has_one_axis_a_panel():
    details = {"objective": [2.0, 1.0], "capped_at": 2}
    assert len(figures.draw_convergence([trace(details=details)]).axes) == 1


@pytest.mark.parametrize("draw", [figures.draw_convergence, figures.draw_accuracies])
def test_nothing_to_draw_is_an_error_that_says_what_to_run(draw):
    with pytest.raises(figures.NothingToDraw, match=r"convergence|table1"):
        draw([row(experiment="toys")])


def test_the_dot_plot_shows_the_printed_and_our_means():
    rows = whole_run(("iris", "usps"))
    axes = figures.draw_accuracies(rows).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["iris", "usps"]
    for dots, lift in zip(axes.containers[1:], (0.0, 2.0, -2.0), strict=True):
        means = [printed_score("results", name, "AFCM", "ACC").mean + lift for name in ("iris", "usps")]
        np.testing.assert_allclose(dots.lines[0].get_xdata().astype(float), means)


def test_the_dot_plot_of_a_partial_run_leaves_out_what_is_missing():
    rows = as_printed("results", "iris", "AFCM", experiment="ours", under="AFCM-default")
    labels = figures.draw_accuracies(rows).axes[0].get_legend_handles_labels()[1]
    assert labels == ["AFCM, printed ± spread", "AFCM, defaults (label-free)"]


def test_a_data_set_without_printed_numbers_has_dots_only():
    axes = figures.draw_accuracies([row("mine")]).axes[0]
    assert len(axes.containers[0]) == 0
    assert len(axes.containers) == 2


def test_memberships_mix_the_colours_of_their_clusters():
    sure = figures.blend_colors(np.eye(3))
    assert len({tuple(color) for color in sure}) == 3
    np.testing.assert_allclose(figures.blend_colors([[0.5, 0.5, 0.0]])[0], (sure[0] + sure[1]) / 2)
    assert figures.blend_colors(np.eye(9)).shape == (9, 3)  # more clusters than colours


def test_the_toy_figure_shows_where_centres_fail_and_the_graph_does_not():
    panels = figures.draw_toys().axes
    assert [panel.get_title() for panel in panels[:4]] == [
        "spirals: FCM",
        "spirals: PlainAFCM",
        "spirals: AFCM",
        "spirals: AFCM, learned space (jittered)",
    ]
    fcm, _, afcm, learned = (panel.collections[0] for panel in panels[:4])
    halves = [{tuple(color) for color in part} for part in np.split(afcm.get_facecolors().round(6), 2)]
    assert [len(half) for half in halves] == [1, 1]  # each arm has one colour
    assert halves[0] != halves[1]
    assert len(np.unique(fcm.get_facecolors().round(6), axis=0)) > 500  # soft memberships, mixed colours
    assert learned.get_offsets().shape == (1000, 2)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(figures.MissingMatplotlib, match=r"pip install 'afcm\[plot\]'"):
        figures.draw_convergence([trace()])


def test_figures_leave_pyplot_alone():
    figures.draw_convergence([trace()])
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()
