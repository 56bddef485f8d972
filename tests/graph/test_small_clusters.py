"""More neighbors where clusters are small clouds, and not where they are curves among curves."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from afcm import AFCM
from afcm.graph.similarity import default_n_neighbors
from afcm.graph.small_clusters import choose_n_neighbors, inverse_dimension
from afcm.metrics import adjusted_rand


def draw_curves(n_curves, n_each, seed=0):
    """Straight lines in ten dimensions that cross each other's surroundings: neighbors on a line, others beyond it."""
    rng = np.random.default_rng(seed)
    along = rng.uniform(-1, 1, (n_curves, n_each, 1)) * rng.standard_normal((n_curves, 1, 10))
    return (0.5 * rng.standard_normal((n_curves, 1, 10)) + along).reshape(-1, 10)


def test_inverse_dimension_against_loops():
    squared = np.sort(np.random.default_rng(0).random((7, 5)), axis=1)
    terms = [np.log(np.sqrt(row[-1]) / np.sqrt(other)) for row in squared for other in row[:-1]]
    assert inverse_dimension(squared) == pytest.approx(np.mean(terms), rel=1e-12)


@pytest.mark.parametrize("n_dimensions", [1, 2, 5])
def test_dimension_of_a_cloud_without_an_end(n_dimensions):
    """Around a place of constant density the volumes d^D of nearest neighbors are sorted uniform numbers."""
    volumes = np.sort(np.random.default_rng(0).random((20_000, 8)), axis=1)
    assert 1 / inverse_dimension(volumes ** (2 / n_dimensions)) == pytest.approx(n_dimensions, rel=0.02)


def test_equal_distances_are_no_error():
    assert inverse_dimension(np.full((3, 4), 2.0)) == 0
    assert np.isfinite(inverse_dimension(np.array([[0.0, 1.0, 2.0]])))


@pytest.mark.parametrize("n_features", [2, 10, 50])
def test_small_clouds_get_seven_tenths_of_their_size(n_features):
    X, _ = make_blobs(1000, n_features, centers=50, cluster_std=n_features**0.5 / 3, random_state=0)
    assert choose_n_neighbors(X, 50) == 14


def test_curves_keep_few_neighbors():
    X = draw_curves(50, 20)
    assert choose_n_neighbors(X, 50) == default_n_neighbors(1000, 50) == 6


@pytest.mark.parametrize(("n_samples", "n_clusters"), [(320, 10), (1000, 5), (1000, 250), (190, 10), (12, 1), (2, 1)])
def test_other_sizes_keep_the_rule(n_samples, n_clusters):
    """Clusters of 4k samples are not small, tiny ones have no neighbors to give, and few samples do not tell."""
    X = np.random.default_rng(0).standard_normal((n_samples, 3))
    assert choose_n_neighbors(X, n_clusters) == default_n_neighbors(n_samples, n_clusters)


def test_many_small_clusters_as_well_as_the_best_fixed_graph():
    X, y = make_blobs(1000, 10, centers=50, cluster_std=2.5, random_state=1)
    ours = adjusted_rand(y, AFCM(50, random_state=0).fit(X).labels_)
    fixed = [
        adjusted_rand(y, AFCM(50, kernel="adaptive", n_neighbors=k, random_state=0).fit(X).labels_) for k in (6, 10, 14)
    ]
    assert ours > max(fixed) - 0.02


def test_other_kernels_keep_the_rule():
    X, _ = make_blobs(1000, 10, centers=50, random_state=0)
    assert AFCM(50, kernel="adaptive").prepare(X).similarity.k == 6
    assert AFCM(50).prepare(X).similarity.k == 14
