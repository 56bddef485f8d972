"""Background in the models without a graph: what is learned is not bent by it, and scores tell it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

from afcm import GeneralizedGaussianMixture, PlainAFCM, load_model, save_model
from afcm.estimators.noise import set_aside
from afcm.metrics import adjusted_rand
from afcm.models.distance_background import DistanceBackground
from afcm.models.local_mixture import LocalMixture

CENTERS = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
N_CLEAN, N_NOISE = 700, 300
IS_NOISE = np.arange(N_CLEAN + N_NOISE) >= N_CLEAN
MODELS = [PlainAFCM(3, random_state=0), GeneralizedGaussianMixture(3, shape=1, random_state=0)]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@pytest.fixture(scope="module")
def noisy():
    """Three blobs, then 30 % of all samples from a box around them."""
    X, y = make_blobs(N_CLEAN, 2, centers=CENTERS, cluster_std=0.8, random_state=0)
    noise = np.random.default_rng(0).uniform(-4.0, 13.0, (N_NOISE, 2))
    return np.concatenate([X, noise]), y


@pytest.fixture(scope="module")
def fitted(noisy):
    return {type(model): with_noise(model).fit(noisy[0]) for model in MODELS}


def with_noise(model, noise="auto"):
    return clone(model).set_params(noise=noise)


def error_of_centers(model):
    """The largest distance of a true center to the nearest one that was found."""
    return np.linalg.norm(CENTERS[:, None] - model.cluster_centers_[None], axis=2).min(axis=1).max()


@each_model
def test_background_does_not_bend_the_centers(model, noisy, fitted):
    X, y = noisy
    found, bent, clean = fitted[type(model)], clone(model).fit(X), clone(model).fit(X[:N_CLEAN])
    assert error_of_centers(clean) < 0.15
    assert error_of_centers(found) < 0.2
    assert error_of_centers(bent) > 0.9
    assert adjusted_rand(y, found.labels_[:N_CLEAN]) == 1
    assert found.memberships_.shape == (N_CLEAN + N_NOISE, 3)
    np.testing.assert_allclose(found.memberships_, found.predict_proba(X), atol=1e-12)


def test_the_width_is_that_of_the_clusters(noisy, fitted):
    width = np.sqrt(1 / (2 * fitted[PlainAFCM].gamma_))
    assert width == pytest.approx(0.8, rel=0.2)
    assert np.sqrt(1 / (2 * PlainAFCM(3, random_state=0).fit(noisy[0]).gamma_)) > 1.8


@each_model
def test_scores_tell_background(model, noisy, fitted):
    found = fitted[type(model)]
    assert found.outlier_scores_.shape == (N_CLEAN + N_NOISE,)
    assert 0 <= found.outlier_scores_.min() <= found.outlier_scores_.max() <= 1
    assert roc_auc_score(IS_NOISE, found.outlier_scores_) > 0.94
    assert found.noise_share_ == pytest.approx(0.3, abs=0.03)
    np.testing.assert_array_equal(found.outlier_scores(noisy[0]), found.outlier_scores_)
    low, high = found.outlier_scores([CENTERS[0], [80.0, -90.0]])
    assert low < 0.05
    assert high > 0.99


@each_model
def test_without_background_the_fit_is_as_ever(model, noisy):
    X = noisy[0][:N_CLEAN]
    found, usual = with_noise(model).fit(X), clone(model).fit(X)
    assert found.noise_share_ == 0
    np.testing.assert_array_equal(found.outlier_scores_, np.zeros(N_CLEAN))
    np.testing.assert_array_equal(found.memberships_, usual.memberships_)
    np.testing.assert_array_equal(found.cluster_centers_, usual.cluster_centers_)


@each_model
def test_nobody_looks_by_default(model, noisy, fitted):
    usual = clone(model).fit(noisy[0])
    assert usual.noise is None
    assert not {"noise_share_", "outlier_scores_", "_background"} & set(vars(usual))
    with pytest.raises(ValueError, match=r"noise=None.*fit samples with noise='auto'"):
        usual.outlier_scores(noisy[0])
    with pytest.raises(NotFittedError):
        clone(model).outlier_scores(noisy[0])
    again = with_noise(model).fit(noisy[0]).set_params(noise=None).fit(noisy[0])
    assert not hasattr(again, "outlier_scores_")
    assert not hasattr(again, "_background")


@each_model
@pytest.mark.parametrize("noise", ["no", 0.0, 1.0, -0.1, True, np.nan])
def test_bad_values_are_refused(model, noise):
    with pytest.raises(ValueError, match=r"noise="):
        with_noise(model, noise).fit(np.eye(5))


@each_model
def test_a_given_share_is_kept(model, noisy):
    found = with_noise(model, 0.2).fit(noisy[0])
    assert found.noise_share_ == pytest.approx(0.2)
    assert error_of_centers(found) < 0.4


@each_model
def test_weights_are_copies(model, noisy):
    X, counts = noisy[0], np.random.default_rng(1).integers(0, 3, N_CLEAN + N_NOISE)
    start = with_noise(model).set_params(init=CENTERS)
    weighted = clone(start).fit(X, sample_weight=counts)
    copies = clone(start).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, copies.cluster_centers_, atol=1e-4)
    assert weighted.noise_share_ == pytest.approx(copies.noise_share_, abs=1e-6)
    np.testing.assert_allclose(np.repeat(weighted.outlier_scores_, counts), copies.outlier_scores_, atol=1e-6)
    assert np.isfinite(weighted.outlier_scores_).all()


@each_model
def test_single_precision(model, noisy, fitted):
    single = with_noise(model).fit(noisy[0].astype(np.float32))
    assert single.outlier_scores_.dtype == np.float32
    np.testing.assert_allclose(single.outlier_scores_, fitted[type(model)].outlier_scores_, atol=0.02)


def many_columns():
    X, y = make_blobs(600, 50, centers=5, cluster_std=1.5, random_state=0)
    low, high = X.min(axis=0), X.max(axis=0)
    return np.concatenate([X, np.random.default_rng(0).uniform(low, high, (60, 50))]), y


def test_many_columns_are_judged_by_distances():
    X, y = many_columns()
    model = PlainAFCM(5, noise="auto", random_state=0).fit(X)
    assert isinstance(model._background.densities, DistanceBackground)
    assert roc_auc_score(np.arange(660) >= 600, model.outlier_scores_) > 0.99
    assert model.noise_share_ == pytest.approx(60 / 660, abs=0.03)
    assert model.outlier_scores(X[:3] + 0.01).max() < 0.1
    assert model.outlier_scores(X[:3] * 5).min() > 0.9
    assert adjusted_rand(y, model.labels_[:600]) == 1


@pytest.mark.parametrize("kind", ["gaussians", "distances"])
@pytest.mark.parametrize("cls", [PlainAFCM, GeneralizedGaussianMixture])
def test_a_model_file_keeps_the_scores(cls, kind, noisy, tmp_path):
    X = noisy[0] if kind == "gaussians" else many_columns()[0]
    options = {"covariance_type": "spherical", "shape": 1} if cls is GeneralizedGaussianMixture else {}
    model = cls(3, noise="auto", random_state=0, **options).fit(X)
    save_model(model, tmp_path / "model.afcm")
    again = load_model(tmp_path / "model.afcm")
    assert again.noise == "auto"
    assert again.noise_share_ == model.noise_share_
    np.testing.assert_array_equal(again.outlier_scores_, model.outlier_scores_)
    np.testing.assert_array_equal(again.outlier_scores(X * 1.01), model.outlier_scores(X * 1.01))
    assert isinstance(again._background.densities, LocalMixture if kind == "gaussians" else DistanceBackground)


def test_batches_are_learned_as_they_are(noisy):
    X, _ = noisy
    model = PlainAFCM(3, noise="auto", random_state=0).fit(X)
    usual = PlainAFCM(3, random_state=0)
    for batch in (X[::2], X[1::2]):
        model.partial_fit(batch)
        usual.partial_fit(batch)
    np.testing.assert_array_equal(model.cluster_centers_, usual.cluster_centers_)
    assert not hasattr(model, "outlier_scores_")
    with pytest.raises(ValueError, match="partial_fit"):
        model.outlier_scores(X)


def test_nothing_is_set_aside_where_too_little_would_be_left(noisy):
    X = noisy[0]
    assert (set_aside(X, None, "auto", 3) == 0).sum() > 200
    assert set_aside(X, None, "auto", 990) is None
    weights = np.full(X.shape[0], 2.0)
    assert set_aside(X, weights, "auto", 990) is weights
    assert set(set_aside(X, weights, "auto", 3)) == {0.0, 2.0}
    assert set_aside(X, weights, None, 3) is weights


@pytest.mark.parametrize("columns", [2, 50])
def test_chunks_of_dask(columns, noisy, fitted):
    da = pytest.importorskip("dask.array", reason="needs the extra afcm[dask]")
    X = noisy[0] if columns == 2 else many_columns()[0]
    start = {"init": CENTERS, "n_clusters": 3} if columns == 2 else {"init": X[:5], "n_clusters": 5}
    expected = PlainAFCM(noise="auto", **start).fit(X)
    model = PlainAFCM(noise="auto", **start).fit(da.from_array(X, chunks=(300, columns)))
    np.testing.assert_allclose(model.cluster_centers_, expected.cluster_centers_, atol=1e-6)
    assert model.noise_share_ == pytest.approx(expected.noise_share_, abs=1e-6)
    assert isinstance(model.outlier_scores_, da.Array)
    np.testing.assert_allclose(np.asarray(model.outlier_scores_), expected.outlier_scores_, atol=1e-6)
    new = model.outlier_scores(da.from_array(X[:200], chunks=(90, columns)))
    np.testing.assert_allclose(np.asarray(new), expected.outlier_scores_[:200], atol=1e-6)


def test_chunks_with_weights(noisy):
    da = pytest.importorskip("dask.array", reason="needs the extra afcm[dask]")
    X, weights = noisy[0], np.arange(N_CLEAN + N_NOISE) % 3.0
    expected = PlainAFCM(3, noise="auto", init=CENTERS).fit(X, sample_weight=weights)
    chunks = da.from_array(X, chunks=(300, 2)), da.from_array(weights, chunks=300)
    model = PlainAFCM(3, noise="auto", init=CENTERS).fit(chunks[0], sample_weight=chunks[1])
    np.testing.assert_allclose(model.cluster_centers_, expected.cluster_centers_, atol=1e-6)
    np.testing.assert_allclose(np.asarray(model.outlier_scores_), expected.outlier_scores_, atol=1e-6)


@pytest.mark.parametrize("columns", [2, 50])
def test_tensors(columns, noisy):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    X = noisy[0] if columns == 2 else many_columns()[0]
    start = {"init": CENTERS, "n_clusters": 3} if columns == 2 else {"init": X[:5], "n_clusters": 5}
    expected, model = PlainAFCM(noise="auto", **start).fit(X), PlainAFCM(noise="auto", **start).fit(torch.asarray(X))
    assert isinstance(model.outlier_scores_, torch.Tensor)
    np.testing.assert_allclose(model.cluster_centers_.numpy(), expected.cluster_centers_, atol=1e-6)
    np.testing.assert_allclose(model.outlier_scores_.numpy(), expected.outlier_scores_, atol=1e-6)
    assert isinstance(model.outlier_scores(torch.asarray(X[:3])), torch.Tensor)
    on_host = PlainAFCM(noise="auto", device="cpu", **start).fit(X)
    assert isinstance(on_host.outlier_scores_, np.ndarray)
    np.testing.assert_allclose(on_host.outlier_scores_, expected.outlier_scores_, atol=1e-6)
