"""AFCM as a user meets it."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import minmax_scale

from afcm import AFCM, PlainAFCM
from afcm.datasets import make_rings, make_spirals
from afcm.exceptions import (
    AFCMWarning,
    HardMembershipsWarning,
    MergedClustersWarning,
    NotConvergedWarning,
)
from afcm.graph.kernels import KERNELS
from afcm.metrics import adjusted_rand, clustering_accuracy, normalized_mutual_info

SOFT = 150_000.0  # λ = 1000 n on Iris: memberships stay soft
TOYS = {"spirals": (make_spirals, 2), "rings": (make_rings, 3)}


def blobs(n=120, c=3, seed=0, **options):
    return make_blobs(n, centers=c, random_state=seed, **{"n_features": 4, "cluster_std": 0.5, **options})


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return minmax_scale(X), y


@pytest.mark.parametrize("toy", TOYS)
@pytest.mark.parametrize("seed", range(10))
def test_toys_come_out_right_with_defaults_and_not_without_the_graph(toy, seed):
    make, c = TOYS[toy]
    X, y = make(random_state=seed)
    assert clustering_accuracy(y, AFCM(c, random_state=seed).fit_predict(X)) == 1.0
    assert clustering_accuracy(y, KMeans(c, n_init=10, random_state=seed).fit_predict(X)) < 0.75
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)  # rings have no centres to converge to
        assert clustering_accuracy(y, PlainAFCM(c, random_state=seed).fit_predict(X)) < 0.75


def test_attributes_are_there_and_agree(iris):
    X, _ = iris
    model = AFCM(3, graph_weight=SOFT, density_strength=0, random_state=0).fit(X)
    assert model.memberships_.shape == model.embedding_.shape == (150, 3)
    assert model.cluster_centers_.shape == (3, 3)
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(model.labels_, model.memberships_.argmax(axis=1))
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(3), atol=1e-9)
    assert model.converged_
    assert model.n_iter_ == len(model.history_["objective"]) == len(model.history_["gamma"])
    assert model.objective_ == model.history_["objective"][-1]
    assert model.gamma_ == model.history_["gamma"][-1]
    assert model.graph_weight_ == SOFT
    assert AFCM(3, random_state=0).fit(make_rings(random_state=0)[0]).graph_weight_ == 3 * 900
    assert 0 < model.crispness_ < 1
    assert model.membership_state_ == "soft"
    assert (np.diff(model.history_["objective"]) <= 1e-9 * np.abs(model.history_["objective"][1:])).all()


def test_paper_mode_on_iris(iris):
    """The row of the paper is 96.13; random starts average at least 95.3 (40: ten alone have an error of 0.4)."""
    X, y = iris
    scores = []
    for seed in range(40):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HardMembershipsWarning)  # γ runs away on Iris for λ = 1e3
            model = AFCM.paper(3, n_neighbors=3, graph_weight=1e3, random_state=seed).fit(X)
        scores.append(100 * clustering_accuracy(y, model.labels_))
    assert np.mean(scores) >= 95.3


def test_paper_mode_ablation_two_on_iris(iris):
    """Spectral embedding of the paper's graph, then PlainAFCM: 94.67 / 85.88 / 85.15, as printed."""
    X, y = iris
    limit = AFCM.paper(3, n_neighbors=3, graph_weight=1e12, random_state=0).fit(X)  # λ → ∞: the spectral embedding
    for seed in range(3):
        for init in ("random", "k-means++"):
            labels = PlainAFCM(3, init=init, random_state=seed).fit_predict(limit.embedding_)
            row = [clustering_accuracy(y, labels), normalized_mutual_info(y, labels), adjusted_rand(y, labels)]
            assert [round(100 * value, 2) for value in row] == [94.67, 85.88, 85.15]


def test_paper_mode_is_the_papers_configuration():
    model = AFCM.paper(4, n_neighbors=6, graph_weight=1e4, random_state=7)
    expected = {
        "n_clusters": 4,
        "n_neighbors": 6,
        "graph_weight": 1e4,
        "kernel": "gaussian",
        "bandwidth": 2.0,
        "init": "random",
        "max_iter": 80,
        "merge_duplicates": False,
        "random_state": 7,
    }
    assert expected.items() <= model.get_params().items()


