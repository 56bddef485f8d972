"""From a prepared graph to the runs of `AFCM` and the attributes they leave behind."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from afcm import arrays, checkpoints
from afcm.estimators import validation
from afcm.estimators.base import hard_labels
from afcm.estimators.inputs import cast
from afcm.estimators.placing import GraphClusterer
from afcm.exceptions import NotConvergedWarning
from afcm.fitting import starts
from afcm.fitting.loop import Result
from afcm.graph import eigenvectors
from afcm.graph.affinity import Graph, normalized_cut
from afcm.graph.anchors.prepared import PreparedAnchors
from afcm.graph.duplicates import DistinctRows
from afcm.graph.prepared import PreparedGraph
from afcm.models.anchored import AnchoredProblem, anchor_extension
from afcm.models.embedded import EmbeddedProblem
from afcm.models.extension import extension
from afcm.models.plain import PlainProblem

Problem = Any  # an EmbeddedProblem or AnchoredProblem
State = Any  # and its state

# λ by default, per sample: λ has the unit of samples, and the graph counts when it is not small against n/2.
DEFAULT_GRAPH_WEIGHT = 3.0
# Clusters that lose no more than this share of their edges to others hardly touch: hard memberships are no surprise.
CLEAN_CUT = 0.01
# What a fit with anchors has and others have not.
ANCHOR_ATTRIBUTES = ("anchors_", "n_anchors_")


class GraphRuns(GraphClusterer):
    """The runs of `AFCM`."""

    def _begin(
        self, prepared: PreparedGraph, journal: checkpoints.Journal
    ) -> tuple[Problem, list[Callable[[], State]]]:
        """The problem, and what makes the states its runs start from."""
        problem = self._problem(prepared)
        if self.warm_start and hasattr(self, "_extension"):
            return problem, [lambda: self._fitted_start(problem, prepared)]
        if not isinstance(self.init, str):
            return problem, [lambda: problem.with_memberships(self._given_memberships(prepared))]
        random = journal.random(check_random_state(self.random_state))
        return problem, [lambda: self._start(problem, prepared, random)] * self.n_init

    def _problem(self, prepared: PreparedGraph) -> Problem:
        graph, auto = prepared.graph, DEFAULT_GRAPH_WEIGHT * prepared.n_samples
        weight = auto if self.graph_weight == "auto" else float(self.graph_weight)
        if isinstance(prepared, PreparedAnchors):
            return AnchoredProblem(prepared.weights, graph.masses, prepared.shared, weight)
        needs_search = not (isinstance(self.init, str) and self.init == "spectral")
        block = eigenvectors.search_block(graph, self.n_clusters_) if needs_search else None
        return EmbeddedProblem(graph.operator, graph.masses, weight, block, prepared.dense)

    def _start(self, problem: Problem, prepared: PreparedGraph, random: Any) -> State:
        points, masses = prepared.points, prepared.graph.masses
        choices = ("spectral", "random") if points is None else ("spectral", "k-means++", "random")
        init = validation.check_choice("init", self.init, choices)
        if init == "spectral":
            eigen, memberships = prepared.spectral_start(self.n_clusters_, random)
            return problem.from_embedding(memberships, eigen)
        if init == "k-means++":
            centers = starts.seed_centers(points, self.n_clusters_, masses, random)
            return problem.with_memberships(soft_assignment(points, masses, centers))
        degrees = prepared.graph.degrees
        memberships = starts.draw_memberships(degrees.shape[0], self.n_clusters_, random)
        return problem.with_memberships(arrays.from_host(memberships, degrees))

    def _fitted_start(self, problem: Problem, prepared: PreparedGraph) -> State:
        """The nodes' memberships and embedding of the fit before."""
        nodes, fitted = prepared.graph.degrees, self._extension
        validation.check_warm_start(fitted.memberships.T.shape, (self.n_clusters_, nodes.shape[0]))
        memberships, embedding = (arrays.from_host(part, nodes) for part in (fitted.memberships, fitted.embedding))
        return problem.fitted(memberships, fitted.precision, embedding)

    def _given_memberships(self, prepared: PreparedGraph) -> Any:
        X, points, nodes = prepared.samples, prepared.points, prepared.nodes
        init = arrays.to_host(self.init)
        kind, array = validation.check_init_array(init, X.shape[0], self.n_clusters_, X.shape[1])
        if kind == "memberships":
            return arrays.from_host(array[nodes.rows], X)
        if points is None or sp.issparse(points):
            raise ValueError("init holds centres; with a precomputed affinity or sparse X give memberships instead")
        return soft_assignment(points, nodes.masses, arrays.from_host(array, points))

    def _cut(self, graph: Graph, result: Result[State]) -> float:
        labels = hard_labels(result.state.memberships)
        return normalized_cut(graph, starts.one_hot(labels, self.n_clusters_))

    def _keep(self, prepared: PreparedGraph, problem: Problem, state: State) -> None:
        """What new samples are placed by."""
        self._similarity, self._base, self._inverse = prepared.similarity, prepared.base, prepared.nodes.inverse
        for name in ANCHOR_ATTRIBUTES:
            self.__dict__.pop(name, None)
        if isinstance(prepared, PreparedAnchors):
            self.anchors_ = prepared.similarity.anchors
            self.n_anchors_ = self.anchors_.shape[0]
            self._extension = anchor_extension(problem, state, prepared.graph.affinity)
        else:
            self._extension = extension(problem, state, prepared.graph.degrees)

    def _store_fit(self, prepared: PreparedGraph, problem: Problem, best: Result[State]) -> None:
        home = None if prepared.to_host else prepared.graph.degrees
        self.embedding_, memberships = arrays.to_device_of(self._expanded(prepared.samples, prepared.nodes), home)
        self.cluster_centers_ = arrays.to_device_of(best.state.centers, home)
        self.graph_weight_ = problem.graph_weight
        self.gamma_cap_ = problem.largest_precision(self.n_clusters_)
        self.normalized_cut_ = self._cut(prepared.graph, best)
        self.n_components_ = prepared.graph.components[0]
        self.neighbor_recall_ = prepared.recall
        self.eigen_residual_ = best.state.eigen_residual
        self._store_run(best, memberships, doubt_hard=self.normalized_cut_ > CLEAN_CUT * self.n_clusters_)
        if not best.state.eigen_converged:
            warnings.warn(
                f"AFCM: the eigen-solver stopped with a relative residual of {self.eigen_residual_:.3g}; the embedding "
                "may be inaccurate: use more n_neighbors",
                NotConvergedWarning,
                stacklevel=3,
            )

    def _expanded(self, X: Any, nodes: DistinctRows) -> tuple[Any, Any]:
        """Embedding and memberships of the nodes, for every sample; absent ones (weight 0) are predicted."""
        fitted, inverse = self._extension, nodes.inverse
        embedding = arrays.take_rows(fitted.embedding, inverse)
        memberships = arrays.take_rows(fitted.memberships, inverse)
        absent = np.zeros(0, dtype=np.intp) if isinstance(inverse, slice) else np.flatnonzero(inverse < 0)
        if absent.size:
            where, placed = arrays.from_host(absent, X), self._similarity.place(arrays.take_rows(X, absent))
            embedding[where] = fitted.embed(placed)
            memberships[where] = fitted.memberships_of(embedding[where])
        if self.affinity == "precomputed":
            return embedding, memberships
        return cast(embedding, X), cast(memberships, X)

    def _merged_advice(self) -> str:
        return "raise graph_weight or n_neighbors, or try init='spectral'"

    def _hard_advice(self) -> str:
        return "calibrated_memberships() gives softer ones that tell doubt"


def soft_assignment(points: Any, masses: Any, centers: Any) -> Any:
    """Memberships of PlainAFCM's first step from these centres."""
    if arrays.is_tensor(points):
        points, centers = points.double(), centers.double()
    return PlainProblem(points, masses).from_centers(centers).memberships
