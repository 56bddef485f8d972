"""Outlier scores as bars and in the plane."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from afcm import AFCM, plots
from afcm.plots import OutliersDisplay
from tests.plots.artists import drawn, sorted_rows


@pytest.fixture(scope="module")
def stray():
    """Two blobs of 150 samples and 40 that are spread over all."""
    random = np.random.default_rng(0)
    blobs = random.normal(scale=0.4, size=(300, 2)) + np.repeat([[0.0, 0.0], [6.0, 0.0]], 150, axis=0)
    return np.vstack([blobs, random.uniform([-3, -5], [9, 5], size=(40, 2))])


@pytest.fixture(scope="module")
def model(stray):
    return AFCM(2, random_state=0).fit(stray)


def heights(axes):
    return np.array([bar.get_height() for bar in axes.patches])


def test_bars_count_the_scores_and_the_title_tells_the_share(model, ax):
    display = OutliersDisplay.from_estimator(model, ax=ax)
    np.testing.assert_array_equal(display.scores, model.outlier_scores_)
    np.testing.assert_array_equal(heights(ax), np.histogram(model.outlier_scores_, 20, (0, 1))[0])
    count = int((model.outlier_scores_ >= 0.5).sum())
    share = f"{100 * model.noise_share_:.0f} %"
    assert ax.get_title() == f"{count} of 340 samples outliers (from 0.5 on)\nabout {share} background"
    assert display.axes_.tolist() == [ax]


def test_hatching_begins_at_the_threshold(ax):
    OutliersDisplay(np.linspace(0, 1, 200)).plot(ax)
    hatched = [bar.get_hatch() is not None for bar in ax.patches]
    assert hatched == [False] * 10 + [True] * 10
    assert ax.get_yscale() == "linear"
    assert "background" not in ax.get_title()


def test_few_outliers_are_seen_beside_many_others(ax):
    OutliersDisplay(np.repeat([0.0, 0.9], [1000, 2])).plot(ax)
    assert ax.get_yscale() == "log"
    assert ax.get_ylim()[0] < 1


def test_samples_of_two_columns_are_shown_in_the_plane(model, stray):
    left, right = Figure().subplots(1, 2)
    display = OutliersDisplay.from_estimator(model, stray, ax=[left, right])
    np.testing.assert_allclose(drawn(right)[:, :2], sorted_rows(stray))
    inside, outside = right.collections
    np.testing.assert_array_equal(inside.get_offsets(), stray[~display.outliers])
    np.testing.assert_array_equal(outside.get_array(), display.scores[display.outliers])
    assert len(inside.get_paths()[0].vertices) != len(outside.get_paths()[0].vertices)  # not by color alone
    assert (inside.norm.vmin, outside.norm.vmax) == (0, 1)
    assert "outlier score" in display.colorbar_.ax.get_ylabel()


def test_a_pipeline_is_drawn_in_the_units_of_its_table(stray):
    frame = pd.DataFrame(stray, columns=["length", "width"])
    pipeline = make_pipeline(MinMaxScaler(), AFCM(2, random_state=0)).fit(frame)
    display = OutliersDisplay.from_estimator(pipeline, frame)
    np.testing.assert_array_equal(display.positions, stray)
    np.testing.assert_allclose(display.scores, pipeline[-1].outlier_scores_, atol=1e-9)
    assert (display.axes_[1].get_xlabel(), display.axes_[1].get_ylabel()) == ("length", "width")
    assert display.figure_ is display.axes_[0].figure


def test_other_samples_have_bars_alone(graph_model, iris, ax):
    display = OutliersDisplay.from_estimator(graph_model, iris[:20], ax=ax)
    assert display.positions is None
    assert heights(ax).sum() == 20


def test_one_given_axes_are_divided(model, stray, ax):
    display = OutliersDisplay.from_estimator(model, stray, ax=ax)
    assert display.ax_ is ax
    assert len(display.axes_) == len(ax.child_axes) == 2
    with pytest.raises(ValueError, match="3 axes, but there are 2 pictures; give 2, or one"):
        display.plot(Figure().subplots(1, 3))


def test_no_background_is_said(ax):
    OutliersDisplay(np.zeros(5), share=0.0).plot(ax)
    assert ax.get_title() == "0 of 5 samples outliers (from 0.5 on)\nno background found"


def test_a_model_without_scores_is_refused(plain_model, stray):
    for fitted in (plain_model, AFCM(2, noise=None, random_state=0).fit(stray)):
        with pytest.raises(ValueError, match=r"has no outlier_scores_; give an AFCM that was fitted with noise='auto'"):
            plots.OutliersDisplay.from_estimator(fitted)
