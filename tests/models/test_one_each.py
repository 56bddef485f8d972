"""One density for each cluster: known posteriors come back from labels that cut elsewhere."""

import math

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.stats import multivariate_normal, multivariate_t
from sklearn.datasets import make_moons

from afcm.models import local_mixture, one_each
from afcm.models.cluster_mixture import Sample
from afcm.models.local_mixture import fit_local_mixture

pytestmark = pytest.mark.usefixtures("one_thread")


def fit(points, labels, **others):
    logs = np.log(cKDTree(points).query(points, [13])[0][:, 0])
    return fit_local_mixture(points, labels, int(labels.max()) + 1, logs, refine=True, **others)


def draw(laws, seed, n=1500):
    """Samples of equally probable clusters, and their true probabilities."""
    rng = np.random.RandomState(seed)
    kind = rng.randint(len(laws), size=n)
    points = np.stack([law.rvs(n, random_state=rng) for law in laws])[kind, np.arange(n)]
    densities = np.stack([law.pdf(points) for law in laws], axis=1)
    return points, densities / densities.sum(axis=1, keepdims=True)


def brier(found, points, truth):
    return ((found.posterior(points)[0] - truth) ** 2).sum(axis=1).mean()


ROUND = [multivariate_normal([0, 0]), multivariate_normal([2.5, 0])]
UNEQUAL = [multivariate_normal([0, 0], 2.0), multivariate_normal([4, 0], 0.2)]
STRETCHED = [multivariate_normal([0, 0], np.diag([9, 0.6])), multivariate_normal([0, 3], np.diag([9, 0.6]))]
CROSSED = [multivariate_normal([0, 0], np.diag([6, 0.4])), multivariate_normal([3.2, 2.4], np.diag([0.4, 6]))]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("laws", [ROUND, UNEQUAL, STRETCHED, CROSSED], ids=["round", "unequal", "stretched", "crossed"])
def test_gaussians_come_back_from_a_displaced_cut(laws, seed):
    points, truth = draw(laws, seed)
    middle = np.mean([law.mean for law in laws], axis=0)
    across = laws[1].mean - laws[0].mean
    labels = ((points - middle) @ across > 0.3 * across @ across).astype(int)
    found = fit(points, labels)
    assert found.one_each
    assert found.degrees == math.inf
    np.testing.assert_array_equal(found.weights, [0.5, 0.5])
    assert brier(found, points, truth) < 0.003


@pytest.mark.parametrize("degrees", [3, 12])
def test_heavy_tails_are_known(degrees):
    laws = [multivariate_t([0.0, 0.0], np.eye(2), df=degrees), multivariate_t([4.0, 0.0], np.eye(2), df=degrees)]
    points, truth = draw(laws, 0, 3000)
    found = fit(points, truth.argmax(axis=1))
    assert found.degrees == degrees
    assert found.one_each
    assert brier(found, points, truth) < 0.002
    assert (found.posterior(np.array([[-300.0, 0.0], [300.0, 0.0]]))[0].max(axis=1) < 0.7).all()


def test_bent_clusters_keep_several_gaussians():
    points, labels = make_moons(800, noise=0.1, random_state=0)
    found = fit(points, labels)
    assert not found.one_each
    assert found.degrees == math.inf


@pytest.mark.parametrize("laws", [ROUND, UNEQUAL], ids=["round", "unequal"])
def test_doubt_is_the_mean_probability_of_another_cluster(laws):
    points, truth = draw(laws, 0, 400)
    labels = truth.argmax(axis=1)
    masses = np.random.default_rng(0).uniform(0.5, 2, 400)
    sample = Sample.from_points(points, labels, 2, np.ones(400, dtype=bool), masses)
    found = sample.alternate(sample.start_one_each(), steps=5)
    densities = [
        weight * multivariate_normal(mean, covariance).pdf(points)
        for weight, mean, covariance in zip(*found.parameters[:3], strict=True)
    ]
    own = np.array(densities)[labels, np.arange(400)] / np.sum(densities, axis=0)
    assert sample.doubt(found) == pytest.approx(np.average(1 - own, weights=masses), rel=1e-8)


def test_where_hardly_a_sample_is_in_doubt_no_form_is_tried(monkeypatch):
    tried, choose = [], one_each.choose_form
    monkeypatch.setattr(local_mixture, "choose_form", lambda *given: tried.append(given) or choose(*given))
    for distance, expected in ((12.0, 0), (2.5, 1)):
        points, truth = draw([multivariate_normal([0, 0]), multivariate_normal([distance, 0])], 0, 600)
        fit(points, truth.argmax(axis=1))
        assert len(tried) == expected