@pytest.mark.parametrize("kernel", sorted(KERNELS))
@pytest.mark.parametrize("init", ["spectral", "k-means++", "random"])
def test_every_kernel_and_start_separates_blobs(kernel, init):
    X, y = blobs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AFCMWarning)
        model = AFCM(3, kernel=kernel, init=init, n_init=5, n_neighbors=8, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_given_memberships_and_centers_start_the_run():
    X, y = blobs()
    hard = np.eye(3)[y]
    np.testing.assert_array_equal(AFCM(3, init=hard).fit(X).labels_, y)
    means = np.stack([X[y == j].mean(axis=0) for j in (2, 0, 1)])
    labels = AFCM(3, init=means).fit(X).labels_
    np.testing.assert_array_equal(labels, np.array([1, 2, 0])[y])


def test_more_components_than_clusters_is_an_answer():
    X, y = make_blobs(240, centers=[[10 * i, 0] for i in (0, 1, 2, 9, 10, 11)], cluster_std=0.3, random_state=0)
    model = AFCM(2, n_neighbors=5, random_state=0).fit(X)
    assert model.n_components_ == 6
    np.testing.assert_array_equal(model.labels_, model.labels_[np.argmax(y == 0)] ^ (y >= 3))
    for c in (5, 12):
        X, y = make_blobs(
            360, centers=[[10 * (i % 4), 10 * (i // 4)] for i in range(12)], cluster_std=0.2, random_state=0
        )
        model = AFCM(c, n_neighbors=5, random_state=0).fit(X)
        assert model.n_components_ == 12
        assert np.unique(model.labels_).size == c
        assert all(np.unique(model.labels_[y == j]).size == 1 for j in range(12))


@pytest.mark.filterwarnings("ignore::afcm.exceptions.HardMembershipsWarning")
def test_duplicates_do_not_use_up_the_neighbor_lists():
    X, y = blobs(60, cluster_std=1.0)
    repeated, labels = np.repeat(X, 30, axis=0), np.repeat(y, 30)
    model = AFCM(3, n_neighbors=6, random_state=0).fit(repeated)
    single = AFCM(3, n_neighbors=6, random_state=0).fit(X)
    assert model.n_components_ == single.n_components_
    assert adjusted_rand_score(labels, model.labels_) == 1.0
    np.testing.assert_allclose(
        np.sort(model.memberships_[::30], axis=1), np.sort(single.memberships_, axis=1), atol=1e-8
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AFCMWarning)
        islands = AFCM(3, n_neighbors=6, merge_duplicates=False, random_state=0).fit(repeated)
    assert islands.n_components_ > 3


def test_constant_columns_change_nothing():
    X, _ = blobs()
    wide = np.hstack([X, np.full((len(X), 3), 7.0)])
    np.testing.assert_allclose(
        AFCM(3, random_state=0).fit(wide).memberships_, AFCM(3, random_state=0).fit(X).memberships_, atol=1e-7
    )


def test_isolated_samples_of_a_precomputed_affinity_get_finite_memberships():
    X, y = blobs(60)
    W = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    W[W < 1e-3] = 0
    W[:2] = W[:, :2] = 0
    model = AFCM(3, affinity="precomputed", random_state=0).fit(W)
    assert np.isfinite(model.memberships_).all()
    assert adjusted_rand_score(y[2:], model.labels_[2:]) == 1.0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csr_array, sp.coo_array])
def test_precomputed_affinity_in_any_form(form):
    X, y = blobs(60)
    W = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 8)
    before = W.copy()
    model = AFCM(3, affinity="precomputed", random_state=0).fit(form(W))
    assert adjusted_rand_score(y, model.labels_) == 1.0
    np.testing.assert_array_equal(W, before)
    np.testing.assert_array_equal(model.predict(form(W[:9])), model.labels_[:9])


@pytest.mark.filterwarnings("ignore::afcm.exceptions.HardMembershipsWarning")
def test_sparse_data_give_the_same_answer_as_dense():
    rng = np.random.default_rng(0)
    X, _ = blobs(n_features=12)
    X = X * (rng.random(X.shape) < 0.5)
    dense = AFCM(3, random_state=0).fit(X)
    sparse = AFCM(3, random_state=0).fit(sp.csr_array(X))
    assert clustering_accuracy(dense.labels_, sparse.labels_) == 1.0
    assert clustering_accuracy(sparse.predict(sp.csr_array(X)), sparse.labels_) == 1.0


@pytest.mark.parametrize("name", ["blobs", "rings", "spirals", "digits"])
def test_prediction_agrees_with_the_fit_even_off_the_training_points(name):
    if name == "digits":
        (X, _), c = load_digits(return_X_y=True), 10
    elif name == "blobs":
        (X, _), c = blobs(300), 3
    else:
        make, c = TOYS[name]
        X, _ = make(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AFCMWarning)
        model = AFCM(c, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.transform(X), model.embedding_)
    nearby = X + 1e-6 * X.std() * np.random.default_rng(0).standard_normal(X.shape)
    assert (model.predict(nearby) == model.labels_).mean() >= 0.99


def test_held_out_samples_of_shapes_are_placed_right():
    for make, c in TOYS.values():
        X, y = make(random_state=0)
        half = np.random.default_rng(0).permutation(len(X))
        train, test = half[: int(0.8 * len(X))], half[int(0.8 * len(X)) :]
        model = AFCM(c, random_state=0).fit(X[train])
        assert clustering_accuracy(np.r_[y[train], y[test]], np.r_[model.labels_, model.predict(X[test])]) == 1.0


def test_a_far_away_sample_gets_a_membership_and_no_warning():
    X, _ = blobs()
    for kernel in KERNELS:
        model = AFCM(3, kernel=kernel, random_state=0).fit(X)
        far = model.predict_proba(np.full((1, X.shape[1]), 1e6))
        np.testing.assert_allclose(far.sum(axis=1), 1)


def test_predicting_does_not_change_the_model(iris):
    X, _ = iris
    model = AFCM(3, graph_weight=SOFT, density_strength=0, random_state=0).fit(X)
    before = pickle.dumps(model)
    model.predict(X + 0.1), model.predict_proba(X[:3]), model.transform(X[5:9])
    assert pickle.dumps(model) == before
    loaded = pickle.loads(before)
    np.testing.assert_array_equal(loaded.predict_proba(X + 0.1), model.predict_proba(X + 0.1))


def test_the_same_seed_gives_the_same_bits_and_the_global_state_is_left_alone(iris):
    X, _ = iris
    state = np.random.get_state()[1].copy()
    first, second = (
        AFCM(3, graph_weight=SOFT, density_strength=0, init="random", random_state=3).fit(X) for _ in range(2)
    )
    np.testing.assert_array_equal(first.memberships_, second.memberships_)
    np.testing.assert_array_equal(np.random.get_state()[1], state)


def test_several_runs_keep_the_lowest_cut_not_the_lowest_objective():
    X, _ = make_spirals(random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AFCMWarning)
        single = [AFCM(2, init="random", n_neighbors=6, random_state=seed).fit(X) for seed in range(4)]
        several = AFCM(2, init="random", n_neighbors=6, n_init=8, random_state=0).fit(X)
    assert several.normalized_cut_ <= min(model.normalized_cut_ for model in single) + 1e-9


@pytest.mark.filterwarnings("ignore::afcm.exceptions.HardMembershipsWarning")
def test_sample_weights_are_repetitions_and_zero_is_absence():
    X, _ = blobs(60, cluster_std=1.5)
    weights = np.random.default_rng(0).integers(0, 4, size=60)
    weighted = AFCM(3, random_state=0).fit(X, sample_weight=weights)
    repeated = AFCM(3, random_state=0).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(np.repeat(weighted.memberships_, weights, axis=0), repeated.memberships_, atol=1e-10)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-10)
    assert np.isfinite(weighted.memberships_).all()
    np.testing.assert_allclose(weighted.memberships_.sum(axis=1), 1)
    ones = AFCM(3, random_state=0).fit(X, sample_weight=np.ones(60))
    assert adjusted_rand_score(ones.labels_, AFCM(3, random_state=0).fit(X).labels_) == 1.0


