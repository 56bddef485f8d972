"""The graph of many samples is built on them in another order; a fit gives its results in the order of the samples."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from afcm import AFCM
from afcm.graph.duplicates import merge_duplicates
from afcm.metrics import adjusted_rand
from afcm.neighbors import order_nearby, search

X, Y = make_blobs(1500, 8, centers=5, cluster_std=3.0, random_state=0)


def test_the_order_brings_near_samples_together(monkeypatch):
    assert order_nearby(X) is None  # few
    monkeypatch.setattr(search, "WORTH_ORDERING", 1000)
    order = order_nearby(X)
    np.testing.assert_array_equal(np.sort(order), np.arange(1500))
    same_cluster = (Y[order][1:] == Y[order][:-1]).mean()
    assert same_cluster > 0.8 > (Y[1:] == Y[:-1]).mean() + 0.4
    np.testing.assert_array_equal(order_nearby(X), order)


@pytest.mark.parametrize("weights", [None, np.r_[np.zeros(10), np.full(50, 2.0), np.ones(40)]])
def test_rows_in_another_order_are_the_same_table(weights):
    table = np.random.default_rng(0).integers(3, size=(100, 3)).astype(float)
    nodes = merge_duplicates(table, weights)
    order = np.random.default_rng(1).permutation(nodes.rows.size)
    arranged = nodes.arrange(order)
    np.testing.assert_array_equal(arranged.take(table), nodes.take(table)[order])
    np.testing.assert_array_equal(arranged.masses, nodes.masses[order])
    kept = nodes.inverse >= 0
    np.testing.assert_array_equal(arranged.inverse >= 0, kept)
    np.testing.assert_array_equal(arranged.take(table)[arranged.inverse[kept]], table[kept])


def test_rows_of_a_table_without_duplicates_can_be_arranged():
    nodes = merge_duplicates(X)
    assert nodes.take(X) is X
    order = np.random.default_rng(0).permutation(len(X))
    arranged = nodes.arrange(order)
    np.testing.assert_array_equal(arranged.take(X), X[order])
    np.testing.assert_array_equal(arranged.take(X)[arranged.inverse], X)


@pytest.mark.parametrize("repeated", [0, 200])
@pytest.mark.parametrize("known", [False, True])
def test_a_fit_does_not_show_the_order(monkeypatch, repeated, known):
    samples = np.concatenate([X, X[:repeated]])
    weights = np.where(np.arange(len(samples)) % 7 == 3, 0.0, 1.0) if repeated else None
    y = np.where(np.arange(len(samples)) % 20 == 0, np.r_[Y, Y[:repeated]], -1) if known else None
    plain = AFCM(5, random_state=0).fit(samples, y, sample_weight=weights)
    monkeypatch.setattr(search, "WORTH_ORDERING", 1000)
    ordered = AFCM(5, random_state=0).fit(samples, y, sample_weight=weights)
    assert not np.array_equal(ordered._fitted.similarity.points[:100], plain._fitted.similarity.points[:100])
    assert adjusted_rand(ordered.labels_, plain.labels_) > 0.99
    order = [ordered.labels_[plain.labels_ == label][0] for label in range(5)]  # sizes that tie may be numbered anew
    differences = np.abs(ordered.memberships_[:, order] - plain.memberships_).max(axis=1)
    assert np.quantile(differences, 0.95) < 0.05
    np.testing.assert_allclose(ordered.predict_proba(samples), ordered.memberships_, atol=1e-6)
    np.testing.assert_allclose(ordered.objective_, plain.objective_, rtol=1e-2)  # other nodes are drawn for densities
    assert ordered.labels_.shape == ordered.outlier_scores_.shape == (len(samples),)
    assert np.median(np.abs(ordered.outlier_scores_ - plain.outlier_scores_)) < 1e-3


@pytest.mark.filterwarnings("ignore::afcm.exceptions.HardMembershipsWarning")
def test_paper_mode_keeps_the_order(monkeypatch):
    monkeypatch.setattr(search, "WORTH_ORDERING", 1000)
    model = AFCM.paper(5, random_state=0).fit(X)
    np.testing.assert_array_equal(model._fitted.similarity.points, X)
