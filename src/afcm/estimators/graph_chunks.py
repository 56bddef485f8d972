"""`AFCM` of samples in Dask's chunks: an anchor graph, of which only sums over the chunks are ever known here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from afcm import arrays, checkpoints
from afcm.estimators import validation
from afcm.estimators.graph_runs import CLEAN_CUT, DEFAULT_GRAPH_WEIGHT
from afcm.estimators.inputs import entered
from afcm.estimators.placing import GraphClusterer, placed_rows
from afcm.estimators.row_inputs import weights_for
from afcm.fitting import starts
from afcm.fitting.loop import Result
from afcm.graph import eigenvectors
from afcm.graph.anchors import learning
from afcm.graph.anchors.affinity import CoarseGraph
from afcm.graph.anchors.embedding import spectral_coefficients
from afcm.graph.anchors.prepared import AnchorSetting, parts_among
from afcm.linalg.eigenbasis import LearningSolver
from afcm.linalg.operator import Eigenpairs
from afcm.models.anchor_equations import normalized_cut
from afcm.models.anchored_chunks import ChunkedProblem, ChunkedState, Replay, ReplayExtension, anchor_graph


@dataclass(frozen=True)
class PreparedChunks:
    """Samples in chunks, their masses (or None), and the anchors with their graph."""

    points: Any
    masses: Any
    similarity: Any
    shared: CoarseGraph
    parts: Any = None

    def start(self, problem: ChunkedProblem, n_clusters: int, random: np.random.RandomState) -> ChunkedState:
        """`starts.spectral_start` on the anchors; samples have the clusters of their anchors, by weight."""
        eigen, memberships = starts.spectral_start(
            self.shared.graph, n_clusters, self.similarity.anchors, random, solve=self._solved
        )
        coefficients = spectral_coefficients(self.shared, eigen, n_clusters)
        return problem.from_embedding(Replay.begin(memberships), coefficients)  # type: ignore[return-value]

    def _solved(self, n_wanted: int) -> Eigenpairs:
        return eigenvectors.solve_leading(self.shared.graph, n_wanted, dense=self._solver)

    @cached_property
    def _solver(self) -> LearningSolver:
        return LearningSolver()


class GraphChunks(GraphClusterer):
    """The fit of chunks."""

    def _fit_chunks(self, X: Any, sample_weight: Any) -> Self:
        self._check_parameters()
        self._refuse_for_chunks()
        prepared = self._prepare_chunks(X, sample_weight)
        self.n_clusters_ = self._chosen(prepared)
        journal = checkpoints.journal(self, prepared.points, prepared.masses)
        random = journal.random(check_random_state(self.random_state))
        mass = float(prepared.shared.sizes.sum())
        weight = DEFAULT_GRAPH_WEIGHT * mass if self.graph_weight == "auto" else float(self.graph_weight)
        problem = ChunkedProblem(None, prepared.masses, prepared.shared, weight, prepared.points, prepared.similarity)
        how: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol, "stop": self._stop}
        starters = [lambda: prepared.start(problem, self.n_clusters_, random)] * self.n_init
        cut = partial(chunked_cut, problem)
        best, stopped = journal.best_run(problem, starters, key=cut, **how)
        self._store_chunks(prepared, problem, best, cut(best))
        if stopped is not None:
            raise stopped
        return self

    def _refuse_for_chunks(self) -> None:
        if self.graph != "anchors":
            raise ValueError(
                f"X is in Dask's chunks, and graph={self.graph!r} needs all of X in memory: use graph='anchors', "
                "PlainAFCM, or X.compute() if that fits"
            )
        if not (isinstance(self.init, str) and self.init == "spectral") or self.warm_start:
            raise ValueError("X is in Dask's chunks, which start from anchors; use init='spectral', warm_start=False")

    def _prepare_chunks(self, X: Any, sample_weight: Any) -> PreparedChunks:
        """Anchors from a sample (as in memory, where no two samples are equal), and one pass for their graph."""
        X = entered(self, X, device=self.device)
        weights = weights_for(X, sample_weight)
        n_clusters = None if self.n_clusters == "auto" else self.n_clusters
        n_distinct = validation.count_distinct(X, weights, max(n_clusters or 2, 2))
        validation.check_enough_samples(n_clusters or 2, X.shape[0], n_distinct)
        n_neighbors = None if self.n_neighbors == "auto" else int(self.n_neighbors)
        setting = self._anchor_setting(n_clusters, n_neighbors)
        found, parts = learned_anchors(X, setting), None
        if n_clusters is None:
            parts = parts_among(found, partial(anchor_graph, X, weights))
            n_clusters = max(parts.count, 1)
        similarity = setting.similarity(found, n_clusters)
        return PreparedChunks(X, weights, similarity, anchor_graph(X, weights, similarity), parts)

    def _store_chunks(
        self, prepared: PreparedChunks, problem: ChunkedProblem, best: Result[ChunkedState], cut: float
    ) -> None:
        state = best.state
        self._similarity, self._extension = prepared.similarity, ReplayExtension(state.memberships)
        self._base = self._inverse = None
        self.anchors_ = prepared.similarity.anchors
        self.n_anchors_ = self.anchors_.shape[0]
        self.cluster_centers_, self.graph_weight_ = state.centers, problem.graph_weight
        self.gamma_cap_ = problem.largest_precision(self.n_clusters_)
        self.normalized_cut_, self.n_components_ = cut, prepared.shared.graph.components[0]
        self.neighbor_recall_, self.eigen_residual_ = 1.0, state.eigen_residual
        place = partial(placed_rows, similarity=self._similarity, fitted=self._extension, dtype=prepared.points.dtype)
        self.embedding_ = arrays.map_rows(partial(place, embedded=True), prepared.points, self.n_clusters_)
        memberships = arrays.map_rows(partial(place, embedded=False), prepared.points, self.n_clusters_)
        self._store_run(best, memberships, doubt_hard=cut > CLEAN_CUT * self.n_clusters_)


def learned_anchors(X: Any, setting: AnchorSetting) -> Any:
    """As `AnchorSetting.from_points` learns them, from rows of the chunks."""
    random, n_anchors = np.random.RandomState(0), setting.effective_anchors(X.shape[0])
    size = learning.LEARNED_FROM * n_anchors
    if X.shape[0] > size:
        X = arrays.take_rows(X, starts.draw_rows(X.shape[0], size, random))
    return learning.learn_anchors(arrays.to_host(X), n_anchors, random)


def chunked_cut(problem: ChunkedProblem, result: Result[ChunkedState]) -> float:
    """The normalised cut of a run's labels."""
    return normalized_cut(problem.anchors, problem.hard_links(result.state.memberships))
