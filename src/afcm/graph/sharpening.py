"""Sharpens a graph: edges between nodes that its leading eigenvectors hold apart lose their weight.

A neighbor graph has edges between clusters wherever clusters touch. Its leading eigenvectors are averages over the
whole graph and know better than any single edge which side a node belongs to. Once is enough: every edge is multiplied
by how far its ends point in the same direction in the first q eigenvectors, averaged over q from c to 2c, because the
c-th eigenvector is often not the one that separates two of the clusters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace, device

from afcm._typing import Floats
from afcm._util.optional import is_usable
from afcm.arrays import backend_of
from afcm.compiled.dispatch import is_fused
from afcm.graph import eigenvectors
from afcm.graph.affinity import Graph, normalize_graph
from afcm.graph.density import balance
from afcm.linalg.products import map_row_blocks
from afcm.linalg.ratios import ratio

# The average is over spaces of c to so many times c eigenvectors.
FINEST = 2
# The power of the cosine between the two ends of an edge, an even number.
SHARPNESS = 4
# An edge keeps at least this share of its weight: no edge disappears, and the components stay what they are.
FLOOR = 0.01
# Eigenvectors beyond the c-th lie close together and would cost most of the time; so many steps place them well enough.
ROUGH_STEPS = 8
# Entries of the eigenvectors from which on compiled loops pay.
WORTH_COMPILING = 200_000


class SharpenedGraph(NamedTuple):
    """A graph after sharpening."""

    graph: Graph
    hint: Floats | None = None  # eigenvectors of the graph before, a good place to search for its own; None: unchanged


def sharpen(graph: Graph, weights: Any, n_clusters: int, n_neighbors: int, *, balanced: bool = False) -> SharpenedGraph:
    """Sharpen the graph of these symmetric weights; it stays as it is if it has c components anyway.

    ``balanced``: the sharper weights are balanced too.
    k neighbors cannot tell groups of fewer than 2k nodes apart, so at most n / 2k eigenvectors are used.
    """
    most = min(FINEST * n_clusters, graph.degrees.shape[0] // (2 * n_neighbors))
    if graph.components[0] >= n_clusters or most <= n_clusters:
        return SharpenedGraph(graph)
    hint = solve_for_sharpening(graph, n_clusters, most)
    sharper = fade_edges(weights, backend_of(hint).make_contiguous(hint[:, :most]), n_clusters)
    if balanced and graph.masses is not None:
        sharper, _ = balance(sharper, graph.masses)
    return SharpenedGraph(normalize_graph(sharper, graph.masses, graph.components, spare=True), hint)


def fade_edges(weights: Any, vectors: Floats, fewest: int) -> Any:
    """Every weight times ``FLOOR + (1 − FLOOR) coherence`` of its two ends."""
    if isinstance(vectors, np.ndarray) and vectors.size >= WORTH_COMPILING and is_usable("numba", "fast"):
        return _fade_edges_compiled(weights, vectors, fewest)

    def share_kept(rows: Any, columns: Any) -> Floats:
        return FLOOR + (1 - FLOOR) * coherence(vectors, (rows, columns), fewest)

    return backend_of(weights).multiply_edges(weights, share_kept)


def _fade_edges_compiled(weights: Any, vectors: Floats, fewest: int) -> Any:
    from afcm.compiled import sparse

    weights = weights if weights.has_sorted_indices else weights.sorted_indices()
    inverse, result = inverse_lengths(vectors, fewest), weights.data.copy()
    matrix, keep = (weights.indptr, weights.indices, weights.data), (FLOOR, fewest)

    def fade(rows: slice) -> None:
        sparse.fade_edges(matrix, vectors, inverse, keep, rows.start, rows.stop, result)

    map_row_blocks(fade, weights.shape[0])
    return sp.csr_array((result, weights.indices, weights.indptr), shape=weights.shape)


def solve_for_sharpening(graph: Graph, n_clusters: int, n_wanted: int) -> Floats:
    """The leading eigenvectors, the first c of them well and the others roughly; there may be some beyond them."""
    if eigenvectors.is_worth_filtering(graph, n_wanted):
        return eigenvectors.solve_roughly(graph, n_clusters, n_wanted)
    accurate = eigenvectors.solve_leading(graph, n_clusters).vectors
    return eigenvectors.solve_leading(graph, n_wanted, hint=accurate, max_steps=ROUGH_STEPS).vectors


def coherence(vectors: Floats, edges: tuple[Any, Any], fewest: int) -> Floats:
    """``mean_q max(0, cos_q)^p`` for each edge, cos_q between the first q coordinates of its two ends."""
    rows, columns = edges
    if is_fused(vectors):
        from afcm.compiled import cuda_sparse

        return cuda_sparse.compare_ends(vectors, rows, columns, fewest)
    size, step, inverse = rows.shape[0], backend_of(vectors).BLOCK_EDGES, inverse_lengths(vectors, fewest)
    blocks = (slice(begin, begin + step) for begin in range(0, max(size, 1), step))
    parts = [_coherence(vectors, inverse, rows[block], columns[block], fewest) for block in blocks]
    return array_namespace(vectors).concat(parts)


def inverse_lengths(vectors: Floats, fewest: int) -> Floats:
    """``1 / length`` of the first q coordinates of each row, for each q from ``fewest`` on; 0 for rows of length 0."""
    xp = array_namespace(vectors)
    lengths = xp.sqrt(xp.cumulative_sum(vectors**2, axis=1)[:, fewest - 1 :])
    return ratio(xp.ones_like(lengths), lengths, xp.zeros_like(lengths))


def _coherence(vectors: Floats, inverse: Floats, rows: Any, columns: Any, fewest: int) -> Floats:
    xp, n_vectors = array_namespace(vectors), vectors.shape[1]
    dot = total = xp.zeros(rows.shape[0], dtype=vectors.dtype, device=device(vectors))
    for q in range(n_vectors):
        dot = dot + _multiply_ends(vectors[:, q], rows, columns)
        if q >= fewest - 1:
            cosines = dot * _multiply_ends(inverse[:, q - fewest + 1], rows, columns)
            squares = xp.clip(cosines, 0.0, 1.0) ** 2
            total = total + squares ** (SHARPNESS // 2)  # squares are made by products, other powers slowly
    return total / (n_vectors - fewest + 1)


def _multiply_ends(values: Floats, rows: Any, columns: Any) -> Floats:
    """``v_i v_j`` for each edge."""
    xp = array_namespace(values)
    return xp.take(values, rows, axis=0) * xp.take(values, columns, axis=0)
