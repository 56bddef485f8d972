"""Cluster profiles on the features."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from afcm import PlainAFCM
from afcm.plots import ProfilesDisplay
from afcm.plots.profiles import MOST_NUMBERS, deviations, rank_features
from tests.plots.artists import texts


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(loc=[0, 50, -3], scale=[1, 9, 0.1], size=(40, 3))


@pytest.fixture
def memberships():
    return np.random.default_rng(1).dirichlet([0.5] * 2, 40)


def test_hard_memberships_give_the_plain_means(table):
    labels = np.arange(40) % 2
    found = deviations(table, np.eye(2)[labels])
    wanted = [(table[labels == j].mean(axis=0) - table.mean(axis=0)) / table.std(axis=0) for j in (0, 1)]
    np.testing.assert_allclose(found, wanted)


def test_soft_memberships_weigh_the_samples(table, memberships):
    found = deviations(table, memberships)
    means = np.array([np.average(table, axis=0, weights=column) for column in memberships.T])
    np.testing.assert_allclose(found, (means - table.mean(axis=0)) / table.std(axis=0))


def test_units_do_not_matter(table, memberships):
    np.testing.assert_allclose(deviations(1e3 * table - 7e6, memberships), deviations(table, memberships), rtol=1e-6)


def test_sparse_features_and_many_blocks(memberships):
    wide = sp.random_array((40, 150), density=0.2, random_state=0, format="csr")
    np.testing.assert_allclose(deviations(sp.csc_array(wide), memberships), deviations(wide.toarray(), memberships))


def test_missing_values_are_passed_over(table, memberships):
    holes = table.copy()
    holes[5, 1] = np.nan
    kept = np.arange(40) != 5
    np.testing.assert_allclose(
        deviations(holes, memberships)[:, 1], deviations(table[kept], memberships[kept])[:, 1], rtol=1e-12
    )
    np.testing.assert_array_equal(deviations(np.full((40, 1), np.nan), memberships), 0)


def test_a_constant_feature_and_an_empty_cluster_are_zero(table):
    table[:, 2] = 4.0
    found = deviations(table, np.eye(3)[np.arange(40) % 2])
    np.testing.assert_array_equal(found[:, 2], 0)
    np.testing.assert_array_equal(found[2], 0)


def test_the_heat_map_holds_the_deviations_under_their_names(table, memberships, ax):
    display = ProfilesDisplay.from_memberships(memberships, table, feature_names=["a", "b", "c"], ax=ax)
    shown = ["abc".index(name) for name in display.feature_names]
    found = deviations(table, memberships)
    np.testing.assert_array_equal(ax.images[0].get_array(), found[:, shown].T)
    explained = memberships.sum(axis=0) @ found**2
    assert (np.diff(explained[shown]) <= 0).all()
    assert [label.get_text() for label in ax.get_yticklabels()] == list(display.feature_names)
    assert texts(ax)[0].replace("−", "-").replace("+", "") == f"{found[0, shown[0]]:.1f}"
    assert "standard deviations" in display.colorbar_.ax.get_ylabel()


def test_small_numbers_have_no_sign(ax):
    ProfilesDisplay(np.array([[0.04, -0.04, 1.24, -1.36]]), list("abcd"), 4).plot(ax)
    assert texts(ax) == ["0.0", "0.0", "+1.2", "−1.4"]


def test_large_tables_have_signs_of_the_notable(ax):
    table = np.zeros((20, 20))
    table[0, :3] = 1, -1, 0.1
    assert table.size > MOST_NUMBERS
    ProfilesDisplay(table, [str(i) for i in range(20)], 20).plot(ax)
    assert [text for text in texts(ax) if text] == ["+", "−"]


def test_only_the_most_telling_features_are_shown_and_it_is_said(ax):
    X = np.random.default_rng(0).normal(size=(60, 30))
    labels = np.arange(60) % 2
    X[:, 17] += 9 * labels
    display = ProfilesDisplay.from_memberships(np.eye(2)[labels], X, ax=ax, max_features=5)
    assert display.feature_names[0] == "feature 17"
    assert display.deviations.shape == (2, 5)
    assert "the 5 most telling of 30 features" in ax.get_title()


def test_a_feature_tells_more_if_it_tells_large_clusters_apart():
    found = np.array([[0.1, 1.0, 0.0], [3.0, -1.0, 0.0], [0.0, 0.0, 0.1]])
    assert rank_features(found, np.array([50.0, 2.0, 8.0])).tolist() == [1, 0, 2]


@pytest.mark.parametrize("frames", [pd.DataFrame, pl.DataFrame])
def test_columns_without_numbers_are_left_out_and_it_is_said(frames, table, memberships, ax):
    frame = frames({"a": table[:, 0], "word": ["x"] * 40, "b": table[:, 1]})
    display = ProfilesDisplay.from_memberships(memberships, frame, ax=ax)
    assert sorted(display.feature_names) == ["a", "b"]
    assert display.left_out == ["word"]
    assert "1 without numbers left out" in ax.get_title()
    with pytest.raises(ValueError, match=r"no column of numbers among \['word'\]"):
        ProfilesDisplay.from_memberships(memberships, frame[["word"]])


def test_names_come_from_the_argument_the_frame_or_the_model(iris, ax):
    frame = pd.DataFrame(iris, columns=list("abcd"))
    model = PlainAFCM(3, random_state=0).fit(frame)
    for X, given, wanted in ((frame, None, "abcd"), (iris, None, "abcd"), (frame, "wxyz", "wxyz")):
        display = ProfilesDisplay.from_estimator(model, X, ax=ax, feature_names=given)
        assert sorted(display.feature_names) == list(wanted)
    other = ProfilesDisplay.from_estimator(model, iris[:, :2], ax=ax)  # other features of the same samples
    assert sorted(other.feature_names) == ["feature 0", "feature 1"]


def test_a_pipeline_is_shown_in_original_units(iris, ax):
    pipeline = make_pipeline(MinMaxScaler(), PlainAFCM(3, random_state=0)).fit(iris)
    display = ProfilesDisplay.from_estimator(pipeline, iris, ax=ax)
    found = deviations(iris, pipeline[-1].memberships_)
    order = [int(name.split()[1]) for name in display.feature_names]
    np.testing.assert_array_equal(display.deviations, found[:, order])


def test_what_does_not_fit_is_refused(plain_model, iris):
    with pytest.raises(ValueError, match="X=None, but profiles are means of features"):
        ProfilesDisplay.from_estimator(plain_model)
    with pytest.raises(ValueError, match="X has 9 rows, but there are memberships of 150 samples"):
        ProfilesDisplay.from_estimator(plain_model, iris[:9])
    with pytest.raises(ValueError, match="feature_names has 2 names for 4 columns"):
        ProfilesDisplay.from_estimator(plain_model, iris, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="max_features=0 must be at least 1"):
        ProfilesDisplay.from_estimator(plain_model, iris, max_features=0)
