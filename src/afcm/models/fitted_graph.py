"""A fitted graph model: one frozen object that embeds samples, gives their memberships and places new ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from scipy import sparse

from afcm import arrays
from afcm._typing import Floats, Integers
from afcm.equations.sparse_memberships import (
    argmax_rows,
    keep_blocks,
    keep_fine,
    put_rows,
    to_dense_rows,
)
from afcm.graph.affinity import cut_and_links
from afcm.graph.anchors.weights import AnchorSimilarity
from afcm.graph.density import log_distances
from afcm.graph.eigenvectors import indicator
from afcm.graph.levels import Join, count_pieces, join_clusters, measure_gaps
from afcm.graph.similarity import NeighborSimilarity, PlacedSamples
from afcm.linalg.ratios import ratio
from afcm.models.agreement import keep_labels
from afcm.models.fitted_background import score_samples
from afcm.models.local_mixture import LocalMixture
from afcm.models.regrouping import Merge, Split, count_clusters, regroup_nodes

# A cluster is ruled out where a walk visits it with a probability well below the first number. Where one density
# describes each cluster, densities that overlap are right, and only other pieces of the graph are ruled out.
RULED_OUT, RULED_OUT_ONE_EACH = 5e-4, 1e-15
# What memberships are, by the method that made them: words for titles and reports.
METHOD_WORDS = {
    "mixture": "probabilities by a mixture inside the clusters",
    "overlap": "probabilities by a mixture of overlapping clusters",
    "views": "probabilities by the agreement of several graphs",
    "walk": "probabilities by a random walk over the graph",
    "known": "probabilities that follow known labels",
    "paper": "the paper's own",
}


@dataclass(frozen=True)
class FittedGraph:
    """Everything that `AFCM` keeps of a fit.

    Attributes
    ----------
    similarity : object
        Gives the similarities of new samples to the nodes of the graph.
    extension : object
        The embedding, memberships and centers of the nodes, and the equation that places new samples among them.
    walk_graph : Graph or None
        The graph that memberships diffuse over; None if the samples were in Dask's chunks.
    node_of_sample : array, slice or None
        The node of each fitted sample (−1: weight 0, not in the graph); ``slice(None)`` where each is its own.
    dtype : str
        Of all results: float32 data give float32 memberships.
    densities : LocalMixture, DistanceBackground or None
        Densities of the clusters and the background; None where nobody asked or X tells no density.
    method : {"paper", "walk", "views", "mixture", "overlap", "known"}
        What memberships are: the model's own, those after a random walk, by the agreement of several graphs, or
        posteriors of a mixture, inside the model's own clusters or inside those of `afcm.models.overlap`; or those that
        follow known labels (`afcm.models.known_labels`).
    walked : array or None
        Memberships of the nodes after a random walk (`afcm.graph.diffusion`), or by several graphs; new samples have
        the mean of their neighbors'. None where the paper's are wanted, or the samples were in Dask's chunks.
    of_nodes : array or None
        Memberships of the nodes by ``method``; None as ``walked``. Where they are sparse (`keep_few`), so are
        ``walked`` and the memberships of ``extension``, and the memberships of new samples.
    counts : array or None
        How many samples each node stands for, by weight; None: one each.
    views : array or None
        The cluster of each node in other graphs (a column each), where some were compared.
    links : array or None
        Weights of the fit's graph between clusters (`afcm.graph.affinity.cut_and_links`); None in older files.
    steps : tuple of Merge and Split
        What became of the clusters after the fit (`afcm.models.regrouping`); all above but ``links`` and ``views`` are
        of the fit's own.
    """

    similarity: Any
    extension: Any
    walk_graph: Any
    node_of_sample: Any
    dtype: str
    densities: Any = None
    method: str = "paper"
    walked: Any = None
    of_nodes: Any = None
    counts: Any = None
    views: Any = None
    links: Any = None
    steps: tuple[Merge | Split, ...] = ()

    @property
    def n_clusters(self) -> int:
        return count_clusters(self.extension.n_clusters, self.steps)

    def embed(self, X: Any) -> Any:
        """Rows of the embedding, for samples on any device or in chunks."""
        return self._by_rows(X, _embed, self.extension.n_clusters)

    def memberships(self, X: Any) -> Any:
        """Memberships, for samples on any device or in chunks."""
        return self._by_rows(X, _memberships, self.n_clusters)

    def outlier_scores(self, X: Any) -> Any:
        """Probabilities to be background, for samples on any device or in chunks; they need ``densities``."""
        return self._by_rows(X, _outlier_scores)

    def own_outlier_scores(self, X: Any) -> Any:
        """`outlier_scores` of the fitted samples X: those in the graph have their neighbors already."""
        node, similarity = self.node_of_sample, self.similarity
        known = isinstance(node, slice) or (node is not None and bool((node >= 0).all()))
        if not (known and isinstance(similarity, NeighborSimilarity)):
            return self.outlier_scores(X)
        own = self.own_memberships

        def assign(_: Any) -> Any:
            return arrays.take_rows(argmax_rows(own), node)

        def measure(_: Any) -> Any:
            return log_distances(arrays.take_rows(similarity.scales, node) ** 2)

        return _as_dtype(score_samples(self.densities, X, assign, measure), self.dtype)

    def _by_rows(self, X: Any, function: Any, *widths: int) -> Any:
        if arrays.is_chunked(X):
            small = replace(self, walk_graph=None, node_of_sample=None)  # workers place new samples, no more
            return arrays.map_rows(partial(function, fitted=small), X, *widths)
        names = ("similarity", "extension", "walked", "of_nodes")
        parts = arrays.to_device_of(tuple(getattr(self, name) for name in names), X)
        return function(X, replace(self, **dict(zip(names, parts, strict=True))))

    def expand(self, X: Any) -> tuple[Any, Any, Any]:
        """Embedding, memberships, and the paper's memberships of the fitted samples X.

        Those not in the graph are placed like new ones.
        """
        if self.node_of_sample is None:
            paper = replace(self, method="paper").memberships(X)
            return self.embed(X), paper if self.method == "paper" else self.memberships(X), paper
        extension, paper, absent = self.extension, self.paper_memberships, self.absent
        parts = (extension.embedding, self.own_memberships, paper)
        embedding, memberships, paper = (take_node_rows(part, self.node_of_sample) for part in parts)
        if absent.size:
            where, missing = arrays.from_host(absent, X), arrays.take_rows(X, absent)
            placed = extension.embed(self.similarity.place(missing))
            of_paper = extension.memberships_of(placed)
            own = of_paper if self.method == "paper" else self.memberships(missing)
            embedding = put_rows(embedding, where, placed)
            memberships, paper = put_rows(memberships, where, own), put_rows(paper, where, of_paper)
        embedding, memberships, paper = (_as_dtype(part, self.dtype) for part in (embedding, memberships, paper))
        return embedding, memberships, paper

    def keep_few(self) -> FittedGraph:
        """Make memberships sparse: the largest few of each node."""
        extension = replace(self.extension, memberships=keep_fine(self.extension.memberships))
        walked, own = None if self.walked is None else keep_fine(self.walked), self.own_memberships
        few = keep_blocks(lambda rows: own[rows], own.shape)
        return replace(self, extension=extension, walked=walked, of_nodes=few)

    @property
    def is_sparse(self) -> bool:
        return sparse.issparse(self.of_nodes)

    @property
    def paper_memberships(self) -> Any:
        """The paper's memberships of the nodes, of sparse ones as many as `own_memberships` has."""
        if self.method == "paper":
            return self.own_memberships
        whole = self.extension.memberships
        return keep_blocks(lambda rows: to_dense_rows(whole, rows), whole.shape) if self.is_sparse else whole

    @property
    def own_memberships(self) -> Any:
        """Memberships of the nodes as the fit made them."""
        return self.extension.memberships if self.of_nodes is None else self.of_nodes

    @cached_property
    def node_labels(self) -> Integers:
        """The cluster of each node after all steps, on the host."""
        return argmax_rows(arrays.to_host(regroup_nodes(self.own_memberships, self.steps)))

    @cached_property
    def tree(self) -> list[Join]:
        """The clusters joined one after the other (`afcm.graph.levels`), by the graph before sharpening.

        Sharpening lets edges between parts of what is joined fade as well as edges between others.
        """
        links = self.links if self.walk_graph is None else self.measure_links()
        gaps = np.ones_like(links)
        if count_pieces(links) > 2:  # the last join has no choice
            points, labels = self._witnesses()
            gaps = measure_gaps(labels, self.n_clusters, points)
        in_memory = self.node_of_sample is not None  # else all degrees are 1, and volumes count samples
        sizes = np.bincount(self.node_labels, self.counts, self.n_clusters) if in_memory else links.sum(axis=1)
        return join_clusters(links, gaps, sizes.astype(np.float64))

    def measure_links(self) -> Floats:
        """Weights between the clusters in the graph before sharpening."""
        labels = arrays.from_host(self.node_labels, self.walk_graph.degrees)
        return cut_and_links(self.walk_graph, indicator(labels, self.n_clusters))[1]

    def share_samples(self, step: Split, X: Any) -> Any:
        """Shares of the fitted samples in the parts of a cluster; X is asked for those not in the graph alone."""
        node, own = self.node_of_sample, step.share_out(step.parts)
        shares, absent = own[node], self.absent
        if absent.size:
            missing = arrays.take_rows(X, absent)
            placed = self.similarity.place(missing)
            shares[absent] = arrays.to_host(_share_out(step, missing, placed, self))
        return shares

    @property
    def absent(self) -> Integers:
        """Numbers of the fitted samples that are not in the graph."""
        node = self.node_of_sample
        return np.zeros(0, dtype=np.intp) if isinstance(node, slice) else np.flatnonzero(node < 0)

    def _witnesses(self) -> tuple[Any, Integers]:
        """Points and their clusters, on the host, by which clusters without an edge between them are compared."""
        if isinstance(self.similarity, AnchorSimilarity):
            points = self.similarity.anchors
            return points, argmax_rows(self.memberships(points))
        return getattr(self.similarity, "points", None), self.node_labels

    def to_host(self) -> FittedGraph:
        names = ("similarity", "extension", "walk_graph", "walked", "of_nodes")
        parts = arrays.to_device_of(tuple(getattr(self, name) for name in names), None)
        return replace(self, **dict(zip(names, parts, strict=True)))


