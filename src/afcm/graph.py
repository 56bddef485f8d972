"""Samples → neighbours → kernel → symmetric → normalised affinity, each its own function.

Identical samples are one node with their mass: a hundred copies of a row are a hundred samples for the
clusters and for the degrees, and never a hundred of its own nearest neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from afcm.backends import backend_of, is_tensor, like, to_host
from afcm.neighbors import Neighbors
from afcm.products import parallel

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.intp]


@dataclass(frozen=True)
class Graph:
    """The normalised affinity ``S = (M/D)^{1/2} W (M/D)^{1/2}`` with the degrees ``d_i = Σ_j w_ij m_j``."""

    affinity: Any
    degrees: Floats
    masses: Floats | None = None

    @property
    def volumes(self) -> Floats:
        """``m_i d_i``: the square of the eigenvector of S with eigenvalue 1."""
        return self.degrees if self.masses is None else self.degrees * self.masses

    @cached_property
    def operator(self) -> Any:
        """S, to be multiplied with."""
        return parallel(self.affinity)

    @cached_property
    def components(self) -> tuple[int, Integers]:
        """Number of connected components among nodes with neighbours, and each node's (−1: isolated)."""
        count, labels = backend_of(self.affinity).components(self.affinity, self.degrees <= 0)
        return count, labels


class Lists(NamedTuple):
    """Neighbour lists of some samples among the graph's nodes, as a kernel sees them."""

    squared: Floats  # n×k squared distances, nearest first
    beyond: Floats  # n: squared distance to the (k+1)-th neighbour, or to the k-th where there is no further
    own_scale: Floats  # n: distance to the k-th neighbour
    their_scale: Floats  # n×k: the same for each neighbour
    bandwidth: float


def gaussian(lists: Lists) -> Floats:
    """``exp(−d² / (2σ²))``, the paper's, with σ = ``bandwidth``."""
    return array_namespace(lists.squared).exp(-lists.squared / (2 * lists.bandwidth**2))


def local(lists: Lists) -> Floats:
    """``exp(−d² / (s_i s_j))``, s the distance to the k-th neighbour: self-tuning (Zelnik-Manor and Perona).

    Where s is 0 (k copies of a sample that were not merged) copies have similarity 1 and others 0.
    """
    xp = array_namespace(lists.squared)
    scales = lists.own_scale[:, None] * lists.their_scale
    without_scale = xp.where(lists.squared > 0, xp.full_like(scales, math.inf), xp.zeros_like(scales))
    return xp.exp(-ratio(lists.squared, scales, without_scale))


def adaptive(lists: Lists) -> Floats:
    """``(e_{k+1} − e_j) / (k e_{k+1} − Σ_l e_l)`` with e the squared distances: no parameter, rows sum to 1."""
    xp = array_namespace(lists.squared)
    closeness = lists.beyond[:, None] - lists.squared
    totals = xp.sum(closeness, axis=1, keepdims=True)
    return ratio(closeness, totals, xp.full_like(closeness, 1 / closeness.shape[1]))


def binary(lists: Lists) -> Floats:
    """1 for every neighbour."""
    return array_namespace(lists.squared).ones_like(lists.squared)


def ratio(top: Any, bottom: Any, otherwise: Any) -> Any:
    """``top / bottom`` where the bottom is positive."""
    xp = array_namespace(top, bottom)
    filled = bottom > 0
    return xp.where(filled, top / xp.where(filled, bottom, xp.ones_like(bottom)), otherwise)


KERNELS: dict[str, Callable[[Lists], Floats]] = {
    "adaptive": adaptive,
    "local": local,
    "gaussian": gaussian,
    "binary": binary,
}


def neighbor_lists(neighbors: Neighbors, k: int, bandwidth: float, scales: Floats | None = None) -> Lists:
    """What the kernels need, from neighbours with one more than k where there is one.

    ``scales`` are those of the graph's nodes when the lists belong to new samples.
    """
    squared = neighbors.squared[:, :k]
    own = array_namespace(squared).sqrt(squared[:, -1])
    their = (own if scales is None else scales)[neighbors.indices[:, :k]]
    return Lists(squared, neighbors.squared[:, -1], own, their, bandwidth)


def directed(weights: Floats, indices: Integers, n_nodes: int) -> Any:
    """The sparse matrix with ``weights`` at each row's neighbours."""
    return backend_of(weights).directed(weights, indices, n_nodes)


def symmetrised(weights: Any) -> Any:
    """``(W + Wᵀ) / 2``."""
    return backend_of(weights).symmetrised(weights)


def agreed(weights: Any) -> Any:
    """``((√w_ij + √w_ji) / 2)²``: a similarity that only one side sees counts a quarter, not a half."""
    backend = backend_of(weights)
    return backend.squares(backend.symmetrised(backend.roots(weights)))


def normalised(weights: Any, masses: Floats | None = None) -> Graph:
    """The normalised affinity of a symmetric matrix of similarities; isolated nodes get an empty row."""
    xp = array_namespace(weights.data)
    ones = xp.ones(weights.shape[0], dtype=weights.data.dtype, device=device(weights.data))
    degrees = xp.astype(weights @ (ones if masses is None else masses), xp.float64)
    scale = inverse_sqrt(degrees)
    if masses is not None:
        scale = scale * xp.sqrt(masses)
    return Graph(backend_of(weights).scaled(weights, scale), degrees, masses)


