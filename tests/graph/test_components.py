"""More components than clusters: the nearest and smallest are joined, whatever their shape."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afcm.datasets import make_rings
from afcm.graph import components
from tests.strategies import quick


def greedy(gaps, masses, n_groups):
    """Ward's cost with gaps, by looking at all pairs of groups again and again; groups as lists of members."""
    groups = [[member] for member in range(len(masses))]

    def cost(pair):
        left, right = (sum(masses[member] for member in group) for group in pair)
        return left * right / (left + right) * min(gaps[a][b] for a in pair[0] for b in pair[1])

    while len(groups) > n_groups:
        one, other = min(combinations(groups, 2), key=cost)
        groups = sorted([group for group in groups if group not in (one, other)] + [sorted(one + other)])
    labels = [0] * len(masses)
    for number, group in enumerate(groups):
        for member in group:
            labels[member] = number
    return labels


def random_gaps(rng, n):
    gaps = np.triu(rng.random((n, n)), 1)
    return gaps + gaps.T


@quick
@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(1, 9))
def test_agglomeration_is_the_greedy_joining_of_all_pairs(seed, n, n_groups):
    rng = np.random.default_rng(seed)
    gaps, masses = random_gaps(rng, n), rng.uniform(1, 20, size=n)
    before = gaps.copy(), masses.copy()
    expected = greedy(gaps, masses, min(n, n_groups))
    np.testing.assert_array_equal(components.agglomerate(gaps, masses, min(n, n_groups)), expected)
    np.testing.assert_array_equal(gaps, before[0])  # the caller's arrays are untouched
    np.testing.assert_array_equal(masses, before[1])


@quick
@given(st.integers(0, 2**32 - 1), st.integers(4, 8), st.integers(1, 3), st.booleans())
def test_joined_labels_are_those_of_the_greedy_joining_of_all_samples(seed, n_components, n_clusters, placed):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.concatenate([np.arange(n_components), rng.integers(-1, n_components, size=20)]))
    points = rng.standard_normal((labels.size, 2)) if placed else None
    sizes = rng.uniform(1, 9, size=n_components)
    gaps = np.ones((n_components, n_components))
    if placed:
        for a, b in np.ndindex(*gaps.shape):
            apart = points[labels == a][:, None] - points[labels == b]
            gaps[a, b] = np.sqrt((apart**2).sum(axis=2)).min()
    found = components.join_components(labels, sizes, n_clusters, points, np.random.RandomState(0))
    order = np.argsort(-sizes)
    groups = dict(zip(order, greedy(gaps[np.ix_(order, order)], sizes[order], n_clusters), strict=True))
    np.testing.assert_array_equal(found, [-1 if label < 0 else groups[label] for label in labels])
    assert found.dtype == np.intp


@quick
@given(st.integers(0, 2**32 - 1), st.integers(4, 9))
def test_beyond_the_largest_components_each_follows_its_nearest(seed, n_components):
    rng = np.random.default_rng(seed)
    labels, points = np.arange(n_components), rng.standard_normal((n_components, 2))
    sizes = rng.uniform(1, 9, size=n_components)
    distances = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    kept = sorted(range(n_components), key=lambda label: -sizes[label])[:3]
    nearest = [label if label in kept else min(kept, key=lambda other: distances[label, other]) for label in labels]
    masses = [sum(sizes[label] for label in labels if nearest[label] == other) for other in kept]
    groups = dict(zip(kept, greedy(distances[np.ix_(kept, kept)], masses, 2), strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(components, "MOST_COMPONENTS", 3)
        found = components.join_components(labels, sizes, 2, points, np.random.RandomState(0))
    np.testing.assert_array_equal(found, [groups[other] for other in nearest])


@pytest.mark.parametrize("most", [9, 8, 7, 2])
def test_witnesses_are_the_first_members_in_random_order(monkeypatch, most):
    monkeypatch.setattr(components, "MOST_WITNESSES", most)
    labels = np.array([2, 0, -1, 0, 2, 0, 1, 2, 2, 0])
    rows, offsets = components.draw_witnesses(labels, 3, np.random.RandomState(3))
    shuffled = np.random.RandomState(3).permutation(np.flatnonzero(labels >= 0))
    share = max(1, most // 3)
    expected = [[row for row in shuffled if labels[row] == label][:share] for label in range(3)]
    np.testing.assert_array_equal(rows, np.concatenate(expected))
    np.testing.assert_array_equal(offsets, np.cumsum([0, *map(len, expected[:-1])]))


def test_of_equally_large_components_the_first_are_compared(monkeypatch):
    monkeypatch.setattr(components, "MOST_COMPONENTS", 3)
    points, sizes = np.arange(40.0)[:, None] ** 2, np.tile([1.0, 2.0], 20)
    found = components.join_components(np.arange(40), sizes, 2, points, np.random.RandomState(0))
    np.testing.assert_array_equal(found, np.repeat([0, 1], [5, 35]))  # 1, 3 and 5 are kept; all beyond follow 5


def test_components_in_the_same_place_stay_apart_while_there_are_clusters_for_them():
    points = np.array([[0.0], [0.0], [0.0], [5.0]])
    found = components.join_components(np.arange(4), np.ones(4), 3, points, np.random.RandomState(0))
    np.testing.assert_array_equal(found, [0, 0, 1, 2])


def test_few_components_are_all_compared_and_few_samples_all_witnesses():
    assert components.MOST_COMPONENTS == 512
    assert components.MOST_WITNESSES == 2048


def test_neighboring_rings_are_joined_though_all_have_the_same_mean():
    X, y = make_rings(random_state=0)
    joined = components.join_components(y, np.array([300.0, 300.0, 300.0]), 2, X, np.random.RandomState(0))
    assert np.unique(joined).size == 2
    assert all(np.unique(joined[y == ring]).size == 1 for ring in range(3))
    radius = np.array([np.linalg.norm(X[y == ring], axis=1).mean() for ring in range(3)])
    middle = np.argsort(radius)[1]
    assert np.isin(joined[y == middle][0], [joined[y == ring][0] for ring in range(3) if ring != middle])


def test_a_tiny_island_goes_to_its_neighbor_and_not_the_two_large_groups_together():
    points = np.concatenate([np.zeros((50, 1)), np.full((50, 1), 10.0), np.full((3, 1), 19.0)])
    labels = np.repeat([0, 1, 2], [50, 50, 3])
    joined = components.join_components(labels, np.array([50.0, 50.0, 3.0]), 2, points, np.random.RandomState(0))
    assert joined[0] != joined[60]
    assert joined[60] == joined[-1]


def test_isolated_samples_stay_undecided_and_enough_clusters_change_nothing():
    labels = np.array([0, -1, 1, 2])
    joined = components.join_components(labels, np.ones(3), 2, None, np.random.RandomState(0))
    assert joined[1] == -1
    assert set(joined[[0, 2, 3]]) == {0, 1}
    assert components.join_components(labels, np.ones(3), 3, None, np.random.RandomState(0)) is labels