def test_nothing_is_refined_where_there_is_a_background_or_one_cluster():
    rng = np.random.RandomState(0)
    points = np.concatenate([0.3 * rng.normal(size=(300, 2)), [4, 0] + 0.3 * rng.normal(size=(300, 2))])
    labels = np.repeat([0, 1], 300)
    noise = rng.uniform([-3, -3], [7, 3], (150, 2))
    noisy, both = np.concatenate([points, noise]), np.r_[labels, (noise[:, 0] > 2).astype(int)]
    logs = np.log(cKDTree(noisy).query(noisy, [13])[0][:, 0])
    plain, refined = (fit_local_mixture(noisy, both, 2, logs, refine=refine) for refine in (False, True))
    assert refined.share == plain.share > 0.1
    np.testing.assert_array_equal(refined.covariances, plain.covariances)
    assert len(fit(points[:300], np.zeros(300, dtype=int)).owners) == 1


@pytest.mark.parametrize("laws", [ROUND, STRETCHED], ids=["round", "stretched"])
def test_answers_turn_with_the_samples_and_have_no_unit(laws):
    points, truth = draw(laws, 3, 800)
    labels = truth.argmax(axis=1)
    plain = fit(points, labels).posterior(points)[0]
    turned = points @ np.linalg.qr(np.random.RandomState(0).normal(size=(2, 2)))[0]
    np.testing.assert_allclose(fit(turned, labels).posterior(turned)[0], plain, atol=1e-3)
    for unit in (1e-120, 1e100):
        found = fit_local_mixture(points * unit, labels, 2, np.zeros(800), refine=True)
        same = fit_local_mixture(points, labels, 2, np.zeros(800), refine=True)
        np.testing.assert_allclose(found.posterior(points * unit)[0], same.posterior(points)[0], atol=1e-6)


def test_masses_are_repeated_samples():
    points, truth = draw(ROUND, 4, 600)
    labels, copies = truth.argmax(axis=1), np.random.RandomState(1).randint(1, 4, 600)
    weighted = fit_local_mixture(points, labels, 2, np.zeros(600), copies.astype(float), refine=True)
    rows = np.repeat(np.arange(600), copies)
    repeated = fit_local_mixture(points[rows], labels[rows], 2, np.zeros(len(rows)), refine=True)
    np.testing.assert_allclose(weighted.posterior(points)[0], repeated.posterior(points)[0], atol=1e-6)


def test_clusters_of_a_few_samples_have_a_posterior():
    points, truth = draw(ROUND, 5, 600)
    labels = truth.argmax(axis=1)
    points, labels = np.r_[points, [[30.0, 0.0], [30.5, 0.0]]], np.r_[labels, 3, 3]  # and no sample in cluster 2
    logs = np.log(cKDTree(points).query(points, [13])[0][:, 0])
    found = fit_local_mixture(points, labels, 4, logs, refine=True)
    memberships = found.posterior(points)[0]
    np.testing.assert_allclose(memberships.sum(axis=1), 1.0, rtol=1e-12)
    assert (memberships[:, 2] == 0).all()
    assert (memberships[-2:, 3] > 0.9).all()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_several_gaussians_stay_near_the_labels(seed):
    """Moons that overlap much: with many steps of EM the Gaussians of one take samples of the other."""
    rng, t = np.random.RandomState(seed), np.linspace(0, np.pi, 400)
    curves = np.stack([np.c_[np.cos(t), np.sin(t)], np.c_[1 - np.cos(t), 0.5 - np.sin(t)]])
    points = curves[rng.randint(2, size=1500), rng.randint(400, size=1500)] + 0.25 * rng.normal(size=(1500, 2))
    near = [np.exp(-((points[:, None] - curve) ** 2).sum(axis=2) / (2 * 0.25**2)).mean(axis=1) for curve in curves]
    truth = np.stack(near, axis=1) / np.sum(near, axis=0)[:, None]
    labels = truth.argmax(axis=1)
    found, drifted = fit(points, labels), fit_local_mixture(points, labels, 2, np.zeros(1500))
    assert not found.one_each
    assert brier(found, points, truth) < min(0.03, brier(drifted, points, truth))
