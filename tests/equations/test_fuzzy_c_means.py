"""The equations of fuzzy c-means against their definitions, written loop by loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afcm.equations import fuzzy_c_means, paper
from tests.equations.test_paper import Foreign
from tests.strategies import problems, quick

exponents = st.sampled_from([1.05, 1.5, 2.0, 3.0, 10.0])


def direct_memberships(costs, exponent):
    """``1 / Σ_l (d²_ij / d²_il)^{1/(m−1)}``."""
    with np.errstate(over="ignore"):
        return np.array([[1 / np.sum((cost / row) ** (1 / (exponent - 1))) for cost in row] for row in costs])


@quick
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), exponents)
def test_memberships_are_their_definition(seed, n_clusters, exponent):
    costs = np.exp(np.random.default_rng(seed).uniform(-5, 5, size=(20, n_clusters)))
    kept = costs.copy()
    found = fuzzy_c_means.fuzzy_memberships(costs, exponent)
    np.testing.assert_allclose(found, direct_memberships(costs, exponent), rtol=1e-10, atol=1e-300)
    np.testing.assert_array_equal(costs, kept)


def test_inverses_that_would_overflow_are_avoided():
    smallest = np.finfo(float).smallest_normal
    costs = smallest * np.array([[1.5, 1.2, 1.2, 1.2, 1.2, 1.2]])  # each 1/d² is finite, and their sum is not
    for n_samples in (1, 5, 50):
        found = fuzzy_c_means.fuzzy_memberships(np.repeat(costs, n_samples, axis=0), 2.0)
        np.testing.assert_allclose(found, [[4 / 29] + [5 / 29] * 5] * n_samples)


def test_for_m_2_no_logarithm_is_taken(monkeypatch):
    monkeypatch.setattr(paper, "softmax", lambda scores: pytest.fail("by logarithms"))
    costs = np.array([[1.0, 3.0], [1.0, 1.0]])
    np.testing.assert_allclose(fuzzy_c_means.fuzzy_memberships(costs, 2.0), [[0.75, 0.25], [0.5, 0.5]], rtol=1e-15)


@pytest.mark.parametrize("exponent", [1.01, 1.5, 2.0, 3.0])
def test_centers_at_distance_zero_share_all_mass(exponent):
    costs = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [2.0, 0.0, 1e-300], [1.0, 1.0, 1.0], [1.0, 2.0, 4.0]])
    expected = [[0.5, 0, 0.5], [1 / 3] * 3, [0, 1, 0], [1 / 3] * 3, *direct_memberships(costs[4:], exponent)]
    np.testing.assert_allclose(fuzzy_c_means.fuzzy_memberships(costs, exponent), expected, rtol=1e-13)


@quick
@given(problems(), exponents)
def test_centers_and_objective_are_their_definitions(case, exponent):
    points, memberships, masses, rng = case
    costs, own = rng.random(memberships.shape), np.ones(len(points)) if masses is None else masses
    weights = np.array([[m * u**exponent for u in row] for m, row in zip(own, memberships, strict=True)])
    centers = fuzzy_c_means.fuzzy_centers(points, memberships, exponent, masses)
    for j, column in enumerate(weights.T):
        if column.sum() > 1e-9:  # an empty cluster has no center of its own
            np.testing.assert_allclose(centers[j], np.average(points, axis=0, weights=column), rtol=1e-9)
    expected = math.fsum((weights * costs).ravel())
    assert fuzzy_c_means.fuzzy_objective(costs, memberships, exponent, masses) == pytest.approx(expected)
    np.testing.assert_allclose(fuzzy_c_means.fuzzy_shares(memberships, exponent), memberships**exponent, rtol=1e-14)


def test_the_entropy_objective_is_the_free_energy_in_units_of_the_distances():
    costs, memberships, precision = np.array([[1.0, 3.0], [2.0, 0.5]]), np.array([[0.7, 0.3], [0.4, 0.6]]), 4.0
    expected = np.sum(memberships * costs) + np.sum(memberships * np.log(memberships)) / precision
    free_energy = precision * paper.scatter(costs, memberships) + paper.entropy(memberships)
    assert fuzzy_c_means.entropy_objective(free_energy, precision) == pytest.approx(expected, rel=1e-15)


def test_distances_are_euclidean():
    found = fuzzy_c_means.distances(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[3.0, 4.0], [0.0, 2.0]]))
    np.testing.assert_allclose(found, [[5.0, 2.0], [0.0, np.sqrt(13)]], rtol=1e-12)


@quick
@given(problems(), exponents)
def test_the_expectation_gives_memberships_and_weighted_sums(case, exponent):
    points, start, masses, rng = case
    centers = paper.centers(points, start, masses) + points.std() * rng.standard_normal((start.shape[1], 1))
    costs = ((points[:, None] - centers) ** 2).sum(axis=2)
    own = np.ones(len(points)) if masses is None else masses
    degrees, statistics = fuzzy_c_means.fuzzy_expectation(points, centers, exponent, masses)
    np.testing.assert_allclose(degrees, direct_memberships(costs, exponent), rtol=1e-6, atol=1e-9)
    weights, size = own[:, None] * degrees**exponent, np.abs(points).max()
    np.testing.assert_allclose(statistics.totals, weights.sum(axis=0), rtol=1e-9)
    moments = np.einsum("ij,ijd->jd", weights, points[:, None] - centers)
    np.testing.assert_allclose(statistics.moments, moments, rtol=1e-8, atol=1e-9 * size)
    assert statistics.scatter == pytest.approx(np.sum(weights * costs), rel=1e-8)
    assert statistics.free_energy == statistics.scatter


@pytest.mark.parametrize(
    "mixed", [fuzzy_c_means.distances, lambda ours, theirs: fuzzy_c_means.fuzzy_expectation(ours, theirs, 2.0)]
)
def test_arrays_of_two_libraries_are_refused(mixed):
    with pytest.raises(TypeError, match=r"[Mm]ultiple namespaces"):
        mixed(np.ones((2, 2)), Foreign())