def inverse_sqrt(degrees: Floats) -> Floats:
    """``d^{-1/2}``, and 0 where d is 0."""
    xp = array_namespace(degrees)
    return ratio(xp.ones_like(degrees), xp.sqrt(degrees), xp.zeros_like(degrees))


def normalized_cut(graph: Graph, indicator: Floats) -> float:
    """``Σ_j cut(j) / volume(j)`` of hard clusters (n×c, one 1 a row): from 0 to c, an empty cluster counts 1."""
    xp = array_namespace(indicator)
    scaled = indicator * xp.sqrt(graph.volumes)[:, None]
    inside = xp.sum(scaled * (graph.operator @ scaled), axis=0)
    return cut_shares(inside, xp.sum(scaled * scaled, axis=0))


def cut_shares(inside: Floats, volumes: Floats) -> float:
    """``Σ_j (1 − inside_j / volume_j)``."""
    xp = array_namespace(inside)
    return float(xp.sum(1 - ratio(inside, volumes, xp.zeros_like(inside))))


def without_empty_rows(weights: Any, fallback: Integers | None = None) -> Any:
    """Rows of similarities that are all 0 get a 1 at ``fallback``, or 1 everywhere."""
    empty = np.flatnonzero(np.asarray(weights.sum(axis=1)).ravel() <= 0)
    if not empty.size:
        return weights
    filled = sp.lil_array(weights)
    for row in empty:
        filled[row, slice(None) if fallback is None else fallback[row]] = 1.0
    return sp.csr_array(filled)


class Distinct(NamedTuple):
    """The different rows of a table: which to keep, how many samples each stands for, and which row each sample is."""

    rows: Integers
    masses: Floats | None
    inverse: Integers | slice


def distinct(points: Any, sample_weight: Floats | None = None, *, merge: bool = True) -> Distinct:
    """Identical rows become one with their total weight; rows of weight 0 disappear.

    With duplicates or weights the rows come in an order that depends on their contents alone, so that repeating a
    sample and doubling its weight give the same problem to the last bit. Without either nothing is moved.
    """
    n = points.shape[0]
    everything = Distinct(np.arange(n), None, slice(None))
    if not merge and sample_weight is None:
        return everything
    if is_tensor(points):
        if sample_weight is None and not backend_of(points).any_equal_rows(points):
            return everything
        found = distinct(to_host(points), sample_weight, merge=merge)  # duplicates are sorted out on the host
        return found._replace(masses=like(found.masses, points))
    first, inverse = _first_of_equals(points) if merge else (np.arange(n), np.arange(n))
    if sample_weight is None and first.size == n:
        return everything
    weights = np.ones(n) if sample_weight is None else sample_weight
    masses = np.bincount(inverse, weights=weights, minlength=first.size).astype(np.float64)
    kept = masses > 0
    renumbered = np.where(kept, np.cumsum(kept) - 1, -1)
    return Distinct(first[kept], masses[kept], renumbered[inverse])


def _first_of_equals(points: Any) -> tuple[Integers, Integers]:
    """The first of each group of equal rows, ordered by content, and the group of each row."""
    if sp.issparse(points):
        points = _rows_as_objects(points)
        _, first, inverse = np.unique(points, return_index=True, return_inverse=True)
        return first, inverse
    keys = row_keys(points)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if np.array_equal(points[first[inverse]], points):  # no two different rows share a key
        return first, inverse
    _, first, inverse = np.unique(points + 0.0, axis=0, return_index=True, return_inverse=True)
    return first, inverse.ravel()


def row_keys(points: Floats) -> NDArray[np.uint64]:
    """A 64-bit number per row, the same for equal rows: integer arithmetic on the bits, so it is exact."""
    bits = np.ascontiguousarray(points + 0.0).view(f"u{points.dtype.itemsize}")  # −0.0 + 0.0 is 0.0
    odd = np.random.default_rng(0).integers(1, 2**63, size=bits.shape[1], dtype=np.uint64) * 2 + 1
    keys = np.zeros(bits.shape[0], dtype=np.uint64)
    for column, factor in zip(bits.T, odd, strict=True):
        mixed = (column.astype(np.uint64) ^ factor) * factor
        keys = (keys ^ mixed ^ (mixed >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    return keys


def _rows_as_objects(matrix: Any) -> NDArray[np.object_]:
    rows = sp.csr_array(matrix, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    spans = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    out = np.empty(rows.shape[0], dtype=object)
    out[:] = [rows.indices[a:b].tobytes() + rows.data[a:b].tobytes() for a, b in spans]
    return out


def neighbor_weights(found: Neighbors, k: int, *, kernel: str, bandwidth: float = 1.0) -> Any:
    """Neighbours among the nodes (one more than k where there is one) → kernel: row i has i's similarities."""
    return directed(KERNELS[kernel](neighbor_lists(found, k, bandwidth)), found.indices, found.indices.shape[0])


def neighbor_graph(
    found: Neighbors, k: int, *, kernel: str, bandwidth: float = 1.0, masses: Floats | None = None
) -> Graph:
    """Neighbours among the nodes (one more than k where there is one) → kernel → symmetric → normalised."""
    graph = normalised(symmetrised(neighbor_weights(found, k, kernel=kernel, bandwidth=bandwidth)), masses)
    if not graph.affinity.nnz:
        typical = float(np.sqrt(np.median(to_host(found.squared[:, k - 1]))))
        raise ValueError(
            f"bandwidth={bandwidth!r} is so small against the distances in X that every similarity is 0; use about "
            f"{typical:.3g}, or kernel='local', or scale X"
        )
    return graph
