"""The graph of some nodes of a fitted graph, without a new search for neighbors, and a cluster split by it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from afcm import arrays
from afcm._typing import Integers
from afcm.equations.sparse_memberships import to_dense_rows
from afcm.graph.affinity import Graph, normalize_graph
from afcm.graph.anchors.affinity import CoarseGraph, FactoredAffinity, sample_graph
from afcm.graph.anchors.prepared import PreparedAnchors
from afcm.graph.diffusion import step
from afcm.graph.duplicates import DistinctRows
from afcm.graph.prepared import PreparedGraph
from afcm.graph.sharpening import sharpen
from afcm.graph.similarity import NeighborSimilarity
from afcm.linalg.ratios import inverse_sqrt, ratio
from afcm.models.fitted_graph import FittedGraph, to_posterior
from afcm.models.regrouping import Split, regroup_nodes

# Sparse memberships leave out small ones; the node has its own shares of the parts all the same.
LEFT_OUT = 1e-12


def take_nodes(
    fitted: FittedGraph, nodes: Integers, n_clusters: int, *, sharpened: bool, balanced: bool
) -> PreparedGraph:
    """The graph of these nodes of a fit that is on the host, in which ``n_clusters`` are to be found.

    ``sharpened`` and ``balanced``: as the fit's graph was made. Anchors and given similarities come without points, so
    that memberships there are by a walk.
    """
    counts = None if fitted.counts is None else fitted.counts[nodes]
    own = DistinctRows(np.arange(len(nodes)), counts, slice(None))
    if isinstance(fitted.walk_graph.affinity, FactoredAffinity):
        return take_rows_of_anchors(fitted, nodes)
    weights, masses = take_weights(fitted.walk_graph, nodes)
    base, hint = normalize_graph(weights, masses), None
    similarity, points, graph = fitted.similarity, None, base
    if isinstance(similarity, NeighborSimilarity):
        points = arrays.take_rows(similarity.points, nodes)
        similarity = replace(similarity, points=points, scales=similarity.scales[nodes])
        if sharpened:
            graph, hint = sharpen(base, weights, n_clusters, similarity.k, balanced=balanced)
    density = masses / (1.0 if counts is None else counts) if balanced and masses is not None else None
    samples = weights if points is None else points
    return PreparedGraph(samples, own, points, similarity, graph, base, hint, density=density)


def take_weights(graph: Graph, nodes: Integers) -> tuple[Any, Any]:
    """The similarities among these nodes, before they were normalized, and the nodes' masses."""
    scale = inverse_sqrt(graph.degrees) * (1.0 if graph.masses is None else np.sqrt(graph.masses))
    inverse = ratio(np.ones_like(scale), scale, np.zeros_like(scale))[nodes]
    weights = arrays.backend_of(graph.affinity).scale_rows_and_columns(graph.affinity[nodes][:, nodes], inverse)
    return weights, None if graph.masses is None else graph.masses[nodes]


def take_rows_of_anchors(fitted: FittedGraph, nodes: Integers) -> PreparedAnchors:
    """The anchor graph of these nodes, on the anchors that they have."""
    affinity, similarity = fitted.walk_graph.affinity, fitted.similarity
    weights = affinity.weights[nodes]
    used = np.unique(weights.indices)
    weights = weights[:, used]
    masses = None if affinity.masses is None else affinity.masses[nodes]
    shared = CoarseGraph.from_rows(weights, masses)
    graph = sample_graph(weights, shared, masses)
    anchors = {"anchors": similarity.anchors[used], "scales": similarity.scales[used], "keys": None, "numbers": None}
    own = DistinctRows(np.arange(len(nodes)), masses, slice(None))
    return PreparedAnchors(weights, own, None, replace(similarity, **anchors), graph, graph, shared=shared)


def split_cluster(fitted: FittedGraph, cluster: int, nodes: Integers, inside: FittedGraph) -> Split:
    """The cluster in the parts that ``inside``, a fit on its nodes alone, found; both fits are on the host.

    Nodes of other clusters have some membership in this one, too. Their shares of the parts are by the next step of a
    walk and, where the parts have densities, by those.
    """
    shares = np.zeros((len(fitted.node_labels), inside.n_clusters))
    shares[nodes] = inside.own_memberships
    known = Split(cluster, shares)
    shares = known.share_out(step(fitted.walk_graph, shares, shares))
    densities = inside.densities if inside.method in ("mixture", "overlap") else None
    if densities is not None:
        others = np.setdiff1d(np.arange(len(shares)), nodes)
        shares[others] = to_posterior(densities, fitted.similarity.points[others], shares[others])
    shares[nodes] = inside.own_memberships
    memberships = regroup_nodes(fitted.own_memberships, fitted.steps)
    own = to_dense_rows(memberships[:, [cluster]], slice(None))
    if sparse.issparse(memberships):
        own = np.maximum(own, LEFT_OUT)
    return Split(cluster, own * shares, densities)
