"""Kernels: from the distances of neighbors to their similarities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from array_api_compat import array_namespace

from afcm._typing import Floats
from afcm.linalg.ratios import ratio
from afcm.neighbors.search import Neighbors


class Lists(NamedTuple):
    """Neighbour lists of some samples among the graph's nodes, as a kernel sees them."""

    squared: Floats  # n×k squared distances, nearest first
    beyond: Floats  # n: squared distance to the (k+1)-th neighbour, or to the k-th where there is no further
    own_scale: Floats  # n: distance to the k-th neighbour
    their_scale: Floats  # n×k: the same for each neighbour
    bandwidth: float


def gaussian(lists: Lists) -> Floats:
    """``exp(−d² / (2σ²))``, the paper's, with σ = ``bandwidth``."""
    return array_namespace(lists.squared).exp(-lists.squared / (2 * lists.bandwidth**2))


def local(lists: Lists) -> Floats:
    """``exp(−d² / (s_i s_j))``, s the distance to the k-th neighbour: self-tuning (Zelnik-Manor and Perona).

    Where s is 0 (k copies of a sample that were not merged) copies have similarity 1 and others 0.
    """
    xp = array_namespace(lists.squared)
    scales = lists.own_scale[:, None] * lists.their_scale
    without_scale = xp.where(lists.squared > 0, xp.full_like(scales, math.inf), xp.zeros_like(scales))
    return xp.exp(-ratio(lists.squared, scales, without_scale))


def adaptive(lists: Lists) -> Floats:
    """``(e_{k+1} − e_j) / (k e_{k+1} − Σ_l e_l)`` with e the squared distances: no parameter, rows sum to 1."""
    xp = array_namespace(lists.squared)
    closeness = lists.beyond[:, None] - lists.squared
    totals = xp.sum(closeness, axis=1, keepdims=True)
    return ratio(closeness, totals, xp.full_like(closeness, 1 / closeness.shape[1]))


def binary(lists: Lists) -> Floats:
    """1 for every neighbour."""
    return array_namespace(lists.squared).ones_like(lists.squared)


KERNELS: dict[str, Callable[[Lists], Floats]] = {
    "adaptive": adaptive,
    "local": local,
    "gaussian": gaussian,
    "binary": binary,
}


def neighbor_lists(neighbors: Neighbors, k: int, bandwidth: float, scales: Floats | None = None) -> Lists:
    """What the kernels need, from neighbours with one more than k where there is one.

    ``scales`` are those of the graph's nodes when the lists belong to new samples.
    """
    squared = neighbors.squared[:, :k]
    own = array_namespace(squared).sqrt(squared[:, -1])
    their = (own if scales is None else scales)[neighbors.indices[:, :k]]
    return Lists(squared, neighbors.squared[:, -1], own, their, bandwidth)
