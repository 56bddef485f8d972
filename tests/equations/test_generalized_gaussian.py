"""Every equation of the generalised Gaussian against its definition, a limit, or all feasible nudges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import approx_fprime
from scipy.special import digamma, gamma, gammaln
from scipy.stats import laplace, multivariate_normal

from afcm.equations import generalized_gaussian, paper
from afcm.equations.scatters import Full
from tests.mixtures import quick, seeds, shapes

pytestmark = pytest.mark.usefixtures("one_thread")

scales = st.floats(0.1, 3.0)
dimensions = st.integers(1, 6)


def samples(seed, n_samples=40):
    """Squared distances and shares of one component."""
    rng = np.random.RandomState(seed)
    return rng.gamma(1.5, 3.0, n_samples), rng.random_sample(n_samples) + 0.01


def loss(distances, shares, shape, scale, dimension):
    """``−Σ w log g`` of one component with |Σ| = 1."""
    return float(
        generalized_gaussian.component_losses(
            generalized_gaussian.log_densities(distances, 0.0, shape, scale, dimension), shares
        )
    )


@quick
@given(shapes, scales, dimensions)
def test_density_integrates_to_one(shape, scale, dimension):
    log_sphere = math.log(2) + 0.5 * dimension * math.log(math.pi) - gammaln(0.5 * dimension)

    def shell(log_radius):
        log_density = generalized_gaussian.log_densities(math.exp(2 * log_radius), 0.0, shape, scale, dimension)
        return math.exp(log_density + log_sphere + dimension * log_radius)

    typical = 0.5 / shape * math.log(0.5 * dimension / (shape * scale))
    assert quad(shell, typical - 60, typical, limit=200)[0] + quad(shell, typical, typical + 40, limit=200)[0] == (
        pytest.approx(1, abs=1e-7)
    )


@quick
@given(seeds, st.integers(1, 5))
def test_shape_one_and_scale_one_half_are_the_gaussian(seed, dimension):
    rng = np.random.RandomState(seed)
    root = rng.standard_normal((dimension, dimension)) + 2 * np.eye(dimension)
    scatter, points = root @ root.T, rng.standard_normal((7, dimension))
    geometry = Full()
    ours = generalized_gaussian.log_densities(
        geometry.squared_lengths(points, scatter), geometry.log_determinant(scatter, dimension), 1.0, 0.5, dimension
    )
    np.testing.assert_allclose(ours, multivariate_normal(cov=scatter).logpdf(points), rtol=1e-8, atol=1e-8)
    assert generalized_gaussian.covariance_factors(1.0, 0.5, dimension) == pytest.approx(1, abs=1e-12)


def test_shape_one_half_in_one_dimension_is_laplace():
    x = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(
        generalized_gaussian.log_densities(x**2, 0.0, 0.5, 1.0, 1), laplace.logpdf(x), rtol=1e-12
    )


@quick
@given(seeds, shapes, scales, st.floats(0.1, 10))
def test_scale_and_size_are_redundant(seed, shape, scale, factor):
    distances, _ = samples(seed)
    one = generalized_gaussian.log_densities(distances, 0.0, shape, scale, 3)
    same = generalized_gaussian.log_densities(distances / factor, 3 * math.log(factor), shape, scale * factor**shape, 3)
    np.testing.assert_allclose(one, same, rtol=1e-9, atol=1e-9)
    factors = (
        generalized_gaussian.covariance_factors(shape, scale, 3),
        generalized_gaussian.covariance_factors(shape, scale * factor**shape, 3),
    )
    assert factors[0] == pytest.approx(factor * factors[1])


def test_no_density_is_nan():
    distances = np.array([0.0, 1e-320, 1e-200, 1.0, 1e300])
    for shape in generalized_gaussian.SHAPE_BOUNDS:
        assert np.isfinite(generalized_gaussian.log_densities(distances, 0.0, shape, 0.5, 3)).all()
        assert np.isfinite(generalized_gaussian.pulls(distances, shape, 0.5, 3)).all()
    assert generalized_gaussian.powers(0.0, 0.05) == 0


@quick
@given(seeds)
def test_objective_at_the_best_memberships_is_the_negative_log_likelihood(seed):
    rng = np.random.RandomState(seed)
    log_joint, masses = rng.standard_normal((20, 4)) * 20, rng.random_sample(20)
    best = generalized_gaussian.objective(log_joint, generalized_gaussian.memberships(log_joint), masses)
    assert best == pytest.approx(-masses @ np.log(np.exp(log_joint).sum(axis=1)), rel=1e-12, abs=1e-11)


@quick
@given(seeds)
def test_no_feasible_nudge_beats_the_memberships(seed):
    rng = np.random.RandomState(seed)
    log_joint, masses = rng.standard_normal((20, 4)) * 3, rng.random_sample(20)
    best = generalized_gaussian.memberships(log_joint)
    for size in (1e-3, 1e-1, 1.0):
        nudged = (1 - size) * best + size * rng.dirichlet(np.ones(4), size=20)
        assert generalized_gaussian.objective(log_joint, best, masses) < generalized_gaussian.objective(
            log_joint, nudged, masses
        )


@quick
@given(seeds)
def test_no_feasible_nudge_beats_the_mixing_weights(seed):
    rng = np.random.RandomState(seed)
    totals = rng.random_sample(4) + 0.01
    best = generalized_gaussian.mixing_weights(totals)
    for size in (1e-3, 1e-1, 0.9):
        nudged = (1 - size) * best + size * rng.dirichlet(np.ones(4))
        assert -totals @ np.log(best) < -totals @ np.log(nudged)


@quick
@given(seeds, shapes, dimensions)
def test_no_nudge_beats_the_scale(seed, shape, dimension):
    distances, shares = samples(seed)
    best = generalized_gaussian.scale(
        shares.sum(), (shares * generalized_gaussian.powers(distances, shape)).sum(), shape, dimension
    )
    least = loss(distances, shares, shape, best, dimension)
    for factor in (0.5, 0.99, 1.01, 2.0):
        assert least < loss(distances, shares, shape, best * factor, dimension)


def test_scale_of_the_simplified_mixture_is_the_precision_of_afcm():
    distances, shares = samples(0)
    scatter = float(shares @ distances)
    assert generalized_gaussian.scale(shares.sum(), scatter, 1.0, 3) == pytest.approx(
        paper.precision(scatter, shares.sum(), 3, 1e9)
    )


@quick
@given(seeds, st.lists(shapes, min_size=1, max_size=3), dimensions)
def test_no_nudge_beats_the_size(seed, several, dimension):
    rng = np.random.RandomState(seed)
    betas, totals, power_totals = np.array(several), rng.random_sample((2, len(several))) + 0.1, None
    totals, power_totals = totals
    best = generalized_gaussian.size(totals, power_totals, betas, dimension)

    def cost(size):  # N d/2 log s + Σ_j T_j s^{−β_j} / 2
        return 0.5 * dimension * totals.sum() * math.log(size) + 0.5 * power_totals @ size**-betas

    for factor in (0.5, 0.99, 1.01, 2.0):
        assert cost(best) < cost(best * factor)
    if len(several) == 1:
        scale = generalized_gaussian.scale(totals, power_totals, betas, dimension)
        assert best == pytest.approx((2 * scale) ** (-1 / betas[0]))


@quick
@given(seeds, shapes, dimensions)
def test_shape_equations_are_the_slope_of_the_objective_and_their_slope_is_theirs(seed, shape, dimension):
    distances, shares = samples(seed)
    mass, logs = float(shares.sum()), (np.log(distances), np.log(shares))

    def best_scale(beta):
        return generalized_gaussian.scale(
            mass, (shares * generalized_gaussian.powers(distances, beta)).sum(), beta, dimension
        )

    def profiled(beta):
        return generalized_gaussian.shape_equation(
            beta, generalized_gaussian.power_statistics(*logs, beta), mass, dimension
        )

    def at_scale(beta):
        return generalized_gaussian.shape_equation_at_scale(
            beta, generalized_gaussian.power_statistics(*logs, beta), mass, dimension, 0.7
        )

    for equation, scale in ((profiled, best_scale), (at_scale, lambda beta: 0.7)):
        h = 1e-5 * shape
        costs = [loss(distances, shares, beta, scale(beta), dimension) for beta in (shape - h, shape + h)]
        slope = (costs[1] - costs[0]) / (2 * h)
        assert equation(shape)[0] == pytest.approx(-shape * slope / mass, rel=1e-4, abs=1e-4)
        difference = approx_fprime(np.array([shape]), lambda beta, f=equation: f(float(beta[0]))[0], 1e-6 * shape)
        assert equation(shape)[1] == pytest.approx(difference[0], rel=1e-3, abs=1e-3)


@quick
@given(seeds, st.floats(0.1, 10.0), dimensions)
def test_no_nudge_beats_the_shape(seed, start, dimension):
    rng = np.random.RandomState(seed)
    draws = generalized_gaussian.draw_standard(300, dimension, rng.uniform(0.3, 3), 0.5, rng)
    distances, shares = np.einsum("ij,ij->i", draws, draws), rng.random_sample(300) + 0.1
    logs, mass = (np.log(distances), np.log(shares)), float(shares.sum())

    def cost(beta):
        scale = generalized_gaussian.scale(
            mass, (shares * generalized_gaussian.powers(distances, beta)).sum(), beta, dimension
        )
        return loss(distances, shares, beta, scale, dimension)

    best = generalized_gaussian.solve_shape(
        lambda beta: generalized_gaussian.shape_equation(
            beta, generalized_gaussian.power_statistics(*logs, beta), mass, dimension
        ),
        start,
    )
    lower, upper = generalized_gaussian.SHAPE_BOUNDS
    for factor in (0.8, 0.99, 1.01, 1.25):
        assert cost(best) <= cost(min(max(best * factor, lower), upper)) + 1e-9


@pytest.mark.parametrize(("sign", "end"), [(1.0, 20.0), (-1.0, 0.05)])
def test_a_shape_without_a_root_ends_at_its_bound(sign, end):
    assert generalized_gaussian.solve_shape(lambda beta: (sign, -1e-9), 1.0) == end


@quick
@given(st.floats(0.06, 19.0), st.floats(0.06, 19.0))
def test_the_root_is_found_where_newton_alone_would_cycle(root, start):
    def hard(beta):
        gap = math.log(root / beta)
        return math.copysign(abs(gap) ** 0.4, gap), -0.4 * abs(gap + 1e-12) ** -0.6 / beta

    assert generalized_gaussian.solve_shape(hard, start) == pytest.approx(root, rel=1e-6)


@pytest.mark.parametrize("shape", [0.5, 1.0, 3.0])
def test_draws_have_the_covariance_and_the_radii_that_the_density_states(shape):
    draws = generalized_gaussian.draw_standard(40_000, 3, shape, 0.8, np.random.RandomState(0))
    expected = generalized_gaussian.covariance_factors(shape, 0.8, 3) * np.eye(3)
    np.testing.assert_allclose(np.cov(draws.T), expected, atol=0.06 * expected[0, 0])
    energies = 0.8 * generalized_gaussian.powers(np.einsum("ij,ij->i", draws, draws), shape)
    assert energies.mean() == pytest.approx(1.5 / shape, rel=0.03)
    assert energies.var() == pytest.approx(1.5 / shape, rel=0.06)


# Each function against its formula, number by number.


def test_powers_are_finite_whatever_the_distance():
    distances = np.array([0.0, 0.3, 1.0, 2.5])
    np.testing.assert_allclose(generalized_gaussian.powers(distances, 1.7), distances**1.7, rtol=1e-14)
    assert generalized_gaussian.powers(1e300, 20.0) == math.exp(700)
    assert generalized_gaussian.powers(1e-320, 0.05) == pytest.approx(1e-300**0.05)


@pytest.mark.parametrize("shape", [0.5, 1.0, 2.5])
def test_pulls_are_powers_and_at_the_center_those_of_a_tiny_distance(shape):
    distances = np.array([0.3, 1.0, 2.5])
    np.testing.assert_allclose(generalized_gaussian.pulls(distances, shape, 0.7, 3), distances ** (shape - 1))
    typical = (3 / (2 * shape * 0.7)) ** (1 / shape)
    expected = (1e-12 * typical) ** (shape - 1)
    assert generalized_gaussian.pulls(0.0, shape, 0.7, 3) == pytest.approx(expected, rel=1e-12)


def test_pulls_are_finite():
    assert generalized_gaussian.pulls(1e300, 20.0, 0.5, 3) == math.exp(700)


@quick
@given(seeds)
def test_sums_over_samples_and_components(seed):
    rng = np.random.RandomState(seed)
    log_joint, masses = rng.standard_normal((6, 3)), rng.random_sample(6)
    joint, shares, totals = np.exp(log_joint), rng.random_sample((6, 3)), rng.random_sample(3)
    np.testing.assert_allclose(generalized_gaussian.log_likelihoods(log_joint), np.log(joint.sum(axis=1)), atol=1e-13)
    memberships = joint / joint.sum(axis=1)[:, None]
    np.testing.assert_allclose(generalized_gaussian.memberships(log_joint), memberships)
    np.testing.assert_allclose(generalized_gaussian.component_losses(log_joint, shares), -(shares * log_joint).sum(0))
    np.testing.assert_allclose(generalized_gaussian.mixing_weights(totals), totals / math.fsum(totals))
    degrees = rng.dirichlet(np.ones(3), size=6)
    terms = degrees * (np.log(degrees) - log_joint)
    assert generalized_gaussian.objective(log_joint, degrees, masses) == pytest.approx(masses @ terms.sum(axis=1))
    assert generalized_gaussian.objective(log_joint, degrees) == pytest.approx(terms.sum())


def test_densities_of_several_components():
    distances, log_determinants = np.array([[0.5, 2.0], [1.5, 0.1]]), np.array([0.3, -1.2])
    shapes, scale, d = np.array([0.6, 2.0]), 0.8, 3
    peaks = shapes * gamma(d / 2) * scale ** (d / (2 * shapes)) / (math.pi ** (d / 2) * gamma(d / (2 * shapes)))
    expected = np.log(peaks * np.exp(-0.5 * log_determinants) * np.exp(-scale * distances**shapes))
    found = generalized_gaussian.log_densities(distances, log_determinants, shapes, scale, d)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_scale_of_several_components():
    totals, power_totals, shapes = np.array([2.0, 3.0]), np.array([0.5, 0.7]), np.array([0.5, 2.0])
    found = generalized_gaussian.scale(totals, power_totals, shapes, 3)
    assert found == pytest.approx((2 * 3 / (2 * 0.5) + 3 * 3 / (2 * 2.0)) / (0.5 + 0.7), rel=1e-14)
    assert generalized_gaussian.scale(totals, np.zeros(2), shapes, 3) == pytest.approx(8.25e300)


@pytest.mark.parametrize("shapes", [[0.7], [0.5, 2.0], [0.3, 1.0, 4.0]])
@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_the_size_solves_its_equation(shapes, factor):
    betas = np.array(shapes)
    totals, power_totals = np.arange(1.0, 1 + betas.size), factor * np.arange(2.0, 2 + betas.size)
    size = generalized_gaussian.size(totals, power_totals, betas, 3)
    assert 3 * totals.sum() == pytest.approx(np.sum(betas * size**-betas * power_totals), rel=1e-12)


def test_the_size_of_points_at_their_centers_is_small_and_not_zero():
    assert 0 < generalized_gaussian.size(np.array([1.0]), np.array([0.0]), np.array([1.0]), 2) < 1e-299
    several = generalized_gaussian.size(np.array([1.0, 1.0]), np.array([0.0, 6.0]), np.array([1.0, 2.0]), 3)
    assert several == pytest.approx(math.sqrt(2))


def test_the_size_takes_few_steps(monkeypatch):
    steps, softmax = [], generalized_gaussian.softmax
    monkeypatch.setattr(generalized_gaussian, "softmax", lambda terms: steps.append(terms) or softmax(terms))
    generalized_gaussian.size(np.ones(2), np.array([3.0, 5.0]), np.array([0.5, 2.0]), 3)
    assert 2 < len(steps) < 10


@quick
@given(seeds, shapes)
def test_power_statistics_are_weighted_moments_of_the_logarithm(seed, shape):
    distances, shares = samples(seed)
    found = generalized_gaussian.power_statistics(np.log(distances), np.log(shares), shape)
    weights, logs = shares * distances**shape, np.log(distances)
    mean = np.average(logs, weights=weights)
    assert found.log_total == pytest.approx(math.log(weights.sum()), abs=1e-12)
    assert found.mean_log == pytest.approx(mean, rel=1e-10, abs=1e-12)
    assert found.variance_log == pytest.approx(np.average((logs - mean) ** 2, weights=weights), rel=1e-10)


def test_power_statistics_do_not_overflow():
    found = generalized_gaussian.power_statistics(np.array([1000.0, 1000.0]), np.log([1.0, 3.0]), 2.0)
    assert found.log_total == pytest.approx(2000 + math.log(4), rel=1e-15)
    assert (found.mean_log, found.variance_log) == (1000.0, 0.0)
    found = generalized_gaussian.power_statistics(np.array([-1000.0, 1000.0]), np.log([1.0, 3.0]), 2.0)
    assert found.log_total == pytest.approx(2000 + math.log(3), rel=1e-15)


def slope_of(function, at):
    """A central difference of fourth order."""
    h = 1e-3 * at
    near, far = function(at + h) - function(at - h), function(at + 2 * h) - function(at - 2 * h)
    return (8 * near - far) / (12 * h)


@quick
@given(seeds, shapes, dimensions)
def test_shape_equations_are_their_formulas(seed, shape, dimension):
    distances, shares = samples(seed)
    mass = float(shares.sum())

    def statistics(beta):
        return generalized_gaussian.power_statistics(np.log(distances), np.log(shares), beta)

    def profiled(beta):
        return generalized_gaussian.shape_equation(beta, statistics(beta), mass, dimension)

    def at_scale(beta):
        return generalized_gaussian.shape_equation_at_scale(beta, statistics(beta), mass, dimension, 0.7)

    a, total = dimension / (2 * shape), shares @ distances**shape
    first = shares @ (distances**shape * np.log(distances))
    profile = 1 + a * (digamma(a) - math.log(mass * a / total)) - dimension / 2 * first / total
    fixed = 1 + a * (digamma(a) - math.log(0.7)) - shape * 0.7 / mass * first
    assert profiled(shape)[0] == pytest.approx(profile, rel=1e-9, abs=1e-9)
    assert at_scale(shape)[0] == pytest.approx(fixed, rel=1e-9, abs=1e-9)
    for equation in (profiled, at_scale):
        expected = slope_of(lambda beta, f=equation: f(beta)[0], shape)
        assert equation(shape)[1] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_the_shape_equation_at_a_scale_is_finite():
    far = generalized_gaussian.PowerStatistics(800.0, 0.1, 0.2)
    value, slope = generalized_gaussian.shape_equation_at_scale(2.0, far, 4.0, 3, 0.5)
    energy = 0.5 / 4.0 * math.exp(700)
    assert value == pytest.approx(-2.0 * energy * 0.1)
    assert slope == pytest.approx(-energy * (0.1 + 2.0 * (0.2 + 0.01)))


# The solver of the shape equation, step by step.


def visits(equation, start):
    """The shapes at which the equation was asked, and the answer."""
    seen = []
    found = generalized_gaussian.solve_shape(lambda beta: seen.append(beta) or equation(beta), start)
    return seen, found


@pytest.mark.parametrize(
    ("root", "start", "path"),
    [
        (2.0, 1.5, [1.5, 2.0]),  # Newton in log β is exact for a line
        (10.0, 1.0, [1.0, math.e, math.e**2, 10.0]),  # at most a factor e a step
        (0.1, 1.0, [1.0, math.e**-1, math.e**-2, 0.1]),
    ],
)
def test_the_shape_is_found_by_newton_in_the_logarithm(root, start, path):
    seen, found = visits(lambda beta: (math.log(root / beta), -1 / beta), start)
    np.testing.assert_allclose(seen[: len(path)], path, rtol=1e-13)
    assert found == pytest.approx(root, rel=1e-10)


@pytest.mark.parametrize("slope", [0.0, 0.5])
@pytest.mark.parametrize(
    ("value", "path"), [(0.5, [1, math.e, math.e**2, 20]), (-0.5, [1, 1 / math.e, math.e**-2, 0.05])]
)
def test_without_a_falling_slope_the_shape_moves_by_a_factor_up_to_its_bound(slope, value, path):
    seen, found = visits(lambda beta: (value, slope), 1.0)
    np.testing.assert_allclose(seen, path, rtol=1e-14)
    assert found == path[-1]


def test_a_step_out_of_the_bracket_is_a_bisection():
    seen, found = visits(lambda beta: (math.copysign(1.0, 2.0 - beta), -1e-3), 1.0)
    np.testing.assert_allclose(seen[:4], [1.0, math.e, math.e**0.5, math.e**0.75], rtol=1e-14)
    assert found == pytest.approx(2.0, rel=2e-10)
    assert len(seen) < 50
    assert visits(lambda beta: (0.0, -1.0), 5.0)[0][1] == pytest.approx(0.5)  # between the lower bound and 5
    assert visits(lambda beta: (1e-300, -1.0), 5.0)[0][1] == pytest.approx(10.0)  # between 5 and the upper bound


@pytest.mark.parametrize("root", [0.06, 1.0, 15.0])
def test_the_precision_of_the_shape_is_relative(root):
    seen, found = visits(lambda beta: (math.copysign(1.0, root - beta), -1e-3), 2.0)
    assert found == pytest.approx(root, rel=3e-10)
    assert abs(seen[-1] - seen[-2]) < 1e-9 * root


def test_the_bounds_of_the_shape_and_the_scale_of_the_gaussian():
    assert generalized_gaussian.SHAPE_BOUNDS == (0.05, 20.0)
    assert generalized_gaussian.GAUSSIAN_SCALE == 0.5
    assert generalized_gaussian.TINY == 1e-300


# Moments and draws.


def test_covariance_factors_are_their_formula():
    shapes, scale, d = np.array([0.5, 1.0, 3.0]), 0.8, 3
    expected = scale ** (-1 / shapes) * gamma((d + 2) / (2 * shapes)) / (d * gamma(d / (2 * shapes)))
    np.testing.assert_allclose(generalized_gaussian.covariance_factors(shapes, scale, d), expected, rtol=1e-13)


def test_draws_are_directions_times_radii():
    found = generalized_gaussian.draw_standard(5, 3, 0.7, 0.8, np.random.RandomState(4))
    random = np.random.RandomState(4)
    normal, energies = random.standard_normal((5, 3)), random.gamma(3 / (2 * 0.7), size=5)
    radii = (energies / 0.8) ** (1 / (2 * 0.7))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), radii, rtol=1e-14)
    np.testing.assert_allclose(found / radii[:, None], normal / np.linalg.norm(normal, axis=1)[:, None], rtol=1e-13)
