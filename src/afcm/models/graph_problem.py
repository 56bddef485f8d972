"""The problem that a prepared graph poses: one model for each kind of graph, behind the same methods."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace

from afcm._typing import Floats, Integers
from afcm._util.threads import side_by_side
from afcm.arrays import is_chunked, take_rows, to_host
from afcm.arrays.sampling import draw_rows
from afcm.graph.affinity import Graph
from afcm.graph.anchors.prepared import PreparedAnchors
from afcm.graph.cuts import cut_labels
from afcm.graph.density import log_distances
from afcm.graph.diffusion import diffuse
from afcm.graph.eigenvectors import indicator, search_block
from afcm.graph.levels import cut_of_links
from afcm.graph.prepared import PreparedGraph
from afcm.models.agreement import keep_labels
from afcm.models.anchored import AnchoredProblem, extend_anchors
from afcm.models.anchored_chunks import ChunkedProblem, ReplayExtension
from afcm.models.cluster_mixture import Share
from afcm.models.distance_background import DistanceBackground
from afcm.models.embedded import EmbeddedProblem
from afcm.models.extension import extend
from afcm.models.fitted_graph import FittedGraph, to_posterior
from afcm.models.local_mixture import LocalMixture, fit_local_mixture, measure_fit
from afcm.models.overlap import find_overlapping

# Densities are learned from at most so many nodes, and so many for each cluster.
MOST_NODES, NODES_PER_CLUSTER = 20_000, 400
# Up to so many nodes on the host densities are learned while a walk goes on, and each has one thread.
FEW_NODES = 10_000
# The labels of a mixture may cut so much more of the graph, for each cluster. Where one density for each cluster
# explains the samples better than several do, it may cut more: graphs halve a large cluster rather than cut a small
# one out of it.
MORE_CUT, MORE_CUT_ONE_EACH = 0.03, 0.15
# Without a graph, posteriors are believed if so many samples keep the model's own label.
AGREED = 0.9
# Clusters touch if they lose at least this share of their edges.
TOUCHING = 0.002
# Lengths that differ by no more than this share are the same.
SAME_LENGTH = 1e-5
# Half the cut is worth so much BIC a sample, times log 2; smaller cuts are all the same.
CUT_WEIGHT, LEAST_CUT = 0.2, 1e-3

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


def keep_fit(
    prepared: PreparedGraph, problem: GraphProblem, state: Any, *, share: Share = None, paper: bool = True
) -> FittedGraph:
    """Everything that is kept of a finished run, to embed and place samples.

    ``share`` is the background's (None: no background); ``paper``: memberships are the model's own.
    """
    if isinstance(problem, ChunkedProblem):
        extension: Any = ReplayExtension(state.memberships)
    elif isinstance(problem, AnchoredProblem):
        extension = extend_anchors(problem, state, prepared.graph.affinity)
    else:
        extension = extend(problem, state, prepared.graph.degrees, prepared.scale)
    dtype = str(prepared.samples.dtype).removeprefix("torch.")
    fitted = FittedGraph(prepared.similarity, extension, prepared.base, prepared.nodes.inverse, dtype)
    walks = not paper and fitted.walk_graph is not None

    def learn() -> tuple[DrawnNodes | None, LocalMixture | DistanceBackground | None]:
        if prepared.points is None or (paper and share is None):  # given similarities tell no density
            return None, None
        own = None if isinstance(prepared, PreparedAnchors) else fitted.extension.memberships
        drawn = draw_nodes(prepared, fitted, own)
        return drawn, drawn.learn_densities(share, refine=not paper)

    def walk() -> Any:
        return diffuse(fitted.walk_graph, fitted.extension.memberships) if walks else None

    few = isinstance(prepared.points, np.ndarray) and prepared.n_nodes <= FEW_NODES
    (drawn, densities), walked = side_by_side(learn, walk, apart=walks and few)
    fitted = replace(fitted, densities=densities)
    if walks:
        return ask_mixture(prepared, problem, choose_memberships(prepared, problem, fitted, walked), share)
    return fitted if paper or drawn is None else trust_mixture(fitted, drawn)


def choose_memberships(prepared: PreparedGraph, problem: GraphProblem, fitted: FittedGraph, walked: Any) -> FittedGraph:
    """Memberships that tell probabilities: posteriors of the mixture, or those after a random walk.

    The mixture must not cut the graph much more than the model's own labels do.
    """
    graph, own = fitted.walk_graph, fitted.extension.memberships
    fitted = replace(fitted, method="walk", walked=walked, of_nodes=keep_labels(walked, own))
    if not isinstance(fitted.densities, LocalMixture) or lie_on_sphere(prepared.points):
        return fitted
    posterior = to_posterior(fitted.densities, prepared.points, walked)
    one_each = fitted.densities.one_each and fitted.densities.share == 0
    more = (MORE_CUT_ONE_EACH if one_each else MORE_CUT) * own.shape[1]
    if measure_cut(problem, graph, posterior) > measure_cut(problem, graph, own) + more:
        return fitted
    return replace(fitted, method="mixture", of_nodes=posterior)


def trust_mixture(fitted: FittedGraph, drawn: DrawnNodes) -> FittedGraph:
    """Posteriors of the mixture for samples in Dask's chunks, which left no graph, if it hardly changes their labels.

    Else the model's own memberships stay.
    """
    if not isinstance(fitted.densities, LocalMixture) or lie_on_sphere(drawn.points):
        return fitted
    same = fitted.densities.posterior(drawn.points)[0].argmax(axis=1) == drawn.labels
    return replace(fitted, method="mixture") if np.average(same, weights=drawn.masses) >= AGREED else fitted


def lie_on_sphere(points: Any) -> bool:
    """Whether all points have the same length, as unit vectors have: there Gaussians are flat and far too sure."""
    lengths = array_namespace(points).linalg.vector_norm(points, axis=1)
    return float(lengths.max() - lengths.min()) <= SAME_LENGTH * float(lengths.max())


def ask_mixture(prepared: PreparedGraph, problem: GraphProblem, fitted: FittedGraph, share: Share) -> FittedGraph:
    """A second opinion where clusters touch: those of `find_overlapping`, if it is the better one.

    Without densities in the graph its cut does not tell which opinion follows a valley, and the first one stays.
    """
    graph, mine = fitted.walk_graph, fitted.of_nodes
    if prepared.density is None or not isinstance(fitted.densities, LocalMixture) or lie_on_sphere(prepared.points):
        return fitted
    n_clusters = mine.shape[1]
    cut = measure_cut(problem, graph, mine) / n_clusters
    if cut <= TOUCHING:
        return fitted
    labels = array_namespace(mine).argmax(mine, axis=1)
    found = find_overlapping(prepared.points, labels, n_clusters, prepared.nodes.masses)
    if found is None:
        return fitted
    hard = indicator(found, n_clusters)
    densities, walked = draw_nodes(prepared, fitted, hard).learn_densities(share), diffuse(graph, hard)
    if not isinstance(densities, LocalMixture):
        return fitted
    posterior = to_posterior(densities, prepared.points, walked)
    other_cut = measure_cut(problem, graph, posterior) / n_clusters
    first, second = (
        measure_opinion(prepared, *opinion) for opinion in ((fitted.densities, cut), (densities, other_cut))
    )
    if second >= first:
        return fitted
    return replace(fitted, method="overlap", densities=densities, walked=walked, of_nodes=posterior)


def measure_opinion(prepared: PreparedGraph, mixture: LocalMixture, cut: float) -> float:
    """BIC of the mixture inside some clusters plus ``CUT_WEIGHT log(cut)`` of the graph: lower is better."""
    rows = draw_some(prepared.n_nodes, mixture.n_clusters)
    points, counts = to_host(take_rows(prepared.points, rows)), prepared.nodes.masses
    masses = np.ones(len(rows)) if counts is None else to_host(take_rows(counts, rows))
    return measure_fit(mixture, points, masses) + CUT_WEIGHT * math.log(max(cut, LEAST_CUT))


def measure_cut(problem: GraphProblem, graph: Graph, memberships: Any) -> float:
    """Normalized cut of the labels that memberships of the nodes give."""
    if isinstance(problem, AnchoredProblem):
        return problem.normalized_cut(memberships)
    labels = array_namespace(memberships).argmax(memberships, axis=1)
    return cut_labels(graph, labels, memberships.shape[1])[0]


def measure_clusters(problem: GraphProblem, graph: Graph, memberships: Any) -> tuple[float, Floats]:
    """`measure_cut`, and the weights between the clusters (`afcm.graph.cuts.cut_labels`)."""
    if isinstance(problem, AnchoredProblem):
        links = problem.cluster_links(memberships)
        return cut_of_links(links), links
    labels = array_namespace(memberships).argmax(memberships, axis=1)
    return cut_labels(graph, labels, memberships.shape[1])


class DrawnNodes(NamedTuple):
    """Some thousand nodes from which densities are learned, on the host."""

    points: Floats
    labels: Integers
    log_distances: Floats
    masses: Floats | None
    n_clusters: int

    def learn_densities(self, share: Share, *, refine: bool = True) -> LocalMixture | DistanceBackground:
        """Densities of the clusters and the background; ``share`` and ``refine`` as for `fit_local_mixture`."""
        points, labels, log_distances, masses, n_clusters = self
        return fit_local_mixture(points, labels, n_clusters, log_distances, masses, share=share, refine=refine)


def draw_nodes(prepared: PreparedGraph, fitted: FittedGraph, own: Any) -> DrawnNodes:
    """Draw nodes with the labels of their ``own`` memberships.

    Anchors were learned without clear background, so there the samples themselves are drawn from.
    """
    n_clusters, of_samples = fitted.extension.n_clusters, isinstance(prepared, PreparedAnchors)
    points, counts = prepared.points, prepared.nodes.masses
    if of_samples:
        points, counts = prepared.samples, prepared.sample_weight
    rows = draw_some(points.shape[0], n_clusters)
    points = to_host(take_rows(points, rows))
    masses = None if counts is None else to_host(take_rows(counts, rows))
    if of_samples:
        memberships, logs = fitted.memberships(points), prepared.similarity.log_distances(points)
    else:
        memberships = take_rows(own, rows)
        logs = log_distances(take_rows(prepared.similarity.scales, rows) ** 2)
    return DrawnNodes(points, to_host(memberships).argmax(axis=1), to_host(logs), masses, n_clusters)


def draw_some(n_nodes: int, n_clusters: int) -> Any:
    """Numbers of all nodes, or of a random sample of many."""
    most = max(MOST_NODES, NODES_PER_CLUSTER * n_clusters)
    return np.arange(n_nodes) if n_nodes <= most else draw_rows(n_nodes, most, np.random.RandomState(0))
