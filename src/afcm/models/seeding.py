"""Clusters that hold known nodes: k-means in which some nodes stay where they are known to be.

A known class takes over the cluster of a fit that most of its nodes are in. A class whose nodes lie in clusters of
other classes begins with a center of its own, and one of the clusters without any class goes in return.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from afcm._typing import Floats, Integers
from afcm.equations.paper import squared_distances
from afcm.models.agreement import count_common, match_clusters

MOST_SWEEPS = 50


class SeededClusters(NamedTuple):
    """Clusters with the numbers of the known classes."""

    labels: Integers  # n: known nodes are in their own class
    nearest: Integers  # n: the nearest center of every node, the known ones, too


def seed_clusters(points: Floats, masses: Floats, labels: Integers, known: Integers, n_clusters: int) -> SeededClusters:
    """Continue the clusters ``labels`` by k-means with the ``known`` nodes (−1: unknown) held in their classes."""
    centers = first_centers(points, masses, labels, known, n_clusters)
    held, current = known >= 0, np.full(len(known), -1)
    for _ in range(MOST_SWEEPS):
        nearest = np.argmin(squared_distances(points, centers), axis=1)
        moved = np.where(held, known, nearest)
        if np.array_equal(moved, current):
            break
        current = moved
        centers = mean_points(points, masses, current, n_clusters, centers)
    return SeededClusters(current, nearest)


def first_centers(points: Floats, masses: Floats, labels: Integers, known: Integers, n_clusters: int) -> Floats:
    """A center for each class: that of its cluster, the mean of its known nodes, or a cluster that no class has."""
    owners = find_owners(labels, known, n_clusters)
    of_clusters = mean_points(points, masses, labels, n_clusters, np.zeros((n_clusters, points.shape[1])))
    centers = mean_points(points, np.ones(len(points)), known, n_clusters, of_clusters)
    seen = np.unique(known[known >= 0])
    owned = owners >= 0
    centers[owned] = of_clusters[owners[owned]]
    unseen = np.setdiff1d(np.arange(n_clusters), seen)
    spare = np.setdiff1d(np.arange(n_clusters), owners[owned])
    centers[unseen] = of_clusters[choose_spare(points, masses, centers[seen], of_clusters, spare)[: len(unseen)]]
    return centers


def find_owners(labels: Integers, known: Integers, n_clusters: int) -> Integers:
    """The cluster of each class that holds most of its known nodes, each cluster for one class; −1: none is left."""
    held = known >= 0
    common = count_common(known[held], labels[held], n_clusters)
    matched = match_clusters(common)
    return np.where(common[np.arange(n_clusters), matched] > 0, matched, -1)


def choose_spare(points: Floats, masses: Floats, taken: Floats, centers: Floats, spare: Integers) -> Integers:
    """The spare centers in the order in which each lowers the scatter around all centers most."""
    costs = squared_distances(points, centers)
    near = squared_distances(points, taken).min(axis=1)
    chosen, left = [], list(spare)
    while left:
        gains = masses @ np.maximum(near[:, None] - costs[:, left], 0.0)
        chosen.append(left.pop(int(np.argmax(gains))))
        near = np.minimum(near, costs[:, chosen[-1]])
    return np.array(chosen, dtype=np.intp)


def mean_points(points: Floats, masses: Floats, labels: Integers, n_clusters: int, otherwise: Floats) -> Floats:
    """The mean of each cluster, over nodes with a label of at least 0; ``otherwise`` for an empty one."""
    counted = np.flatnonzero(labels >= 0)
    own = np.zeros((len(counted), n_clusters))
    own[np.arange(len(counted)), labels[counted]] = masses[counted]
    totals = own.sum(axis=0)[:, None]
    return np.where(totals > 0, (own.T @ points[counted]) / np.where(totals > 0, totals, 1.0), otherwise)
