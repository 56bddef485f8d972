"""Mixtures with a background against SciPy's densities, weighted covariances and explicit loops."""

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from afcm.equations import local_mixture as equations
from afcm.equations.local_mixture import Background, Parameters, Statistics

pytestmark = pytest.mark.usefixtures("one_thread")


def random_parameters(rng, n_gaussians, d, background=True):
    roots = rng.normal(size=(n_gaussians, d, d))
    covariances = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(d)
    weights = rng.dirichlet(np.ones(n_gaussians + 3))
    if not background:
        gaussians = weights[:n_gaussians] / weights[:n_gaussians].sum()
        return Parameters(gaussians, rng.normal(size=(n_gaussians, d)), covariances, None)
    outside = Background(weights[n_gaussians:], rng.normal(size=d), rng.uniform(1, 4, d))
    return Parameters(weights[:n_gaussians], rng.normal(size=(n_gaussians, d)), covariances, outside)


def slow_joint(points, parameters, boxes):
    """Weighted densities, one part and one sample at a time."""
    parts = [[w * multivariate_normal(m, s).pdf(x) for x in points] for w, m, s in zip(*parameters[:3], strict=True)]
    if parameters.background is not None:
        weights, mean, variances = parameters.background
        parts.append([weights[0] * norm(mean, np.sqrt(variances)).pdf(x).prod() for x in points])
        parts += [list(w * np.exp(b)) for w, b in zip(weights[1:], boxes, strict=True)]
    return np.array(parts)


def case(seed, d=3, n=40, background=True):
    rng = np.random.RandomState(seed)
    points, masses = rng.normal(size=(n, d)), rng.uniform(0.5, 3, n)
    low, high = np.full(d, -1.0), np.full(d, 1.5)
    boxes = equations.box_log_densities(points, np.array([d * math.log(8.0), d * math.log(2.5)]), low, high)
    return points, masses, boxes, random_parameters(rng, 4, d, background)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_features_are_one_the_sample_and_its_products(d):
    points = np.random.RandomState(d).normal(size=(7, d))
    features = equations.quadratic_features(points)
    assert equations.dimension_of(features) == d
    for x, column in zip(points, features.T, strict=True):
        products = [x[a] * x[b] for a in range(d) for b in range(a, d)]
        np.testing.assert_allclose(column, [1.0, *x, *products], rtol=1e-15)


