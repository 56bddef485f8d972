"""Masses by density, against slow formulas and in shapes where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from afcm import AFCM
from afcm.graph import density
from afcm.graph.affinity import normalize_graph
from afcm.graph.density import (
    average_surroundings,
    balance,
    density_masses,
    keep_pieces,
    log_distances,
    neighbor_log_distances,
    to_masses,
)

# Center, spread and size of groups of samples beside a line.
PLACES = (((-4, 2.5), 0.15, 50), ((4, -2.5), 0.15, 50), ((-4, -5), 0.02, 15), ((4, 5), 0.02, 15))


def squared_to_kth(points, k=8):
    distances = np.sort(((points[:, None] - points) ** 2).sum(axis=2), axis=1)
    return distances[:, k]


def test_log_distances_and_those_that_are_zero():
    np.testing.assert_allclose(log_distances(np.array([1.0, np.e**2, 0.0, np.e**-4])), [0, 1, -2, -2])
    for n in (1, 3):
        np.testing.assert_array_equal(log_distances(np.zeros(n)), np.zeros(n))


@pytest.mark.parametrize("k", [1, 4, 9])
def test_log_distances_to_the_kth_nearest_other_point(k):
    points = np.random.default_rng(5).standard_normal((10, 2))
    queries = np.vstack([points[7], [[0.3, 0.1], [9.0, 9.0]]])
    for given, found in (
        (points, neighbor_log_distances(points, k)),
        (queries, neighbor_log_distances(points, k, queries)),
    ):
        for query, log in zip(given, found, strict=True):
            distances = sorted(np.linalg.norm(point - query) for point in points if (point != query).any())
            assert log == pytest.approx(np.log(distances[k - 1]), rel=1e-10)


def test_a_new_sample_can_have_all_points_as_neighbors():
    points, queries = np.array([[0.0], [1.0], [3.0]]), np.array([[1.0], [0.5]])
    np.testing.assert_allclose(neighbor_log_distances(points, 3, queries), np.log([2.0, 2.5]))


def test_the_settings_are_those_of_the_noise_suite():
    """docs/noise.md tells how they were settled."""
    assert (density.STRENGTH, density.QUANTILE, density.SURROUNDINGS, density.LEAST_MASS) == (8.0, 0.25, 64, 1e-6)
    assert density.LEAST_PIECE == 0.5


@pytest.mark.parametrize("few", [0, 1024])
def test_surroundings_of_few_nodes_are_the_nearest_of_all(monkeypatch, few):
    monkeypatch.setattr(density, "FEW_SAMPLED", few)
    monkeypatch.setattr(density, "BLOCK_ENTRIES", 500)
    rng = np.random.default_rng(0)
    points, values = rng.standard_normal((60, 3)), rng.standard_normal(60)
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    order = np.argsort(distances, axis=1)
    for n_clusters, n_near in ((3, 20), (40, 2), (60, 2), (1, 60)):  # n / c, and at least 2
        expected = values[order[:, :n_near]].mean(axis=1)
        np.testing.assert_allclose(average_surroundings(points, values, n_clusters), expected)
        monkeypatch.setattr(density, "BLOCK_ROWS", 7)
    monkeypatch.setattr(density, "SURROUNDINGS", 20)  # at most so many
    np.testing.assert_allclose(average_surroundings(points, values, 3), values[order[:, :20]].mean(axis=1))


def test_a_single_node_is_its_own_surroundings():
    np.testing.assert_array_equal(average_surroundings(np.ones((1, 2)), np.array([3.0]), 1), [3.0])


@pytest.mark.parametrize("few", [0, 1024])
def test_surroundings_of_many_nodes_are_the_nearest_of_a_sample(monkeypatch, few):
    monkeypatch.setattr(density, "FEW_SAMPLED", few)
    monkeypatch.setattr(density, "SURROUNDINGS", 5)
    points, values = np.random.default_rng(1).standard_normal((80, 2)), np.arange(80.0)
    sample = np.sort(np.random.RandomState(0).choice(80, 15, replace=False))
    distances = ((points[:, None] - points[sample]) ** 2).sum(axis=2)
    expected = values[sample[np.argsort(distances, axis=1)[:, :5]]].mean(axis=1)
    np.testing.assert_allclose(average_surroundings(points, values, 3), expected)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_surroundings_with_ties_are_those_of_the_search(monkeypatch, offset):
    points = np.random.default_rng(0).integers(0, 6, (500, 3)).astype(np.float32) + np.float32(offset)
    values = np.arange(500.0)
    found = average_surroundings(points, values, 10)
    monkeypatch.setattr(density, "FEW_SAMPLED", 0)
    np.testing.assert_allclose(found, average_surroundings(points, values, 10))


def test_surroundings_in_single_precision_are_checked_in_double():
    """Pairs that are a millionth of the distance between clusters apart, and one point far away."""
    rng = np.random.default_rng(0)
    points = 1e6 * rng.integers(0, 3, (600, 1)) + rng.standard_normal((600, 2))
    points[0] = 1e30
    values = rng.standard_normal(600)
    drawn, theirs = points[1:200], values[1:200]
    found = density.average_nearest(drawn, theirs, 5, points)
    distances = ((points[:, None] - drawn) ** 2).sum(axis=2)
    expected = theirs[np.argsort(distances[1:], axis=1, kind="stable")[:, :5]].mean(axis=1)
    np.testing.assert_allclose(found[1:], expected)
    assert np.isfinite(found[0])


def test_very_many_clusters_have_smaller_surroundings(monkeypatch):
    """4096 nodes in all are drawn, but at least 16 for each cluster."""
    asked = []
    monkeypatch.setattr(density, "draw_rows", lambda n, size, random: asked.append(size) or np.arange(size))
    points = np.random.default_rng(0).standard_normal((9000, 1))
    for n_clusters, size in ((10, 640), (64, 4096), (100, 4000), (200, 4000), (300, 4800)):
        average_surroundings(points, points[:, 0], n_clusters)
        assert asked.pop() == size


def test_masses_fall_with_the_excess_over_the_dense_quarter():
    excess = np.array([-2.0, -1.0, 0.0, 0.5, 1.0, 100.0, -1.0, -1.0, -1.0])  # the first quartile is -1
    expected = np.exp(-3.0 * np.maximum(excess + 1, 0))
    expected[5] = density.LEAST_MASS
    np.testing.assert_allclose(to_masses(excess, 3.0), expected, rtol=1e-12)
    np.testing.assert_array_equal(to_masses(excess, 0.0), np.ones(9))


@pytest.mark.parametrize("weighted", [False, True])
def test_masses_have_mean_one_over_the_samples(weighted):
    points = np.random.default_rng(2).standard_normal((150, 2))
    counts = np.random.default_rng(3).integers(1, 5, 150).astype(float) if weighted else None
    squared = squared_to_kth(points)
    masses = density_masses(points, squared, 3, 8.0, counts)
    assert np.average(masses, weights=counts) == pytest.approx(1)
    logs = np.log(squared) / 2
    raw = to_masses(logs - average_surroundings(points, logs, 3), 8.0)
    np.testing.assert_allclose(masses / masses[0], raw / raw[0])
    scaled = density_masses(points * 1e-7, squared * 1e-14, 3, 8.0, counts)
    np.testing.assert_allclose(scaled, masses, rtol=1e-9)


def test_stray_samples_lose_their_mass_and_a_sparse_cluster_less():
    X, y = make_blobs(400, 2, centers=[[0, 0], [60, 0]], cluster_std=[0.5, 5.0], random_state=0)
    haze = np.random.default_rng(0).uniform([-10, -30], [80, 30], (40, 2))
    points = np.concatenate([X, haze])
    masses = density_masses(points, squared_to_kth(points, 10), 2, 8.0)
    of_dense, of_sparse = (np.median(masses[:400][y == label]) for label in (0, 1))
    assert np.median(masses[400:]) < 0.01 * of_sparse < 0.01 * of_dense


def slow_pieces(masses, pieces, n_clusters, counts):
    """Each piece by itself: its samples' mass, or less where the piece is smaller than half a cluster."""
    result = masses.copy()
    for piece in set(pieces.tolist()) - {-1}:
        own = pieces == piece
        size, mass = counts[own].sum(), (counts * masses)[own].sum()
        kept = size if size >= 0.5 * counts.sum() / n_clusters else min(size, mass)
        result[own] *= kept / mass
    return result


