"""``n_views``: memberships and stabilities from several graphs; and sets of clusters from memberships."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.preprocessing import minmax_scale

from afcm import AFCM, FCM, EntropyFCM, GeneralizedGaussianMixture, PlainAFCM, load_model, save_model
from afcm.estimators import stability
from afcm.fitting.graph_views import label_views
from afcm.metrics import clustering_accuracy
from tests.estimators.test_memberships import brier

WINE = minmax_scale(load_wine().data)


@pytest.fixture(scope="module")
def wine():
    return AFCM(3, random_state=0).fit(WINE)


def rename(labels, view, n_clusters):
    """The view's labels with those names of clusters that agree most with the fit's, by trying all."""
    names = max(permutations(range(n_clusters)), key=lambda names: np.sum(np.array(names)[view] == labels))
    return np.array(names)[view]


def test_stabilities_are_those_of_the_views(wine):
    prepared = AFCM(3).prepare(WINE)
    views = [rename(wine.labels_, view, 3) for view in label_views(prepared, wine.labels_, 3, 12)]
    expected = np.mean([view == wine.labels_ for view in views], axis=0)
    np.testing.assert_allclose(wine.sample_stability_, expected)
    for j in range(3):
        parts = [np.sum((wine.labels_ == j) & (v == j)) / np.sum((wine.labels_ == j) | (v == j)) for v in views]
        assert wine.stability_[j] == pytest.approx(np.mean(parts))
    assert 0.5 < wine.stability_.min() < 1


def test_unstable_samples_have_small_memberships(wine):
    confidence = wine.memberships_.max(axis=1)
    shaky = wine.sample_stability_ < 0.8
    assert 0 < shaky.sum() < 40
    assert confidence[shaky].max() < confidence[~shaky].mean()


def test_without_views_it_is_the_walk_and_labels_stay(wine):
    walk = AFCM(3, n_views=0, random_state=0).fit(WINE)
    assert (walk.membership_method_, wine.membership_method_) == ("walk", "views")
    np.testing.assert_array_equal(walk.labels_, wine.labels_)
    np.testing.assert_array_equal(walk.paper_memberships_, wine.paper_memberships_)


@pytest.mark.parametrize("method", ["mixture", "paper"])
def test_other_memberships_stay_as_they_are(method):
    X, how = load_iris().data, {} if method == "mixture" else {"memberships": "paper"}
    plain, viewed = (AFCM(3, n_views=n, random_state=0, **how).fit(X) for n in ("auto", 5))
    assert plain.membership_method_ == viewed.membership_method_ == method
    np.testing.assert_array_equal(plain.memberships_, viewed.memberships_)
    assert not hasattr(plain, "stability_")
    assert viewed.stability_.shape == (3,)
    assert viewed.sample_stability_.shape == (150,)


@pytest.mark.parametrize("name", ["stability_", "sample_stability_"])
def test_a_stability_that_is_not_there_says_how_to_have_it(name):
    for model in (AFCM(3), AFCM(3, n_views=0, random_state=0).fit(WINE)):
        with pytest.raises(AttributeError, match=f"no {name}.* n_views=12"):
            getattr(model, name)
    with pytest.raises(AttributeError, match="'AFCM' object has no attribute 'stabilities_'"):
        _ = model.stabilities_


def test_a_second_fit_forgets_them():
    model = AFCM(3, n_views=4, random_state=0).fit(WINE)
    assert hasattr(model, "stability_")
    assert not hasattr(model.set_params(n_views=0).fit(WINE), "stability_")


def test_many_samples_have_views_only_when_asked(monkeypatch):
    monkeypatch.setattr(stability, "MOST_ENTRIES", 178 * 3 - 1)
    assert AFCM(3, random_state=0).fit(WINE).membership_method_ == "walk"
    monkeypatch.setattr(stability, "MOST_ENTRIES", 178 * 3)
    assert AFCM(3, random_state=0).fit(WINE).membership_method_ == "views"
    monkeypatch.setattr(stability, "MOST_NODES", 177)
    assert AFCM(3, random_state=0).fit(WINE).membership_method_ == "walk"
    assert AFCM(3, n_views=3, random_state=0).fit(WINE).membership_method_ == "views"


def test_new_samples_have_memberships_of_the_same_kind(wine, tmp_path):
    np.testing.assert_array_equal(wine.predict_proba(WINE), wine.memberships_)
    near = WINE + 1e-6
    np.testing.assert_array_equal(wine.predict(near), wine.labels_)
    shares = wine.predict_proba(near)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert abs(shares - wine.memberships_).mean() < 0.05
    again = load_model(save_model(wine, tmp_path / "m.afcm"))
    np.testing.assert_array_equal(again.predict_proba(near), shares)
    np.testing.assert_array_equal(again.stability_, wine.stability_)
    np.testing.assert_array_equal(again.sample_stability_, wine.sample_stability_)


def test_the_other_half_gets_the_memberships_of_its_own_fit():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=800)
    X = rng.standard_normal((800, 30)) + 6 * np.eye(30)[y]
    half, other = AFCM(3, random_state=0).fit(X[:400]), AFCM(3, random_state=0).fit(X[400:])
    assert half.membership_method_ == other.membership_method_ == "views"
    told = half.predict_proba(X[400:])
    order = [np.bincount(half.predict(X[400:])[other.labels_ == j]).argmax() for j in range(3)]
    assert np.mean(np.sum((told[:, order] - other.memberships_) ** 2, axis=1)) < 0.02


def test_high_dimensional_gaussians_are_told_better_than_by_a_walk():
    rng = np.random.default_rng(3)
    y = rng.integers(2, size=1500)
    X = rng.standard_normal((1500, 40)) + np.outer(y, 4 * np.eye(40)[0])
    truth = 1 / (1 + np.exp(-4 * (X[:, 0] - 2)))
    views, walk = (AFCM(2, n_views=n, random_state=0).fit(X) for n in ("auto", 0))
    assert views.membership_method_ == "views"
    assert clustering_accuracy(y, views.labels_) > 0.9
    assert brier(views.memberships_, truth) < 0.5 * brier(walk.memberships_, truth)


def test_repeated_samples_and_weights_are_the_same():
    doubled = AFCM(3, random_state=0).fit(np.vstack([WINE, WINE[:50]]))
    weighed = AFCM(3, random_state=0).fit(WINE, sample_weight=np.r_[np.full(50, 2.0), np.ones(128)])
    np.testing.assert_allclose(doubled.memberships_[:178], weighed.memberships_, atol=1e-9)
    np.testing.assert_allclose(doubled.stability_, weighed.stability_)
    np.testing.assert_allclose(doubled.sample_stability_[178:], weighed.sample_stability_[:50])


def test_samples_of_weight_zero_have_the_votes_of_their_neighbors():
    weights = np.r_[np.zeros(5), np.ones(173)]
    model, prepared = AFCM(3, random_state=0).fit(WINE, sample_weight=weights), AFCM(3).prepare(WINE, weights)
    there, nodes = model.labels_[prepared.nodes.rows], prepared.nodes.inverse[5:]
    views = [rename(there, view, 3) for view in label_views(prepared, there, 3, 12)]
    np.testing.assert_allclose(model.sample_stability_[5:], np.mean([v == there for v in views], axis=0)[nodes])
    near = model._fitted.extension.shares(prepared.similarity.place(WINE[:5]).weights).toarray()
    for row, label, found in zip(near, model.labels_, model.sample_stability_, strict=False):
        votes = np.mean([view == label for view in views], axis=0)
        assert found == pytest.approx(row @ votes)


def test_graphs_without_neighbors_of_samples_refuse_views():
    with pytest.raises(ValueError, match=r"n_views=3.*precomputed"):
        AFCM(2, affinity="precomputed", n_views=3).fit(np.ones((8, 8)))
    with pytest.raises(ValueError, match=r"n_views=3.*anchors"):
        AFCM(3, graph="anchors", n_views=3).fit(WINE)
    assert AFCM(3, graph="anchors", random_state=0).fit(WINE).membership_method_ == "walk"


@pytest.mark.parametrize("bad", [-1, 2.5, "many", True, None])
def test_bad_numbers_are_refused(bad):
    with pytest.raises(ValueError, match="n_views="):
        AFCM(3, n_views=bad).fit(WINE)


def test_one_cluster_and_few_samples():
    assert AFCM(1, random_state=0).fit(WINE).membership_method_ == "walk"
    np.testing.assert_array_equal(AFCM(1, n_views=3, random_state=0).fit(WINE).stability_, 1)
    tiny = AFCM(2, n_views=4, random_state=0).fit(np.array([[0.0, 1], [0, 2], [5, 1], [5, 2]]))
    assert tiny.sample_stability_.shape == (4,)


def test_float32_and_tensors():
    torch = pytest.importorskip("torch")
    small, double = AFCM(3, random_state=0).fit(WINE.astype(np.float32)), AFCM(3, random_state=0).fit(WINE)
    assert small.stability_.dtype == small.sample_stability_.dtype == np.float32
    tensor = AFCM(3, random_state=0).fit(torch.as_tensor(WINE))
    assert torch.is_tensor(tensor.sample_stability_)
    np.testing.assert_allclose(tensor.sample_stability_.numpy(), double.sample_stability_, atol=1e-6)
    np.testing.assert_allclose(tensor.memberships_.numpy(), double.memberships_, atol=1e-5)


ESTIMATORS = [AFCM, PlainAFCM, FCM, EntropyFCM, GeneralizedGaussianMixture]


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_estimator_gives_sets_of_clusters(cls):
    X = make_blobs(200, centers=4, cluster_std=2.0, random_state=0)[0]
    model = cls(4, random_state=0).fit(X)
    for alpha in (0.05, 0.2):
        sets = model.cluster_sets(alpha)
        assert (sets.dtype, sets.shape) == (bool, (200, 4))
        held = np.sum(model.memberships_ * sets, axis=1)
        assert (held >= 1 - alpha - 1e-12).all()
        least = np.min(np.where(sets, model.memberships_, 2), axis=1)
        assert (held - least < 1 - alpha)[sets.sum(axis=1) > 1].all()
        assert sets[np.arange(200), model.labels_].all()
    new = X[:20] + 0.01
    own = np.sort(model.predict_proba(new), axis=1)[:, ::-1].cumsum(axis=1)
    np.testing.assert_array_equal(model.cluster_sets(0.1, new).sum(axis=1), 1 + (own < 0.9 - 1e-12).sum(axis=1))


def test_sets_need_a_fit_and_a_share(wine):
    for alpha in (0, 1, -0.1, "0.1", None, np.nan):
        with pytest.raises(ValueError, match="alpha="):
            wine.cluster_sets(alpha)
    with pytest.raises(ValueError, match="not fitted"):
        clone(wine).cluster_sets()


def test_sets_of_chunks_are_lazy():
    da = pytest.importorskip("dask.array")
    X = load_digits().data[:300]
    model = PlainAFCM(5, random_state=0).fit(X)
    lazy = model.cluster_sets(0.1, da.from_array(X, chunks=(100, 64)))
    np.testing.assert_array_equal(lazy.compute(), model.cluster_sets(0.1, X))
    assert lazy.dtype == bool
