"""From what a fit was given to its graph, and from new samples to their similarities with the graph's nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace

from afcm._typing import Floats, Integers
from afcm.graph.affinity import agreed, directed, neighbor_weights, without_empty_rows
from afcm.graph.kernels import KERNELS, neighbor_lists
from afcm.neighbors.search import Neighbors, find_neighbors

# Neighbours for each doubling of the mean cluster size, and never fewer than this (docs/label-free.md).
PER_DOUBLING, FEWEST = 1.5, 3


class Placed(NamedTuple):
    """New samples as the graph sees them."""

    weights: Any  # sparse m×n similarities, no empty row
    twins: Integers  # the node a sample is identical to, or −1


def searched(points: Any, n_neighbors: int, search: str = "exact") -> tuple[Neighbors, int]:
    """The neighbours of these nodes and their number, at most all others; one more is found for the adaptive kernel."""
    others = points.shape[0] - 1
    k = min(n_neighbors, others)
    return find_neighbors(points, min(k + 1, others), search=search), k


def agreed_weights(found: Neighbors, k: int) -> Any:
    """Adaptive similarities, as far as both sides see them."""
    return agreed(neighbor_weights(found.first(k + 1), k, kernel="adaptive"))


def natural_neighbors(n_nodes: int, n_clusters: int) -> int:
    """Neighbours by default: in proportion to the logarithm of a cluster's size, which is what connects it."""
    return max(round(PER_DOUBLING * math.log2(max(n_nodes / n_clusters, 2))), FEWEST)


@dataclass(frozen=True)
class NeighborSimilarity:
    """Similarity by a kernel on nearest neighbours."""

    points: Any
    scales: Floats  # distance of each node to its k-th neighbour
    k: int
    kernel: str
    bandwidth: float

    @classmethod
    def among(cls, points: Any, found: Neighbors, k: int, kernel: str, bandwidth: float = 1.0) -> Self:
        """The similarity to nodes whose neighbours are known."""
        return cls(points, array_namespace(found.squared).sqrt(found.squared[:, k - 1]), k, kernel, bandwidth)

    def place(self, queries: Any) -> Placed:
        """Similarities of new samples; one too far from everything is similar to its nearest node alone."""
        found = find_neighbors(self.points, min(self.k + 1, self.points.shape[0]), queries)
        xp, nearest = array_namespace(found.squared), found.indices[:, 0]
        lists = neighbor_lists(found, self.k, self.bandwidth, self.scales)
        weights = KERNELS[self.kernel](lists)
        weights[:, 0] = xp.where(xp.sum(weights, axis=1) > 0, weights[:, 0], xp.ones_like(weights[:, 0]))
        twins = xp.where(found.squared[:, 0] == 0, nearest, xp.full_like(nearest, -1))
        return Placed(directed(weights, found.indices, self.scales.shape[0]), twins)


@dataclass(frozen=True)
class GivenSimilarity:
    """A precomputed affinity: ``rows`` are the samples that became nodes."""

    rows: Integers

    def place(self, similarities: Any) -> Placed:
        """Given similarities to the fitted samples; a sample similar to none is similar to all."""
        weights = sp.csr_array(similarities, dtype=np.float64)[:, self.rows]
        return Placed(without_empty_rows(weights), np.full(weights.shape[0], -1))