@pytest.mark.parametrize("weighted", [False, True])
def test_large_pieces_keep_their_mass_and_small_ones_gain_none(weighted):
    rng = np.random.default_rng(6)
    pieces = np.repeat([0, 1, 2, 3, -1], [40, 30, 4, 5, 1])
    masses = rng.uniform(0.1, 1.0, 80) * np.repeat([1e-5, 3.0, 1e-4, 9.0, 0.3], [40, 30, 4, 5, 1])
    counts = rng.integers(1, 4, 80).astype(float) if weighted else None
    samples = np.ones(80) if counts is None else counts
    found = keep_pieces(masses, pieces, 3, counts)
    np.testing.assert_allclose(found, slow_pieces(masses, pieces, 3, samples), rtol=1e-12)
    totals = np.bincount(pieces[:-1], (samples * found)[:-1])
    np.testing.assert_allclose(totals[[0, 1, 3]], np.bincount(pieces[:-1], samples[:-1])[[0, 1, 3]])
    assert totals[2] < 0.01
    assert found[-1] == masses[-1]


def test_one_piece_is_left_as_it_is():
    masses = np.array([0.2, 0.7, 3.0])
    for pieces in ([0, 0, 0], [-1, -1, -1], [0, -1, 0]):
        assert keep_pieces(masses, np.array(pieces), 2) is masses


