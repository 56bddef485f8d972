"""From samples to the graph that fits share: `PreparedGraph` holds it, `GraphSetting` says how it is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from afcm import arrays
from afcm._typing import Floats
from afcm._util import progress
from afcm.graph import counting, sharpening
from afcm.graph.affinity import (
    Graph,
    check_bandwidth,
    find_pieces,
    neighbor_weights,
    normalize_graph,
    symmetrize,
    symmetrize_by_agreement,
)
from afcm.graph.density import STRENGTH, balance, density_masses, keep_pieces
from afcm.graph.diffusion import diffuse
from afcm.graph.duplicates import DistinctRows
from afcm.graph.eigenvectors import START_ANGLE, indicator, solve_leading
from afcm.graph.similarity import (
    GivenSimilarity,
    NeighborSimilarity,
    agreement_weights,
    connecting_neighbors,
    default_n_neighbors,
    search_neighbors,
)
from afcm.graph.small_clusters import choose_n_neighbors
from afcm.graph.two_gaussians import see_two_groups
from afcm.linalg.eigenbasis import LearningSolver
from afcm.linalg.operator import Eigenpairs
from afcm.linalg.pivoting import assign_by_pivots
from afcm.neighbors import Neighbors

# Clusters are counted in a graph with this many times the neighbors that four clusters would have: a valley of the cut
# is then an average over enough edges to be told from chance (docs/label-free.md).
COUNTING, COUNTING_CLUSTERS = 2, 4
# No cluster that is counted has fewer samples than this.
FEWEST_SAMPLES = 5


@dataclass(frozen=True)
class PreparedGraph:
    """The graph of some samples, made by `AFCM.prepare`, for any number of `AFCM.fit_prepared`.

    Attributes
    ----------
    samples : array
        X as it was validated.
    nodes : DistinctRows
        Which samples are nodes of the graph, with which masses.
    points : array or None
        The samples that are nodes; None for a precomputed affinity.
    similarity : object
        Gives the similarities of new samples to the nodes.
    graph : Graph
    base : Graph
        The graph before it was sharpened; else the same.
    hint : array or None
        Where to search for eigenvectors of the graph.
    parts : Parts or None
        The pieces that were found when clusters were counted.
    density : array or None
        Masses of the nodes by `afcm.graph.density`; None where density does not count.
    scale : array or None
        By how much the similarities of each node were multiplied to balance them; None: by 1.
    recall : float
        The share of the true neighbors in the graph (1 unless the search was approximate, then estimated).
    sample_weight : array or None
        Weights of the samples as they were given.
    feature_names : array or None
        Names of the columns of X.
    to_host : bool
        X came as a NumPy array and was put on a device, so results go back.
    metric : {"euclidean", "cosine"}
        With "cosine" the samples are those of X scaled to length one.
    """

    samples: Any
    nodes: DistinctRows
    points: Any
    similarity: Any
    graph: Graph
    base: Graph
    hint: Any = None
    parts: counting.Parts | None = None
    recall: float = 1.0
    density: Any = None
    scale: Any = None
    sample_weight: Any = None
    feature_names: Any = None
    to_host: bool = False
    metric: str = "euclidean"
    dense: LearningSolver = field(default_factory=LearningSolver, repr=False)
    _solved: dict[tuple[int, float], Eigenpairs] = field(default_factory=dict, repr=False)

    @property
    def masses(self) -> Any:
        """How much each node counts: the samples it stands for, times its mass by density; None where all are 1."""
        return multiply(self.nodes.masses, self.density)

    @property
    def n_nodes(self) -> int:
        return int(self.nodes.rows.size)

    @property
    def n_samples(self) -> float:
        """Number of samples, counted with their weights."""
        return float(self.n_nodes if self.nodes.masses is None else self.nodes.masses.sum())

    @property
    def n_components(self) -> int:
        return int(self.graph.components[0])

    @property
    def start_graph(self) -> Graph:
        """The graph in which a spectral start looks for clusters."""
        return self.graph

    @property
    def start_points(self) -> Any:
        """The nodes of the start graph as points; None for a precomputed affinity."""
        return self.points

    def eigenvectors(self, n_wanted: int, angle_tol: float = START_ANGLE) -> Eigenpairs:
        """Leading eigenvectors of S, solved for once; by default accurate enough to start from."""
        return self.start_eigenvectors(n_wanted, angle_tol)

    def start_eigenvectors(self, n_wanted: int, angle_tol: float = START_ANGLE) -> Eigenpairs:
        """Leading eigenvectors of the start graph, solved for once."""
        key = (n_wanted, angle_tol)
        if key not in self._solved:
            progress.start_stage("solving for eigenvectors")
            self._solved[key] = solve_leading(self.start_graph, n_wanted, angle_tol, dense=self.dense, hint=self.hint)
        return self._solved[key]

    def from_start(self, memberships: Any) -> Any:
        """Memberships of the nodes, from those of the start graph's nodes."""
        return memberships

    def learn_basis(self) -> None:
        """Solve for all eigenvectors of S now, if the graph is small: worth it before dozens of fits."""
        self.dense.learn(self.graph.operator)


