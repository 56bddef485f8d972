"""Learns anchors: points that each stand for many samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from afcm._typing import Floats
from afcm.arrays import take_rows, to_host
from afcm.arrays.sampling import draw_rows

# At most so many steps of each 2-means.
BISECTION_STEPS = 10
# At most so many rounds of the k-means that moves the anchors of BKHK.
REFINING_STEPS = 10
# Anchors are learned from at most so many samples for each.
LEARNED_FROM = 20


def bkhk_anchors(points: Floats, n_anchors: int, random: np.random.RandomState) -> Floats:
    """BKHK, balanced and hierarchical k-means: halve the samples until each part is worth two anchors, O(n d log m).

    The parts are equally large, and the last 2-means is an ordinary one. Where ``n_anchors`` is no power of two the
    parts are as large as the anchors they are to get, and a part worth one gives its mean.
    """
    if n_anchors == 1:
        return points.mean(axis=0, keepdims=True)
    n_left = (n_anchors + 1) // 2
    cut = None if n_anchors == 2 else points.shape[0] * n_left // n_anchors
    left = bisect(points, cut, random)
    if cut is None:
        return np.stack([points[left].mean(axis=0), points[~left].mean(axis=0)])
    halves = ((points[left], n_left), (points[~left], n_anchors - n_left))
    return np.concatenate([bkhk_anchors(half, count, random) for half, count in halves])


def bisect(points: Floats, cut: int | None, random: np.random.RandomState) -> NDArray[np.bool_]:
    """2-means from two random samples: True for those on the left; exactly ``cut`` are, if it is given."""
    first, second = points[random.choice(points.shape[0], 2, replace=False)]
    left = nearer_to_first(points, first, second, cut)
    for _ in range(BISECTION_STEPS - 1):
        following = nearer_to_first(points, points[left].mean(axis=0), points[~left].mean(axis=0), cut)
        if np.array_equal(following, left):
            break
        left = following
    return left


def nearer_to_first(points: Floats, first: Floats, second: Floats, cut: int | None) -> NDArray[np.bool_]:
    """True for samples nearer to ``first``, or for the ``cut`` clearest of them; never for none or for all."""
    balance = (points - (first + second) / 2) @ (second - first)  # half the difference of the squared distances
    left = balance < 0
    if cut is None and left.any() and not left.all():
        return left
    chosen = np.zeros(points.shape[0], dtype=bool)
    chosen[np.argsort(balance, kind="stable")[: points.shape[0] // 2 if cut is None else cut]] = True
    return chosen


def k_means_anchors(points: Floats, n_anchors: int, random: np.random.RandomState) -> Floats:
    return np.asarray(KMeans(n_anchors, random_state=random).fit(points).cluster_centers_)


def random_anchors(points: Floats, n_anchors: int, random: np.random.RandomState) -> Floats:
    return points[np.sort(random.choice(points.shape[0], n_anchors, replace=False))]


METHODS: dict[str, Callable[[Floats, int, np.random.RandomState], Floats]] = {
    "bkhk": bkhk_anchors,
    "k-means": k_means_anchors,
    "random": random_anchors,
}


def learn_anchors(points: Any, n_anchors: int, random: np.random.RandomState) -> Floats:
    """Some rounds of k-means from the anchors of BKHK, whose balance puts too few where samples are sparse.

    At most `LEARNED_FROM` samples are used for each anchor; those in Dask's chunks are drawn where they are. If no more
    samples than anchors are given, they are the anchors.
    """
    if points.shape[0] > LEARNED_FROM * n_anchors:
        points = take_rows(points, draw_rows(points.shape[0], LEARNED_FROM * n_anchors, random))
    points = np.array(to_host(points), dtype=np.float64)
    if n_anchors >= points.shape[0]:
        return points
    model = KMeans(n_anchors, init=bkhk_anchors(points, n_anchors, random), max_iter=REFINING_STEPS)
    with warnings.catch_warnings():  # two anchors that coincide are no news here
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(model.fit(points).cluster_centers_)
