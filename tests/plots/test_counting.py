"""How many clusters: eigenvalues and criteria."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from afcm import AFCM, PlainAFCM, select_n_clusters
from afcm.plots import EigengapDisplay, SelectionDisplay
from afcm.selection.choosing import CRITERIA, Selection, collect_votes


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, centers=12 * np.eye(4), random_state=0)[0]


@pytest.fixture(scope="module")
def selection(blobs):
    return select_n_clusters(blobs, range(1, 7), random_state=0)


def made_up(counts, **columns):
    table = [{"n_clusters": c, **dict.fromkeys(CRITERIA, math.nan)} for c in counts]
    for name, values in columns.items():
        for row, value in zip(table, values, strict=True):
            row[name] = value
    return Selection(3, "because", table, collect_votes(table), None)


def test_eigenvalues_are_those_of_the_graph_and_the_gap_is_the_largest(blobs, ax):
    model = AFCM(4)
    display = EigengapDisplay.from_estimator(model, blobs, ax=ax)
    np.testing.assert_allclose(display.values, model.prepare(blobs).eigenvectors(12).values, atol=1e-6)
    np.testing.assert_allclose(display.gaps, display.values[:-1] - display.values[1:])
    assert display.best == 4
    np.testing.assert_allclose(ax.lines[0].get_xydata(), np.column_stack([np.arange(1, 13), display.values]))
    strip = ax.patches[0].get_extents().transformed(ax.transData.inverted())
    assert (strip.y0, strip.y1) == pytest.approx((display.values[4], display.values[3]))
    assert "after eigenvalue 4" in ax.get_title()


def test_the_number_of_clusters_is_a_line(blobs, ax):
    EigengapDisplay.from_estimator(AFCM(3), blobs, ax=ax)
    assert list(ax.lines[1].get_xdata()) == [3, 3]
    assert ax.get_legend().get_texts()[0].get_text() == "n_clusters = 3"
    auto = EigengapDisplay.from_estimator(AFCM("auto"), blobs, ax=ax)
    assert auto.n_clusters is None


def test_an_estimator_is_left_as_it_was(blobs, ax):
    model = AFCM(4)
    EigengapDisplay.from_estimator(model, blobs, ax=ax)
    assert not hasattr(model, "n_features_in_")


def test_how_many_values(blobs, ax):
    assert len(EigengapDisplay.from_estimator(AFCM(4), blobs, ax=ax, n_values=5).values) == 5
    assert len(EigengapDisplay.from_estimator(AFCM(9), blobs, ax=ax).values) == 18
    assert len(EigengapDisplay.from_estimator(AFCM(2), blobs[:6], ax=ax).values) == 6
    with pytest.raises(ValueError, match="n_values=1 must be at least 2"):
        EigengapDisplay.from_estimator(AFCM(4), blobs, n_values=1)


def test_a_pipeline_prepares_the_samples(blobs, ax):
    pipeline = make_pipeline(StandardScaler(), AFCM(4, random_state=0)).fit(blobs)
    scaled = EigengapDisplay.from_estimator(AFCM(4), StandardScaler().fit_transform(blobs), ax=ax)
    np.testing.assert_allclose(EigengapDisplay.from_estimator(pipeline, blobs, ax=ax).values, scaled.values)


def test_models_without_a_graph_and_calls_without_samples_are_refused(blobs):
    with pytest.raises(ValueError, match="estimator=PlainAFCM has no graph; give an AFCM"):
        EigengapDisplay.from_estimator(PlainAFCM(4), blobs)
    with pytest.raises(ValueError, match="X=None, but the graph is made from the samples"):
        EigengapDisplay.from_estimator(AFCM(4))


def test_eigenvalues_follow_from_the_gaps_of_a_selection(selection, ax):
    display = EigengapDisplay.from_selection(selection, ax=ax)
    assert display.best == selection.votes["eigengap"] == 4
    np.testing.assert_allclose(display.values[:4], 1, atol=1e-6)
    np.testing.assert_allclose(display.values[:-1] - display.values[1:], [row["eigengap"] for row in selection.table])
    assert display.n_clusters == selection.n_clusters


def test_gaps_of_some_numbers_are_bars(ax):
    display = EigengapDisplay.from_selection(made_up([2, 3, 5], eigengap=[0.1, 0.4, 0.2]), ax=ax)
    assert display.values is None
    assert display.best == 3
    bars = ax.containers[0]
    assert [bar.get_height() for bar in bars] == [0.1, 0.4, 0.2]
    assert [bar.get_hatch() for bar in bars] == [None, "//", None]


def test_criteria_run_from_their_worst_to_their_best():
    chosen = made_up([2, 3, 4], stability=[0.5, 1.0, 0.0], plain_bic=[math.nan, 10.0, 30.0], xie_beni=[1.0, 1.0, 1.0])
    display = SelectionDisplay.from_selection(chosen)
    np.testing.assert_allclose(display.curves["stability"], [0.5, 1, 0])
    np.testing.assert_allclose(display.curves["plain_bic"], [np.nan, 1, 0])  # low is good
    assert "xie_beni" not in display.curves  # says nothing
    assert "eigengap" not in display.curves


def test_curves_votes_and_recommendation_are_drawn(selection, ax):
    display = SelectionDisplay.from_selection(selection, ax=ax)
    lines = {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}
    for name, curve in display.curves.items():
        np.testing.assert_array_equal(lines[f"{name} → {selection.votes[name]}"].get_ydata(), curve)
    assert list(lines["recommended: 4"].get_xdata()) == [4, 4]
    marks = [tuple(np.ravel(line.get_xydata())) for line in ax.lines if line.get_linestyle() == "None"]
    assert [x for x, _ in marks] == [selection.votes[name] for name in display.curves]
    assert len(set(marks)) == len(marks)  # none covers another
    assert all(y > 1 for _, y in marks)


def test_a_selection_plots_itself(selection, ax):
    assert selection.plot(ax) is ax
    assert len(ax.lines) > 5
