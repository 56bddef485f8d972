"""Forms of densities: no other covariance of the form is better, and tails are those of SciPy's t-distribution."""

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal, multivariate_t

from afcm.equations import cluster_forms as forms
from afcm.equations import local_mixture as equations
from afcm.equations.cluster_forms import Form
from afcm.equations.local_mixture import Parameters
from afcm.equations.quadratic import quadratic_features

pytestmark = pytest.mark.usefixtures("one_thread")
UNIT = np.array([1.0, 0.25, 0.04])


def random_covariances(seed, n_gaussians=3, d=3):
    roots = np.random.RandomState(seed).normal(size=(n_gaussians, d, d))
    return roots @ roots.transpose(0, 2, 1) + 0.2 * np.eye(d)


def log_likelihood(masses, found, given):
    """Of samples with the given covariances about their means, under Gaussians with the found ones; no constants."""
    terms = [
        m * (np.linalg.slogdet(s)[1] + np.trace(np.linalg.solve(s, g)))
        for m, s, g in zip(masses, found, given, strict=True)
    ]
    return -0.5 * sum(terms)


def nudge(name, found, rng):
    """Slightly different covariances of the same form."""
    d = found.shape[1]
    turns = np.eye(d) + 0.02 * rng.normal(size=(len(found), d, d))
    sizes = 1 + 0.02 * rng.normal(size=(len(found), 1, 1))
    if name in ("tied", "equal spheres"):
        turns, sizes = turns[:1], sizes[:1]
    return sizes * found if "spheres" in name else turns @ found @ turns.transpose(0, 2, 1)


@pytest.mark.parametrize("name", forms.COVARIANCES)
def test_no_nudge_of_the_same_form_beats_the_covariances(name):
    given, masses, rng = random_covariances(0), np.array([2.0, 5.0, 1.0]), np.random.RandomState(1)
    found = forms.COVARIANCES[name](masses, given, UNIT)
    best = log_likelihood(masses, found, given)
    assert all(log_likelihood(masses, nudge(name, found, rng), given) < best for _ in range(30))


def test_forms_have_in_common_what_they_say():
    given, masses = random_covariances(2), np.array([2.0, 5.0, 1.0])
    found = {name: make(masses, given, UNIT) for name, make in forms.COVARIANCES.items()}
    np.testing.assert_array_equal(found["own"], given)
    for name in ("tied", "equal spheres"):
        np.testing.assert_array_equal(found[name][1:], found[name][:1].repeat(2, axis=0))
    for name in ("spheres", "equal spheres"):
        scaled = found[name] / np.sqrt(UNIT[:, None] * UNIT)
        np.testing.assert_allclose(scaled, scaled[:, :1, :1] * np.eye(3), atol=1e-14)
    assert len(np.unique(found["spheres"][:, 0, 0])) == 3


@pytest.mark.parametrize(
    ("name", "count"), [("own", 3 * 10), ("tied", 3 * 4 + 6), ("spheres", 3 * 5), ("equal spheres", 3 * 4 + 1)]
)
def test_free_numbers_of_a_form(name, count):
    assert forms.n_numbers(Form(name), 3, 3) == count
    assert forms.n_numbers(Form(name, 6.0), 3, 3) == count + 1
    assert forms.n_numbers(Form(name, balanced=True), 3, 3) == count - 2


def student_case(d=3, n=80, n_gaussians=2, degrees=4.5):
    rng = np.random.RandomState(d)
    weights = rng.dirichlet(np.ones(n_gaussians))
    covariances = random_covariances(d, n_gaussians, d)
    parameters = Parameters(weights, rng.normal(size=(n_gaussians, d)), covariances, None, degrees)
    return 2 * rng.normal(size=(n, d)), rng.uniform(0.5, 2, n), parameters


def slow_students(points, parameters):
    laws = [multivariate_t(m, s, df=parameters.degrees) for m, s in zip(*parameters[1:3], strict=True)]
    return np.array([w * law.pdf(points) for w, law in zip(parameters.weights, laws, strict=True)])


@pytest.mark.parametrize("d", [1, 2, 4])
def test_tails_are_those_of_scipy(d):
    points, _, parameters = student_case(d)
    coefficients = equations.joint_coefficients(parameters)
    found = equations.log_joint(
        quadratic_features(points), *coefficients, np.zeros((2, len(points))), None, degrees=parameters.degrees
    )
    np.testing.assert_allclose(np.exp(found), slow_students(points, parameters), rtol=1e-9)


def test_very_many_degrees_are_a_gaussian():
    points, _, parameters = student_case()
    peaks = np.array([multivariate_normal(m, s).logpdf(m) for m, s in zip(*parameters[1:3], strict=True)])
    gaussians = np.array([multivariate_normal(m, s).logpdf(points) for m, s in zip(*parameters[1:3], strict=True)])
    np.testing.assert_allclose(forms.to_student(gaussians, peaks, 3, 1e7), gaussians, rtol=1e-4)


def test_an_e_step_of_tails_is_an_explicit_loop(monkeypatch):
    monkeypatch.setattr(equations, "BLOCK_ENTRIES", 1)
    points, masses, parameters = student_case(n=300)
    features, degrees = quadratic_features(points), parameters.degrees
    statistics, total = equations.expected_statistics(features, np.zeros((2, 300)), masses, parameters)
    joint = slow_students(points, parameters)
    shares = masses * joint / joint.sum(axis=0)
    assert total == pytest.approx(masses @ np.log(joint.sum(axis=0)), rel=1e-12)
    np.testing.assert_allclose(statistics.shares, shares.sum(axis=1), rtol=1e-10)
    for j, (mean, covariance) in enumerate(zip(*parameters[1:3], strict=True)):
        squared = np.einsum("ia,ab,ib->i", points - mean, np.linalg.inv(covariance), points - mean)
        factors = (degrees + 3) / (degrees + squared)
        np.testing.assert_allclose(statistics.moments[j], features @ (shares[j] * factors), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("degrees", [3.0, math.inf])
@pytest.mark.parametrize("name", forms.COVARIANCES)
def test_em_raises_the_log_likelihood(name, degrees, balanced):
    points, masses, parameters = student_case(d=2, n=300)
    points[:100] += 4.0
    features, form = quadratic_features(points), Form(name, degrees, np.array([1.0, 0.3]), balanced)
    parameters, likelihoods = parameters._replace(degrees=degrees), []
    for _ in range(40):
        statistics, log_likelihood = equations.expected_statistics(features, np.zeros((2, 300)), masses, parameters)
        likelihoods.append(log_likelihood)
        parameters = equations.maximize(
            statistics, features @ masses, np.ones(2), np.zeros(2, dtype=bool), None, form=form
        )
        assert parameters.degrees == degrees
    assert (np.diff(likelihoods[1:]) > -1e-6).all()  # the first parameters have another form
    assert likelihoods[-1] > likelihoods[1] + 1.0


def test_weights_of_tails_are_the_shares_of_the_samples():
    points, masses, parameters = student_case(n=200)
    features = quadratic_features(points)
    statistics, _ = equations.expected_statistics(features, np.zeros((2, 200)), masses, parameters)
    found = equations.maximize(
        statistics, features @ masses, np.ones(3), np.zeros(2, dtype=bool), None, form=Form("tied", 4.5)
    )
    np.testing.assert_allclose(found.weights, statistics.shares / masses.sum(), rtol=1e-12)
    found = equations.maximize(
        statistics, features @ masses, np.ones(3), np.zeros(2, dtype=bool), None, form=Form("tied", 4.5, balanced=True)
    )
    np.testing.assert_array_equal(found.weights, [0.5, 0.5])
