"""Anchors that stand for many samples, and the samples' weights on their nearest anchors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from afcm import cells, extras, neighbors, stages, threads
from afcm import graph as graphs
from afcm.neighbors import Neighbors
from afcm.similarity import Placed

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.signedinteger[Any]]

# Steps of each 2-means.
BISECTION_STEPS = 10
# Rounds of k-means that move anchors to where they serve best.
REFINING_STEPS = 10
# Samples for each anchor from which anchors are learned.
LEARNED_FROM = 20
# Candidates beyond k that survive float32 and are measured again, and distances held at a time.
SPARE, BLOCK_ELEMENTS = 2, 1_000_000
# Multiplications that are done before Numba is loaded.
WORTH_COMPILING = 300_000_000


def anchors(points: Floats, n_anchors: int, random: np.random.RandomState) -> Floats:
    """BKHK, balanced and hierarchical k-means: halve the samples until each part is worth two anchors, O(n d log m).

    The parts are equally large, and the last 2-means is an ordinary one. Where ``n_anchors`` is no power of two the
    parts are as large as the anchors they are to get, and a part worth one gives its mean.
    """
    if n_anchors == 1:
        return points.mean(axis=0, keepdims=True)
    n_left = (n_anchors + 1) // 2
    cut = None if n_anchors == 2 else points.shape[0] * n_left // n_anchors
    left = bisection(points, cut, random)
    if cut is None:
        return np.stack([points[left].mean(axis=0), points[~left].mean(axis=0)])
    halves = ((points[left], n_left), (points[~left], n_anchors - n_left))
    return np.concatenate([anchors(half, count, random) for half, count in halves])


def bisection(points: Floats, cut: int | None, random: np.random.RandomState) -> NDArray[np.bool_]:
    """2-means from two random samples: which are on the left. With ``cut`` exactly so many are."""
    first, second = points[random.choice(points.shape[0], 2, replace=False)]
    left = np.zeros(points.shape[0], dtype=bool)
    for _ in range(BISECTION_STEPS):
        following = left_of(points, first, second, cut)
        if np.array_equal(following, left):
            break
        left = following
        first, second = points[left].mean(axis=0), points[~left].mean(axis=0)
    return left


def left_of(points: Floats, first: Floats, second: Floats, cut: int | None) -> NDArray[np.bool_]:
    """Nearer to ``first`` than to ``second``: by sign, or the ``cut`` clearest (neither side is ever empty)."""
    balance = (points - (first + second) / 2) @ (second - first)  # half the difference of the squared distances
    left = balance < 0
    if cut is None and left.any() and not left.all():
        return left
    chosen = np.zeros(points.shape[0], dtype=bool)
    chosen[np.argsort(balance, kind="stable")[: points.shape[0] // 2 if cut is None else cut]] = True
    return chosen


def k_means_anchors(points: Floats, n_anchors: int, random: np.random.RandomState) -> Floats:
    """Centres of k-means."""
    return KMeans(n_anchors, n_init=1, random_state=random).fit(points).cluster_centers_


def random_anchors(points: Floats, n_anchors: int, random: np.random.RandomState) -> Floats:
    """Samples drawn at random."""
    return points[np.sort(random.choice(points.shape[0], n_anchors, replace=False))]


METHODS: dict[str, Callable[[Floats, int, np.random.RandomState], Floats]] = {
    "bkhk": anchors,
    "k-means": k_means_anchors,
    "random": random_anchors,
}


def refined_anchors(points: Floats, n_anchors: int, random: np.random.RandomState) -> Floats:
    """Some rounds of k-means from those of BKHK, whose balance puts too few where samples are sparse."""
    begin = anchors(points, n_anchors, random)
    model = KMeans(n_anchors, init=begin, n_init=1, max_iter=REFINING_STEPS, random_state=random)
    with warnings.catch_warnings():  # two anchors that coincide are no news here
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(model.fit(points).cluster_centers_)


def learned(points: Floats, n_anchors: int, random: np.random.RandomState) -> Floats:
    """Anchors of many samples, from at most `LEARNED_FROM` for each; as many anchors as samples are the samples."""
    if n_anchors >= points.shape[0]:
        return np.array(points, dtype=np.float64)
    if points.shape[0] > LEARNED_FROM * n_anchors:
        points = random_anchors(points, LEARNED_FROM * n_anchors, random)
    return refined_anchors(np.asarray(points, dtype=np.float64), n_anchors, random)


def nearest_anchors(frame: cells.Frame, anchors: Floats, k: int, points: Floats, fast: bool = False) -> Neighbors:
    """The k nearest anchors of a block of samples: candidates from float32 products are measured again in float64.

    ``fast``: by compiled loops, which need Numba. Without them it takes half the time of `neighbors.nearest`, which
    makes no use of all samples having the same few candidates.
    """
    count = min(k + SPARE, anchors.shape[0])
    found, beyond = (_by_loops if fast else _by_products)(frame, anchors, k, points, count)
    farthest = found.squared[:, -1]
    doubtful = np.flatnonzero(farthest - beyond > neighbors.CARELESSNESS * farthest)
    if doubtful.size and count < anchors.shape[0]:  # an outlier far from everything, say
        again = neighbors.nearest(anchors, k, points[doubtful])
        found.indices[doubtful], found.squared[doubtful] = again.indices, again.squared
    return found


def _by_products(frame: cells.Frame, anchors: Floats, k: int, points: Floats, count: int) -> tuple[Neighbors, Floats]:
    candidates, beyond = cells.search(frame, points, None, count)
    return neighbors.measured(anchors, points, candidates, k), beyond


def _by_loops(frame: cells.Frame, anchors: Floats, k: int, points: Floats, count: int) -> tuple[Neighbors, Floats]:
    from afcm.backends import anchor_loops

    n_rows, rows = points.shape[0], frame.rows(points)
    candidates, last = np.empty((n_rows, count), dtype=np.int32), np.empty(n_rows, dtype=np.float32)
    anchor_loops.nearest(rows, *anchor_loops.padded(frame.columns, frame.norms), candidates, last)
    found = Neighbors(np.empty((n_rows, k), dtype=np.int32), np.empty((n_rows, k)))
    anchor_loops.measured(points, anchors, candidates, found.indices, found.squared)
    lengths = np.einsum("ij,ij->i", rows, rows).astype(np.float64)
    return found, np.maximum((last + lengths) / frame.scale**2 - cells.rounding(frame), 0)


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
            scales = np.sqrt(neighbors.nearest(anchors, k).squared[:, -1])
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
        fast = n_anchors * points.size >= WORTH_COMPILING and extras.usable("numba", "fast")

        def fill(first: int) -> None:
            rows = slice(first, first + size)
            weights[rows], indices[rows] = self.weights(points[rows], fast)

        tell = stages.begin("finding anchors")
        with threads.one_blas_thread():
            blocks = range(0, n_samples, size)
            threads.for_each(fill, blocks, lambda number: tell(min(number * size, n_samples), n_samples))
        return graphs.directed(weights, indices, n_anchors)  # type: ignore[arg-type]  # 32 bits will do

    def weights(self, points: Floats, fast: bool = False) -> tuple[Floats, Integers]:
        """For a block of samples their anchors and weights; one too far from everything has its nearest alone."""
        found = nearest_anchors(self._frame, self.anchors, min(self.k + 1, self.anchors.shape[0]), points, fast)
        weights = graphs.KERNELS[self.kernel](graphs.neighbor_lists(found, self.k, self.bandwidth, self.scales))
        totals = weights.sum(axis=1)
        weights[:, 0] = np.where(totals > 0, weights[:, 0], 1.0)
        return weights / np.where(totals > 0, totals, 1.0)[:, None], found.indices[:, : self.k]

    @cached_property
    def _frame(self) -> cells.Frame:
        return cells.framed(self.anchors, np.arange(self.anchors.shape[0]), self.anchors.mean(axis=0))

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
        return graphs.row_keys(np.asarray(points, dtype=np.float64)).view(np.int64)


def anchor_weights(points: Floats, anchors: Floats, k: int) -> Any:
    """The sparse row-stochastic matrix B (n×m): ``b_ij = (e_{k+1} − e_j) / (k e_{k+1} − Σ_l e_l)``.

    e are the squared distances to the k + 1 nearest anchors, so that k is at most m − 1. Where all are equal so are
    the weights.
    """
    return AnchorSimilarity.among(anchors, k).rows(points)
