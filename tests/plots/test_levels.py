"""The dendrogram: lines where the table says, in an order in which none cross."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from afcm import AFCM
from afcm.plots import LevelsDisplay
from tests.plots.artists import texts

X = make_blobs(300, centers=[[0, 0], [4, 0], [2, 4], [20, 0], [24, 0]], random_state=0)[0]


@pytest.fixture(scope="module")
def model():
    return AFCM(5, random_state=0).fit(X)


def test_every_join_is_a_bracket_between_its_groups(model, ax):
    display = LevelsDisplay.from_estimator(model, ax=ax)
    assert sorted(display.order) == list(range(5))
    brackets = [line.get_xydata() for line in ax.lines if len(line.get_xdata()) == 4]
    assert len(brackets) == len(model.levels_) == 4
    for level, points in zip(model.levels_, brackets, strict=True):
        assert points[1, 0] == points[2, 0] == level.n_clusters
        for group, (row, start) in zip(
            level.joined, ((points[0, 1], points[0, 0]), (points[3, 1], points[3, 0])), strict=True
        ):
            rows = [display.order.index(number) for number in group]
            assert max(rows) - min(rows) == len(group) - 1  # neighbors, so that no lines cross
            assert min(rows) <= row <= max(rows)
            made = [
                before.n_clusters for before in model.levels_ if set(before.joined[0] + before.joined[1]) == set(group)
            ]
            assert start == (made[0] if made else 5)
    assert texts(ax) == [f"{level.cut:.2g}" for level in model.levels_]


def test_clusters_are_named_with_their_sizes(model, ax):
    display = LevelsDisplay.from_estimator(model, ax=ax)
    sizes = np.bincount(model.labels_)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [f"{number}  ({sizes[number]} samples)" for number in display.order]


def test_a_level_is_marked(model, ax):
    LevelsDisplay.from_estimator(make_pipeline(StandardScaler(), AFCM(5, random_state=0)).fit(X), n_clusters=2, ax=ax)
    assert [1.5, 1.5] in [list(line.get_xdata()) for line in ax.lines]
    assert "dotted line: at(2)" in ax.get_title()
    with pytest.raises(ValueError, match="n_clusters=6 is not a level; use a number from 1 to 5"):
        LevelsDisplay.from_estimator(model, n_clusters=6, ax=ax)


def test_many_clusters_have_no_numbers_and_one_has_no_tree(ax):
    many = AFCM(32, random_state=0).fit(X)
    LevelsDisplay.from_estimator(many, ax=ax)
    assert texts(ax) == []
    ax.clear()
    assert LevelsDisplay.from_estimator(many.at(1), ax=ax).order == [0]


def test_models_without_a_tree_are_refused(plain_model, ax):
    with pytest.raises(ValueError, match="estimator=PlainAFCM has no levels_; give a fitted AFCM"):
        LevelsDisplay.from_estimator(plain_model, ax=ax)
    with pytest.raises(NotFittedError, match="not fitted"):
        LevelsDisplay.from_estimator(AFCM(3), ax=ax)