@dataclass(frozen=True)
class GraphSetting:
    """How a graph of nearest neighbors is made: None where the data decide."""

    n_clusters: int | None
    n_neighbors: int | None
    kernel: str
    bandwidth: float
    search: str = "exact"
    density: float = 0.0  # how strongly sparse nodes lose mass; 0: not at all
    find_stray: Any = None  # (points, masses) → which are clear background and not counted, or None

    def from_points(self, X: Any, nodes: DistinctRows, found: Neighbors | None = None) -> PreparedGraph:
        """The graph of the nearest neighbors among different samples; those in ``found`` need no search."""
        points = nodes.take(X)
        parts, n_found, n_clusters = None, 0 if found is None else found.indices.shape[1], self.n_clusters
        if n_clusters is None:
            found, n_found = search_for_counting(points, self.search)
            stray = None if self.find_stray is None else self.find_stray(points, nodes.masses)
            weights = agreement_weights(found, n_found)
            parts = count_clusters(points, weights, nodes.masses, stray, self.search)
            n_clusters = max(parts.count, 1)
        k = min(self.n_neighbors or self.default_neighbors(points, n_clusters), points.shape[0] - 1)
        if found is None or n_found < k:
            found, _ = search_neighbors(points, k, self.search)
        near, hint, density, scale = found.first(k + 1), None, None, None
        sharp = self.kernel == "sharpened"
        kernel = "adaptive" if sharp else self.kernel
        weights = neighbor_weights(near, k, kernel=kernel, bandwidth=self.bandwidth)
        weights = symmetrize_by_agreement(weights) if sharp else symmetrize(weights)
        pieces = find_pieces(weights)
        if self.density > 0:
            density = density_masses(points, near.squared[:, k - 1], n_clusters, self.density, nodes.masses)
            density = keep_pieces(density, pieces[1], n_clusters, nodes.masses)
            weights, scale = balance(weights, multiply(nodes.masses, density))
        base = graph = normalize_graph(weights, multiply(nodes.masses, density), pieces)
        if sharp:
            graph, hint = sharpening.sharpen(base, weights, n_clusters, k, balanced=density is not None)
        else:
            check_bandwidth(graph, near, k, self.bandwidth)
        similarity = NeighborSimilarity.from_neighbors(points, found, k, kernel, self.bandwidth)
        return PreparedGraph(X, nodes, points, similarity, graph, base, hint, parts, found.recall, density, scale)

    def default_neighbors(self, points: Any, n_clusters: int) -> int:
        if self.kernel == "sharpened":
            return choose_n_neighbors(points, n_clusters, self.search)
        return default_n_neighbors(points.shape[0], n_clusters)

    def from_similarities(self, similarities: Any, nodes: DistinctRows) -> PreparedGraph:
        """The graph of given similarities."""
        weights = similarities[nodes.rows][:, nodes.rows]
        graph = normalize_graph(weights, nodes.masses)
        parts = (
            None if self.n_clusters is not None else counting.split_at_valleys(weights, nodes.masses, FEWEST_SAMPLES)
        )
        return PreparedGraph(similarities, nodes, None, GivenSimilarity(nodes.rows), graph, graph, None, parts)


def multiply(masses: Any, density: Any) -> Any:
    """The product of masses of which either may be None, which is 1."""
    if masses is None or density is None:
        return density if masses is None else masses
    return masses * density


def search_for_counting(points: Any, search: str = "exact") -> tuple[Neighbors, int]:
    """Neighbors for the graph in which clusters are counted, and their number."""
    return search_neighbors(points, COUNTING * connecting_neighbors(points.shape[0], COUNTING_CLUSTERS), search)


def count_clusters(points: Any, weights: Any, masses: Any, stray: Any, search: str = "exact") -> counting.Parts:
    """The pieces of points with these similarities, of `search_for_counting`; ``stray`` points belong to none."""
    n_neighbors = COUNTING * connecting_neighbors(points.shape[0], COUNTING_CLUSTERS)

    def reorder(nodes: Any) -> Any:
        own = arrays.take_rows(points, nodes)
        return order_by_walk(own, None if masses is None else arrays.take_rows(masses, nodes), search)

    least, mass = least_piece(min(n_neighbors, points.shape[0] - 1)), arrays.to_host(masses)
    return counting.split_at_valleys(
        arrays.to_host(weights), mass, least, stray, reorder, witness=partial(see_two_groups, points)
    )


def order_by_walk(points: Any, masses: Any, search: str = "exact") -> Floats | None:
    """How often a walk from each point ends in the second of two clusters; None if their graph has several pieces."""
    setting = GraphSetting(2, default_n_neighbors(points.shape[0], 2), "sharpened", 1.0, search, STRENGTH)
    prepared = setting.from_points(points, DistinctRows(np.arange(points.shape[0]), masses, slice(None)))
    if prepared.base.components[0] != 1:
        return None
    labels = assign_by_pivots(arrays.to_host(prepared.eigenvectors(2).vectors[:, :2]))
    memberships = indicator(arrays.from_host(labels, prepared.base.degrees), 2)
    return arrays.to_host(diffuse(prepared.base, memberships)[:, 1])


def least_piece(n_neighbors: int) -> int:
    """The fewest samples of a counted cluster: half as many as a node has neighbors, at least `FEWEST_SAMPLES`."""
    return max(FEWEST_SAMPLES, n_neighbors // 2)
