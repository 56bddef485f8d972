"""Clusters that follow labels known of some samples.

A walk over the graph begins at every node and ends at known ones, or on the way, where the clusters of the fit speak
(`afcm.graph.absorption`, `afcm.models.seeding`): a cluster counts as the classes of the known nodes in it. Where there
are enough known nodes, a linear discriminant of the samples' values is asked, too. It has a say if it finds more of the
known labels that were held back than the clusters do: classes need not be clusters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, svds

from afcm import arrays
from afcm._typing import Floats, Integers
from afcm._util import progress
from afcm.arrays.sampling import draw_rows
from afcm.equations.discriminant import class_posterior, fit_discriminant
from afcm.graph.absorption import absorb
from afcm.graph.affinity import Graph
from afcm.graph.eigenvectors import indicator
from afcm.graph.prepared import PreparedGraph
from afcm.linalg.ratios import normalize_rows
from afcm.models.agreement import count_common, match_clusters
from afcm.models.cluster_mixture import Share
from afcm.models.fitted_graph import FittedGraph
from afcm.models.graph_problem import draw_nodes
from afcm.models.seeding import seed_clusters

# A cluster counts as its own class this many times, beside each known node in it.
OWN_CLASS = 3.0
# The ridge of the discriminant, as a share of the mean variance of a column.
RIDGE = 0.05
# The discriminant sees so many principal components, learned from so many nodes.
MOST_COLUMNS, LEARNED_NODES = 100, 20_000
# Known nodes are held back in so many parts; fewer that can be judged than this tell nothing.
PARTS, FEWEST_JUDGED = 3, 10


class Source(NamedTuple):
    """Who speaks where a walk ends at a node that is not known, and how probable that end is at each step."""

    clusters: bool
    discriminant: bool
    stop: float


# The first is taken unless another finds clearly more known labels (docs/known-labels.md).
SOURCES = {"clusters": Source(True, False, 0.03), "both": Source(True, True, 1 / 3)}
SOURCES["discriminant"] = Source(False, True, 1 / 3)


@dataclass(frozen=True)
class KnownProblem:
    """Graph, spectral rows, the fit's clusters and columns for a discriminant: all but the known labels."""

    graph: Graph
    rows: Floats  # n×q, of unit length
    labels: Integers
    n_clusters: int
    columns: Floats | None

    def spread(self, known: Integers, names: list[str]) -> dict[str, Floats]:
        """Memberships of the nodes by each of the named sources, on the host."""
        held, hard = known >= 0, np.eye(self.n_clusters)[known]
        clusters = self._ask_clusters(known)
        discriminant = np.zeros_like(clusters) if names == ["clusters"] else self._ask_discriminant(known)
        on_graph, found = arrays.from_host(held, self.graph.degrees), {}
        for name in names:
            source = SOURCES[name]
            values = source.clusters * clusters + source.discriminant * discriminant
            values = np.where(held[:, None], hard, values / values.sum(axis=1, keepdims=True))
            spread = absorb(self.graph, on_graph, arrays.from_host(values, self.graph.degrees), source.stop)
            found[name] = arrays.to_host(spread)
        return found

    def _ask_clusters(self, known: Integers) -> Floats:
        masses = np.ones(len(known)) if self.graph.masses is None else arrays.to_host(self.graph.masses)
        clusters = seed_clusters(self.rows, masses, self.labels, known, self.n_clusters)
        held = known >= 0
        seen = count_common(clusters.nearest[held], known[held], self.n_clusters)
        return class_shares(seen)[clusters.labels]

    def _ask_discriminant(self, known: Integers) -> Floats:
        assert self.columns is not None
        held, ridge = known >= 0, RIDGE * float(self.columns.var(axis=0).mean())
        learned = fit_discriminant(self.columns[held], known[held], max(ridge, np.finfo(float).tiny))
        return class_posterior(self.columns, learned, self.n_clusters)


def class_shares(seen: Floats) -> Floats:
    """``(N_jk + a δ_jk) / (Σ_k N_jk + a)``: the classes of cluster j, from the known nodes of class k in it."""
    counted = seen + OWN_CLASS * np.eye(len(seen))
    return counted / counted.sum(axis=1, keepdims=True)


