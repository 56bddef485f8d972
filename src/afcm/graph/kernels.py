"""Kernels: functions from the distances of neighbors to their similarities."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from array_api_compat import array_namespace

from afcm._typing import Floats, Integers
from afcm.linalg.ratios import ratio
from afcm.neighbors import Neighbors


@dataclass(frozen=True)
class NeighborLists:
    """The nearest nodes of some samples, with all that a kernel may ask of them."""

    squared: Floats  # n×k squared distances, nearest first
    beyond: Floats  # n: squared distance to the (k+1)-th neighbor, or to the k-th where that is the last
    own_scale: Floats  # n: distance to the k-th neighbor
    indices: Integers  # n×k: which nodes
    scales: Floats  # of each node: its distance to its own k-th neighbor
    bandwidth: float

    @property
    def their_scale(self) -> Floats:
        """The scale of each neighbor, n×k."""
        return self.scales[self.indices]


def gaussian(lists: NeighborLists) -> Floats:
    """``exp(−d² / (2σ²))``, the paper's, with σ = ``bandwidth``."""
    return array_namespace(lists.squared).exp(-lists.squared / (2 * lists.bandwidth**2))


def local(lists: NeighborLists) -> Floats:
    """``exp(−d² / (s_i s_j))``, s the distance to the k-th neighbor: self-tuning (Zelnik-Manor and Perona).

    Where s is 0 (k copies of a sample that were not merged) copies have similarity 1 and others 0.
    """
    xp = array_namespace(lists.squared)
    scales = lists.own_scale[:, None] * lists.their_scale
    without_scale = xp.where(lists.squared > 0, xp.full_like(scales, math.inf), xp.zeros_like(scales))
    return xp.exp(-ratio(lists.squared, scales, without_scale))


def adaptive(lists: NeighborLists) -> Floats:
    """``(e_{k+1} − e_j) / (k e_{k+1} − Σ_l e_l)`` with e the squared distances: no parameter, rows sum to 1."""
    xp = array_namespace(lists.squared)
    closeness = lists.beyond[:, None] - lists.squared
    totals = xp.sum(closeness, axis=1, keepdims=True)
    return ratio(closeness, totals, xp.full_like(totals, 1 / closeness.shape[1]))


def binary(lists: NeighborLists) -> Floats:
    return array_namespace(lists.squared).ones_like(lists.squared)


KERNELS: dict[str, Callable[[NeighborLists], Floats]] = {
    "adaptive": adaptive,
    "local": local,
    "gaussian": gaussian,
    "binary": binary,
}


def neighbor_lists(neighbors: Neighbors, k: int, bandwidth: float, scales: Floats | None = None) -> NeighborLists:
    """Make the lists of k neighbors; ``neighbors`` has one more, where there is one.

    ``scales`` are the graph's own, for lists of new samples.
    """
    squared = neighbors.squared[:, :k]
    own = array_namespace(squared).sqrt(squared[:, -1])
    nodes = own if scales is None else scales
    return NeighborLists(squared, neighbors.squared[:, -1], own, neighbors.indices[:, :k], nodes, bandwidth)
