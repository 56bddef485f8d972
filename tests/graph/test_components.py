"""More components than clusters: the nearest and smallest are joined, whatever their shape."""

from __future__ import annotations

import numpy as np

from afcm.datasets import make_rings
from afcm.graph import components


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


def test_very_many_components_follow_the_largest(monkeypatch):
    monkeypatch.setattr(components, "MOST_COMPONENTS", 4)
    points = np.repeat(np.arange(20.0), 2)[:, None]
    labels = np.repeat(np.arange(20), 2)
    sizes = np.where(np.isin(np.arange(20), [0, 1, 18, 19]), 100.0, 2.0)
    joined = components.join_components(labels, sizes, 2, points, np.random.RandomState(0))
    assert joined.min() == 0
    assert joined.max() == 1
    assert (np.diff(joined) != 0).sum() == 1


def test_agglomeration_without_geometry_joins_the_smallest():
    gaps = 1.0 - np.eye(4)
    groups = components.agglomerate(gaps, np.array([10.0, 1.0, 2.0, 20.0]), 3)
    assert groups[1] == groups[2]
    assert np.unique(groups).size == 3
    assert (np.diag(gaps) == 0).all()  # the caller's matrix is untouched