def test_single_precision_in_single_precision_out():
    X, y = blobs()
    model = AFCM(3, random_state=0).fit(X.astype(np.float32))
    assert model.memberships_.dtype == model.embedding_.dtype == np.float32
    assert model.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_hard_memberships_are_reported_when_the_data_do_not_ask_for_them(iris):
    X, _ = iris
    with pytest.warns(HardMembershipsWarning, match=r"memberships='auto'"):
        model = AFCM(3, graph_weight=1.0, memberships="paper", random_state=0).fit(X)
    assert model.membership_state_ == "hard"
    assert model.crispness_ > 0.999
    assert AFCM(3, graph_weight=1.0, random_state=0).fit(X).membership_state_ == "soft"  # and no warning
    rings, _ = make_rings(random_state=0)
    separated = AFCM(3, random_state=0).fit(rings)  # no warning: no edge runs between the rings
    assert separated.membership_state_ == "hard"


def test_gamma_is_capped_and_stays_finite(iris):
    X, _ = iris
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AFCMWarning)
        model = AFCM.paper(3, n_neighbors=3, graph_weight=10.0, random_state=0, tol=0.0).fit(X)
    assert model.gamma_ == pytest.approx(150 / 2 * 1e8)
    assert np.isfinite(model.objective_)


def test_merged_clusters_are_reported():
    X, _ = blobs(30)
    even = np.full((30, 3), 1 / 3)
    with pytest.warns(MergedClustersWarning, match=r"1/3"):
        model = AFCM(3, init=even, max_iter=1, tol=1.0).fit(X)
    assert model.membership_state_ == "merged"
    assert model.crispness_ < 1e-3


