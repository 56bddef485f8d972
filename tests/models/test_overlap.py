"""Overlapping clusters from Gaussians that share samples, against slow sums and known shapes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score

from afcm.equations import local_mixture as equations
from afcm.equations.quadratic import quadratic_features
from afcm.models import overlap
from afcm.models.learning_sample import Frame
from afcm.models.local_mixture import fit_local_mixture, measure_fit


def stretched(n=900, seed=0):
    """Two flat Gaussians, one above the other, and their Bayes labels."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], n // 2)
    X = rng.standard_normal((n, 2)) * [8, 0.9] + np.column_stack([np.zeros(n), 3 * y])
    return X, (X[:, 1] > 1.5).astype(int)


def three_gaussians():
    rng = np.random.default_rng(1)
    means, spreads = rng.standard_normal((3, 2)) * 3, rng.uniform(0.5, 1.5, (3, 2))
    return equations.Parameters(
        np.array([0.2, 0.5, 0.3]), means, np.stack([np.diag(spread**2) for spread in spreads]), None
    )


def test_shares_are_weighted_densities_over_their_sum():
    parameters, X = three_gaussians(), np.random.default_rng(2).standard_normal((20, 2)) * 3
    densities = np.stack(
        [
            weight * multivariate_normal(mean, covariance).pdf(X)
            for weight, mean, covariance in zip(*parameters[:3], strict=True)
        ]
    )
    found = overlap.responsibilities(quadratic_features(X), parameters)
    np.testing.assert_allclose(found, densities / densities.sum(axis=0), rtol=1e-9)


def test_gaussians_that_share_samples_are_one_group():
    """0 and 3 share samples, 1 and 2 do; a share of one sample's mass counts with the mass."""
    shares = np.array(
        [[0.6, 0.4, 0.0, 0.0, 0.1], [0.0, 0.0, 0.5, 0.4, 0.0], [0.0, 0.0, 0.5, 0.6, 0.3], [0.4, 0.6, 0.0, 0.0, 0.6]]
    )
    for masses in (np.ones(5), np.array([2.0, 3.0, 1.0, 1.0, 0.1])):
        groups = overlap.group_gaussians(shares, masses, 2)
        assert groups[0] == groups[3] != groups[1] == groups[2]
    heavy = overlap.group_gaussians(shares, np.array([0.0, 0.0, 0.001, 0.001, 100.0]), 2)
    assert heavy[2] == heavy[3] == heavy[0] != heavy[1]


def test_as_many_gaussians_as_clusters_are_their_own_groups():
    shares = overlap.responsibilities(quadratic_features(stretched()[0] / 4), three_gaussians())
    assert sorted(overlap.group_gaussians(shares, np.ones(900), 3)) == [0, 1, 2]


@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_labels_follow_a_long_valley(unit):
    X, y = stretched()
    across = (X[:, 0] > 0).astype(int)
    found = overlap.find_overlapping(X * unit, across, 2)
    assert adjusted_rand_score(y, found) > 0.95


def test_labels_do_not_depend_on_the_order_of_the_samples():
    X, _ = stretched(300)
    across, order = (X[:, 0] > 0).astype(int), np.random.default_rng(0).permutation(300)
    here, there = overlap.find_overlapping(X, across, 2), overlap.find_overlapping(X[order], across[order], 2)
    np.testing.assert_array_equal(there, here[order])


def test_labels_that_say_the_same_are_no_second_opinion():
    X, y = stretched()
    assert overlap.find_overlapping(X, y, 2) is None
    assert overlap.find_overlapping(X, 1 - y, 2) is None


def test_too_few_samples_or_values_for_densities_give_none():
    X, _ = stretched(24)
    assert overlap.find_overlapping(X[::2], np.tile([0, 1], 6), 2) is None  # 12 samples for 2 times 12 numbers
    assert overlap.find_overlapping(np.round(stretched()[0] / 8), np.tile([0, 1], 450), 2) is None


