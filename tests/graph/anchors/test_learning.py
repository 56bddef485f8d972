"""Anchors equal those of slow forms of BKHK and k-means that make the same draws."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from afcm.graph.anchors import learning
from tests.strategies import quick

seeds = st.integers(0, 2**32 - 1)


def distances(points, center):
    return ((points - center) ** 2).sum(axis=1)


def slow_left(points, first, second, cut):
    """By comparing distances; the clearest first, ties in their order."""
    difference = distances(points, first) - distances(points, second)
    if cut is None and 0 < (difference < 0).sum() < len(points):
        return difference < 0
    clearest = sorted(range(len(points)), key=lambda row: difference[row])
    return np.isin(np.arange(len(points)), clearest[: len(points) // 2 if cut is None else cut])


def slow_bisection(points, cut, random):
    """2-means of at most ten steps, from two samples."""
    first, second = points[random.choice(len(points), 2, replace=False)]
    history = []
    for _ in range(10):
        history.append(slow_left(points, first, second, cut))
        first, second = points[history[-1]].mean(axis=0), points[~history[-1]].mean(axis=0)
    return history[-1]


def slow_bkhk(points, n_anchors, random):
    """Part after part, the left one first."""
    if n_anchors == 1:
        return [points.mean(axis=0)]
    n_left = -(-n_anchors // 2)
    left = slow_bisection(points, None if n_anchors == 2 else len(points) * n_left // n_anchors, random)
    if n_anchors == 2:
        return [points[left].mean(axis=0), points[~left].mean(axis=0)]
    return slow_bkhk(points[left], n_left, random) + slow_bkhk(points[~left], n_anchors - n_left, random)


def slow_k_means(points, centers, n_rounds):
    """Rounds of k-means until nothing moves."""
    for _ in range(n_rounds):
        labels = np.argmin([distances(points, center) for center in centers], axis=0)
        centers = np.array([points[labels == label].mean(axis=0) for label in range(len(centers))])
    return centers


@quick
@given(seeds, st.integers(2, 40), st.sampled_from([None, 1, 0.5, -1]), st.booleans())
def test_the_left_side_is_nearer_to_the_first(seed, n, share, same):
    points = np.random.default_rng(seed).standard_normal((n, 2))
    first, second = points[0], points[0] if same else points[1]  # the same point twice: no side is nearer
    cut = share if share in (None, 1) else n - 1 if share == -1 else n // 2
    found = learning.nearer_to_first(points, first, second, cut)
    np.testing.assert_array_equal(found, slow_left(points, first, second, cut))
    assert 0 < found.sum() < n


def test_a_sample_half_way_is_on_the_right():
    found = learning.nearer_to_first(np.array([[0.0], [1.0], [2.0]]), np.array([0.0]), np.array([2.0]), None)
    np.testing.assert_array_equal(found, [True, False, False])


def test_ties_are_cut_in_their_order():
    points = np.tile([[1.0], [2.0]], (20, 1))
    found = learning.nearer_to_first(points, np.array([0.0]), np.array([10.0]), 7)
    np.testing.assert_array_equal(np.flatnonzero(found), [0, 2, 4, 6, 8, 10, 12])


@quick
@given(seeds, st.integers(2, 60), st.booleans())
def test_bisection_is_two_means(seed, n, balanced):
    points = np.random.default_rng(seed).standard_normal((n, 2))
    cut = n // 2 if balanced else None
    found = learning.bisect(points, cut, np.random.RandomState(seed))
    np.testing.assert_array_equal(found, slow_bisection(points, cut, np.random.RandomState(seed)))


def test_two_means_ends_after_ten_steps():
    """On a ring the sides turn slowly, for longer than they are given."""
    angles = np.random.default_rng(19).uniform(0, 2 * np.pi, size=800)
    points = np.stack([np.cos(angles), 1.05 * np.sin(angles)], axis=1)

    class Fixed:
        def choice(self, *_, **__):
            return np.array([0, 1])

    found = learning.bisect(points, None, Fixed())
    np.testing.assert_array_equal(found, slow_bisection(points, None, Fixed()))
    first, second = points[found].mean(axis=0), points[~found].mean(axis=0)
    assert (slow_left(points, first, second, None) != found).any()


@quick
@given(seeds, st.integers(1, 16), st.integers(0, 60))
def test_anchors_are_those_of_the_slow_form(seed, n_anchors, more):
    points = np.random.default_rng(seed).standard_normal((2 * n_anchors + more, 2))
    found = learning.bkhk_anchors(points, n_anchors, np.random.RandomState(seed))
    np.testing.assert_allclose(found, slow_bkhk(points, n_anchors, np.random.RandomState(seed)), rtol=1e-12, atol=1e-14)


def test_learned_anchors_are_bkhk_then_ten_rounds_of_k_means():
    points = np.random.default_rng(10).uniform(size=(240, 2))
    begin = np.array(slow_bkhk(points, 12, np.random.RandomState(5)))
    found = learning.learn_anchors(points, 12, np.random.RandomState(5))
    np.testing.assert_allclose(found, slow_k_means(points, begin, 10), rtol=1e-10)
    assert np.abs(found - slow_k_means(points, begin, 9)).max() > 1e-3  # not at an end yet


def test_twenty_samples_for_each_anchor_are_enough():
    points = np.random.default_rng(0).standard_normal((500, 2))
    random = np.random.RandomState(7)
    sample = points[np.sort(random.choice(500, 80, replace=False))]
    expected = learning.learn_anchors(sample, 4, random)
    np.testing.assert_array_equal(learning.learn_anchors(points, 4, np.random.RandomState(7)), expected)
    assert (learning.learn_anchors(points[:80], 4, np.random.RandomState(7)) != expected).any()  # all 80 are used


@pytest.mark.parametrize("n_anchors", [5, 6])
def test_as_many_anchors_as_samples_are_the_samples(n_anchors):
    points = np.arange(10, dtype=np.float32).reshape(5, 2)
    found = learning.learn_anchors(points, n_anchors, np.random.RandomState(0))
    np.testing.assert_array_equal(found, points)
    assert found.dtype == np.float64
    assert not np.shares_memory(found, learning.learn_anchors(found, n_anchors, np.random.RandomState(0)))


def test_anchors_of_single_precision_samples_are_double():
    points = np.random.default_rng(0).standard_normal((50, 2)).astype(np.float32)
    assert learning.learn_anchors(points, 4, np.random.RandomState(0)).dtype == np.float64


def test_anchors_that_coincide_are_no_news():
    points = np.repeat(np.array([[0.0], [1.0]]), 20, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert learning.learn_anchors(points, 8, np.random.RandomState(0)).shape == (8, 1)
        warnings.simplefilter("always")
    with pytest.warns(UserWarning, match="distinct clusters"):
        KMeans(8, random_state=0).fit(points)  # scikit-learn does warn


def test_random_anchors_are_samples_in_their_order():
    points = np.random.default_rng(0).standard_normal((30, 2))
    expected = points[np.sort(np.random.RandomState(1).choice(30, 8, replace=False))]
    np.testing.assert_array_equal(learning.random_anchors(points, 8, np.random.RandomState(1)), expected)


def test_methods_go_by_their_names():
    points = np.random.default_rng(0).standard_normal((60, 2))
    assert set(learning.METHODS) == {"bkhk", "k-means", "random"}
    assert learning.METHODS["bkhk"] is learning.bkhk_anchors
    assert learning.METHODS["random"] is learning.random_anchors
    found = learning.METHODS["k-means"](points, 5, np.random.RandomState(2))
    expected = KMeans(5, n_init=1, random_state=np.random.RandomState(2)).fit(points).cluster_centers_
    np.testing.assert_array_equal(found, expected)


@quick
@given(seeds, st.integers(2, 40))
def test_a_balanced_bisection_cuts_where_told(seed, n):
    points = np.random.default_rng(seed).integers(3, size=(n, 2)).astype(float)  # with duplicates
    assert learning.bisect(points, n // 2, np.random.RandomState(0)).sum() == n // 2
    free = learning.bisect(points, None, np.random.RandomState(0))
    assert 0 < free.sum() < n


@pytest.mark.parametrize("n_anchors", [1, 2, 3, 8, 13, 40])
def test_there_are_as_many_anchors_as_asked(n_anchors):
    X = np.random.default_rng(0).standard_normal((40, 3))
    for method in learning.METHODS.values():
        found = method(X, n_anchors, np.random.RandomState(0))
        assert found.shape == (n_anchors, 3)
        assert np.isfinite(found).all()


def test_balanced_anchors_stand_for_equally_many_samples():
    """One level above the last the parts are equal: two anchors for n/(m/2) samples each, whatever the density."""
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.standard_normal((900, 1)) * 1e-3, rng.uniform(5, 6, (100, 1))])
    found = learning.bkhk_anchors(points, 64, np.random.RandomState(0))
    assert abs(int((found < 2).sum()) - 0.9 * 64) <= 2


def test_anchors_cover_the_samples_they_were_not_learned_from():
    X = np.random.default_rng(0).standard_normal((5000, 2))
    found = learning.learn_anchors(X, 30, np.random.RandomState(0))
    assert found.shape == (30, 2)
    assert cdist(X, found).min(axis=1).max() < 2.5
