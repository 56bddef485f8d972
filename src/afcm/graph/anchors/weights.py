"""Weights of samples on their nearest anchors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from afcm._typing import Floats, Integers
from afcm._util import optional, progress, threads
from afcm.graph.affinity import directed
from afcm.graph.duplicates import row_keys
from afcm.graph.kernels import KERNELS, neighbor_lists
from afcm.graph.similarity import Placed
from afcm.neighbors import exact
from afcm.neighbors.search import CARELESSNESS, Neighbors, find_neighbors, measured

# Candidates beyond k that survive float32 and are measured again, and distances held at a time.
SPARE, BLOCK_ELEMENTS = 2, 1_000_000
# Multiplications that are done before Numba is loaded.
WORTH_COMPILING = 300_000_000


def nearest_anchors(frame: exact.Frame, anchors: Floats, k: int, points: Floats, fast: bool = False) -> Neighbors:
    """The k nearest anchors of a block of samples: candidates from float32 products are measured again in float64.

    ``fast``: by compiled loops, which need Numba. Without them it takes half the time of `neighbors.nearest`, which
    makes no use of all samples having the same few candidates.
    """
    count = min(k + SPARE, anchors.shape[0])
    found, beyond = (_by_loops if fast else _by_products)(frame, anchors, k, points, count)
    farthest = found.squared[:, -1]
    doubtful = np.flatnonzero(farthest - beyond > CARELESSNESS * farthest)
    if doubtful.size and count < anchors.shape[0]:  # an outlier far from everything, say
        again = find_neighbors(anchors, k, points[doubtful])
        found.indices[doubtful], found.squared[doubtful] = again.indices, again.squared
    return found


def _by_products(frame: exact.Frame, anchors: Floats, k: int, points: Floats, count: int) -> tuple[Neighbors, Floats]:
    candidates, beyond = exact.search(frame, points, None, count)
    return measured(anchors, points, candidates, k), beyond


def _by_loops(frame: exact.Frame, anchors: Floats, k: int, points: Floats, count: int) -> tuple[Neighbors, Floats]:
    from afcm.compiled import anchors as anchor_loops

    n_rows, rows = points.shape[0], frame.rows(points)
    candidates, last = np.empty((n_rows, count), dtype=np.int32), np.empty(n_rows, dtype=np.float32)
    anchor_loops.nearest(rows, *anchor_loops.padded(frame.columns, frame.norms), candidates, last)
    found = Neighbors(np.empty((n_rows, k), dtype=np.int32), np.empty((n_rows, k)))
    anchor_loops.measured(points, anchors, candidates, found.indices, found.squared)
    lengths = np.einsum("ij,ij->i", rows, rows).astype(np.float64)
    return found, np.maximum((last + lengths) / frame.scale**2 - exact.rounding(frame), 0)


@dataclass(frozen=True)
class AnchorSimilarity:
    """Weights of samples on their nearest anchors: rows that sum to 1."""

    anchors: Floats
    scales: Floats  # of each anchor: the distance to its k-th neighbour among the anchors
    k: int
    kernel: str = "adaptive"
    bandwidth: float = 1.0
    keys: Integers | None = None  # of the fitted samples, rising: 64 bits of each that tell it from any other
    numbers: Integers | None = None  # which sample each key is

    @classmethod
    def among(cls, anchors: Floats, k: int, kernel: str = "adaptive", bandwidth: float = 1.0) -> Self:
        """For anchors that are known, of which there may be fewer than k + 1."""
        k = max(1, min(k, anchors.shape[0] - 1))
        scales = np.ones(anchors.shape[0])
        if kernel == "local" and anchors.shape[0] > 1:
            scales = np.sqrt(find_neighbors(anchors, k).squared[:, -1])
        return cls(anchors, scales, k, kernel, bandwidth)

    def remembering(self, points: Floats) -> Self:
        """The same, knowing these samples again when it meets them."""
        keys = self._keys(points)
        numbers = np.argsort(keys, kind="stable")
        return replace(self, keys=keys[numbers], numbers=numbers)

    def rows(self, points: Floats) -> Any:
        """Q: the sparse row-stochastic matrix of weights, n×m, block by block."""
        n_samples, n_anchors = points.shape[0], self.anchors.shape[0]
        weights, indices = np.empty((n_samples, self.k)), np.empty((n_samples, self.k), dtype=np.int32)
        size = max(1, BLOCK_ELEMENTS // n_anchors)
        fast = n_anchors * points.size >= WORTH_COMPILING and optional.is_usable("numba", "fast")

        def fill(first: int) -> None:
            rows = slice(first, first + size)
            weights[rows], indices[rows] = self.weights(points[rows], fast)

        tell = progress.start_stage("finding anchors")
        with threads.one_blas_thread():
            blocks = range(0, n_samples, size)
            threads.for_each(fill, blocks, lambda number: tell(min(number * size, n_samples), n_samples))
        return directed(weights, indices, n_anchors)

    def weights(self, points: Floats, fast: bool = False) -> tuple[Floats, Integers]:
        """For a block of samples their anchors and weights; one too far from everything has its nearest alone."""
        found = nearest_anchors(self._frame, self.anchors, min(self.k + 1, self.anchors.shape[0]), points, fast)
        weights = KERNELS[self.kernel](neighbor_lists(found, self.k, self.bandwidth, self.scales))
        totals = weights.sum(axis=1)
        weights[:, 0] = np.where(totals > 0, weights[:, 0], 1.0)
        return weights / np.where(totals > 0, totals, 1.0)[:, None], found.indices[:, : self.k]

    @cached_property
    def _frame(self) -> exact.Frame:
        return exact.framed(self.anchors, np.arange(self.anchors.shape[0]), self.anchors.mean(axis=0))

    def place(self, points: Floats) -> Placed:
        """New samples: their rows, and which fitted samples they are."""
        return Placed(self.rows(points), self.twins(points))

    def twins(self, points: Floats) -> Integers:
        """The fitted sample that each is identical to, or −1."""
        if self.keys is None or self.numbers is None:
            return np.full(points.shape[0], -1)
        keys = self._keys(points)
        places = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        return np.where(self.keys[places] == keys, self.numbers[places], -1)

    @staticmethod
    def _keys(points: Floats) -> Integers:
        return row_keys(np.asarray(points, dtype=np.float64)).view(np.int64)


def anchor_weights(points: Floats, anchors: Floats, k: int) -> Any:
    """The sparse row-stochastic matrix B (n×m): ``b_ij = (e_{k+1} − e_j) / (k e_{k+1} − Σ_l e_l)``.

    e are the squared distances to the k + 1 nearest anchors, so that k is at most m − 1. Where all are equal so are
    the weights.
    """
    return AnchorSimilarity.among(anchors, k).rows(points)