def test_masses_count_as_copies():
    X, _ = stretched(300)
    across, masses = (X[:, 0] > 0).astype(int), np.random.default_rng(0).integers(1, 3, 300)
    heavy = overlap.find_overlapping(X, across, 2, masses.astype(float))
    copies = overlap.find_overlapping(np.repeat(X, masses, axis=0), np.repeat(across, masses), 2)
    assert adjusted_rand_score(np.repeat(heavy, masses), copies) > 0.95


def test_many_samples_are_labelled_in_blocks_from_a_sample(monkeypatch):
    X, y = stretched(3000)
    monkeypatch.setattr(overlap, "MOST_SAMPLES", 500)
    monkeypatch.setattr(equations, "BLOCK_ENTRIES", 1024)
    found = overlap.find_overlapping(X, (X[:, 0] > 0).astype(int), 2)
    assert found.shape == (3000,)
    assert adjusted_rand_score(y, found) > 0.95


def test_labels_of_points_are_the_largest_sums_of_shares():
    parameters, X = three_gaussians(), np.random.default_rng(2).standard_normal((50, 2)) * 3
    frame = Frame(np.arange(2), np.array([1.0, 2.0]), np.array([2.0, 0.5]))
    shares = overlap.responsibilities(quadratic_features((X - [1, 2]) / [2, 0.5]), parameters)
    expected = [int(share[0] + share[2] < share[1]) for share in shares.T]
    np.testing.assert_array_equal(overlap.label_points(X, frame, parameters, np.eye(2)[[0, 1, 0]]), expected)


@pytest.mark.parametrize("share", [None, 0.1])
def test_the_fit_of_a_mixture_is_its_bic_in_the_unit_of_the_samples(share):
    X, y = stretched()
    masses = np.random.default_rng(0).uniform(0.5, 2, 900)
    mixture = fit_local_mixture(X, y, 2, np.zeros(900), share=share)
    scaled = (X - mixture.center) / mixture.scale
    density = sum(
        weight * multivariate_normal(mean, covariance).pdf(scaled)
        for weight, mean, covariance in zip(mixture.weights, mixture.means, mixture.covariances, strict=True)
    )
    if share is not None:
        inside = ((scaled >= mixture.low) & (scaled <= mixture.high)).all(axis=1)
        wide, everywhere, core = mixture.background_weights
        density += wide * multivariate_normal(mixture.wide_mean, np.diag(mixture.wide_variances)).pdf(scaled)
        density += everywhere * np.exp(-mixture.log_volumes[0]) + core * inside * np.exp(-mixture.log_volumes[1])
    logs = np.log(density) - np.log(mixture.scale).sum()
    n_free = equations.n_parameters(mixture.parameters)
    expected = (-2 * masses @ logs + n_free * np.log(masses.sum())) / masses.sum()
    assert measure_fit(mixture, X, masses) == pytest.approx(expected, rel=1e-9)
    assert measure_fit(mixture, X[::-1], masses[::-1]) == pytest.approx(expected, rel=1e-9)


def test_the_constants_are_those_of_the_study():
    assert overlap.MULTIPLES == (1, 2, 3, 4, 6, 8, 12)
    assert (overlap.MOST_SAMPLES, overlap.STEPS, overlap.SAME) == (2000, 40, 0.9)


def test_tensors_have_the_labels_of_arrays():
    torch = pytest.importorskip("torch")
    points, truth = stretched()
    wrong = (points[:, 0] > np.median(points[:, 0])).astype(np.intp)
    host = overlap.find_overlapping(points, wrong, 2)
    tensor = overlap.find_overlapping(torch.as_tensor(points), torch.as_tensor(wrong), 2)
    assert isinstance(tensor, torch.Tensor)
    np.testing.assert_array_equal(tensor, host)
    weights = np.ones(len(points))
    again = overlap.find_overlapping(torch.as_tensor(points), torch.as_tensor(wrong), 2, torch.as_tensor(weights))
    np.testing.assert_array_equal(again, host)
    assert adjusted_rand_score(truth, host) > adjusted_rand_score(truth, wrong)
