"""Probabilities inside given clusters: known densities come back, and there is no background where there is none."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial import cKDTree
from scipy.stats import multivariate_normal
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import roc_auc_score

from afcm.equations.quadratic import quadratic_features
from afcm.models import cluster_gaussians, learning_sample
from afcm.models.cluster_mixture import Sample
from afcm.models.distance_background import DistanceBackground
from afcm.models.local_mixture import LocalMixture, fit_local_mixture

pytestmark = pytest.mark.usefixtures("one_thread")


def log_distances(points, k=12):
    """To the k-th neighbor; copies of a sample are not its neighbors."""
    distinct, inverse = np.unique(points, axis=0, return_inverse=True)
    found = cKDTree(distinct).query(distinct, [min(k + 1, len(distinct))])[0][:, 0]
    return np.log(np.maximum(found, 1e-300))[inverse.ravel()]


def fit(points, labels, **others):
    return fit_local_mixture(points, labels, int(labels.max()) + 1, log_distances(points), **others)


def nearest_labels(points, truth):
    """Background samples (truth −1) get the label of the nearest other sample."""
    known = truth >= 0
    return truth[known][cKDTree(points[known]).query(points)[1]]


def with_noise(points, labels, amount, kind, seed):
    rng = np.random.RandomState(seed)
    low, width = points.min(axis=0), np.ptp(points, axis=0)
    n, d = round(amount * len(points)), points.shape[1]
    noise = low + width * rng.uniform(-0.15, 1.15, (n, d))
    if kind == "gauss":
        noise = low + width * (0.5 + 0.45 * rng.normal(size=(n, d)))
    if kind == "stray":
        noise[: n // 10] = low + width * (0.5 + 3 * rng.normal(size=(n // 10, d)))
    truth = np.r_[labels, np.full(n, -1)]
    points = np.vstack([points, noise])
    return points, truth, nearest_labels(points, truth)


def blobs(seed, n=600):
    return make_blobs(n, 2, centers=[[0, 0], [9, 0], [3, 8]], random_state=seed)


def noisy_blobs(seed=0, amount=0.1):
    points, truth, labels = with_noise(*blobs(seed), amount, "box", seed)
    return points, truth, labels


CLEAN = {
    "blobs": blobs,
    "unequal": lambda s: make_blobs(
        600, 2, centers=[[-8, -5], [0, 5], [9, -4]], cluster_std=[0.5, 2, 1], random_state=s
    ),
    "moons": lambda s: make_moons(600, noise=0.05, random_state=s),
}
STRUCTURELESS = {
    "uniform": lambda rng, d: rng.uniform(size=(800, d)),
    "gauss": lambda rng, d: rng.normal(size=(800, d)),
    "heavy tails": lambda rng, d: rng.standard_t(4, size=(800, d)),
    "joint heavy tails": lambda rng, d: rng.normal(size=(800, d)) / np.sqrt(rng.chisquare(4, size=(800, 1)) / 4),
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", CLEAN)
def test_clean_clusters_have_no_background(name, seed):
    points, labels = CLEAN[name](seed)
    found = fit(points, labels)
    assert found.share == 0.0
    assert (found.outlier_scores(points) == 0.0).all()
    assert (found.posterior(points)[0].argmax(axis=1) == labels).mean() > 0.99


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("n_clusters", [1, 2, 4])
@pytest.mark.parametrize("name", STRUCTURELESS)
def test_one_population_has_no_background(name, n_clusters, d):
    points = STRUCTURELESS[name](np.random.RandomState(n_clusters), d)
    labels = KMeans(n_clusters, n_init=1, random_state=0).fit_predict(points)
    assert fit(points, labels).share == 0.0


@pytest.mark.parametrize("kind", ["box", "gauss", "stray"])
@pytest.mark.parametrize("amount", [0.1, 0.5])
@pytest.mark.parametrize("name", CLEAN)
def test_the_share_of_noise_is_found(name, amount, kind):
    points, truth, labels = with_noise(*CLEAN[name](3), amount, kind, 3)
    found = fit(points, labels)
    assert found.share == pytest.approx((truth < 0).mean(), rel=0.3)
    scores = found.outlier_scores(points)
    assert scores.mean() == pytest.approx(found.share, abs=2e-3)
    assert roc_auc_score(truth < 0, scores) > 0.87


def test_scores_are_the_ratio_of_known_densities():
    rng = np.random.RandomState(0)
    is_noise = rng.uniform(size=2000) < 0.2
    points = np.where(is_noise[:, None], rng.uniform(-6, 6, (2000, 2)), rng.normal(size=(2000, 2)))
    clusters = 0.8 * multivariate_normal(np.zeros(2), np.eye(2)).pdf(points)
    expected = 0.2 / 144 / (0.2 / 144 + clusters)
    found = fit(points, np.zeros(2000, dtype=int))
    assert found.share == pytest.approx(0.2, abs=0.02)
    assert np.abs(found.outlier_scores(points) - expected).mean() < 0.01


@pytest.mark.parametrize("distance", [2.0, 3.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_posteriors_of_two_gaussians_are_the_closed_form(distance, seed):
    rng = np.random.RandomState(seed)
    points = rng.normal(size=(1500, 2)) + np.outer(rng.randint(2, size=1500), [distance, 0.0])
    second = 1.0 / (1.0 + np.exp(-distance * (points[:, 0] - distance / 2)))
    found = fit(points, (second > 0.5).astype(int))
    memberships, scores = found.posterior(points)
    assert found.share == 0.0
    assert not scores.any()
    np.testing.assert_allclose(memberships.sum(axis=1), 1.0, rtol=1e-12)
    assert (2 * (memberships[:, 1] - second) ** 2).mean() <= 0.004


def test_posteriors_of_curved_clusters_need_several_gaussians():
    points, labels = make_moons(800, noise=0.1, random_state=0)
    found = fit(points, labels)
    assert np.bincount(found.owners).min() >= 2
    assert (found.posterior(points)[0].argmax(axis=1) == labels).mean() > 0.99


def test_a_sparse_cluster_keeps_its_samples():
    points, labels = make_blobs(600, 2, centers=[[0, 0], [16, 0], [0, 18]], cluster_std=[0.5, 0.5, 5.0], random_state=0)
    found = fit(points, labels)
    assert found.share == 0.0
    assert (found.posterior(points)[0].argmax(axis=1) == labels)[labels == 2].mean() > 0.97
    noisy, truth, labels = with_noise(points, labels, 0.1, "box", 0)
    scores = fit(noisy, labels).outlier_scores(noisy)
    assert scores[truth == 2].mean() < 0.15
    assert scores[truth < 0].mean() > 0.4


@pytest.mark.parametrize("share", ["auto", None, 0.2])
def test_masses_are_repeated_samples(share):
    points, _, labels = noisy_blobs()
    copies = np.random.RandomState(1).randint(1, 4, len(points))
    weighted = fit(points, labels, masses=copies.astype(float), share=share)
    repeated = fit(np.repeat(points, copies, axis=0), np.repeat(labels, copies), share=share)
    unweighted = fit(points, labels, share=share)
    for a, b in zip(weighted.posterior(points), repeated.posterior(points), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert weighted.share == pytest.approx(repeated.share, rel=1e-6)
    assert not np.allclose(weighted.weights[:3], unweighted.weights[:3], rtol=1e-4)


@pytest.mark.parametrize("unit", [1e-150, 1e-5, 1e7, 1e120])
def test_results_do_not_depend_on_the_unit(unit):
    points, _, labels = noisy_blobs()
    distances = log_distances(points)
    plain = fit_local_mixture(points, labels, 3, distances)
    scaled = fit_local_mixture(points * unit, labels, 3, distances + np.log(unit))
    assert scaled.share == pytest.approx(plain.share, rel=1e-6)
    for a, b in zip(plain.posterior(points), scaled.posterior(points * unit), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_results_do_not_depend_on_origin_order_or_column_units():
    points, _, labels = noisy_blobs()
    plain = fit(points, labels).posterior(points)
    order = np.random.RandomState(0).permutation(len(points))
    distances = log_distances(points)
    shuffled = fit_local_mixture(points[order], labels[order], 3, distances[order])
    for other, seen in ((shuffled, points), (fit(points + 1e5, labels), points + 1e5)):
        for a, b in zip(plain, other.posterior(seen), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)
    units = np.array([1.0, 1e-4])
    other = fit_local_mixture(points * units, labels, 3, distances)
    np.testing.assert_allclose(other.posterior(points * units)[1], plain[1], atol=1e-6)


@pytest.mark.parametrize("distance", [1e2, 1e5, 1e30])
def test_a_far_sample_is_background_and_changes_no_other(distance):
    points, _, labels = noisy_blobs()
    before = fit(points, labels).outlier_scores(points)
    more, labels = np.vstack([points, [[distance, distance]]]), np.r_[labels, 0]
    after = fit(more, labels).outlier_scores(more)
    assert after[-1] > 0.999
    assert np.abs(after[:-1] - before).mean() < 1e-2
    assert np.abs(after[:-1] - before).max() < 0.2


def test_new_samples_outside_the_box_are_background():
    points, _, labels = noisy_blobs()
    found = fit(points, labels)
    memberships, scores = found.posterior(np.array([[1e3, 1e3], [0.0, 0.0], [1e200, 0.0]]))
    np.testing.assert_allclose(scores, [1.0, 0.0, 1.0], atol=0.02)
    np.testing.assert_allclose(memberships.sum(axis=1), 1.0)
    assert memberships[1, 0] > 0.999


@pytest.mark.parametrize("share", [0.01, 0.2, 0.7])
def test_a_given_share_is_kept(share):
    points, labels = blobs(0)
    found = fit(points, labels, share=share)
    assert found.share == pytest.approx(share, rel=1e-12)
    assert found.background_weights.sum() + found.weights.sum() == pytest.approx(1.0)
    assert found.outlier_scores(points).mean() > 0.1 * share
    high = np.random.RandomState(0).normal(size=(50, 20))
    assert fit(high, np.zeros(50, dtype=int), share=share).share == share


def test_without_a_background_noise_stays_in_the_clusters():
    points, _, labels = noisy_blobs()
    found = fit(points, labels, share=None)
    assert found.share == 0.0
    assert not found.outlier_scores(points).any()


def draw_apart(n_far):
    """Three clouds in ten dimensions, and samples far from all of them."""
    points, labels = make_blobs(900, 10, centers=3, cluster_std=1.0, random_state=0)
    far = np.random.default_rng(0).uniform(-20, 20, size=(n_far, 10))
    points = np.vstack([points, far])
    return points, np.append(labels, np.zeros(n_far, dtype=int))


def test_no_background_is_fitted_where_none_could_be_worth_a_number(monkeypatch):
    points, labels = draw_apart(0)
    with_both = monkeypatch.context()
    with with_both as patched:
        patched.setattr(Sample, "has_unlikely_samples", lambda *_: True)
        slow = fit(points, labels)
    monkeypatch.setattr(Sample, "fit_with_background", lambda *_: pytest.fail("no sample is unlikely"))
    fast = fit(points, labels)
    for name, part in asdict(slow).items():
        np.testing.assert_array_equal(getattr(fast, name), part)


@pytest.mark.parametrize("n_far", [30, 90])
def test_far_samples_are_unlikely(monkeypatch, n_far):
    asked = []
    ask = Sample.has_unlikely_samples
    monkeypatch.setattr(Sample, "has_unlikely_samples", lambda *given: asked.append(ask(*given)) or asked[-1])
    found = fit(*draw_apart(n_far))
    assert asked == [True]
    assert found.share == pytest.approx(n_far / (900 + n_far), abs=0.005)


def high_dimensional(seed, amount):
    points, labels = make_blobs(600, 50, centers=5, random_state=seed)
    return with_noise(points, labels, amount, "box", seed)


@pytest.mark.parametrize("as_given", [lambda points: points, lambda points: None, sparse.csr_array])
def test_distances_tell_noise_where_samples_are_few(as_given):
    points, truth, labels = high_dimensional(0, 0.1)
    distances = log_distances(points)
    found = fit_local_mixture(as_given(points), labels, 5, distances)
    assert isinstance(found, DistanceBackground)
    assert roc_auc_score(truth < 0, found.outlier_scores(None, labels, distances)) > 0.95
    assert found.share == pytest.approx((truth < 0).mean(), rel=0.3)


@pytest.mark.parametrize("seed", range(5))
def test_distances_find_no_background_without_noise(seed):
    points, _, labels = high_dimensional(seed, 0.0)
    found = fit(points, labels)
    assert isinstance(found, DistanceBackground)
    assert found.share == 0.0
    assert not found.outlier_scores(None, labels, log_distances(points)).any()


def test_a_score_by_distances_never_falls_with_the_distance():
    points, _, labels = high_dimensional(0, 0.1)
    found = fit(points, labels)
    values = np.linspace(-20, 40, 500)
    scores = found.outlier_scores(None, np.full(500, 2), values)
    assert (np.diff(scores) >= -1e-12).all()
    assert scores[0] < 0.01
    assert scores[-1] > 0.99


def test_distances_by_masses_are_repeated_samples():
    points, _, labels = high_dimensional(1, 0.1)
    distances = log_distances(points)
    copies = np.random.RandomState(1).randint(1, 4, len(points))
    weighted = fit_local_mixture(None, labels, 5, distances, copies.astype(float))
    repeated = fit_local_mixture(None, np.repeat(labels, copies), 5, np.repeat(distances, copies))
    assert weighted.share == pytest.approx(repeated.share, rel=1e-9)
    np.testing.assert_allclose(weighted.means, repeated.means, rtol=1e-9)


def degenerate():
    rng = np.random.RandomState(0)
    plain, labels = blobs(0, 300)
    alone = np.vstack([plain, [[30.0, 30.0]]]), np.r_[labels, 3]
    few = np.vstack([plain, [[30.0, 30.0], [31.0, 30.0], [30.0, 31.0]]]), np.r_[labels, 3, 3, 3]
    line = np.c_[plain[:, 0], 2 * plain[:, 0]]
    return {
        "a cluster of one": alone,
        "a cluster of three": few,
        "an empty cluster": (plain, np.where(labels == 1, 3, labels)),
        "a constant column": (np.c_[plain, np.full(300, 7.3)], labels),
        "constant columns only": (np.full((50, 2), 0.1), np.zeros(50, dtype=int)),
        "few distinct samples": (rng.randint(2, size=(200, 2)).astype(float), rng.randint(2, size=200)),
        "a mostly constant column": (np.c_[plain, np.arange(300) < 5], labels),
        "a line": (line, labels),
        "one cluster": (plain, np.zeros(300, dtype=int)),
        "two samples": (np.array([[0.0], [1.0]]), np.array([0, 1])),
        "two equal samples": (np.zeros((2, 3)), np.array([0, 0])),
        "single precision": (plain.astype(np.float32), labels),
        "integers": (np.round(plain * 3).astype(int), labels),
    }


@pytest.mark.parametrize("share", ["auto", None, 0.3])
@pytest.mark.parametrize("name", degenerate())
def test_degenerate_samples_have_finite_results(name, share):
    points, labels = degenerate()[name]
    n_clusters = int(labels.max()) + 1
    distances = log_distances(np.asarray(points, dtype=float))
    found = fit_local_mixture(points, labels, n_clusters, distances, share=share)
    scores = found.outlier_scores(points, labels, distances)
    assert np.isfinite(scores).all()
    assert ((scores >= 0) & (scores <= 1)).all()
    if share != "auto":
        assert found.share == pytest.approx(share or 0.0)
    if isinstance(found, LocalMixture):
        memberships, _ = found.posterior(points)
        np.testing.assert_allclose(memberships.sum(axis=1), 1.0)
        present = np.bincount(labels, minlength=n_clusters) > 0
        assert not memberships[:, ~present].any()


def test_a_small_cluster_is_round_and_keeps_its_samples():
    points, labels = degenerate()["a cluster of three"]
    found = fit(points, labels)
    (own,) = found.covariances[found.owners == 3]
    np.testing.assert_allclose(own, own[0, 0] * np.eye(2), atol=1e-15)
    assert found.posterior(points)[0][-3:, 3].min() > 0.99


def test_a_constant_column_changes_nothing():
    points, _, labels = noisy_blobs()
    distances = log_distances(points)
    plain = fit_local_mixture(points, labels, 3, distances)
    wider = np.c_[points[:, :1], np.full(len(points), 3.3), points[:, 1:]]
    more = fit_local_mixture(wider, labels, 3, distances)
    np.testing.assert_array_equal(more.columns, [0, 2])
    np.testing.assert_allclose(more.posterior(wider)[1], plain.posterior(points)[1], atol=1e-9)


def test_many_samples_are_learned_from_some():
    points, labels = make_blobs([30000, 10000, 100], 2, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    clean = fit(points, labels)
    assert clean.share == 0.0
    np.testing.assert_allclose(np.bincount(clean.owners, clean.weights), [0.748, 0.249, 0.0025], rtol=0.05)
    rng = np.random.RandomState(0)
    noise = rng.uniform(-15, 20, (4000, 2))
    everything = np.vstack([points, noise])
    labels = np.r_[labels, nearest_labels(everything, np.r_[labels, np.full(4000, -1)])[-4000:]]
    found = fit(everything, labels)
    assert found.share == pytest.approx(4000 / 44100, rel=0.2)
    assert fit(everything, labels).share == found.share


def test_a_fit_is_plain_arrays_and_numbers():
    points, _, labels = noisy_blobs()
    for found in (fit(points, labels), fit_local_mixture(None, labels, 3, log_distances(points))):
        assert {type(value) for value in asdict(found).values()} <= {float, int, np.ndarray}
        again = type(found)(**asdict(found))
        distances = log_distances(points)
        np.testing.assert_array_equal(
            again.outlier_scores(points, labels, distances), found.outlier_scores(points, labels, distances)
        )


def test_blocks_of_new_samples_are_all_the_same(monkeypatch):
    points, _, labels = noisy_blobs()
    found = fit(points, labels)
    whole = found.posterior(points)
    monkeypatch.setattr("afcm.models.local_mixture.BLOCK_FEATURES", 1)
    for a, b in zip(whole, found.posterior(points), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_the_core_is_the_densest_share_of_each_mass():
    labels = np.array([0] * 10 + [1] * 3)
    distances = np.r_[np.arange(10.0)[::-1], 5.0, 5.0, 9.0]
    core = learning_sample.dense_core(labels, 3, distances, np.ones(13))
    np.testing.assert_array_equal(core, [False] * 3 + [True] * 7 + [True, True, True])
    heavy = np.r_[np.ones(9), 91.0, 7.0, 0.0, 3.0]
    np.testing.assert_array_equal(np.flatnonzero(learning_sample.dense_core(labels, 3, distances, heavy)), [9, 10, 11])


def test_rows_are_drawn_by_size_and_small_clusters_are_kept():
    labels = np.repeat([0, 1, 3], [8000, 1980, 20])
    rows, factors = learning_sample.draw_rows(labels, 4, 1000)
    np.testing.assert_array_equal(np.bincount(labels[rows]), [800, 198, 0, 20])
    np.testing.assert_allclose(np.bincount(labels[rows], factors), [800, 198, 0, 2])
    assert len(set(rows)) == len(rows)


def test_cells_are_the_groups_of_separate_samples():
    points, labels = make_blobs(80, 2, centers=[[0, 0], [50, 0], [0, 50], [50, 50]], random_state=0)
    cells = cluster_gaussians.split(points, np.ones(80), 4, np.random.RandomState(0))
    assert len(set(zip(cells.tolist(), labels.tolist(), strict=True))) == 4


@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_bic_finds_the_number_of_gaussians(n_groups):
    points, _ = make_blobs(400, 2, centers=[[0, 0], [8, 0], [0, 8], [8, 8]][:n_groups], random_state=0)
    features = quadratic_features(points / 4)
    found = cluster_gaussians.choose_gaussians(points / 4, features, np.ones(400))
    assert len(found.weights) == n_groups


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_skewed_distances_of_one_population_are_no_background(seed):
    values = np.random.RandomState(seed).exponential(size=1000)
    assert fit_local_mixture(None, np.zeros(1000, dtype=int), 1, values).share == 0.0


def test_several_gaussians_do_not_depend_on_the_order():
    points, labels = make_moons(500, noise=0.08, random_state=0)
    order, distances = np.random.RandomState(1).permutation(500), log_distances(points)
    plain = fit_local_mixture(points, labels, 2, distances)
    shuffled = fit_local_mixture(points[order], labels[order], 2, distances[order])
    assert len(plain.owners) > 2
    np.testing.assert_allclose(shuffled.means, plain.means, atol=1e-9)


def test_cells_of_few_samples_join_the_nearest_other():
    points = np.r_[np.zeros((9, 2)), [[50.0, 50.0]], np.full((9, 2), 30.0)] + np.arange(19)[:, None] * 0.01
    cells = cluster_gaussians.split(points, np.ones(19), 3, np.random.RandomState(0))
    assert sorted(np.bincount(cells)[np.bincount(cells) > 0]) == [9, 10]
    assert cells[9] == cells[10]


def test_samples_outside_the_core_start_as_background():
    points, _, labels = noisy_blobs()
    masses = np.random.RandomState(0).uniform(0.5, 2, len(points))
    core = learning_sample.dense_core(labels, 3, log_distances(points), masses)
    sample = Sample.from_points(points / 5, labels, 3, core, masses)
    (start, *_) = sample.starts(core)
    found = sample.with_background(start.statistics)
    assert start.statistics.moments[:, 0].sum() == pytest.approx(masses[core].sum())
    thirds = np.r_[found.moments[-1, 0], found.boxes]
    np.testing.assert_allclose(thirds, masses[~core].sum() / 3)


@pytest.mark.parametrize("degrees", [np.inf, 5.0])
@pytest.mark.parametrize("share", ["auto", None])
def test_tensors_have_the_posteriors_of_arrays(share, degrees, monkeypatch):
    torch = pytest.importorskip("torch")
    points, _, labels = noisy_blobs()
    mixture = fit(points, labels, share=share)
    mixture = replace(mixture, degrees=degrees if mixture.share == 0 else np.inf)
    monkeypatch.setattr("afcm.models.local_mixture.DEVICE_FEATURES", 2000)
    for given in (points, points.astype(np.float32)):
        host, tensor = mixture.posterior(given), mixture.posterior(torch.as_tensor(given))
        for ours, theirs in zip(tensor, host, strict=True):
            assert isinstance(ours, torch.Tensor)
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    scores = mixture.outlier_scores(torch.as_tensor(points))
    np.testing.assert_allclose(scores, mixture.posterior(points)[1], rtol=1e-9, atol=1e-12)
    assert (share is None) == (not bool(scores.any()))