def test_boxes_have_their_volumes():
    points = np.array([[0.5, 0.5], [0.5, 1.5], [9.0, 9.0]])
    found = equations.box_log_densities(points, np.log([10.0, 1.0]), np.zeros(2), np.ones(2))
    np.testing.assert_allclose(np.exp(found), [[0.1, 0.1, 0.1], [1.0, 0.0, 0.0]])


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_log_joint_is_the_densities_of_scipy(d, background):
    points, _, boxes, parameters = case(d, d, background=background)
    features = equations.quadratic_features(points)
    found = equations.log_joint(features, *equations.joint_coefficients(parameters), boxes, parameters.background)
    np.testing.assert_allclose(np.exp(found), slow_joint(points, parameters, boxes), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("background", [True, False])
def test_an_e_step_is_an_explicit_loop(background, monkeypatch):
    monkeypatch.setattr(equations, "BLOCK_ENTRIES", 1)  # several blocks
    points, masses, boxes, parameters = case(3, n=600, background=background)
    features = equations.quadratic_features(points)
    statistics, log_likelihood = equations.expected_statistics(features, boxes, masses, parameters)
    joint = slow_joint(points, parameters, boxes)
    shares = masses * joint / joint.sum(axis=0)
    assert log_likelihood == pytest.approx(masses @ np.log(joint.sum(axis=0)), rel=1e-12)
    n_gaussians = 5 if background else 4
    np.testing.assert_allclose(statistics.moments, shares[:n_gaussians] @ features.T, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(statistics.boxes, shares[5:].sum(axis=1) if background else [0, 0], rtol=1e-10)


def test_an_m_step_is_weighted_means_and_covariances():
    points, masses, _, _ = case(4, d=3, n=60)
    rng = np.random.RandomState(1)
    shares = rng.dirichlet(np.ones(7), size=60).T * masses
    features = equations.quadratic_features(points)
    statistics = Statistics(shares[:5] @ features.T, shares[5:].sum(axis=1))
    floor = np.array([0.1, 100.0, 0.1])
    spherical = np.array([False, False, False, True])
    found = equations.maximize(statistics, features @ masses, floor, spherical, None)
    sums = shares.sum(axis=1)
    np.testing.assert_allclose(found.weights, sums[:4] / masses.sum(), rtol=1e-9)
    for j in range(4):
        np.testing.assert_allclose(found.means[j], np.average(points, axis=0, weights=shares[j]), rtol=1e-9)
        own = np.cov(points.T, aweights=shares[j], ddof=0)
        own = np.eye(3) * np.trace(own) / 3 if j == 3 else own
        np.testing.assert_allclose(found.covariances[j], own + equations.RIDGE * np.eye(3), rtol=1e-9)
    np.testing.assert_allclose(found.background.weights, sums[4:] / masses.sum(), rtol=1e-9)
    np.testing.assert_allclose(found.background.mean, np.average(points, axis=0, weights=shares[4]), rtol=1e-8)
    own = np.diagonal(np.cov(points.T, aweights=shares[4], ddof=0))
    np.testing.assert_allclose(found.background.variances, np.maximum(own, floor), rtol=1e-8)


def test_a_given_share_is_the_sum_of_the_weights_of_the_background():
    points, masses, boxes, parameters = case(5)
    features = equations.quadratic_features(points)
    statistics, _ = equations.expected_statistics(features, boxes, masses, parameters)
    learned = equations.maximize(statistics, features @ masses, np.ones(3), np.zeros(4, dtype=bool), None)
    given = equations.maximize(statistics, features @ masses, np.ones(3), np.zeros(4, dtype=bool), 0.3)
    assert given.background.weights.sum() == pytest.approx(0.3, rel=1e-14)
    assert given.weights.sum() == pytest.approx(0.7, rel=1e-14)
    np.testing.assert_allclose(given.weights / given.weights[0], learned.weights / learned.weights[0], rtol=1e-12)


@pytest.mark.parametrize("share", [None, 0.2])
@pytest.mark.parametrize("background", [True, False])
def test_em_raises_the_log_likelihood(background, share):
    points, masses, boxes, parameters = case(6, d=2, n=200, background=background)
    features = equations.quadratic_features(points)
    total, likelihoods = features @ masses, []
    for _ in range(30):
        statistics, log_likelihood = equations.expected_statistics(features, boxes, masses, parameters)
        likelihoods.append(log_likelihood)
        parameters = equations.maximize(statistics, total, np.full(2, 0.01), np.zeros(4, dtype=bool), share)
    start = 1 if share is not None else 0  # the first parameters have another share
    assert (np.diff(likelihoods[start:]) > -1e-6).all()
    assert likelihoods[-1] > likelihoods[start] + 1.0


def test_an_empty_gaussian_is_wide_and_weighs_nothing():
    features = equations.quadratic_features(np.random.RandomState(0).normal(size=(20, 2)))
    moments = np.vstack([features.sum(axis=1), np.zeros(6)])
    found = equations.maximize(Statistics(moments, np.zeros(2)), moments[0], np.ones(2), np.zeros(2, dtype=bool), None)
    np.testing.assert_array_equal(found.covariances[1], np.eye(2))
    assert 0.0 < found.weights[1] < 1e-10


def test_an_indefinite_covariance_is_mended():
    factors = equations.cholesky_factors(np.array([np.diag([1.0, -1e-9]), np.eye(2)]))
    found = factors @ factors.transpose(0, 2, 1)
    np.testing.assert_allclose(found, [np.diag([1.0, equations.RIDGE]), np.eye(2)], atol=1e-12)


def test_very_far_samples_do_not_exceed_the_peak():
    """Along a thin Gaussian, products of 1e24 cancel."""
    covariance = 1e12 * np.ones((1, 2, 2)) + 1e-6 * np.eye(2)
    coefficients, peaks = equations.gaussian_coefficients(np.ones(1), np.zeros((1, 2)), covariance)
    points = np.random.RandomState(0).uniform(1e6, 1e9, (50, 1)) * np.ones(2)
    found = equations.log_joint(equations.quadratic_features(points), coefficients, peaks, np.zeros((2, 50)), None)
    assert (found <= peaks[:, None]).all()


def test_free_numbers_of_a_mixture():
    weights = np.array([0.1, 0.0005, 0.2])
    parameters = random_parameters(np.random.RandomState(0), 3, 2)
    assert equations.n_parameters(parameters._replace(background=None)) == 3 * 6
    background = parameters.background
    assert equations.n_parameters(parameters._replace(background=background._replace(weights=weights))) == 18 + 2 + 4
    narrow = background._replace(weights=weights[::-1].copy() * [0.001, 1, 1])
    assert equations.n_parameters(parameters._replace(background=narrow)) == 18 + 1
    assert equations.has_background(parameters._replace(background=narrow))
    none = parameters._replace(background=background._replace(weights=np.full(3, 1e-4)))
    assert not equations.has_background(none)
    assert equations.without_background(none).weights.sum() == pytest.approx(1.0)
    assert equations.bayesian_criterion(-10.0, 3, 100.0) == pytest.approx(20.0 + 3 * math.log(100))


def test_contrast_is_the_mean_log_ratio_inside_clusters(monkeypatch):
    monkeypatch.setattr(equations, "BLOCK_ENTRIES", 1)
    points, masses, boxes, parameters = case(7, n=300)
    joint = slow_joint(points, parameters, boxes)
    clusters, outside = joint[:4].sum(axis=0), joint[4:].sum(axis=0)
    expected = np.average(np.log(clusters / outside), weights=masses * clusters / (clusters + outside))
    found = equations.cluster_contrast(equations.quadratic_features(points), boxes, masses, parameters)
    assert found == pytest.approx(expected, rel=1e-10)


def test_normal_density():
    values = np.array([-1.0, 0.3, 2.0])
    np.testing.assert_allclose(equations.log_normal(values, 0.5, 2.0), norm(0.5, 2.0).logpdf(values), rtol=1e-14)
