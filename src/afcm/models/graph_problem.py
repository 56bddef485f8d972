"""The problem that a prepared graph poses: one model for each kind of graph, behind the same methods."""

from __future__ import annotations

from typing import Any

from afcm.arrays import is_chunked
from afcm.graph.anchors.prepared import PreparedAnchors
from afcm.graph.eigenvectors import search_block
from afcm.graph.prepared import PreparedGraph
from afcm.models.anchored import AnchoredProblem, extend_anchors
from afcm.models.anchored_chunks import ChunkedProblem, ReplayExtension
from afcm.models.embedded import EmbeddedProblem
from afcm.models.extension import extend
from afcm.models.fitted_graph import FittedGraph

GraphProblem = EmbeddedProblem | AnchoredProblem


def make_problem(prepared: PreparedGraph, graph_weight: float, n_search: int | None = None) -> GraphProblem:
    """Algorithm 1 on a prepared graph.

    ``n_search``: a run that does not begin with an embedding first searches for so many eigenvectors.
    """
    if isinstance(prepared, PreparedAnchors):
        shared = (prepared.masses, prepared.shared, graph_weight)
        if is_chunked(prepared.samples):
            return ChunkedProblem(None, *shared, prepared.points, prepared.similarity)
        return AnchoredProblem(prepared.weights, *shared)
    graph = prepared.graph
    search = None if n_search is None else search_block(graph, n_search)
    return EmbeddedProblem(graph.operator, graph.masses, graph_weight, search, prepared.dense)


def keep_fit(prepared: PreparedGraph, problem: GraphProblem, state: Any) -> FittedGraph:
    """Everything that is kept of a finished run, to embed and place samples."""
    if isinstance(problem, ChunkedProblem):
        extension: Any = ReplayExtension(state.memberships)
    elif isinstance(problem, AnchoredProblem):
        extension = extend_anchors(problem, state, prepared.graph.affinity)
    else:
        extension = extend(problem, state, prepared.graph.degrees, prepared.scale)
    dtype = str(prepared.samples.dtype).removeprefix("torch.")
    return FittedGraph(prepared.similarity, extension, prepared.base, prepared.nodes.inverse, dtype)
