"""The anchor graph ``S = M^{1/2} Q Λ⁻¹ Qᵀ M^{1/2}`` with ``Λ = diag(Qᵀ M 1)``, multiplied with and never formed.

The rows of Q (n×m, sparse) are the samples' weights on their nearest anchors. They sum to 1, so all degrees of S are 1.
Eigenvalues and components of S follow from the anchors' own graph ``Qᵀ M Q`` (m×m), a sum over blocks of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import add
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from afcm._typing import Floats, Integers
from afcm._util.optional import is_usable
from afcm.arrays import dask_backend, is_chunked
from afcm.graph.affinity import Graph, normalize_graph
from afcm.linalg.products import map_row_blocks, parallelize, row_block
from afcm.linalg.ratios import inverse_sqrt, ratio

# Rows of Q at a time for Qᵀ M Q: adding up its blocks costs m² each.
GRAM_ROWS = 65_536
# Numba is loaded for at least so many entries of Q, and so many dense parts of Qᵀ M Q are held at a time.
WORTH_COMPILING, MOST_PARTS = 2_000_000, 8


@dataclass(frozen=True)
class CoarseGraph:
    """``Qᵀ M Q``: the graph of the anchors, in which two are as similar as samples they share; its degrees are Λ."""

    weights: Any  # Qᵀ M Q, m×m, sparse

    @classmethod
    def from_rows(cls, weights: Any, masses: Floats | None) -> Self:
        """Sum the rows of Q, block by block."""
        n_rows = weights.shape[0]
        fast = weights.nnz >= WORTH_COMPILING and is_usable("numba", "fast")
        size = max(GRAM_ROWS, -(-n_rows // MOST_PARTS)) if fast else GRAM_ROWS
        part = dense_gram if fast else gram
        parts = map_row_blocks(lambda rows: part(row_block(weights, rows), select_masses(masses, rows)), n_rows, size)
        return cls(sp.csr_array(reduce(add, parts)))

    @classmethod
    def from_samples(cls, similarity: Any, points: Any, masses: Any) -> Self:
        """From samples and what gives their weights; samples in Dask's chunks are visited where they are."""
        if not is_chunked(points):
            return cls.from_rows(similarity.weigh(points), masses)
        rows = [points] if masses is None else [points, masses]
        total = dask_backend().reduce_chunks(partial(chunk_gram, similarity=similarity), rows, partial(reduce, add))
        return cls(sp.csr_array(total))

    @cached_property
    def sizes(self) -> Floats:
        """Λ: the number of samples that each anchor stands for."""
        return np.asarray(self.weights.sum(axis=1)).ravel()

    @cached_property
    def graph(self) -> Graph:
        """The anchors as nodes of mass Λ: S has the eigenvalues of ``Λ^{-1/2} Qᵀ M Q Λ^{-1/2}``, all degrees are 1."""
        return normalize_graph(self.density, self.sizes)

    @cached_property
    def density(self) -> Any:
        """``Λ⁻¹ Qᵀ M Q Λ⁻¹``: the similarity of a sample of one anchor to one of another."""
        inverse = sp.diags_array(inverse_sqrt(self.sizes) ** 2)
        return sp.csr_array(inverse @ self.weights @ inverse)

    @cached_property
    def affinity(self) -> Floats:
        """The normalized affinity of `graph` as a dense matrix."""
        return np.asarray(self.graph.affinity.toarray())

    def scale(self, values: Floats) -> Floats:
        """``Λ^{-1/2} y``; an anchor of no sample gets 0."""
        return values * inverse_sqrt(self.sizes)[:, None]

    def average(self, links: Floats) -> Floats:
        """``Λ⁻¹ Qᵀ M U`` from ``Qᵀ M U``: the mean memberships of the samples that an anchor stands for, m×c."""
        return self.scale(self.scale(links))


@dataclass(frozen=True)
class FactoredAffinity:
    """S as an operator on the samples, kept as its factors."""

    weights: Any  # Q, n×m, CSR
    sizes: Floats  # Λ
    anchor_components: Integers  # the connected component of each anchor, from 0; −1 for an anchor of no sample
    masses: Floats | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.weights.shape[0], self.weights.shape[0]

    @property
    def components(self) -> tuple[int, Integers]:
        """The number of connected components, and each sample's: that of any anchor it has a weight on."""
        labels = self.anchor_components
        return int(labels.max()) + 1, labels[self.weights.indices[self.weights.indptr[:-1]]]

    def __matmul__(self, block: Floats) -> Floats:
        roots = None if self.masses is None else np.sqrt(self.masses)[:, None]
        image: Floats = self._rows @ self._divide(self.links(block if roots is None else roots * block))
        return image if roots is None else roots * image

    def links(self, values: Floats) -> Floats:
        """``Qᵀ y``, m×any, by blocks."""
        return reduce(add, map_row_blocks(lambda rows: row_block(self.weights, rows).T @ values[rows], len(values)))

    def means(self, values: Any) -> Any:
        """``Λ⁻¹ Qᵀ M y``: means over the samples that an anchor stands for, m×any; sparse of sparse values."""
        if sp.issparse(values):
            weighted = values if self.masses is None else sp.diags_array(self.masses) @ values
            return sp.csr_array(sp.diags_array(inverse_sqrt(self.sizes) ** 2) @ (self.weights.T @ weighted))
        return self._divide(self.links(values if self.masses is None else values * self.masses[:, None]))

    def _divide(self, links: Floats) -> Floats:
        return ratio(links, self.sizes[:, None], np.zeros_like(links))

    @cached_property
    def _rows(self) -> Any:
        return parallelize(self.weights)

    def toarray(self) -> Floats:
        """The dense n×n matrix, for tests."""
        return self @ np.eye(self.weights.shape[0])


def sample_graph(weights: Any, coarse: CoarseGraph, masses: Floats | None) -> Graph:
    """The graph of the samples, from the rows of Q and the graph of their anchors; its degrees are 1."""
    affinity = FactoredAffinity(weights, coarse.sizes, coarse.graph.components[1], masses)
    return Graph(affinity, np.ones(weights.shape[0]), masses)


def gram(weights: Any, masses: Floats | None) -> Any:
    """``Qᵀ M Q`` of a block, m×m, sparse."""
    return weights.T @ (weights if masses is None else weights.multiply(masses[:, None]))


def chunk_gram(points: Any, masses: Any = None, *, similarity: Any) -> Any:
    """``Qᵀ M Q`` of the samples of a chunk."""
    return CoarseGraph.from_rows(similarity.weigh(points), masses).weights


def dense_gram(weights: Any, masses: Floats | None) -> Floats:
    """`gram` by compiled loops, dense."""
    from afcm.compiled import anchors as anchor_loops

    total = np.zeros((weights.shape[1], weights.shape[1]))
    mass = np.empty(0) if masses is None else masses
    anchor_loops.add_gram(weights.indptr, weights.indices, weights.data, mass, total)
    return total


def select_masses(masses: Floats | None, rows: slice) -> Floats | None:
    return None if masses is None else masses[rows]