def test_too_few_sweeps_are_reported(iris):
    with pytest.warns(NotConvergedWarning, match="max_iter=2"):
        model = AFCM(3, graph_weight=SOFT, density_strength=0, max_iter=2, tol=0.0, random_state=0).fit(iris[0])
    assert not model.converged_


def test_a_callback_sees_every_sweep(iris):
    seen = []
    model = AFCM(3, graph_weight=SOFT, density_strength=0, random_state=0, callback=seen.append).fit(iris[0])
    assert [iteration.index for iteration in seen] == list(range(1, model.n_iter_ + 1))
    assert seen[-1].state.objective == model.objective_


def test_data_frames_and_set_output():
    X, _ = blobs()
    names = [f"f{i}" for i in range(X.shape[1])]
    plain = AFCM(3, random_state=0).fit(X)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = AFCM(3, random_state=0).fit(frame)
        assert list(model.feature_names_in_) == names
        np.testing.assert_array_equal(model.predict(frame), plain.labels_)
    out = clone(plain).set_output(transform="pandas").fit_transform(pd.DataFrame(X, columns=names))
    assert list(out.columns) == ["afcm0", "afcm1", "afcm2"]
    assert clone(plain).set_output(transform="polars").fit(X).transform(X).columns == ["afcm0", "afcm1", "afcm2"]


@pytest.mark.parametrize("c", [1, 30])
def test_one_cluster_and_as_many_clusters_as_samples(c):
    X, _ = blobs(30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AFCMWarning)
        model = AFCM(c, random_state=0).fit(X)
    assert np.isfinite(model.memberships_).all()
    assert np.unique(model.labels_).size == c


def test_a_tiny_cluster_beside_a_large_one_is_found():
    for seed in range(5):
        X, y = make_blobs([1000, 30], centers=[[0, 0], [7, 0]], random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AFCMWarning)
            assert adjusted_rand(y, AFCM(2, random_state=seed).fit(X).labels_) > 0.95