def choose_source(problem: KnownProblem, known: Integers) -> str:
    """The source that finds most of the known labels held back, by more than chance; "clusters" where few can be.

    A known node can be judged if another one of its class is known.
    """
    nodes, names = np.flatnonzero(known >= 0), list(SOURCES)
    part, judged = split_known(known[nodes])
    if problem.columns is None or judged.sum() < FEWEST_JUDGED:
        return names[0]
    right = {name: np.zeros(len(nodes), dtype=bool) for name in names}
    for number in range(PARTS):
        back = part == number
        left = known.copy()
        left[nodes[back]] = -1
        for name, memberships in problem.spread(left, names).items():
            right[name][back] = memberships[nodes[back]].argmax(axis=1) == known[nodes[back]]
    best = names[0]
    for name in names[1:]:
        gain = right[name][judged].astype(int) - right[best][judged]
        if gain.sum() > np.sqrt(np.abs(gain).sum()):  # one standard deviation of what chance does
            best = name
    return best


def split_known(labels: Integers) -> tuple[Integers, Any]:
    """The part in which each known node is held back, every class spread over the parts, and which can be judged."""
    part, judged = np.zeros(len(labels), dtype=np.intp), np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        part[own], judged[own] = np.arange(len(own)) % PARTS, len(own) > 1
    return part, judged


def follow_known_labels(
    prepared: PreparedGraph, fitted: FittedGraph, known: Integers, share: Share
) -> tuple[FittedGraph, str]:
    """A fit whose clusters have the numbers of the known labels of its nodes (−1: unknown), and the source it followed.

    The model's own clusters keep what they are and take the numbers that match best.
    """
    progress.start_stage("following known labels")
    own = fitted.extension.memberships if fitted.of_nodes is None else fitted.of_nodes
    problem = pose_known_problem(prepared, arrays.to_host(own).argmax(axis=1), own.shape[1], known)
    source = choose_source(problem, known)
    memberships = problem.spread(known, [source])[source]
    order = match_clusters(count_common(memberships.argmax(axis=1), problem.labels, problem.n_clusters))
    extension = fitted.extension
    extension = replace(extension, memberships=extension.memberships[:, order], centers=extension.centers[order])
    of_nodes = arrays.from_host(memberships, own)
    fitted = replace(fitted, extension=extension, method="known", walked=of_nodes, of_nodes=of_nodes)
    if fitted.densities is not None:
        hard = indicator(arrays.from_host(memberships.argmax(axis=1), own), problem.n_clusters)
        fitted = replace(fitted, densities=draw_nodes(prepared, fitted, hard).learn_densities(share))
    return fitted, source


def pose_known_problem(prepared: PreparedGraph, labels: Integers, n_clusters: int, known: Integers) -> KnownProblem:
    """The problem of a prepared graph and the clusters of a fit on it; columns only where they can be judged."""
    rows: Floats = np.eye(n_clusters)[labels]
    if prepared.n_components < n_clusters:  # else leading eigenvectors are any mixture of the pieces
        rows = normalize_rows(arrays.to_host(prepared.eigenvectors(n_clusters).vectors))
    columns = None
    if prepared.points is not None and split_known(known[known >= 0])[1].sum() >= FEWEST_JUDGED:
        columns = principal_columns(arrays.to_host(prepared.points))
    return KnownProblem(prepared.graph, rows, labels, n_clusters, columns)


def principal_columns(points: Any) -> Floats:
    """Points about their mean, or of many columns their first `MOST_COLUMNS` principal components."""
    n_nodes, n_columns = points.shape
    mean = np.asarray(points.mean(axis=0), dtype=np.float64).ravel()
    if n_columns <= MOST_COLUMNS:
        return np.asarray(points.toarray() if sp.issparse(points) else points, dtype=np.float64) - mean
    rows = np.arange(n_nodes)
    if n_nodes > LEARNED_NODES:
        rows = draw_rows(n_nodes, LEARNED_NODES, np.random.RandomState(0))
    learned = points[rows].astype(np.float64)
    ones = np.ones(len(rows))
    centered = LinearOperator(
        learned.shape,
        matvec=lambda v: learned @ v.ravel() - (mean @ v.ravel()) * ones,
        rmatvec=lambda v: learned.T @ v.ravel() - mean * v.sum(),
        dtype=np.float64,
    )
    n_axes = min(MOST_COLUMNS, len(rows) - 1)
    axes = svds(centered, n_axes, v0=np.random.RandomState(0).standard_normal(min(learned.shape)))[2].T
    return np.asarray(points @ axes) - mean @ axes
