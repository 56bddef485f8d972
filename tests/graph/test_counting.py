"""Counting clusters: a valley in the profile of cuts, against what chance makes."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs, make_moons

from afcm.datasets import make_rings, make_spirals
from afcm.graph import counting
from afcm.graph.prepared import count_parts, search_for_counting
from afcm.graph.similarity import search_neighbors
from tests.strategies import quick


def counted(X, masses=None):
    return count_parts(*search_for_counting(X), masses)


def random_weights(rng, n):
    weights = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.4), 1)
    return sp.csr_array(weights + weights.T)


@quick
@given(st.integers(0, 2**32 - 1), st.integers(2, 15))
def test_cut_profile_equals_its_definition(seed, n):
    rng = np.random.default_rng(seed)
    weights, order = random_weights(rng, n), rng.permutation(n)
    profile = counting.cut_profile(weights, order)
    dense = weights.toarray()
    direct = [dense[np.ix_(order[:t], order[t:])].sum() for t in range(1, n)]
    np.testing.assert_allclose(profile, direct, atol=1e-12)


@quick
@given(st.lists(st.floats(0, 100), min_size=1, max_size=20))
def test_depths_are_zero_on_a_hill_and_never_negative(cuts):
    profile = np.array(cuts)
    assert (counting.valley_depths(profile) >= 0).all()
    hill = np.concatenate([np.sort(profile), np.sort(profile)[::-1]])
    np.testing.assert_array_equal(counting.valley_depths(hill), 0)


def test_depth_of_a_known_valley():
    depths = counting.valley_depths(np.array([4.0, 16.0, 1.0, 9.0, 2.0]))
    np.testing.assert_allclose(depths, [0, 0, 2 * (3 - 1), 0, 0])


@pytest.mark.parametrize(("make", "expected"), [(make_spirals, 2), (make_rings, 3)])
def test_toys_are_counted(make, expected):
    for seed in range(3):
        assert counted(make(random_state=seed)[0]).count == expected


def test_moons_and_blobs_are_counted():
    assert counted(make_moons(500, noise=0.05, random_state=0)[0]).count == 2
    rng = np.random.default_rng(0)
    for n_clusters, n_features in ((2, 50), (5, 2), (12, 10)):
        centers = rng.standard_normal((n_clusters, n_features))
        distances = np.linalg.norm(centers[:, None] - centers, axis=2)
        centers *= 8 / distances[distances > 0].min()
        X, _ = make_blobs(60 * n_clusters, centers=centers, random_state=1)
        assert counted(X).count == n_clusters


@pytest.mark.parametrize("n_features", [1, 2, 10])
def test_one_gaussian_and_one_cube_are_one(n_features):
    """Chance is met now and then: one draw in twenty may be split."""
    counts = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        for X in (rng.standard_normal((300, n_features)), rng.random((300, n_features))):
            found = counted(X)
            assert all(valley.depth < valley.needed for valley in found.within)
            counts.append(found.count)
    assert counts.count(1) >= 19


def test_labels_are_the_pieces_and_scattered_samples_none():
    X, y = make_blobs([80, 60, 40], centers=[[0, 0], [20, 0], [0, 20]], random_state=0)
    found = counted(np.vstack([X, [[500.0, 500.0]]]))
    assert found.count == 3
    for label in range(3):
        assert len(set(y[found.labels[:180] == label])) == 1


def test_components_count_without_a_valley():
    block = sp.csr_array(np.ones((10, 10)) - np.eye(10))
    found = counting.split_at_valleys(sp.block_diag([block, block]).tocsr(), None, 5)
    assert found.count == 2
    assert math.isinf(found.between[0].depth)


def test_masses_count_as_samples():
    block = sp.csr_array(np.ones((4, 4)) - np.eye(4))
    weights = sp.csr_array(sp.block_diag([block, block]))
    assert counting.split_at_valleys(weights, None, 5).count == 0
    assert counting.split_at_valleys(weights, np.full(8, 2.0), 5).count == 2


@quick
@given(st.integers(0, 2**32 - 1))
def test_edges_count_once_for_every_pair_of_samples(seed):
    rng = np.random.default_rng(seed)
    weights, masses = random_weights(rng, 9), rng.integers(1, 5, 9).astype(float)
    counted_edges = counting.scale_by_masses(weights, masses).toarray()
    np.testing.assert_allclose(counted_edges, weights.toarray() * np.outer(masses, masses), rtol=1e-12)


def test_no_piece_is_smaller_than_half_a_neighbour_list(monkeypatch):
    asked = []
    monkeypatch.setattr(counting, "split_at_valleys", lambda weights, masses, least: asked.append(least))
    for k in (6, 30):
        count_parts(search_neighbors(np.random.default_rng(0).random((80, 2)), k)[0], k, None)
    assert asked == [5, 15]
