"""PlainAFCM as a user meets it."""

from __future__ import annotations

import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import minmax_scale

from afcm import PlainAFCM
from afcm.exceptions import AFCMWarning, HardMembershipsWarning, MergedClustersWarning
from afcm.metrics import adjusted_rand, clustering_accuracy, normalized_mutual_info


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return minmax_scale(X), y


def test_the_known_row_of_iris(iris):
    """Baselines: 88.00 / 72.33 / 70.28 with γ = 41.89."""
    X, y = iris
    model = PlainAFCM(3, random_state=0, tol=1e-9).fit(X)
    row = [
        clustering_accuracy(y, model.labels_),
        normalized_mutual_info(y, model.labels_),
        adjusted_rand(y, model.labels_),
    ]
    assert [round(100 * value, 2) for value in row] == [88.00, 72.33, 70.28]
    assert model.gamma_ == pytest.approx(41.89, abs=0.005)


def test_it_is_a_stationary_point_of_scikit_learns_mixture(iris):
    """One EM step of a spherical GaussianMixture with our parameters leaves means and the pooled variance alone."""
    X, _ = iris
    ours = PlainAFCM(3, random_state=0, tol=1e-12, max_iter=3000).fit(X)
    theirs = GaussianMixture(
        3,
        covariance_type="spherical",
        weights_init=np.full(3, 1 / 3),
        means_init=ours.cluster_centers_,
        precisions_init=np.full(3, 2 * ours.gamma_),
        max_iter=1,
        tol=1e10,
        reg_covar=0.0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs.fit(X)
    np.testing.assert_allclose(theirs.means_, ours.cluster_centers_, atol=1e-6)
    pooled = float(theirs.weights_ @ theirs.covariances_)
    assert 1 / (2 * pooled) == pytest.approx(ours.gamma_, rel=1e-6)


def test_density_criteria_and_samples(iris):
    X, _ = iris
    model = PlainAFCM(3, random_state=0, tol=1e-10).fit(X)
    variance = 1 / (2 * model.gamma_)
    squared = ((X[:, None] - model.cluster_centers_[None]) ** 2).sum(axis=2)
    density = (np.exp(-squared / (2 * variance)) / (2 * math.pi * variance) ** 2).mean(axis=1)
    np.testing.assert_allclose(model.score_samples(X), np.log(density), rtol=1e-9)
    log_likelihood = np.log(density).sum()
    assert model.score(X) == pytest.approx(log_likelihood / 150)
    assert model.bic(X) == pytest.approx(-2 * log_likelihood + 13 * math.log(150))
    assert model.aic(X) == pytest.approx(-2 * log_likelihood + 26)
    constant = 150 * (math.log(3) + 2 * math.log(math.pi))
    assert model.objective_ + constant == pytest.approx(-log_likelihood, rel=1e-9)
    drawn, labels = model.sample(4000, random_state=0)
    assert drawn.shape == (4000, 4)
    for j in range(3):
        np.testing.assert_allclose(drawn[labels == j].mean(axis=0), model.cluster_centers_[j], atol=0.02)
    assert (drawn - model.cluster_centers_[labels]).var() == pytest.approx(variance, rel=0.05)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_blobs_in_many_dimensions_do_not_collapse(init):
    """Where FCM with m = 2 gives 1/c for every membership."""
    X, y = make_blobs(400, 50, centers=8, random_state=0)
    model = PlainAFCM(8, init=init, n_init=20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AFCMWarning)
        model.fit(X)
    assert model.membership_state_ != "merged"
    if init == "k-means++":
        assert adjusted_rand_score(y, model.labels_) == 1.0
        assert 1 / (2 * model.gamma_) == pytest.approx(1.0, rel=0.05)


def test_sample_weights_are_repetitions_and_zero_is_absence(iris):
    X, _ = iris
    weights = np.random.default_rng(0).integers(0, 4, size=150)
    start = X[[0, 60, 120]]
    weighted = PlainAFCM(3, init=start, tol=1e-10).fit(X, sample_weight=weights)
    repeated = PlainAFCM(3, init=start, tol=1e-10).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, atol=1e-9)
    assert weighted.gamma_ == pytest.approx(repeated.gamma_, rel=1e-9)
    seeded = PlainAFCM(3, random_state=0).fit(X, sample_weight=weights)
    again = PlainAFCM(3, random_state=0).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(seeded.cluster_centers_, again.cluster_centers_, atol=1e-9)


def test_an_offset_of_a_hundred_million_changes_nothing(iris):
    X = np.round(iris[0] * 1024) / 1024
    near = PlainAFCM(3, init=X[[0, 60, 120]]).fit(X)
    far = PlainAFCM(3, init=X[[0, 60, 120]] + 2.0**27).fit(X + 2.0**27)
    np.testing.assert_allclose(far.memberships_, near.memberships_, atol=1e-6)
    assert far.gamma_ == pytest.approx(near.gamma_, rel=1e-6)


def test_prediction_is_the_fit_and_distances_are_distances(iris):
    X, _ = iris
    model = PlainAFCM(3, random_state=0).fit(X)
    np.testing.assert_allclose(model.predict_proba(X), model.memberships_, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    direct = np.linalg.norm(X[:, None] - model.cluster_centers_[None], axis=2)
    np.testing.assert_allclose(model.transform(X), direct, atol=1e-7)
    assert list(model.get_feature_names_out()) == ["plainafcm0", "plainafcm1", "plainafcm2"]
    before = pickle.dumps(model)
    model.predict_proba(X[:2])
    assert pickle.dumps(model) == before


def test_data_frames(iris):
    X, _ = iris
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = PlainAFCM(3, random_state=0).set_output(transform="pandas").fit(frame)
    assert list(model.feature_names_in_) == list("abcd")
    assert model.transform(frame).shape == (150, 3)


def test_the_best_of_several_runs_has_the_lowest_objective(iris):
    X, _ = iris
    best = PlainAFCM(6, n_init=10, random_state=0).fit(X).objective_
    assert best <= min(PlainAFCM(6, n_init=1, random_state=seed).fit(X).objective_ for seed in range(3)) + 1e-6


def test_hard_and_merged_memberships_are_reported():
    points = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    with pytest.warns(HardMembershipsWarning):
        model = PlainAFCM(3, random_state=0).fit(points)
    assert model.membership_state_ == "hard"
    with pytest.warns(MergedClustersWarning, match="1/2"):
        merged = PlainAFCM(2, init=np.full((12, 2), 0.5)).fit(points)
    assert merged.membership_state_ == "merged"
