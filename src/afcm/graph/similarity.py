"""Similarities of samples to the nodes of a graph: among the nodes themselves, and of new samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace

from afcm._typing import Floats, Integers
from afcm.graph.affinity import fill_empty_rows, neighbor_matrix, neighbor_weights, symmetrize_by_agreement
from afcm.graph.density import neighbor_log_distances
from afcm.graph.kernels import KERNELS, neighbor_lists
from afcm.neighbors import Neighbors, find_neighbors

# Neighbors for each doubling of the mean cluster size, and never fewer than this (docs/label-free.md).
PER_DOUBLING, FEWEST = 1.5, 3
# Clusters of more than 4,000 samples are found as well with as many neighbors as those get (docs/label-free.md).
MOST = 18


class PlacedSamples(NamedTuple):
    """New samples with their similarities to the nodes of a graph."""

    weights: Any  # sparse m×n similarities, no empty row
    twins: Integers  # the node that a sample is identical to, or −1


def search_neighbors(points: Any, n_neighbors: int, search: str = "exact") -> tuple[Neighbors, int]:
    """The nearest neighbors of these nodes and their number k, at most all others.

    One more than k is found, where there is one: the adaptive kernel needs it.
    """
    others = points.shape[0] - 1
    k = min(n_neighbors, others)
    return find_neighbors(points, min(k + 1, others), search=search), k


def agreement_weights(found: Neighbors, k: int) -> Any:
    """Adaptive similarities, symmetric by `symmetrize_by_agreement`."""
    return symmetrize_by_agreement(neighbor_weights(found.first(k + 1), k, kernel="adaptive"))


def connecting_neighbors(n_nodes: int, n_clusters: int) -> int:
    """``PER_DOUBLING log2(n / c)``: the neighbors that connect a cluster grow with the logarithm of its size."""
    return max(round(PER_DOUBLING * math.log2(max(n_nodes / n_clusters, 2))), FEWEST)


def default_n_neighbors(n_nodes: int, n_clusters: int) -> int:
    """Those of `connecting_neighbors`, and no more than `MOST`."""
    return min(connecting_neighbors(n_nodes, n_clusters), MOST)


@dataclass(frozen=True)
class NeighborSimilarity:
    """Similarity by a kernel on the nearest nodes."""

    points: Any
    scales: Floats  # distance of each node to its k-th neighbor
    k: int
    kernel: str
    bandwidth: float

    @classmethod
    def from_neighbors(cls, points: Any, found: Neighbors, k: int, kernel: str, bandwidth: float = 1.0) -> Self:
        return cls(points, array_namespace(found.squared).sqrt(found.squared[:, k - 1]), k, kernel, bandwidth)

    def log_distances(self, queries: Any) -> Floats:
        """Logarithm of the distance to the k-th nearest node; a sample identical to a node does not count that one."""
        return neighbor_log_distances(self.points, self.k, queries)

    def place(self, queries: Any) -> PlacedSamples:
        """Place new samples; one too far from everything is similar to its nearest node alone."""
        found = find_neighbors(self.points, min(self.k + 1, self.points.shape[0]), queries)
        xp, nearest = array_namespace(found.squared), found.indices[:, 0]
        lists = neighbor_lists(found, self.k, self.bandwidth, self.scales)
        weights = KERNELS[self.kernel](lists)
        weights[:, 0] = xp.where(xp.sum(weights, axis=1) > 0, weights[:, 0], xp.ones_like(weights[:, 0]))
        twins = xp.where(found.squared[:, 0] == 0, nearest, xp.full_like(nearest, -1))
        return PlacedSamples(neighbor_matrix(weights, found.indices, self.scales.shape[0]), twins)


@dataclass(frozen=True)
class GivenSimilarity:
    """Similarity that is precomputed."""

    rows: Integers  # which of the fitted samples are nodes

    def place(self, similarities: Any) -> PlacedSamples:
        """Place samples by their similarities to the fitted ones; a sample similar to none is similar to all."""
        weights = sp.csr_array(similarities, dtype=np.float64)[:, self.rows]
        return PlacedSamples(fill_empty_rows(weights), np.full(weights.shape[0], -1))
