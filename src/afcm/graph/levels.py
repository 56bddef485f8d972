"""A tree over clusters: the two that their graph holds apart least are joined, again and again.

All of it follows from the *links*, the weights between clusters (c×c), so that it costs the same for any number of
samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from afcm._typing import Floats, Integers, Masks
from afcm.graph.affinity import normalized_cut_of_volumes
from afcm.graph.components import component_gaps
from afcm.linalg.ratios import ratio

# In place of the cut of a group with itself, or with one that is part of another.
GONE = -1.0


class Join(NamedTuple):
    """Two groups of clusters that become one; a group has the number of its first cluster."""

    first: int
    second: int
    cut: float  # between the two, by `pair_cuts`


def cut_of_links(links: Floats) -> float:
    """The normalized cut of clusters with these links."""
    return normalized_cut_of_volumes(np.diag(links), links.sum(axis=1))


def pair_cuts(links: Floats) -> Floats:
    """``w_ab / (w_aa + w_ab) + w_ab / (w_bb + w_ab)``: the normalized cut of two clusters in a graph of theirs alone.

    0 where nothing leads from one to the other, 1 for two random halves of one cluster; the diagonal means nothing.
    """
    inside = np.diag(links)
    return lost_shares(links, inside[:, None]) + lost_shares(links, inside[None, :])


def lost_shares(links: Floats, inside: Floats) -> Floats:
    return ratio(links, links + inside, np.zeros_like(links))


def join_clusters(links: Floats, gaps: Floats, sizes: Floats) -> list[Join]:
    """Join the two groups with the largest of the `pair_cuts` until one is left.

    Where no edge leads from any group to another, those are joined that `afcm.graph.components` would join: the
    smallest ``m_a m_b / (m_a + m_b) · gap``.
    """
    links, gaps, sizes = (np.array(part, dtype=np.float64) for part in (links, gaps, sizes))
    alive, cuts, joins = np.ones(len(links), dtype=bool), pair_cuts(links), []
    np.fill_diagonal(cuts, GONE)
    for _ in range(len(links) - 1):
        first, second = choose_pair(cuts, gaps, sizes, alive)
        joins.append(Join(first, second, float(cuts[first, second])))
        alive[second] = False
        links[first] += links[second]
        links[:, first] += links[:, second]
        sizes[first] += sizes[second]
        gaps[first] = gaps[:, first] = np.minimum(gaps[first], gaps[second])
        row, inside = links[first], np.diag(links)
        cuts[first] = cuts[:, first] = np.where(alive, lost_shares(row, inside[first]) + lost_shares(row, inside), GONE)
        cuts[first, first] = cuts[second] = cuts[:, second] = GONE
    return joins


def choose_pair(cuts: Floats, gaps: Floats, sizes: Floats, alive: Masks) -> tuple[int, int]:
    """The two groups to join, in rising order; an empty one before all others."""
    best, groups = int(cuts.argmax()), np.flatnonzero(alive)
    if cuts.flat[best] > 0 and sizes[groups].all():
        first, second = sorted(divmod(best, len(sizes)))
        return first, second
    own = sizes[groups]
    both = own[:, None] + own
    costs = gaps[np.ix_(groups, groups)] * ratio(own[:, None] * own, both, np.zeros_like(both))
    np.fill_diagonal(costs, np.inf)
    first, second = sorted(divmod(int(costs.argmin()), len(groups)))
    return int(groups[first]), int(groups[second])


def group_clusters(joins: Sequence[Join], n_clusters: int, n_groups: int) -> Integers:
    """The group of each cluster when ``n_groups`` are left, numbered in the order of their first clusters."""
    groups = np.arange(n_clusters)
    for join in joins[: n_clusters - n_groups]:
        groups[groups == join.second] = join.first
    return np.unique(groups, return_inverse=True)[1]


def count_pieces(links: Floats) -> int:
    """How many groups of clusters there are without an edge from one to another."""
    return int(connected_components(links > 0, directed=False)[0])


def measure_gaps(labels: Integers, n_clusters: int, points: Any) -> Floats:
    """The smallest distance between samples of each two clusters, c×c; 0 from an empty one, all 1 without points."""
    present, numbers = np.unique(labels, return_inverse=True)
    gaps = np.zeros((n_clusters, n_clusters))
    gaps[np.ix_(present, present)] = component_gaps(numbers, len(present), points, np.random.RandomState(0))
    return gaps
