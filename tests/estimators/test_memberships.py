"""Memberships of AFCM: one meaning everywhere, and probabilities that are right where they can be checked."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris, load_wine, make_blobs, make_moons
from sklearn.mixture import GaussianMixture

from afcm import AFCM, align, load_model, save_model
from afcm.datasets import make_rings, make_spirals
from afcm.metrics import adjusted_rand, clustering_accuracy
from afcm.models import graph_problem


def scaled(X):
    return (X - X.min(axis=0)) / np.ptp(X, axis=0)


DATA = {
    "moons": (make_moons(400, noise=0.15, random_state=0)[0], 2, "mixture"),
    "rings": (make_rings(random_state=0)[0], 3, "mixture"),
    "blobs": (make_blobs(500, 3, centers=4, cluster_std=1.5, random_state=1)[0], 4, "mixture"),
    "iris": (load_iris().data, 3, "mixture"),
    "flat": (
        np.random.default_rng(0).standard_normal((1000, 2)) * [8, 0.9] + np.repeat([[0, 0], [0, 3]], 500, 0),
        2,
        "mixture",
    ),
    "wide moons": (make_moons(1500, noise=0.25, random_state=8)[0], 2, "overlap"),
    "wine": (scaled(load_wine().data), 3, "views"),  # 178 samples are too few for Gaussians in 13 columns
}


@pytest.mark.parametrize("name", ["moons", "wide moons", "wine"])
def test_a_walk_beside_the_densities_changes_no_bit(name, monkeypatch):
    X, c, _ = DATA[name]
    beside = AFCM(c, random_state=0).fit(X)
    monkeypatch.setattr(graph_problem, "FEW_NODES", 0)
    in_turn = AFCM(c, random_state=0).fit(X)
    np.testing.assert_array_equal(beside.memberships_, in_turn.memberships_)
    np.testing.assert_array_equal(beside.outlier_scores_, in_turn.outlier_scores_)


@pytest.mark.parametrize("name", DATA)
def test_one_meaning(name, tmp_path):
    X, c, method = DATA[name]
    model = AFCM(c, random_state=0).fit(X)
    assert model.membership_method_ == method
    assert model.memberships_.shape == (len(X), c)
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_array_equal(model.labels_, model.memberships_.argmax(axis=1))
    np.testing.assert_allclose(model.predict_proba(X), model.memberships_, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.calibrated_memberships(), model.memberships_)
    again = load_model(save_model(model, tmp_path / "model.afcm"))
    np.testing.assert_array_equal(again.memberships_, model.memberships_)
    np.testing.assert_allclose(again.predict_proba(X + 1e-4), model.predict_proba(X + 1e-4), atol=1e-12)
    assert again.membership_method_ == method


def test_the_papers_memberships_have_a_name_of_their_own():
    X = load_iris().data
    soft = AFCM(3, random_state=0).fit(X)
    hard = AFCM(3, memberships="paper", random_state=0).fit(X)
    np.testing.assert_array_equal(hard.memberships_, hard.paper_memberships_)
    np.testing.assert_array_equal(soft.paper_memberships_, align(hard, soft).model.memberships_)
    assert hard.membership_method_ == "paper"
    assert AFCM.paper(3).memberships == "paper"


def test_bad_values_are_refused():
    with pytest.raises(ValueError, match="memberships='soft'"):
        AFCM(2, memberships="soft").fit(np.eye(5))


def two_gaussians(distance, seed, n=1500):
    rng = np.random.default_rng(seed)
    kind = rng.integers(2, size=n)
    X = rng.standard_normal((n, 2)) + np.c_[distance * kind, np.zeros(n)]
    densities = [multivariate_normal([shift, 0]).pdf(X) for shift in (0, distance)]
    return X, densities[1] / sum(densities)


def brier(memberships, truth):
    return min(np.mean(2 * (memberships[:, j] - truth) ** 2) for j in (0, 1))


@pytest.mark.parametrize("distance", [2, 3, 4])
def test_two_gaussians_have_their_posterior(distance):
    found, hard = [], []
    for seed in range(3):
        X, truth = two_gaussians(distance, seed)
        model = AFCM(2, random_state=0).fit(X)
        found.append(brier(model.memberships_, truth))
        hard.append(brier(model.paper_memberships_, truth))
    assert np.mean(found) < 0.015
    assert np.mean(found) < 0.3 * np.mean(hard)


def test_moons_that_touch_have_a_posterior_that_a_mixture_misses():
    rng, t = np.random.default_rng(1), np.linspace(0, np.pi, 400)
    curves = [np.c_[np.cos(t), np.sin(t)], np.c_[1 - np.cos(t), 0.5 - np.sin(t)]]
    kind = rng.integers(2, size=1500)
    X = np.stack([curves[k][rng.integers(400)] for k in kind]) + 0.12 * rng.standard_normal((1500, 2))
    squared = [((X[:, None] - curve) ** 2).sum(axis=2) for curve in curves]
    near = [np.exp(-part / (2 * 0.12**2)).mean(axis=1) for part in squared]
    truth = near[1] / (near[0] + near[1])
    model = AFCM(2, random_state=0).fit(X)
    assert brier(model.memberships_, truth) < 0.006
    assert brier(GaussianMixture(2, random_state=0).fit(X).predict_proba(X), truth) > 0.2


def test_the_mixture_mends_labels_of_touching_clusters():
    rng = np.random.default_rng(2)
    y = rng.random(1500) < 0.25
    X = np.where(y[:, None], [3.0, 0.0], 0.0) + rng.standard_normal((1500, 2)) * np.sqrt(np.where(y, 0.3, 1.5))[:, None]
    model = AFCM(2, random_state=0).fit(X)
    own = model.paper_memberships_.argmax(axis=1)
    assert adjusted_rand(y, model.labels_) > adjusted_rand(y, own) + 0.02


def test_flat_clusters_one_above_the_other_are_not_cut_across():
    X, c, _ = DATA["flat"]
    above = X[:, 1] > 1.5
    model = AFCM(c, random_state=0).fit(X)
    assert adjusted_rand(above, model.labels_) > 0.95
    assert adjusted_rand(above, model.paper_memberships_.argmax(axis=1)) < 0.5  # the first opinion, kept by its name
    half = AFCM(c, random_state=0).fit(X[::2])
    assert adjusted_rand(above[1::2], half.predict(X[1::2])) > 0.95


def test_moons_that_overlap_are_not_cut_across():
    X, y = make_moons(1500, noise=0.25, random_state=8)
    model = AFCM(2, random_state=0).fit(X)
    assert model.membership_method_ == "overlap"
    assert clustering_accuracy(y, model.labels_) > 0.92
    assert clustering_accuracy(y, model.paper_memberships_.argmax(axis=1)) < 0.9  # the first opinion
    assert clustering_accuracy(y, AFCM(2, density_strength=0, random_state=0).fit(X).labels_) < 0.85  # nobody asks


def test_a_cluster_that_a_walk_never_reaches_is_ruled_out():
    X, y = make_spirals(random_state=3)
    assert clustering_accuracy(y, AFCM(2, random_state=0).fit(X).labels_) == 1


def test_doubt_is_where_labels_are_wrong():
    X, y = make_blobs(400, centers=[[0, 0], [5, 0]], cluster_std=1.4, random_state=0)
    for extra in (X, np.c_[X, np.random.default_rng(0).integers(2, size=400) * 1e-3]):  # a yes/no column: no mixture
        model = AFCM(2, random_state=0).fit(extra)
        wrong = model.labels_ != y
        wrong = ~wrong if wrong.mean() > 0.5 else wrong
        confidence = model.memberships_.max(axis=1)
        assert 0 < wrong.sum() < 40
        assert confidence[wrong].mean() < confidence[~wrong].mean() - 0.05
    assert model.membership_method_ == "views"


@pytest.mark.parametrize(("n_views", "method"), [(0, "walk"), ("auto", "views")])
def test_walk_and_views_keep_the_labels(n_views, method):
    X = np.random.default_rng(0).standard_normal((60, 30))
    model = AFCM(12, n_views=n_views, random_state=0).fit(X)
    assert model.membership_method_ == method
    np.testing.assert_array_equal(model.labels_, model.paper_memberships_.argmax(axis=1))


def test_samples_of_weight_zero_have_memberships_of_new_ones():
    X, _ = make_moons(400, noise=0.15, random_state=0)
    model = AFCM(2, random_state=0).fit(X, sample_weight=np.r_[np.zeros(5), np.ones(395)])
    np.testing.assert_allclose(model.memberships_[:5], model.predict_proba(X[:5]), atol=1e-12)


def test_negative_similarities_are_refused():
    model = AFCM(2, affinity="precomputed", random_state=0).fit(np.kron(np.eye(2), np.ones((8, 8))))
    assert model.membership_method_ == "walk"
    for method in (model.predict_proba, model.transform, model.calibrated_memberships):
        with pytest.raises(ValueError, match="negative similarity"):
            method(-np.ones((1, 16)))
