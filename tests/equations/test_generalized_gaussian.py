"""Every equation of the generalised Gaussian against its definition, a limit, or all feasible nudges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import approx_fprime
from scipy.special import gammaln
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
