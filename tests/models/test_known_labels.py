"""Clusters that follow known labels: what each source says, and which one is asked."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA

from afcm import AFCM
from afcm.models import known_labels
from afcm.models.known_labels import (
    choose_source,
    class_shares,
    pose_known_problem,
    principal_columns,
    split_known,
)


def test_shares_of_a_cluster_are_its_known_nodes_and_its_own_class():
    seen = np.array([[4.0, 1.0], [0.0, 0.0]])
    np.testing.assert_allclose(class_shares(seen), [[7 / 8, 1 / 8], [0, 1]])


def test_every_class_is_spread_over_the_parts_and_single_nodes_are_not_judged():
    part, judged = split_known(np.array([5, 5, 5, 5, 2, 7, 7]))
    assert part.tolist() == [0, 1, 2, 0, 0, 0, 1]
    assert judged.tolist() == [True, True, True, True, False, True, True]


@pytest.mark.parametrize("sparse", [False, True])
def test_many_columns_become_principal_components(sparse, monkeypatch):
    monkeypatch.setattr(known_labels, "MOST_COLUMNS", 3)
    X = np.random.default_rng(0).standard_normal((40, 8)) * np.arange(8, 0, -1)
    found = principal_columns(sp.csr_array(X) if sparse else X)
    right = PCA(3).fit_transform(X)
    np.testing.assert_allclose(found @ found.T, right @ right.T, atol=1e-6)


def test_few_columns_are_taken_about_their_mean():
    X = np.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(principal_columns(X), X - X.mean(axis=0))
    np.testing.assert_allclose(principal_columns(sp.csr_array(X)), X - X.mean(axis=0))


def stripes(seed=0):
    """Classes that are no clusters: the halves of one cloud, cut across its narrowest column."""
    X = np.random.default_rng(seed).normal(size=(400, 6)) * [3, 3, 3, 3, 3, 1]
    return X, (X[:, 5] > 0).astype(int)


def known_of(y, share, seed=0):
    known = np.full(len(y), -1)
    rows = np.random.default_rng(seed).permutation(len(y))[: int(share * len(y))]
    known[rows] = y[rows]
    return known


def choose(X, known):
    model = AFCM(2, random_state=0)
    prepared = model.prepare(X)
    return choose_source(pose_known_problem(prepared, model.fit(prepared).labels_, 2, known), known)


def test_a_discriminant_is_asked_where_classes_are_no_clusters():
    X, y = stripes()
    assert choose(X, known_of(y, 0.2)) != "clusters"


def test_clusters_are_followed_where_they_are_the_classes():
    X, y = make_blobs(200, centers=2, random_state=0)
    assert choose(X, known_of(y, 0.2)) == "clusters"


def test_few_known_labels_follow_the_clusters():
    X, y = stripes()
    assert choose(X, known_of(y, 0.02)) == "clusters"
