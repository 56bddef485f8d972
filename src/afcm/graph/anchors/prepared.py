"""From samples to an anchor graph that fits share: the counterpart of `afcm.graph.prepared` for ``graph="anchors"``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from afcm._util import progress
from afcm.fitting import starts
from afcm.graph import counting
from afcm.graph.anchors import learning
from afcm.graph.anchors.affinity import CoarseGraph, sample_graph
from afcm.graph.anchors.embedding import Coefficients, spectral_coefficients
from afcm.graph.anchors.weights import AnchorSimilarity
from afcm.graph.duplicates import DistinctRows
from afcm.graph.eigenvectors import START_ANGLE, solve_leading
from afcm.graph.prepared import COUNTING, COUNTING_CLUSTERS, FEWEST_SAMPLES, PreparedGraph
from afcm.graph.similarity import default_n_neighbors
from afcm.linalg.eigenbasis import LearningSolver
from afcm.linalg.operator import Eigenpairs

# Anchors by default, and for each cluster at least so many (docs/scale.md): more cost time and gain little.
MOST_ANCHORS, PER_CLUSTER = 1000, 10


@dataclass(frozen=True)
class PreparedAnchors(PreparedGraph):
    """A `PreparedGraph` whose graph is made by anchors; ``similarity`` holds them."""

    shared: CoarseGraph = field(kw_only=True, repr=False)  # the anchors' own graph, Qᵀ M Q

    @property
    def weights(self) -> Any:
        """Q, n×m."""
        return self.graph.affinity.weights

    def eigenvectors(self, n_wanted: int, angle_tol: float = START_ANGLE) -> Eigenpairs:
        """Leading eigenvectors of S, from those of the anchors' graph."""
        found = self.anchor_eigenvectors(n_wanted, angle_tol)
        vectors = self.weights @ spectral_coefficients(self.shared, found, n_wanted).on_anchors
        if self.graph.masses is not None:
            vectors *= np.sqrt(self.graph.masses)[:, None]
        return Eigenpairs(vectors, found.values, self.graph.operator @ vectors, found.residual, 0.0, 0, found.converged)

    def anchor_eigenvectors(self, n_wanted: int, angle_tol: float = START_ANGLE) -> Eigenpairs:
        """Leading eigenvectors of the anchors' graph, solved for once."""
        key = (n_wanted, angle_tol)
        if key not in self._solved:
            progress.start_stage("solving for eigenvectors")
            self._solved[key] = solve_leading(self.shared.graph, n_wanted, angle_tol, dense=self._anchor_solver)
        return self._solved[key]

    @cached_property
    def _anchor_solver(self) -> LearningSolver:
        return LearningSolver()

    def spectral_start(  # type: ignore[override]  # what it gives is for an `AnchoredProblem`
        self, n_clusters: int, random: np.random.RandomState, n_runs: int = starts.KMEANS_RESTARTS
    ) -> tuple[Coefficients, Any]:
        """`starts.spectral_start` on the anchors, each of which counts as many samples as it stands for.

        Samples have the clusters of their anchors, by weight.
        """
        eigen, memberships = starts.spectral_start(
            self.shared.graph, n_clusters, self.similarity.anchors, random, solve=self._accurate, n_runs=n_runs
        )
        return spectral_coefficients(self.shared, eigen, n_clusters), self.weights @ memberships

    def _accurate(self, n_wanted: int) -> Eigenpairs:
        return self.anchor_eigenvectors(n_wanted)


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

        Anchors are drawn from a seed of their own: the graph is a function of the samples.
        """
        points = X if nodes.masses is None else X[nodes.rows]
        progress.start_stage("learning anchors")
        found = learning.learn_anchors(points, self.effective_anchors(points.shape[0]), np.random.RandomState(0))
        if self.n_clusters is None:
            parts = counted_parts(found, points, nodes.masses)
            return replace(self._built(X, nodes, points, found, max(parts.count, 1)), parts=parts)
        return self._built(X, nodes, points, found, self.n_clusters)

    def _built(self, X: Any, nodes: DistinctRows, points: Any, found: Any, n_clusters: int) -> PreparedAnchors:
        similarity = self.similarity(found, n_clusters)
        weights = similarity.weigh(points)
        shared = CoarseGraph.from_rows(weights, nodes.masses)
        graph = sample_graph(weights, shared, nodes.masses)
        return PreparedAnchors(X, nodes, points, similarity.remember(points), graph, graph, shared=shared)

    def similarity(self, found: Any, n_clusters: int) -> AnchorSimilarity:
        """What gives samples their weights on these anchors."""
        k = self._effective_neighbors(found.shape[0], n_clusters)
        return AnchorSimilarity.from_anchors(found, k, self.kernel, self.bandwidth)

    def effective_anchors(self, n_nodes: int) -> int:
        """How many anchors so many samples get."""
        if self.n_anchors is None:
            return natural_anchors(n_nodes, self.n_clusters or COUNTING_CLUSTERS)
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


def natural_anchors(n_nodes: int, n_clusters: int) -> int:
    """Anchors by default: `MOST_ANCHORS`, or `PER_CLUSTER` for each cluster if that is more; at most all samples."""
    return min(n_nodes, max(MOST_ANCHORS, PER_CLUSTER * n_clusters))


def counted_parts(found: Any, points: Any, masses: Any) -> counting.Parts:
    """The pieces of the anchors' graph, in which each anchor counts the samples it stands for."""
    return parts_among(found, lambda similarity: CoarseGraph.from_rows(similarity.weigh(points), masses))


def parts_among(found: Any, graph_of: Callable[[AnchorSimilarity], CoarseGraph]) -> counting.Parts:
    """The same, wherever the samples are from which a similarity makes the anchors' graph."""
    k = COUNTING * default_n_neighbors(found.shape[0], COUNTING_CLUSTERS)
    similarity = AnchorSimilarity.from_anchors(found, k)
    shared = graph_of(similarity)
    per_anchor = float(shared.sizes.sum()) / found.shape[0]
    return counting.split_at_valleys(
        shared.density, shared.sizes, max(FEWEST_SAMPLES, round(similarity.k * per_anchor / 2))
    )