def take_node_rows(values: Any, node: Any) -> Any:
    """Values of samples from those of their nodes, without a copy where each sample is its own node."""
    return values if isinstance(node, slice) and sparse.issparse(values) else arrays.take_rows(values, node)


def _embed(points: Any, fitted: FittedGraph) -> Any:
    return _as_dtype(fitted.extension.embed(fitted.similarity.place(points)), fitted.dtype)


def _memberships(points: Any, fitted: FittedGraph) -> Any:
    placed = fitted.similarity.place(points)
    walked = None
    if fitted.walked is not None and fitted.method != "paper":
        walked = fitted.extension.averaged(placed, fitted.walked)
    find = _few_memberships if fitted.is_sparse else _own_memberships
    memberships = find(points, placed, walked, fitted)
    for step in fitted.steps:
        if isinstance(step, Merge):
            memberships = step.apply(memberships)
        else:
            memberships = step.apply(memberships, _share_out(step, points, placed, fitted))
    return _as_dtype(memberships, fitted.dtype)


def _share_out(step: Split, points: Any, placed: PlacedSamples, fitted: FittedGraph) -> Any:
    """Shares of the parts of a cluster; a fitted sample has its own."""
    parts = arrays.from_host(step.parts, placed.twins)
    shares = step.share_out(fitted.extension.averaged(placed, parts))
    if step.densities is None:
        return shares
    posterior = to_posterior(step.densities, points, shares)
    return array_namespace(shares).where(placed.twins[:, None] >= 0, shares, posterior)


