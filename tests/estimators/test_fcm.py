"""FCM and EntropyFCM as a user meets them: known rows, the peers, the limits, the warnings, scikit-learn's checks."""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.preprocessing import minmax_scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from afcm import FCM, EntropyFCM, PlainAFCM
from afcm.exceptions import MergedClustersWarning, NotConvergedWarning
from afcm.metrics import adjusted_rand, clustering_accuracy, normalized_mutual_info

BOTH = [FCM(3, random_state=0), EntropyFCM(3, random_state=0)]
PEER = "AFCM_FUZZY_C_MEANS_PYTHON"


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return minmax_scale(X), y


def row(y, labels):
    """ACC, NMI, ARI in percent, as the paper prints them."""
    scores = (clustering_accuracy(y, labels), normalized_mutual_info(y, labels), adjusted_rand(y, labels))
    return tuple(round(100 * score, 2) for score in scores)


def random_memberships(n_samples, n_clusters, seed=0):
    """Rows that sum to 1, drawn as fuzzy-c-means draws them."""
    draws = np.random.default_rng(seed).uniform(size=(n_samples, n_clusters))
    return draws / draws.sum(axis=1, keepdims=True)


def after(model, X, sweeps):
    """Exactly so many sweeps; the start from memberships is one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        return clone(model).set_params(tol=0.0, max_iter=sweeps - 1).fit(X)


# ---- the rows of the tables


@pytest.mark.parametrize("gamma", [8, 10])
def test_the_known_row_of_fcm_er(iris, gamma):
    X, y = iris
    assert row(y, EntropyFCM(3, gamma=gamma, random_state=0).fit(X).labels_) == (89.33, 73.49, 72.78)


def test_matlab_stops_at_two_different_rows(iris):
    """About four starts in five stop before their labels are final: the mean and spread of the printed row."""
    X, y = iris
    rows = [row(y, FCM.matlab(3, random_state=seed).fit(X).labels_) for seed in range(40)]
    assert set(rows) == {(88.67, 72.82, 71.49), (89.33, 74.04, 72.87)}
    assert 0.6 < rows.count((88.67, 72.82, 71.49)) / len(rows) < 0.95


def test_a_tight_tolerance_always_ends_at_the_same_row(iris):
    X, y = iris
    rows = {row(y, FCM.matlab(3, random_state=seed, tol=1e-10).fit(X).labels_) for seed in range(10)}
    assert rows == {(89.33, 74.04, 72.87)}


# ---- the peers


@pytest.mark.parametrize("m", [1.3, 2.0, 3.0])
def test_scikit_fuzzy_does_the_same(iris, m):
    peer = pytest.importorskip("skfuzzy.cluster", reason="scikit-fuzzy is not installed")
    X, _ = iris
    start = random_memberships(len(X), 3)
    centers, memberships, *_ = peer.cmeans(X.T, 3, m, error=0.0, maxiter=12, init=start.T)
    ours = after(FCM(3, m=m, init=start), X, 12)
    np.testing.assert_allclose(ours.memberships_, memberships.T, atol=1e-8)
    np.testing.assert_allclose(ours.cluster_centers_, centers, atol=1e-8)


@pytest.mark.skipif(
    not os.environ.get(PEER),
    reason=f"{PEER} is not set: the Python of an environment with fuzzy-c-means, which pins numpy < 2",
)
def test_fuzzy_c_means_does_the_same(iris, tmp_path):
    X, _ = iris
    script = (
        "import sys, numpy as np; from fcmeans import FCM\n"
        "model = FCM(n_clusters=3, m=2.0, max_iter=12, error=1e-9, random_state=0)\n"
        "model.fit(np.load(sys.argv[1])); np.savez(sys.argv[2], u=model.u, v=model.centers)\n"
    )
    np.save(tmp_path / "X.npy", X)
    command = [os.environ[PEER], "-c", script, tmp_path / "X.npy", tmp_path / "fit.npz"]
    subprocess.run(command, check=True, timeout=60)
    peer = np.load(tmp_path / "fit.npz")
    ours = after(FCM(3, init=random_memberships(len(X), 3)), X, 12)
    np.testing.assert_allclose(ours.memberships_, peer["u"], atol=1e-8)
    np.testing.assert_allclose(ours.cluster_centers_, peer["v"], atol=1e-8)


# ---- limits


def test_at_the_learned_precision_it_is_plain_afcm(iris):
    X, _ = iris
    plain = PlainAFCM(3, random_state=0, tol=1e-12, max_iter=5000).fit(X)
    ours = EntropyFCM(3, gamma=plain.gamma_, init=plain.cluster_centers_).fit(X)
    np.testing.assert_allclose(ours.memberships_, plain.memberships_, atol=1e-5)
    np.testing.assert_allclose(ours.cluster_centers_, plain.cluster_centers_, atol=1e-5)


@pytest.mark.parametrize("model", [FCM(3, m=1.001), EntropyFCM(3, gamma=1e6)], ids=["m→1", "γ→∞"])
def test_without_fuzziness_it_is_k_means(model):
    X, _ = make_blobs(300, 2, centers=3, cluster_std=2.0, random_state=4)
    start = X[:3]
    k_means = KMeans(3, init=start, n_init=1, tol=0.0).fit(X)
    ours = model.set_params(init=start).fit(X)
    assert np.array_equal(ours.labels_, k_means.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, k_means.cluster_centers_, atol=0.02)
    assert ours.objective_ == pytest.approx(k_means.inertia_, rel=1e-3)
    assert ours.crispness_ > 0.99


@pytest.mark.parametrize("model", BOTH)
def test_weights_are_repetitions_and_zero_is_absence(iris, model):
    X, _ = iris
    weights = np.random.default_rng(0).integers(0, 4, size=len(X))
    weighted = clone(model).fit(X, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, atol=1e-8)
    np.testing.assert_allclose(np.repeat(weighted.memberships_, weights, axis=0), repeated.memberships_, atol=1e-8)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-10)
    assert weighted.score(X, sample_weight=weights) == pytest.approx(-weighted.objective_ / weights.sum(), rel=1e-6)


# ---- merged clusters


def hard_blobs(n_features):
    return make_blobs(1000, n_features, centers=8, cluster_std=5.0, random_state=0)


def test_m_2_in_50_dimensions_says_that_it_failed():
    X, y = hard_blobs(50)
    with pytest.warns(MergedClustersWarning, match=r"m=2.0 is too fuzzy for 50 features: use a smaller m \(try 1.25\)"):
        model = FCM(8, random_state=0).fit(X)
    assert model.membership_state_ == "merged"
    assert model.crispness_ == pytest.approx(0, abs=1e-3)
    advised = FCM(8, m=1.25, random_state=0).fit(X)
    assert adjusted_rand(y, advised.labels_) > 0.99


def test_clusters_that_merge_one_by_one_are_reported():
    X, _ = hard_blobs(10)
    with pytest.warns(MergedClustersWarning, match="of 8 centres are different"):
        model = FCM(8, random_state=0).fit(X)
    assert model.membership_state_ == "soft"


def test_a_small_gamma_says_that_it_failed(iris):
    X, _ = iris
    critical = 1 / (2 * np.linalg.eigvalsh(np.cov(X.T, bias=True)).max())
    with pytest.warns(MergedClustersWarning, match="is too small for the spread of X: use a larger gamma"):
        model = EntropyFCM(3, gamma=critical / 2, random_state=0).fit(X)
    assert model.membership_state_ == "merged"
    assert EntropyFCM(3, gamma=4 * critical, random_state=0).fit(X).membership_state_ == "soft"


# ---- as an estimator


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_attributes_and_dtypes(iris, model, dtype):
    X = iris[0].astype(dtype)
    fitted = clone(model).fit(X)
    for array in (fitted.memberships_, fitted.cluster_centers_, fitted.predict_proba(X), fitted.transform(X)):
        assert array.dtype == dtype
    assert fitted.converged_
    assert fitted.membership_state_ == "soft"
    assert 0 < fitted.crispness_ < 1
    assert {"objective", "membership_change"} <= set(fitted.history_)
    assert all(len(column) == fitted.n_iter_ for column in fitted.history_.values())
    assert fitted.history_["objective"][-1] == fitted.objective_
    assert hasattr(fitted, "gamma_") == ("gamma" in fitted.history_) == isinstance(fitted, EntropyFCM)
    np.testing.assert_allclose(fitted.memberships_.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("model", BOTH)
def test_new_samples_are_treated_like_old_ones(iris, model):
    X, _ = iris
    fitted = clone(model).fit(X)
    assert np.array_equal(fitted.predict_proba(X), fitted.memberships_)
    assert np.array_equal(fitted.predict(X), fitted.labels_)
    assert fitted.score(X) == pytest.approx(-fitted.objective_ / len(X), rel=1e-12)
    distances = np.linalg.norm(X[:, None] - fitted.cluster_centers_[None], axis=2)
    np.testing.assert_allclose(fitted.transform(X), distances, atol=1e-7)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(X[:5]), fitted.memberships_[:5])


def test_changed_parameters_do_not_change_a_fitted_model(iris):
    X, _ = iris
    model = FCM(3, random_state=0).fit(X)
    before = model.predict_proba(X)
    assert np.array_equal(model.set_params(m=1.1).predict_proba(X), before)


def test_a_sample_on_a_centre_belongs_to_it(iris):
    model = FCM(3, m=5.0, random_state=0).fit(iris[0])
    np.testing.assert_array_equal(model.predict_proba(model.cluster_centers_), np.eye(3))


@pytest.mark.parametrize("m", [1.01, 1.0001, 20.0])
@pytest.mark.filterwarnings("ignore::afcm.exceptions.AFCMWarning")
def test_extreme_fuzziness_gives_numbers(iris, m):
    model = FCM(3, m=m, random_state=0, n_init=1).fit(iris[0])
    assert np.isfinite(model.memberships_).all()
    assert np.isfinite(model.cluster_centers_).all()


def test_automatic_gamma_does_not_depend_on_the_unit():
    X, _ = make_blobs(200, 2, centers=3, random_state=0)
    one, other = EntropyFCM(3, random_state=0).fit(X), EntropyFCM(3, random_state=0).fit(1000 * X)
    assert other.gamma_ == pytest.approx(1e-6 * one.gamma_, rel=1e-9)
    np.testing.assert_allclose(other.memberships_, one.memberships_, atol=1e-6)


def test_the_best_of_several_runs_is_kept(iris):
    X, _ = iris
    best = FCM(6, n_init=8, init="random", random_state=1).fit(X)
    random = np.random.RandomState(1)
    single = [FCM(6, n_init=1, init="random", random_state=random).fit(X).objective_ for _ in range(8)]
    assert best.objective_ == pytest.approx(min(single), rel=1e-12)


def test_a_callback_may_keep_every_state(iris):
    X, _ = iris
    seen = []
    model = FCM(3, random_state=0, n_init=1, callback=lambda step: seen.append(step.state)).fit(X)
    assert len(seen) == model.n_iter_
    changes = [np.abs(a.memberships - b.memberships).max() for a, b in itertools.pairwise(seen)]
    np.testing.assert_allclose(changes, model.history_["membership_change"][1:], rtol=1e-6)


def test_a_fit_needs_little_more_memory_than_its_memberships():
    X = np.random.default_rng(0).standard_normal((150_000, 8))
    model = FCM(16, m=1.2, init=X[:16], max_iter=3)
    tracemalloc.start()
    try:
        with pytest.warns(NotConvergedWarning):
            model.fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * model.memberships_.nbytes


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (FCM(3, m=1.0), "m=1.0 must be above 1; use for example 1.1"),
        (FCM(3, m=0.5), "m=0.5 must be above 1"),
        (FCM(3, m=float("nan")), "m=nan must be a finite number"),
        (FCM(3, m="2"), "m='2' must be a finite number"),
        (FCM(3, stop="never"), r"stop='never' is not known; use one of \['either', 'memberships', 'objective'\]"),
        (FCM(3, init="spectral"), "init='spectral' is not known"),
        (FCM(3, n_init=0), "n_init=0 must be at least 1"),
        (FCM(3, init=np.ones((2, 2))), r"init has shape \(2, 2\)"),
        (FCM(200), "n_clusters=200 must be at most n_samples=150"),
        (FCM(150), "n_clusters=150 must be at most 149, the number of different samples"),
        (EntropyFCM(3, gamma=0), "gamma=0 must be positive"),
        (EntropyFCM(3, gamma=-1.0), "gamma=-1.0 must be"),
        (EntropyFCM(3, gamma="scale"), r"gamma='scale' is not known; use one of \['auto'\]"),
    ],
)
def test_errors_name_the_parameter_and_the_way_out(iris, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(iris[0])


# The checks' weighted data have 4 different samples, so the models are asked for 3 clusters instead of 8.
@pytest.mark.filterwarnings("ignore::afcm.exceptions.AFCMWarning")  # the checks fit a few sweeps on tiny data
@parametrize_with_checks([FCM(3), EntropyFCM(3)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
