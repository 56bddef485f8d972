"""The normalized affinity graph, built in steps: neighbors → kernel → symmetric weights → normalized affinity.

Identical samples are one node with a mass. A hundred copies of a row count as a hundred samples in the clusters and in
the degrees, but they are not each other's nearest neighbors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace, device

from afcm._typing import Floats, Integers
from afcm._util.optional import is_loaded, is_usable
from afcm.arrays import backend_of, is_tensor, to_host
from afcm.arrays.numpy_arrays import number_pieces
from afcm.graph.kernels import KERNELS, neighbor_lists
from afcm.linalg.products import map_row_blocks, parallelize
from afcm.linalg.ratios import inverse_sqrt, ratio
from afcm.neighbors import Neighbors

# Entries of a graph from which on compiled loops pay; fewer where Numba is loaded already and a loop finds the pieces.
# Up to so many clusters zeros are multiplied rather than left out.
WORTH_COMPILING, AT_HAND, FEW_CLUSTERS = 200_000, 20_000, 16

Components = tuple[int, Integers]  # how many, and the number of each node's


@dataclass(frozen=True)
class Graph:
    """The normalized affinity ``S = (M/D)^{1/2} W (M/D)^{1/2}`` with the degrees ``d_i = Σ_j w_ij m_j``."""

    affinity: Any  # a sparse matrix, or an operator with ``@`` and ``components``
    degrees: Floats
    masses: Floats | None = None

    @property
    def volumes(self) -> Floats:
        """``m_i d_i``: the square of the eigenvector of S with eigenvalue 1."""
        return self.degrees if self.masses is None else self.degrees * self.masses

    @cached_property
    def operator(self) -> Any:
        return parallelize(self.affinity)

    @cached_property
    def components(self) -> Components:
        """The number of connected components among nodes with neighbors, and each node's (−1: isolated)."""
        if hasattr(self.affinity, "components"):
            return self.affinity.components
        return find_components(self.affinity, self.degrees <= 0)


def neighbor_matrix(weights: Floats, indices: Integers, n_nodes: int) -> Any:
    """The sparse matrix that holds ``weights[i, l]`` at row i, column ``indices[i, l]``."""
    return backend_of(weights).build_directed(weights, indices, n_nodes)


def symmetrize(weights: Any) -> Any:
    """``(W + Wᵀ) / 2``."""
    return backend_of(weights).symmetrize(weights)


def symmetrize_by_agreement(weights: Any) -> Any:
    """``((√w_ij + √w_ji) / 2)²``: a similarity that only one side has counts a quarter, not a half."""
    if sp.issparse(weights) and weights.nnz >= WORTH_COMPILING and is_usable("numba", "fast"):
        return _symmetrize_compiled(weights)
    backend = backend_of(weights)
    return backend.square(backend.symmetrize(backend.square_root(weights)))


def _symmetrize_compiled(weights: Any) -> Any:
    """Both directions of each row side by side, so that no matrix is made in between."""
    from afcm.compiled import sparse

    turned = weights.T.tocsr()  # columns in rising order by the way
    fits = 2 * weights.nnz < np.iinfo(weights.indptr.dtype).max
    offsets = np.zeros(weights.shape[0] + 1, weights.indptr.dtype if fits else np.int64)
    weights = weights if weights.has_sorted_indices else weights.sorted_indices()
    one, other = ((matrix.indptr, matrix.indices, matrix.data) for matrix in (weights, turned))
    counts = offsets[1:]

    def count(rows: slice) -> None:
        sparse.count_union(one, other, rows.start, rows.stop, counts)

    map_row_blocks(count, weights.shape[0])
    np.cumsum(counts, out=counts)
    result = offsets, np.empty(offsets[-1], weights.indices.dtype), np.empty(offsets[-1], weights.dtype)
    map_row_blocks(lambda rows: sparse.agree(one, other, rows.start, rows.stop, result), weights.shape[0])
    return sp.csr_array((result[2], result[1], offsets), shape=weights.shape)


def normalize_graph(
    weights: Any, masses: Floats | None = None, components: Components | None = None, *, spare: bool = False
) -> Graph:
    """The graph of symmetric similarities W; an isolated node keeps an empty row.

    ``components`` of a graph with the same edges need not be found again. ``spare``: W is not needed any more.
    """
    xp = array_namespace(weights.data)
    ones = xp.ones(weights.shape[0], dtype=weights.data.dtype, device=device(weights.data))
    degrees = xp.astype(weights @ (ones if masses is None else masses), xp.float64)
    scale = inverse_sqrt(degrees)
    if masses is not None:
        scale = scale * xp.sqrt(masses)
    affinity = backend_of(weights).scale_rows_and_columns(weights, scale, spare=spare)
    graph = Graph(affinity, degrees, masses)
    if components is not None:
        vars(graph)["components"] = components  # where `cached_property` keeps them
    return graph


def find_pieces(weights: Any) -> Components:
    """The `Graph.components` of symmetric similarities."""
    xp = array_namespace(weights.data)
    ones = xp.ones(weights.shape[0], dtype=weights.data.dtype, device=device(weights.data))
    return find_components(weights, weights @ ones <= 0)


