"""Outlier scores of AFCM and its count of clusters when there is background."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import roc_auc_score

from afcm import AFCM, load_model, save_model, select_n_clusters
from afcm.exceptions import HardMembershipsWarning
from afcm.metrics import adjusted_rand
from afcm.models.distance_background import DistanceBackground
from afcm.models.local_mixture import LocalMixture


def with_background(X, share, seed=0):
    """X and after it samples drawn from its box, 15 % wider on each side."""
    low, high = X.min(axis=0), X.max(axis=0)
    margin, size = 0.15 * (high - low), int(share * X.shape[0])
    noise = np.random.default_rng(seed).uniform(low - margin, high + margin, (size, X.shape[1]))
    return np.concatenate([X, noise])


@pytest.fixture(scope="module")
def noisy():
    X, y = make_moons(600, noise=0.05, random_state=0)
    return with_background(X, 0.25), y


@pytest.fixture(scope="module")
def fitted(noisy):
    return AFCM(2, random_state=0).fit(noisy[0])


def test_scores_tell_background(noisy, fitted):
    is_noise = np.arange(750) >= 600
    assert fitted.outlier_scores_.shape == (750,)
    assert 0 <= fitted.outlier_scores_.min() <= fitted.outlier_scores_.max() <= 1
    assert roc_auc_score(is_noise, fitted.outlier_scores_) > 0.9
    assert fitted.noise_share_ == pytest.approx(0.2, abs=0.04)
    assert fitted.outlier_scores_.mean() == pytest.approx(fitted.noise_share_, abs=0.01)
    assert set(fitted.labels_) == {0, 1}
    assert adjusted_rand(noisy[1], fitted.labels_[:600]) > 0.98


def test_scores_are_the_true_density_ratio_where_it_is_known():
    rng = np.random.default_rng(1)
    X, _ = make_blobs([800, 400], 2, centers=[[0, 0], [12, 0]], cluster_std=[1.0, 2.0], random_state=0)
    box = np.array([-10.0, -15.0]), np.array([25.0, 15.0])
    X = np.concatenate([X, rng.uniform(*box, (300, 2))])
    clusters = sum(
        n * np.exp(-((X - center) ** 2).sum(axis=1) / (2 * sd**2)) / (2 * np.pi * sd**2)
        for n, center, sd in ((800, [0, 0], 1.0), (400, [12, 0], 2.0))
    )
    truth = (300 / np.prod(box[1] - box[0])) / (300 / np.prod(box[1] - box[0]) + clusters)
    found = AFCM(2, random_state=0).fit(X).outlier_scores_
    assert np.abs(found - truth).mean() < 0.03


def test_new_samples(noisy, fitted):
    X, _ = noisy
    np.testing.assert_allclose(fitted.outlier_scores(X), fitted.outlier_scores_, atol=1e-12)
    low, high = fitted.outlier_scores([X[0], [30.0, -30.0]])
    assert low < 0.5
    assert high > 0.99


def test_without_background_scores_are_zero():
    X, _ = make_moons(600, noise=0.05, random_state=1)
    model = AFCM(2, random_state=0).fit(X)
    assert model.noise_share_ == 0
    np.testing.assert_array_equal(model.outlier_scores_, np.zeros(600))
    without = AFCM(2, noise=None, random_state=0).fit(X)
    np.testing.assert_array_equal(model.memberships_, without.memberships_)
    assert not hasattr(without, "outlier_scores_")
    with pytest.raises(ValueError, match="noise=None"):
        without.outlier_scores(X)


def test_a_second_fit_without_noise_forgets_the_scores(noisy):
    X, _ = noisy
    model = AFCM(2, random_state=0).fit(X).set_params(noise=None).fit(X)
    assert not hasattr(model, "outlier_scores_")
    assert not hasattr(model, "noise_share_")


@pytest.mark.parametrize("noise", ["no", 0.0, 1.0, -0.1, True, np.nan])
def test_bad_values_are_refused(noise):
    with pytest.raises(ValueError, match=r"noise="):
        AFCM(2, noise=noise).fit(np.eye(5))


def test_a_given_share_is_kept(noisy):
    X, _ = noisy
    assert AFCM(2, noise=0.1, random_state=0).fit(X).noise_share_ == pytest.approx(0.1)


def test_units_order_and_weights(noisy, fitted):
    X, _ = noisy
    scaled = AFCM(2, random_state=0).fit(X * 1e5 - 3e6)
    np.testing.assert_allclose(scaled.outlier_scores_, fitted.outlier_scores_, atol=1e-4)
    order = np.random.default_rng(0).permutation(750)
    turned = AFCM(2, random_state=0).fit(X[order])
    np.testing.assert_allclose(turned.outlier_scores_, fitted.outlier_scores_[order], atol=0.02)
    counts = np.random.default_rng(1).integers(1, 4, 750)
    copies = AFCM(2, random_state=0).fit(np.repeat(X, counts, axis=0))
    weighted = AFCM(2, random_state=0).fit(X, sample_weight=counts)
    np.testing.assert_allclose(np.repeat(weighted.outlier_scores_, counts), copies.outlier_scores_, atol=1e-6)


def test_samples_of_weight_zero_have_scores_too(noisy, fitted):
    X, _ = noisy
    weights = np.ones(750)
    weights[:5] = 0
    model = AFCM(2, random_state=0).fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.outlier_scores_[:5], fitted.outlier_scores_[:5], atol=0.1)


def test_one_far_sample_changes_its_own_score_alone(noisy, fitted):
    X, _ = noisy
    more = AFCM(2, random_state=0).fit(np.concatenate([X, [[80.0, -90.0]]]))
    assert more.outlier_scores_[-1] > 0.99
    np.testing.assert_allclose(more.outlier_scores_[:-1], fitted.outlier_scores_, atol=0.15)
    assert adjusted_rand(more.labels_[:-1], fitted.labels_) > 0.98


def test_many_columns_are_judged_by_distances():
    X, y = make_blobs(600, 50, centers=5, cluster_std=1.5, random_state=0)
    model = AFCM(5, random_state=0).fit(with_background(X, 0.1))
    assert isinstance(model._fitted.densities, DistanceBackground)
    assert roc_auc_score(np.arange(660) >= 600, model.outlier_scores_) > 0.99
    assert model.noise_share_ == pytest.approx(60 / 660, abs=0.03)
    assert adjusted_rand(y, model.labels_[:600]) == 1
    new = make_blobs(600, 50, centers=5, cluster_std=1.5, random_state=0)[0][:3] + 0.01
    assert model.outlier_scores(new).max() < 0.1
    assert model.outlier_scores(new * 5).min() > 0.9
    assert AFCM(5, random_state=0).fit(X).noise_share_ == 0


def test_sparse_samples_and_similarities():
    X, _ = make_blobs(300, 6, centers=3, cluster_std=0.5, random_state=0)
    sparse = AFCM(3, random_state=0).fit(sp.csr_array(with_background(X, 0.1)))
    assert roc_auc_score(np.arange(330) >= 300, sparse.outlier_scores_) > 0.9
    given = AFCM(2, affinity="precomputed", random_state=0).fit(np.kron(np.eye(2), np.ones((8, 8))))
    assert not hasattr(given, "noise_share_")


def test_single_precision(noisy, fitted):
    X, _ = noisy
    single = AFCM(2, random_state=0).fit(X.astype(np.float32))
    assert single.outlier_scores_.dtype == np.float32
    np.testing.assert_allclose(single.outlier_scores_, fitted.outlier_scores_, atol=0.02)


def test_a_model_file_keeps_the_scores(noisy, fitted, tmp_path):
    save_model(fitted, tmp_path / "model.afcm")
    again = load_model(tmp_path / "model.afcm")
    np.testing.assert_array_equal(again.outlier_scores_, fitted.outlier_scores_)
    np.testing.assert_array_equal(again.outlier_scores(noisy[0]), fitted.outlier_scores(noisy[0]))
    assert isinstance(again._fitted.densities, LocalMixture)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_background_is_not_counted(share):
    X, _ = make_blobs(600, 2, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], cluster_std=0.8, random_state=0)
    noisy = with_background(X, share)
    assert AFCM("auto", random_state=0).fit(noisy).n_clusters_ == 4
    assert select_n_clusters(noisy, range(1, 7), random_state=0).n_clusters == 4


def test_moons_in_a_haze_are_two():
    X = with_background(make_moons(600, noise=0.05, random_state=0)[0], 0.5)
    assert AFCM("auto", random_state=0).fit(X).n_clusters_ == 2
    assert AFCM("auto", noise=None, random_state=0).fit(X).n_clusters_ == 2  # density alone tells them apart


def test_anchors_are_not_learned_from_background():
    X, y = make_moons(2000, noise=0.05, random_state=0)
    noisy = with_background(X, 0.5)
    model = AFCM(2, graph="anchors", n_anchors=200, random_state=0).fit(noisy)
    assert adjusted_rand(y, model.labels_[:2000]) > 0.98
    assert roc_auc_score(np.arange(3000) >= 2000, model.outlier_scores_) > 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HardMembershipsWarning)
        bent = AFCM(2, graph="anchors", n_anchors=200, noise=None, random_state=0).fit(noisy)
    assert adjusted_rand(y, bent.labels_[:2000]) < 0.8


def test_chunks_of_dask():
    da = pytest.importorskip("dask.array", reason="needs the extra afcm[dask]")
    X, y = make_moons(2000, noise=0.05, random_state=0)
    noisy = with_background(X, 0.25)
    model = AFCM(2, graph="anchors", n_anchors=200, random_state=0).fit(da.from_array(noisy, chunks=(700, 2)))
    assert adjusted_rand(y, model.labels_[:2000]) > 0.98
    scores = model.outlier_scores_
    assert scores.shape == (2500,)
    assert roc_auc_score(np.arange(2500) >= 2000, np.asarray(scores)) > 0.9


def test_tensors(noisy, fitted):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    X = torch.asarray(noisy[0])
    model = AFCM(2, random_state=0).fit(X)
    assert isinstance(model.outlier_scores_, torch.Tensor)
    np.testing.assert_allclose(model.outlier_scores_.numpy(), fitted.outlier_scores_, atol=1e-6)
    assert isinstance(model.outlier_scores(X[:3]), torch.Tensor)