def test_a_sparse_piece_between_dense_ones_keeps_its_clusters():
    """A thin line of 150 samples, two blobs and two tiny dense spots: the line is a cluster, the spots are not."""
    rng = np.random.default_rng(0)
    line = np.column_stack([np.linspace(-8, 8, 150), rng.normal(0, 0.04, 150)])
    spots = [np.array(at) + rng.normal(0, spread, (size, 2)) for at, spread, size in PLACES]
    X = np.concatenate([line, *spots])
    labels = AFCM(3, random_state=0).fit(X).labels_
    assert [len(set(part)) for part in np.split(labels, [150, 200, 250])[:3]] == [1, 1, 1]
    assert len(set(labels[[0, 150, 200]])) == 3


def test_balanced_weights_have_degrees_near_one():
    rng = np.random.default_rng(4)
    dense = rng.random((30, 30)) * (rng.random((30, 30)) < 0.4)
    weights, masses = sp.csr_array(dense + dense.T), rng.uniform(1e-4, 1, 30)
    balanced, scale = balance(weights.copy(), masses)
    np.testing.assert_allclose(scale, (weights @ masses) ** -0.5)
    np.testing.assert_allclose(balanced.toarray(), scale[:, None] * weights.toarray() * scale)
    before, after = (np.log(part @ masses) for part in (weights, balanced))
    assert np.std(after) < 0.5 * np.std(before)


def test_balancing_ignores_the_unit_of_the_masses():
    weights = sp.csr_array(np.array([[0, 1.0, 0.2], [1.0, 0, 0.5], [0.2, 0.5, 0]]))
    masses = np.array([1.0, 0.1, 2.0])
    one, ten = (normalize_graph(balance(weights.copy(), unit * masses)[0], unit * masses) for unit in (1, 10))
    np.testing.assert_allclose(one.affinity.toarray(), ten.affinity.toarray())


def test_an_isolated_node_stays_isolated():
    weights = sp.csr_array(np.array([[0, 1.0, 0], [1.0, 0, 0], [0, 0, 0]]))
    balanced, scale = balance(weights, np.ones(3))
    assert scale[2] == 0
    np.testing.assert_array_equal(balanced.toarray(), weights.toarray())
