"""`warm_start`: a further fit goes on from the one before."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from afcm import AFCM, FCM, EntropyFCM, GeneralizedGaussianMixture, PlainAFCM, align, load_model, save_model
from afcm.checkpoints import Checkpoint, CheckpointError

pytestmark = pytest.mark.filterwarnings(
    "ignore::afcm.exceptions.NotConvergedWarning", "ignore::afcm.exceptions.HardMembershipsWarning"
)
X = make_blobs(300, 3, centers=4, cluster_std=3, random_state=0)[0]
START = {"init": "random", "random_state": 0, "tol": 0.0, "n_init": 1}
MODELS = {
    "PlainAFCM": lambda **more: PlainAFCM(4, **START, **more),
    "FCM": lambda **more: FCM(4, **START, m=1.5, **more),
    "EntropyFCM": lambda **more: EntropyFCM(4, **START, **more),
    "AFCM": lambda **more: AFCM(4, **START, **more),
    "mixture": lambda **more: GeneralizedGaussianMixture(4, **START, **more),
    "tied mixture": lambda **more: GeneralizedGaussianMixture(4, covariance_type="tied", **START, **more),
    "identity mixture": lambda **more: GeneralizedGaussianMixture(4, covariance_type="identity", **START, **more),
}


@pytest.mark.parametrize("weights", [None, np.arange(300) % 3 + 1.0])
@pytest.mark.parametrize("name", MODELS)
def test_two_fits_are_one_longer_run(name, weights):
    long = MODELS[name](max_iter=9).fit(X, sample_weight=weights)
    model = MODELS[name](max_iter=4, warm_start=True).fit(X, sample_weight=weights)
    assert model.n_iter_ == 4
    model.set_params(max_iter=5).fit(X, sample_weight=weights)
    assert model.n_iter_ == 5
    long = align(long, model).model  # AFCM numbers clusters by size, and a further fit keeps the numbers of the first
    assert np.allclose(model.memberships_, long.memberships_, rtol=0, atol=1e-8)
    centers = model.cluster_centers_, long.cluster_centers_  # the signs of eigenvectors are free
    assert np.allclose(*(np.abs(centers) if name == "AFCM" else centers), rtol=1e-8, atol=1e-8)
    assert np.allclose(model.history_["objective"], long.history_["objective"][4:], rtol=1e-10)


@pytest.mark.parametrize("name", ["PlainAFCM", "FCM", "EntropyFCM"])
def test_models_of_centres_go_on_to_the_last_bit(name):
    model = MODELS[name](max_iter=4, warm_start=True).fit(X).set_params(max_iter=5).fit(X)
    assert np.array_equal(model.memberships_, MODELS[name](max_iter=9).fit(X).memberships_)


@pytest.mark.parametrize("name", MODELS)
def test_the_first_fit_is_like_any_other(name):
    cold = MODELS[name](max_iter=4).fit(X)
    assert np.array_equal(MODELS[name](max_iter=4, warm_start=True).fit(X).memberships_, cold.memberships_)
    assert np.array_equal(cold.memberships_.copy(), cold.fit(X).memberships_)  # without it, nothing is remembered


def test_one_run_is_made_whatever_n_init_says():
    swept = []
    model = PlainAFCM(4, n_init=5, random_state=0, warm_start=True).fit(X)
    model.set_params(callback=swept.append, init="random").fit(X)
    assert [iteration.index for iteration in swept] == list(range(1, model.n_iter_ + 1))
    assert model.n_iter_ <= 2  # it had arrived


def test_new_samples_are_learned_from_the_old_centres():
    model = PlainAFCM(4, random_state=0, warm_start=True).fit(X)
    before = model.cluster_centers_
    model.fit(X[:200] + 0.01)
    assert model.memberships_.shape == (200, 4)
    assert np.abs(model.cluster_centers_ - before).max() < 1.5


def test_a_precision_that_was_found_stays():
    model = EntropyFCM(4, random_state=0, warm_start=True).fit(X)
    found = model.gamma_
    assert model.fit(2 * X).gamma_ == found
    assert model.set_params(gamma=0.5).fit(X).gamma_ == 0.5


@pytest.mark.parametrize("name", MODELS)
def test_another_number_of_clusters_is_refused(name):
    model = MODELS[name](max_iter=2, warm_start=True).fit(X)
    with pytest.raises(ValueError, match=r"warm_start=True, but the fit before has shape .* warm_start=False"):
        model.set_params(n_clusters=3).fit(X)
    with pytest.raises(ValueError, match="warm_start='yes' must be True or False"):
        MODELS[name](warm_start="yes").fit(X)


def test_other_features_samples_and_scatters_are_refused():
    with pytest.raises(ValueError, match=r"\(4, 3\) where this one needs \(4, 2\)"):
        PlainAFCM(4, warm_start=True).fit(X).fit(X[:, :2])
    with pytest.raises(ValueError, match=r"\(4, 300\) where this one needs \(4, 299\)"):
        AFCM(4, warm_start=True).fit(X).fit(X[1:])
    model = GeneralizedGaussianMixture(4, max_iter=3, random_state=0, init="random", warm_start=True).fit(X)
    with pytest.raises(ValueError, match=r"\(4, 3, 3\) where this one needs \(4, 3\)"):
        model.set_params(covariance_type="diag").fit(X)
    model.set_params(warm_start=False, covariance_type="spherical").fit(X)
    with pytest.raises(ValueError, match="not of covariance_type='identity'"):
        model.set_params(warm_start=True, covariance_type="identity").fit(X)


def test_a_fixed_shape_is_the_one_wanted_now():
    model = GeneralizedGaussianMixture(4, shape=0.8, random_state=0, max_iter=5, warm_start=True).fit(X)
    assert model.set_params(shape=1.2).fit(X).shape_ == 1.2


def test_a_loaded_model_goes_on(tmp_path):
    model = MODELS["PlainAFCM"](max_iter=4, warm_start=True).fit(X)
    again = load_model(save_model(model, tmp_path / "m.afcm"))
    assert again.warm_start
    assert np.array_equal(model.fit(X).memberships_, again.fit(X).memberships_)


def test_a_checkpoint_belongs_to_one_start(tmp_path):
    model = PlainAFCM(4, random_state=0, max_iter=3, warm_start=True, callback=Checkpoint(tmp_path / "first"))
    first = model.fit(X).cluster_centers_
    with pytest.raises(CheckpointError, match=r"the fit before \(warm_start\) is none there and [0-9a-f]+ here"):
        model.fit(X)
    model.set_params(callback=Checkpoint(tmp_path / "second")).fit(X)
    assert not np.array_equal(model.cluster_centers_, first)