def _few_memberships(points: Any, placed: PlacedSamples, walked: Any, fitted: FittedGraph) -> Any:
    """The largest few of `_own_memberships`, sparse as those of the walk are."""

    def make_rows(rows: slice) -> Any:
        mine = PlacedSamples(placed.weights[rows], placed.twins[rows])
        return _own_memberships(points[rows], mine, None if walked is None else walked[rows].toarray(), fitted)

    return keep_blocks(make_rows, (placed.weights.shape[0], fitted.extension.n_clusters))


def _own_memberships(points: Any, placed: PlacedSamples, walked: Any, fitted: FittedGraph) -> Any:
    """Memberships in the clusters of the fit before any step, given those of a walk."""
    extension = fitted.extension
    if fitted.method == "paper":
        return extension.memberships_of(extension.embed(placed))
    if fitted.method in ("mixture", "overlap"):
        walked = to_posterior(fitted.densities, points, walked)
    if fitted.method == "views":  # labels are the model's own, here too
        walked = keep_labels(walked, extension.memberships_of(extension.embed(placed)))
    if fitted.of_nodes is not None:  # a fitted sample has its own, to the last digit
        own = to_dense_rows(fitted.of_nodes, placed.twins)
        walked = array_namespace(walked).where(placed.twins[:, None] >= 0, own, walked)
    return walked


def to_posterior(mixture: LocalMixture, points: Any, walked: Any) -> Any:
    """Posteriors of the clusters; a cluster that a walk from the sample hardly ever visits is ruled out."""
    posterior = mixture.posterior(points)[0]
    if walked is None:
        return posterior
    xp = array_namespace(walked)
    allowed = posterior * (walked / (walked + (RULED_OUT_ONE_EACH if mixture.one_each else RULED_OUT)))
    total = xp.sum(allowed, axis=1, keepdims=True)
    return ratio(allowed, total, walked)


def _outlier_scores(points: Any, fitted: FittedGraph) -> Any:
    scores = score_samples(
        fitted.densities,
        points,
        lambda samples: argmax_rows(arrays.to_host(_memberships(samples, replace(fitted, steps=())))),
        fitted.similarity.log_distances,
    )
    return _as_dtype(scores, fitted.dtype)


def _as_dtype(array: Any, dtype: str) -> Any:
    if arrays.is_tensor(array):
        return array.float() if dtype == "float32" else array.double()
    return array.astype(dtype, copy=False)
