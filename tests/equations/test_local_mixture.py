"""Mixtures with a background against SciPy's densities, weighted covariances and explicit loops."""

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from afcm.equations import local_mixture as equations
from afcm.equations.local_mixture import Background, Parameters, Statistics
from afcm.equations.quadratic import dimension_of, quadratic_features

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
    features = quadratic_features(points)
    assert dimension_of(features) == d
    for x, column in zip(points, features.T, strict=True):
        products = [x[a] * x[b] for a in range(d) for b in range(a, d)]
        np.testing.assert_allclose(column, [1.0, *x, *products], rtol=1e-15)


def test_the_dimension_is_known_from_the_number_of_features():
    for d in range(1, 40):
        assert dimension_of(np.empty(((d + 1) * (d + 2) // 2, 1))) == d


def test_boxes_have_their_volumes():
    points = np.array([[0.5, 0.5], [0.5, 3.5], [9.0, 9.0], [0.0, 1.0], [2.0, 2.0], [0.5, -0.1]])
    found = equations.box_log_densities(points, np.log([10.0, 4.0]), np.zeros(2), np.full(2, 2.0))
    np.testing.assert_allclose(np.exp(found), [[0.1] * 6, [0.25, 0, 0, 0.25, 0.25, 0]])  # with its border


def test_blocks_hold_as_many_samples_as_fit_the_cache():
    assert equations.row_blocks(2100, 128) == [slice(0, 1024), slice(1024, 2048), slice(2048, 3072)]
    assert equations.row_blocks(257, 1000 * 2**17) == [slice(0, 256), slice(256, 512)]


def test_shares_and_likelihoods_do_not_underflow():
    """``1 / (1 + e⁻¹)`` and its logarithm, however small the densities of one sample are beside those of another."""
    shares, likelihoods = equations.normalize(np.array([[-5000.0, 0.0], [-5001.0, -5000.0]]))
    first = 1 / (1 + math.exp(-1))
    np.testing.assert_allclose(shares, [[first, 1.0], [1 - first, 0.0]], rtol=1e-14)
    np.testing.assert_allclose(likelihoods, [-5000.0 - math.log(first), 0.0], rtol=1e-15)


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_log_joint_is_the_densities_of_scipy(d, background):
    points, _, boxes, parameters = case(d, d, background=background)
    features = quadratic_features(points)
    found = equations.log_joint(features, *equations.joint_coefficients(parameters), boxes, parameters.background)
    np.testing.assert_allclose(np.exp(found), slow_joint(points, parameters, boxes), rtol=1e-9, atol=1e-300)


@pytest.fixture
def watched_blocks(monkeypatch):
    """Several blocks, and for how many samples and parts they were made."""
    asked, make = [], equations.row_blocks
    monkeypatch.setattr(equations, "BLOCK_ENTRIES", 1)
    monkeypatch.setattr(equations, "row_blocks", lambda *sizes: asked.append(sizes) or make(*sizes))
    return asked


@pytest.mark.parametrize("has_background", [True, False])
def test_log_densities_are_sums_of_all_parts(has_background):
    points, _, boxes, parameters = case(3, background=has_background)
    found = equations.log_densities(quadratic_features(points), boxes, parameters)
    np.testing.assert_allclose(found, np.log(slow_joint(points, parameters, boxes).sum(axis=0)), rtol=1e-9)


@pytest.mark.parametrize("background", [True, False])
def test_an_e_step_is_an_explicit_loop(background, watched_blocks):
    points, masses, boxes, parameters = case(3, n=600, background=background)
    features = quadratic_features(points)
    statistics, log_likelihood = equations.expected_statistics(features, boxes, masses, parameters)
    joint = slow_joint(points, parameters, boxes)
    shares = masses * joint / joint.sum(axis=0)
    assert log_likelihood == pytest.approx(masses @ np.log(joint.sum(axis=0)), rel=1e-12)
    n_gaussians = 5 if background else 4
    np.testing.assert_allclose(statistics.moments, shares[:n_gaussians] @ features.T, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(statistics.boxes, shares[5:].sum(axis=1) if background else [0, 0], rtol=1e-10)
    assert watched_blocks == [(600, n_gaussians + 2)]


def test_an_m_step_is_weighted_means_and_covariances():
    points, masses, _, _ = case(4, d=3, n=60)
    rng = np.random.RandomState(1)
    shares = rng.dirichlet(np.ones(7), size=60).T * masses
    features = quadratic_features(points)
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


def test_an_m_step_without_a_background_shares_out_all_weight():
    points, masses, _, _ = case(4, d=2, n=30)
    shares = np.random.RandomState(1).dirichlet(np.ones(3), size=30).T * masses
    features = quadratic_features(points)
    statistics = Statistics(shares @ features.T, np.zeros(2))
    found = equations.maximize(statistics, features @ masses, np.ones(2), np.zeros(3, dtype=bool), None)
    assert found.background is None
    np.testing.assert_allclose(found.weights, shares.sum(axis=1) / masses.sum(), rtol=1e-12)


def test_an_unused_wide_gaussian_becomes_that_of_all_samples():
    """To its sums come those of all samples, times 1e-12."""
    points, masses, _, _ = case(8, d=2, n=30)
    features = quadratic_features(points)
    own = np.random.RandomState(2).uniform(size=30)
    statistics = Statistics(1e-12 * (features @ own)[None], np.array([0.0, 0.25 * masses.sum()]))
    found, left = equations.best_background(statistics, features @ masses, np.zeros(2), None)
    np.testing.assert_allclose(found.mean, np.average(points, axis=0, weights=own + masses), rtol=1e-10)
    expected = np.diagonal(np.cov(points.T, aweights=own + masses, ddof=0))
    np.testing.assert_allclose(found.variances, expected, rtol=1e-10)
    np.testing.assert_allclose(found.weights, [1e-12, 1e-12, 0.25], rtol=1e-12)
    assert left == pytest.approx(0.75, rel=1e-11)


def test_samples_far_away_count_as_if_they_were_at_eight():
    points, masses, _, _ = case(9, d=3, n=25)
    points[[0, 4, 7]] = [[8.5, -30.0, 0.1], [100.0, 7.5, -8.5], [-9.0, 8.4, 7.6]]
    moved = np.array([[min(max(x, -8.0), 8.0) for x in row] for row in points])
    expected = np.diagonal(np.cov(moved.T, aweights=masses, ddof=0))
    found = equations.robust_variances(quadratic_features(points), masses)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_given_share_is_the_sum_of_the_weights_of_the_background():
    points, masses, boxes, parameters = case(5)
    features = quadratic_features(points)
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
    features = quadratic_features(points)
    total, likelihoods = features @ masses, []
    for _ in range(30):
        statistics, log_likelihood = equations.expected_statistics(features, boxes, masses, parameters)
        likelihoods.append(log_likelihood)
        parameters = equations.maximize(statistics, total, np.full(2, 0.01), np.zeros(4, dtype=bool), share)
    start = 1 if share is not None else 0  # the first parameters have another share
    assert (np.diff(likelihoods[start:]) > -1e-6).all()
    assert likelihoods[-1] > likelihoods[start] + 1.0


def test_an_empty_gaussian_is_wide_and_weighs_nothing():
    features = quadratic_features(np.random.RandomState(0).normal(size=(20, 2)))
    moments = np.vstack([features.sum(axis=1), np.zeros(6)])
    found = equations.maximize(Statistics(moments, np.zeros(2)), moments[0], np.ones(2), np.zeros(2, dtype=bool), None)
    np.testing.assert_array_equal(found.covariances[1], np.eye(2))
    assert 0.0 < found.weights[1] < 1e-10


def test_only_gaussians_of_hardly_any_mass_are_empty():
    """The first has a mass that counts as none; the samples of the second are 0 in their last column."""
    points = np.array([[1.0, 0.0], [3.0, 0.0]])
    moments = np.vstack([np.full(6, 1e-10), quadratic_features(points).sum(axis=1)])
    masses, means, covariances = equations.best_gaussians(moments, np.zeros(2, dtype=bool))
    np.testing.assert_array_equal(masses, [1e-10, 2.0])
    np.testing.assert_array_equal(means, [[0.0, 0.0], [2.0, 0.0]])
    np.testing.assert_allclose(covariances, [np.eye(2), np.diag([1.0 + 1e-6, 1e-6])], rtol=1e-12)


def test_a_variance_below_zero_is_zero():
    """Rounding makes one where all samples are equal."""
    moments = np.array([[2.0, 6.0, 18.0 - 1e-9]])
    _, means, covariances = equations.best_gaussians(moments, np.zeros(1, dtype=bool))
    assert (means.item(), covariances.item()) == (3.0, 1e-6)


def test_an_indefinite_covariance_is_mended():
    factors = equations.cholesky_factors(np.array([np.diag([1.0, -1e-9]), np.eye(2)]))
    found = factors @ factors.transpose(0, 2, 1)
    np.testing.assert_allclose(found, [np.diag([1.0, equations.RIDGE]), np.eye(2)], atol=1e-12)


def test_eigenvalues_are_mended_up_to_a_share_of_the_largest():
    turn = np.linalg.qr(np.random.RandomState(0).normal(size=(3, 3)))[0]
    factors = equations.cholesky_factors((turn * [-1.0, 2.0, 1e10]) @ turn.T[None])
    expected = (turn * [1e-2, 2.0, 1e10]) @ turn.T
    np.testing.assert_allclose(factors[0] @ factors[0].T, expected, atol=1e-4)


def test_log_densities_are_cut_at_the_peaks():
    rng = np.random.RandomState(0)
    features, coefficients, peaks = rng.normal(size=(6, 20)), rng.normal(size=(3, 6)), rng.normal(size=3)
    found = equations.log_joint(features, coefficients, peaks, np.zeros((2, 20)), None)
    for j, row in enumerate(found):
        np.testing.assert_allclose(row, [min(coefficients[j] @ x, peaks[j]) for x in features.T], rtol=1e-12)


def test_very_far_samples_do_not_exceed_the_peak():
    """Along a thin Gaussian, products of 1e24 cancel."""
    covariance = 1e12 * np.ones((1, 2, 2)) + 1e-6 * np.eye(2)
    coefficients, peaks = equations.gaussian_coefficients(np.ones(1), np.zeros((1, 2)), covariance)
    points = np.random.RandomState(0).uniform(1e6, 1e9, (50, 1)) * np.ones(2)
    found = equations.log_joint(quadratic_features(points), coefficients, peaks, np.zeros((2, 50)), None)
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
    assert not equations.has_background(parameters._replace(background=None))
    assert equations.bayesian_criterion(-10.0, 3, 100.0) == pytest.approx(20.0 + 3 * math.log(100))
    for total in (0.5, 1.9):  # less than two samples count as two
        assert equations.bayesian_criterion(-10.0, 3, total) == pytest.approx(20.0 + 3 * math.log(2), rel=1e-14)


def test_a_part_of_the_background_counts_above_a_thousandth():
    parameters = random_parameters(np.random.RandomState(0), 3, 2)
    for weight, counts in ((1e-3, False), (1.001e-3, True)):
        background = parameters.background._replace(weights=np.array([0.0, 0.0, weight]))
        assert equations.has_background(parameters._replace(background=background)) == counts
        assert equations.n_parameters(parameters._replace(background=background)) == 18 + counts


def test_without_their_background_gaussians_have_all_weight():
    parameters = random_parameters(np.random.RandomState(0), 3, 2)
    found = equations.without_background(parameters)
    assert found.background is None
    np.testing.assert_allclose(found.weights, parameters.weights / sum(parameters.weights), rtol=1e-15)
    assert found[1:3] == parameters[1:3]


def test_a_part_left_out_gives_its_weight_to_the_others():
    parameters = random_parameters(np.random.RandomState(0), 3, 2)
    weights = np.array([0.05, 0.1, 0.25])
    parameters = parameters._replace(background=parameters.background._replace(weights=weights))
    for part, expected in (
        (equations.WIDE, [1e-12, 0.4 * 0.1 / 0.35, 0.4 * 0.25 / 0.35]),
        (equations.CORE_BOX, [0.4 * 0.05 / 0.15, 0.4 * 0.1 / 0.15, 1e-12]),
    ):
        found = equations.without_part(parameters, part)
        np.testing.assert_allclose(found.background.weights, expected, rtol=1e-14)
        assert found[:3] == parameters[:3]
        assert found.background[1:] == parameters.background[1:]
    alone = parameters._replace(background=None)
    assert equations.without_part(alone, equations.WIDE) is alone


def test_contrast_is_the_mean_log_ratio_inside_clusters(watched_blocks):
    points, masses, boxes, parameters = case(7, n=300)
    joint = slow_joint(points, parameters, boxes)
    clusters, outside = joint[:4].sum(axis=0), joint[4:].sum(axis=0)
    expected = np.average(np.log(clusters / outside), weights=masses * clusters / (clusters + outside))
    found = equations.cluster_contrast(quadratic_features(points), boxes, masses, parameters)
    assert found == pytest.approx(expected, rel=1e-10)
    assert watched_blocks == [(300, 5 + 2)]


def test_contrast_of_samples_with_no_density_of_one_side():
    """Densities beyond the smallest number: a sample inside has a ratio of 1e300, one outside has no weight."""
    background = Background(np.full(3, 0.1), np.full(1, 1e4), np.ones(1))
    parameters = Parameters(np.full(1, 0.7), np.zeros((1, 1)), np.ones((1, 1, 1)), background)
    features = quadratic_features(np.array([[0.0], [1e4]]))
    found = equations.cluster_contrast(features, np.full((2, 2), -5000.0), np.array([2.0, 3.0]), parameters)
    assert found == pytest.approx(300 * math.log(10), rel=1e-12)


def test_normal_density():
    values = np.array([-1.0, 0.3, 2.0])
    np.testing.assert_allclose(equations.log_normal(values, 0.5, 2.0), norm(0.5, 2.0).logpdf(values), rtol=1e-14)


@pytest.mark.parametrize("most", [0.5, 0.02, 1.0])
def test_the_gain_of_a_share_is_the_best_of_many(most):
    rng = np.random.default_rng(0)
    log_ratios, masses = rng.normal(-3, 3, size=400), rng.uniform(0.5, 2, 400)
    shares = np.linspace(0, most, 200_001)
    gains = [float(np.log1p(share * np.expm1(log_ratios)) @ masses) for share in shares[::100]]
    best = shares[::100][int(np.argmax(gains))]
    near = shares[np.abs(shares - best) <= 1e-3 * most]
    expected = max(float(np.log1p(share * np.expm1(log_ratios)) @ masses) for share in near)
    assert equations.likelihood_gain(log_ratios, masses, most) == pytest.approx(expected, rel=1e-7)


def test_densities_that_only_cost_gain_nothing():
    assert equations.likelihood_gain(np.full(50, -1.0), np.ones(50), 0.5) == 0
    assert np.isfinite(equations.likelihood_gain(np.array([1e6, -1e6]), np.ones(2), 0.5))