def find_components(weights: Any, isolated: Any) -> Components:
    """The number of connected components among nodes that are not isolated, and each node's (isolated: −1)."""
    at_hand = is_loaded("numba", "fast")
    worth = sp.issparse(weights) and weights.nnz >= (AT_HAND if at_hand else WORTH_COMPILING)
    if not (worth and is_usable("numba", "fast")):
        found: Components = backend_of(weights).find_components(weights, isolated)
        return found
    from afcm.compiled.sparse import walk_by_breadth

    return number_pieces(walk_by_breadth(weights.indptr, weights.indices)[1], isolated)


def normalized_cut(graph: Graph, indicator: Floats) -> float:
    """``Σ_j cut(j) / volume(j)`` of hard clusters (n×c, one 1 a row): from 0 to c, an empty cluster counts 1."""
    return cut_of_image(*spread_clusters(graph, indicator))


def cut_and_links(graph: Graph, indicator: Floats) -> tuple[float, Floats]:
    """`normalized_cut`, and ``Σ m_i w_ij m_j`` over i in one cluster and j in another (c×c, on the host).

    Inside a cluster each pair counts twice, so that rows sum to the clusters' volumes.
    """
    scaled, image = spread_clusters(graph, indicator)
    many = isinstance(scaled, np.ndarray) and scaled.shape[1] > FEW_CLUSTERS
    rows = sp.csr_array(scaled) if many else scaled  # one entry a row: n c sums, not n c²
    return cut_of_image(scaled, image), to_host(rows.T @ image)


def spread_clusters(graph: Graph, indicator: Floats) -> tuple[Floats, Floats]:
    """``Y = (M D)^{1/2} H`` and ``S Y``, n×c each."""
    scaled = indicator * array_namespace(indicator).sqrt(graph.volumes)[:, None]
    return scaled, graph.operator @ scaled


def cut_of_image(scaled: Floats, image: Floats) -> float:
    """The normalized cut from Y and S Y of `spread_clusters`."""
    xp = array_namespace(scaled)
    return normalized_cut_of_volumes(xp.sum(scaled * image, axis=0), xp.sum(scaled * scaled, axis=0))


def normalized_cut_of_volumes(inside: Floats, volumes: Floats) -> float:
    """``Σ_j (1 − inside_j / volume_j)``, with 0 for the ratio of an empty cluster."""
    xp = array_namespace(inside)
    return max(float(xp.sum(1 - ratio(inside, volumes, xp.zeros_like(inside)))), 0.0)  # but for rounding


def fill_empty_rows(weights: Any) -> Any:
    """Put 1 in all columns of each row of similarities whose sum is 0."""
    empty = np.flatnonzero(np.asarray(weights.sum(axis=1)).ravel() <= 0)
    if not empty.size:
        return weights
    filled = sp.lil_array(weights)
    filled[empty] = 1.0
    return sp.csr_array(filled)


def neighbor_weights(found: Neighbors, k: int, *, kernel: str, bandwidth: float = 1.0) -> Any:
    """Row i holds node i's similarities to its k neighbors; ``found`` has one neighbor more, where there is one."""
    scales = array_namespace(found.squared).sqrt(found.squared[:, k - 1])

    def weigh(near: Neighbors) -> Floats:
        return KERNELS[kernel](neighbor_lists(near, k, bandwidth, scales))

    if is_tensor(scales):
        weights = weigh(found)
    else:
        parts = map_row_blocks(lambda rows: weigh(found.take(rows)), len(scales))
        weights = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return sort_columns(neighbor_matrix(weights, found.indices, found.indices.shape[0]))


def sort_columns(matrix: Any) -> Any:
    """Bring many entries into the order of their columns, row by row and in place, where a compiled loop can."""
    if sp.issparse(matrix) and matrix.nnz >= WORTH_COMPILING and is_usable("numba", "fast"):
        from afcm.compiled import sparse

        parts = matrix.indptr, matrix.indices, matrix.data
        map_row_blocks(lambda rows: sparse.sort_rows(*parts, rows.start, rows.stop), matrix.shape[0])
        matrix.has_sorted_indices = True
    return matrix


def neighbor_graph(
    found: Neighbors, k: int, *, kernel: str, bandwidth: float = 1.0, masses: Floats | None = None
) -> Graph:
    """The normalized graph of `neighbor_weights`; raises ValueError if the bandwidth makes all similarities 0."""
    graph = normalize_graph(symmetrize(neighbor_weights(found, k, kernel=kernel, bandwidth=bandwidth)), masses)
    check_bandwidth(graph, found, k, bandwidth)
    return graph


def check_bandwidth(graph: Graph, found: Neighbors, k: int, bandwidth: float) -> None:
    """Raise ValueError if a graph has no edge because the bandwidth is too small."""
    if not graph.affinity.nnz:
        typical = float(np.sqrt(np.median(to_host(found.squared[:, k - 1]))))
        raise ValueError(
            f"bandwidth={bandwidth!r} is so small against the distances in X that every similarity is 0; use about "
            f"{typical:.3g}, or kernel='local', or scale X"
        )
