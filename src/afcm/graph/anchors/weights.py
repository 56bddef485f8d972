"""Finds the nearest anchors of samples and the weights on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from afcm._typing import Floats, Integers
from afcm._util import optional, progress, threads
from afcm.graph.affinity import neighbor_matrix
from afcm.graph.density import log_distances
from afcm.graph.duplicates import row_keys
from afcm.graph.kernels import KERNELS, neighbor_lists
from afcm.graph.similarity import PlacedSamples
from afcm.neighbors import Neighbors, exact, find_neighbors
from afcm.neighbors.search import MISS_TOLERANCE, measure_candidates

# So many candidates beyond k are measured again in float64, and so many distances are held at a time.
SPARE, BLOCK_ELEMENTS = 2, 1_000_000
# Numba is loaded for at least so many multiplications.
WORTH_COMPILING = 300_000_000


def find_nearest_anchors(frame: exact.Frame, anchors: Floats, k: int, points: Floats, fast: bool) -> Neighbors:
    """The k nearest anchors of a block of samples: candidates from float32 products are measured again in float64.

    ``fast`` uses compiled loops, which need Numba. Without them this takes half the time of `find_neighbors`, which
    does not know that all samples have the same few candidates.
    """
    count = min(k + SPARE, anchors.shape[0])
    if fast:
        found, beyond = _search_by_loops(frame, anchors, k, points, count)
    else:
        candidates, beyond = exact.search_frame(frame, points, None, count)
        found = measure_candidates(anchors, points, candidates, k)
    farthest = found.squared[:, -1]
    doubtful = np.flatnonzero(farthest - beyond > MISS_TOLERANCE * farthest)
    if doubtful.size and count < anchors.shape[0]:  # an outlier far from everything, say
        again = find_neighbors(anchors, k, points[doubtful])
        found.indices[doubtful], found.squared[doubtful] = again.indices, again.squared
    return found


def _search_by_loops(
    frame: exact.Frame, anchors: Floats, k: int, points: Floats, count: int
) -> tuple[Neighbors, Floats]:
    from afcm.compiled import anchors as anchor_loops

    n_rows, rows = points.shape[0], frame.transform(points)
    candidates, last = np.empty((n_rows, count), dtype=np.int32), np.empty(n_rows, dtype=np.float32)
    anchor_loops.find_candidates(rows, *anchor_loops.pad_to_groups(frame.columns, frame.norms), candidates, last)
    found = Neighbors(np.empty((n_rows, k), dtype=np.int32), np.empty((n_rows, k)))
    anchor_loops.measure_candidates(points, anchors, candidates, found.indices, found.squared)
    lengths = np.einsum("ij,ij->i", rows, rows).astype(np.float64)
    return found, np.maximum((last + lengths) / frame.scale**2 - exact.rounding_error(frame), 0)


@dataclass(frozen=True)
class AnchorSimilarity:
    """Gives samples their weights on the nearest anchors: rows that sum to 1."""

    anchors: Floats
    scales: Floats  # distance of each anchor to its k-th neighbor among the anchors, for the kernel "local"
    k: int
    kernel: str = "adaptive"
    bandwidth: float = 1.0
    keys: Integers | None = None  # `row_keys` of the fitted samples, in rising order
    numbers: Integers | None = None  # the fitted sample of each key

    @classmethod
    def from_anchors(cls, anchors: Floats, k: int, kernel: str = "adaptive", bandwidth: float = 1.0) -> Self:
        k = max(1, min(k, anchors.shape[0] - 1))
        scales = np.ones(anchors.shape[0])
        if kernel == "local" and anchors.shape[0] > 1:
            scales = np.sqrt(find_neighbors(anchors, k).squared[:, -1])
        return cls(anchors, scales, k, kernel, bandwidth)

    def remember(self, points: Floats) -> Self:
        """A copy that recognizes these samples in `find_twins`."""
        keys = self._keys(points)
        numbers = np.argsort(keys, kind="stable")
        return replace(self, keys=keys[numbers], numbers=numbers)

    def weigh(self, points: Floats) -> Any:
        """Q: the sparse matrix of weights, n×m, block by block."""
        n_samples, n_anchors = points.shape[0], self.anchors.shape[0]
        weights, indices = np.empty((n_samples, self.k)), np.empty((n_samples, self.k), dtype=np.int32)
        size = max(1, BLOCK_ELEMENTS // n_anchors)
        fast = n_anchors * points.size >= WORTH_COMPILING and optional.is_usable("numba", "fast")

        def fill(first: int) -> None:
            rows = slice(first, first + size)
            weights[rows], indices[rows] = self.weigh_block(points[rows], fast)

        tell = progress.start_stage("finding anchors")
        with threads.one_blas_thread():
            blocks = range(0, n_samples, size)
            threads.for_each(fill, blocks, lambda number: tell(min(number * size, n_samples), n_samples))
        return neighbor_matrix(weights, indices, n_anchors)

    def weigh_block(self, points: Floats, fast: bool) -> tuple[Floats, Integers]:
        """Weights and anchors of some samples; one too far from everything has its nearest anchor alone."""
        found = find_nearest_anchors(self._frame, self.anchors, min(self.k + 1, self.anchors.shape[0]), points, fast)
        weights = KERNELS[self.kernel](neighbor_lists(found, self.k, self.bandwidth, self.scales))
        totals = weights.sum(axis=1)
        weights[:, 0] = np.where(totals > 0, weights[:, 0], 1.0)
        return weights / np.where(totals > 0, totals, 1.0)[:, None], found.indices[:, : self.k]

    @cached_property
    def _frame(self) -> exact.Frame:
        return exact.make_frame(self.anchors, np.arange(self.anchors.shape[0]), self.anchors.mean(axis=0))

    def log_distances(self, points: Floats) -> Floats:
        """Logarithm of the distance to the k-th nearest anchor."""
        return log_distances(find_neighbors(self.anchors, self.k, points).squared[:, -1])

    def place(self, points: Floats) -> PlacedSamples:
        return PlacedSamples(self.weigh(points), self.find_twins(points))

    def find_twins(self, points: Floats) -> Integers:
        """The number of the fitted sample that each is identical to, or −1."""
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
    return AnchorSimilarity.from_anchors(anchors, k).weigh(points)
