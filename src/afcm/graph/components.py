"""Joins the connected components of a graph until as many are left as clusters are wanted.

A graph that falls apart has answered already: its components are clusters. Where there are more of them than clusters,
the nearest and smallest are joined first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import euclidean_distances

from afcm import arrays
from afcm._typing import Floats, Integers

# At most so many components are compared (smaller ones follow their nearest), by so many samples in all.
MOST_COMPONENTS, MOST_WITNESSES = 512, 2048


def join_components(
    labels: Integers, sizes: Floats, n_clusters: int, points: Any, random: np.random.RandomState
) -> Integers:
    """Merge component labels until ``n_clusters`` are left; −1 (isolated) stays.

    The cost of joining two groups is Ward's with the gap between them in place of the squared distance of their means,
    ``m_a m_b / (m_a + m_b) · gap``: means say nothing about rings inside rings, and with the square a few far samples
    would be worth more than half a cluster. Without ``points`` (a precomputed affinity) all gaps are equal and the
    smallest groups are joined first.
    """
    if sizes.size <= n_clusters:
        return labels
    kept = np.argsort(-sizes, kind="stable")[:MOST_COMPONENTS]
    gaps = component_gaps(labels, sizes.size, points, random)
    target = kept[np.argmin(gaps[:, kept], axis=1)]
    target[kept] = kept
    masses = np.bincount(target, weights=sizes)[kept].astype(np.float64)
    groups = np.empty(sizes.size, dtype=np.intp)
    groups[kept] = agglomerate(gaps[np.ix_(kept, kept)], masses, n_clusters)
    return np.where(labels >= 0, groups[target[labels]], -1)


def component_gaps(labels: Integers, n_components: int, points: Any, random: np.random.RandomState) -> Floats:
    """The smallest distance between the witnesses of each two components; all 1 without points."""
    if points is None:
        return np.ones((n_components, n_components))
    rows, offsets = draw_witnesses(labels, n_components, random)
    distances = euclidean_distances(arrays.to_host(arrays.take_rows(points, rows)))
    return np.minimum.reduceat(np.minimum.reduceat(distances, offsets, axis=0), offsets, axis=1)


def draw_witnesses(labels: Integers, n_components: int, random: np.random.RandomState) -> tuple[Integers, Integers]:
    """Random members of each component, grouped by component, and the offset of each group."""
    share = max(1, MOST_WITNESSES // n_components)
    shuffled = random.permutation(np.flatnonzero(labels >= 0))
    grouped = shuffled[np.argsort(labels[shuffled], kind="stable")]
    starts = np.searchsorted(labels[grouped], np.arange(n_components))
    place = np.arange(grouped.size) - starts[labels[grouped]]
    chosen = grouped[place < share]
    return chosen, np.searchsorted(labels[chosen], np.arange(n_components))


def agglomerate(gaps: Floats, masses: Floats, n_groups: int) -> Integers:
    """Join the two cheapest groups again and again; the groups that are left are numbered by their first member."""
    gaps, masses = gaps.astype(np.float64), masses.astype(np.float64)
    group = np.arange(masses.size)
    np.fill_diagonal(gaps, np.inf)
    for _ in range(masses.size - n_groups):
        costs = gaps * (masses[:, None] * masses / (masses[:, None] + masses))
        a, b = sorted(np.unravel_index(np.argmin(costs), costs.shape))
        group[group == b] = a
        masses[a] += masses[b]
        gaps[a] = gaps[:, a] = np.minimum(gaps[a], gaps[b])
        gaps[b] = gaps[:, b] = gaps[a, a] = np.inf
    return np.unique(group, return_inverse=True)[1]
