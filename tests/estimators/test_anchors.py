"""AFCM on an anchor graph as a user meets it."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_blobs
from sklearn.preprocessing import minmax_scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from afcm import AFCM
from afcm.baselines import SpectralBaseline
from afcm.checkpoints import Checkpoint
from afcm.datasets import make_rings, make_spirals
from afcm.exceptions import AFCMWarning, HardMembershipsWarning
from afcm.graph.anchors.prepared import AnchorSetting
from afcm.graph.kernels import KERNELS
from afcm.metrics import adjusted_rand, clustering_accuracy

TOYS = {"spirals": (make_spirals, 2), "rings": (make_rings, 3)}
SOFT = 150_000.0  # λ = 1000 n on Iris: memberships stay soft


def anchored(n_clusters, **options):
    return AFCM(n_clusters, graph="anchors", random_state=0, **options)


def blobs(n=300, c=3, seed=0, **options):
    return make_blobs(n, centers=c, random_state=seed, **{"n_features": 4, "cluster_std": 0.5, **options})


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return minmax_scale(X), y


@pytest.mark.parametrize("toy", TOYS)
@pytest.mark.parametrize("seed", range(10))
def test_toys_come_out_right(toy, seed):
    make, c = TOYS[toy]
    X, y = make(random_state=seed)
    model = AFCM(c, graph="anchors", random_state=seed).fit(X)
    assert clustering_accuracy(y, model.labels_) == 1.0
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_a_third_as_many_anchors_as_samples_will_do():
    for make, c in TOYS.values():
        X, y = make(random_state=0)
        model = anchored(c, n_anchors=len(X) // 3, n_neighbors=5).fit(X)
        assert clustering_accuracy(y, model.labels_) == 1.0
        assert model.n_anchors_ == len(model.anchors_) == len(X) // 3


def test_clusters_are_counted():
    for make, c in TOYS.values():
        assert anchored("auto").fit(make(random_state=1)[0]).n_clusters_ == c
    X, y = make_blobs(3000, 5, centers=6, random_state=2)
    model = anchored("auto").fit(X)
    assert model.n_clusters_ == 6
    assert adjusted_rand(y, model.labels_) > 0.99
    with pytest.warns(AFCMWarning, match="no clusters found"):
        assert anchored("auto").fit(np.random.RandomState(0).standard_normal((3000, 3))).n_clusters_ == 1


def test_attributes_are_there_and_agree(iris):
    X, y = iris
    model = anchored(3, graph_weight=SOFT, n_anchors=60).fit(X)
    assert model.memberships_.shape == model.embedding_.shape == (150, 3)
    assert model.anchors_.shape == (60, 4)
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(3), atol=1e-7)
    np.testing.assert_array_equal(model.fit_transform(X), model.embedding_)
    assert model.objective_ == model.history_["objective"][-1]
    assert model.gamma_ == model.history_["gamma"][-1] < model.gamma_cap_
    assert 0 <= model.normalized_cut_ <= 3
    assert model.eigen_residual_ < 1e-8
    assert 0 < model.crispness_ < 1
    assert (np.diff(model.history_["objective"]) <= 1e-9 * np.abs(model.history_["objective"][1:])).all()
    assert clustering_accuracy(y, model.labels_) > 0.85
    assert not hasattr(model.set_params(graph="neighbors", density_strength=0).fit(X), "anchors_")


def test_new_samples_are_placed_by_their_own_rows(iris):
    X, _ = iris
    model = anchored(3, graph_weight=SOFT, n_anchors=60).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    near = X + 1e-9  # no fitted sample, and nearly one
    assert np.mean(model.predict(near) == model.labels_) > 0.97
    assert np.corrcoef(model.transform(near).ravel(), model.embedding_.ravel())[0, 1] > 0.95
    assert model.predict_proba([[50.0, 50, 50, 50]]).sum() == pytest.approx(1)
    calibrated = model.calibrated_memberships()
    np.testing.assert_allclose(calibrated.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(model.calibrated_memberships(X), calibrated, atol=1e-12)
    assert np.abs(model.calibrated_memberships(near) - calibrated).max() < 0.2
    assert calibrated.max(axis=1).min() < 0.9  # some are in doubt


@pytest.mark.parametrize("kernel", ["sharpened", *sorted(KERNELS)])
@pytest.mark.parametrize("init", ["spectral", "k-means++", "random"])
def test_every_kernel_and_start_separates_blobs(kernel, init):
    X, y = blobs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AFCMWarning)
        model = anchored(3, kernel=kernel, init=init, n_init=4, n_anchors=50).fit(X)
    assert adjusted_rand(y, model.labels_) == 1.0


def test_given_memberships_and_centers_start_the_run():
    X, y = blobs()
    np.testing.assert_array_equal(anchored(3, init=np.eye(3)[y]).fit(X).labels_, y)
    means = np.stack([X[y == j].mean(axis=0) for j in (2, 0, 1)])
    np.testing.assert_array_equal(anchored(3, init=means).fit(X).labels_, np.array([1, 2, 0])[y])


def test_the_default_kernel_is_adaptive():
    X, _ = blobs(cluster_std=1.0)
    both = [anchored(3, kernel=kernel, graph_weight=1e6).fit(X).memberships_ for kernel in ("sharpened", "adaptive")]
    np.testing.assert_array_equal(*both)


@pytest.mark.filterwarnings("ignore::afcm.exceptions.HardMembershipsWarning")
def test_a_weight_of_two_is_a_sample_twice_and_one_of_zero_is_none():
    X, _ = blobs(120, cluster_std=2.0)
    weights = np.r_[np.full(40, 2.0), np.ones(60), np.zeros(20)]
    options = {"n_anchors": 40, "graph_weight": 1e5}
    weighted = anchored(3, **options).fit(X, sample_weight=weights)
    repeated = anchored(3, **options).fit(np.vstack([X[:40], X[:100]]))
    np.testing.assert_allclose(weighted.memberships_[:100], repeated.memberships_[40:], atol=1e-9)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-10)
    np.testing.assert_allclose(weighted.predict_proba(X[100:]), weighted.memberships_[100:], atol=1e-12)


def test_prepared_graphs_are_shared_and_do_not_depend_on_the_seed():
    X, y = make_rings(random_state=0)
    prepared = anchored(3).prepare(X)
    model = AFCM(3, random_state=5).fit_prepared(prepared)
    np.testing.assert_array_equal(model.anchors_, AFCM(3, graph="anchors", random_state=9).fit(X).anchors_)
    baseline = SpectralBaseline(3, random_state=0).fit_prepared(prepared)
    assert clustering_accuracy(y, model.labels_) == clustering_accuracy(y, baseline.labels_) == 1.0
    eigen = prepared.eigenvectors(4, 1e-8)
    np.testing.assert_allclose(eigen.graph_image, eigen.vectors * eigen.values, atol=1e-6)


def test_eigenvectors_of_weighted_samples_are_those_of_repeated_ones():
    X, _ = blobs(120, cluster_std=3.0)
    prepared = anchored(3, n_anchors=40).prepare(X, sample_weight=np.arange(120) % 3 + 1.0)
    masses = prepared.graph.masses.astype(int)
    eigen = prepared.eigenvectors(4, 1e-10)
    rows = np.repeat(prepared.weights.toarray(), masses, axis=0)
    repeated = rows @ (rows / rows.sum(axis=0)).T
    np.testing.assert_allclose(eigen.values, np.linalg.eigvalsh(repeated)[:-5:-1], atol=1e-9)
    spread = np.repeat(eigen.vectors / np.sqrt(masses)[:, None], masses, axis=0)
    np.testing.assert_allclose(spread.T @ spread, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(repeated @ spread, spread * eigen.values, atol=1e-7)


def test_callbacks_checkpoints_warm_starts_and_pickles(iris, tmp_path):
    X, _ = iris
    seen = []
    model = anchored(3, graph_weight=SOFT, callback=seen.append, tol=1e-6).fit(X)
    assert len(seen) == model.n_iter_ > 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AFCMWarning)
        checkpoint = Checkpoint(tmp_path / "fit.ckpt", every=1, callback=stop_after(2))
        with pytest.raises(KeyboardInterrupt):
            anchored(3, graph_weight=SOFT, callback=checkpoint, tol=1e-6).fit(X)
    resumed = anchored(3, graph_weight=SOFT, callback=Checkpoint(tmp_path / "fit.ckpt"), tol=1e-6).fit(X)
    np.testing.assert_array_equal(resumed.memberships_, model.memberships_)
    again = anchored(3, graph_weight=SOFT, tol=1e-6, warm_start=True).fit(X)
    before = again.objective_
    assert again.fit(X).objective_ <= before + 1e-9 * abs(before)
    copy = pickle.loads(pickle.dumps(again))
    np.testing.assert_array_equal(copy.predict_proba(X + 0.01), again.predict_proba(X + 0.01))


def stop_after(n_sweeps):
    def callback(iteration):
        if iteration.index == n_sweeps:
            raise KeyboardInterrupt

    return callback


def test_float32_in_float32_out():
    X, y = blobs()
    model = anchored(3, n_anchors=50).fit(X.astype(np.float32))
    assert model.memberships_.dtype == model.embedding_.dtype == model.transform(X[:3].astype(np.float32)).dtype
    assert model.memberships_.dtype == np.float32
    assert adjusted_rand(y, model.labels_) == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"graph": "anchor"}, "graph='anchor' is not known"),
        ({"n_anchors": 0}, "n_anchors=0 must be at least 1"),
        ({"n_anchors": 2}, "n_anchors=2 must lie between 3"),
        ({"n_anchors": 61}, "n_anchors=61 must lie between 3, the number of clusters, and 60"),
        ({"n_anchors": 10, "n_neighbors": 10}, "n_neighbors=10 must be below the number of anchors, 10; use at most 9"),
        ({"affinity": "precomputed"}, "graph='anchors' needs samples"),
        ({"device": "cpu"}, "works on NumPy arrays"),
    ],
)
def test_what_does_not_go_is_said(options, message):
    X, _ = blobs(60)
    with pytest.raises(ValueError, match=message):
        AFCM(3, **{"graph": "anchors", **options}).fit(X)


def test_sparse_samples_and_tensors_are_refused_with_a_way_out():
    X, _ = blobs(60)
    with pytest.raises(TypeError, match="toarray"):
        anchored(3).fit(sp.csr_array(X))
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(ValueError, match="graph='neighbors'"):
        anchored(3).fit(torch.as_tensor(X))
    with pytest.raises(ValueError, match="graph='neighbors'"):
        anchored(3).fit(X).predict(torch.as_tensor(X))


@pytest.mark.parametrize(("n", "n_clusters", "expected"), [(50, 3, 50), (10**6, 3, 1000), (10**6, 200, 2000)])
def test_a_thousand_anchors_or_ten_for_each_cluster(n, n_clusters, expected):
    assert AnchorSetting(n_clusters, None, None, "adaptive", 1.0).effective_anchors(n) == expected


@pytest.mark.filterwarnings("ignore::afcm.exceptions.AFCMWarning")  # the checks fit a few sweeps on tiny data
@parametrize_with_checks([AFCM(3, graph="anchors")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_touching_clusters_with_hard_memberships_are_said(iris):
    with pytest.warns(HardMembershipsWarning, match="memberships='auto'"):
        anchored(3, memberships="paper").fit(iris[0])
