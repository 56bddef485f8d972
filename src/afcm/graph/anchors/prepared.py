"""From samples to an anchor graph that fits share: the counterpart of `afcm.graph.prepared` for ``graph="anchors"``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from afcm._util import progress
from afcm.arrays import is_chunked
from afcm.graph import counting
from afcm.graph.affinity import Graph
from afcm.graph.anchors.affinity import CoarseGraph, sample_graph
from afcm.graph.anchors.embedding import spectral_coefficients
from afcm.graph.anchors.learning import learn_anchors
from afcm.graph.anchors.weights import AnchorSimilarity
from afcm.graph.duplicates import DistinctRows
from afcm.graph.eigenvectors import START_ANGLE
from afcm.graph.prepared import COUNTING, COUNTING_CLUSTERS, FEWEST_SAMPLES, PreparedGraph
from afcm.graph.similarity import connecting_neighbors, default_n_neighbors
from afcm.linalg.operator import Eigenpairs

# Anchors by default, and for each cluster at least so many (docs/scale.md): more cost time and gain little.
MOST_ANCHORS, PER_CLUSTER = 1000, 10


@dataclass(frozen=True)
class PreparedAnchors(PreparedGraph):
    """A `PreparedGraph` whose graph is made by anchors; ``similarity`` holds them.

    Of samples in Dask's chunks there is no graph, only the graph of the anchors (``shared``).
    """

    shared: CoarseGraph = field(kw_only=True, repr=False)  # the anchors' own graph, Qᵀ M Q

    @property
    def weights(self) -> Any:
        """Q, n×m."""
        return self.graph.affinity.weights

    @property
    def n_nodes(self) -> int:
        return int(self.samples.shape[0]) if is_chunked(self.samples) else super().n_nodes

    @property
    def n_samples(self) -> float:
        """Number of samples, counted with their masses."""
        return float(self.shared.sizes.sum())

    @property
    def n_components(self) -> int:
        return int(self.shared.graph.components[0])

    @property
    def start_graph(self) -> Graph:
        """The graph of the anchors, each of which counts as many samples as it stands for."""
        return self.shared.graph

    @property
    def start_points(self) -> Any:
        return self.similarity.anchors

    def from_start(self, memberships: Any) -> Any:
        """Memberships of the samples: those of their anchors, by weight."""
        return self.weights @ memberships

    def eigenvectors(self, n_wanted: int, angle_tol: float = START_ANGLE) -> Eigenpairs:
        """Leading eigenvectors of S, from those of the anchors' graph."""
        found = self.start_eigenvectors(n_wanted, angle_tol)
        vectors = self.weights @ spectral_coefficients(self.shared, found, n_wanted).on_anchors
        if self.masses is not None:
            vectors *= np.sqrt(self.masses)[:, None]
        return Eigenpairs(vectors, found.values, self.graph.operator @ vectors, found.residual, 0.0, 0, found.converged)


@dataclass(frozen=True)
class AnchorSetting:
    """How an anchor graph is made: None where the data decide."""

    n_clusters: int | None
    n_anchors: int | None
    n_neighbors: int | None
    kernel: str
    bandwidth: float

    def from_points(self, X: Any, nodes: DistinctRows) -> PreparedAnchors:
        """The anchors of the different samples, and the graph they make.

        Anchors are drawn from a seed of their own: the graph is a function of the samples. Samples in Dask's chunks are
        nodes as they are.
        """
        chunked, masses = is_chunked(X), nodes.masses
        points = X if chunked else nodes.take(X)
        progress.start_stage("learning anchors")
        found = learn_anchors(points, self.effective_anchors(points.shape[0]), np.random.RandomState(0))
        parts = count_parts(found, points, masses) if self.n_clusters is None else None
        n_clusters = self.n_clusters or max(parts.count if parts else 1, 1)
        k = self._effective_neighbors(found.shape[0], n_clusters)
        similarity = AnchorSimilarity.from_anchors(found, k, self.kernel, self.bandwidth)
        if chunked:
            shared = CoarseGraph.from_samples(similarity, points, masses)
            return PreparedAnchors(X, nodes, points, similarity, None, None, parts=parts, shared=shared)  # type: ignore[arg-type]
        weights = similarity.weigh(points)
        shared = CoarseGraph.from_rows(weights, masses)
        graph, known = sample_graph(weights, shared, masses), similarity.remember(points)
        return PreparedAnchors(X, nodes, points, known, graph, graph, parts=parts, shared=shared)

    def effective_anchors(self, n_nodes: int) -> int:
        """How many anchors so many samples get."""
        if self.n_anchors is None:
            return min(n_nodes, max(MOST_ANCHORS, PER_CLUSTER * (self.n_clusters or COUNTING_CLUSTERS)))
        least = self.n_clusters or 2
        if not least <= self.n_anchors <= n_nodes:
            raise ValueError(
                f"n_anchors={self.n_anchors} must lie between {least}, the number of clusters, and {n_nodes}, that of "
                "different samples in X; use such a number, or 'auto'"
            )
        return self.n_anchors

    def _effective_neighbors(self, n_anchors: int, n_clusters: int) -> int:
        if self.n_neighbors is None:
            return default_n_neighbors(n_anchors, n_clusters)
        if self.n_neighbors >= n_anchors:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be below the number of anchors, {n_anchors}; use at most "
                f"{max(n_anchors - 1, 1)}, more n_anchors, or 'auto'"
            )
        return self.n_neighbors


def count_parts(found: Any, points: Any, masses: Any) -> counting.Parts:
    """Pieces of the graph of the anchors, in which each anchor counts the samples it stands for."""
    k = COUNTING * connecting_neighbors(found.shape[0], COUNTING_CLUSTERS)
    similarity = AnchorSimilarity.from_anchors(found, k)
    shared = CoarseGraph.from_samples(similarity, points, masses)
    per_anchor = float(shared.sizes.sum()) / found.shape[0]
    return counting.split_at_valleys(
        shared.density, shared.sizes, max(FEWEST_SAMPLES, round(similarity.k * per_anchor / 2))
    )
