"""Samples that densities inside clusters are learned from: which rows, and which of them are a cluster's core."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from afcm._typing import Floats, Integers, Masks

# The densest share of each cluster, by mass.
CORE = 0.7
# Samples that a small cluster keeps when not all samples are used.
MIN_ROWS = 50


def rows_by_cluster(labels: Integers, n_clusters: int) -> Sequence[Integers]:
    """The rows of each cluster in rising order; none for an empty one."""
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    return [order[low:high] for low, high in pairwise(bounds)]


def draw_rows(labels: Integers, n_clusters: int, limit: int) -> tuple[Integers, Floats]:
    """All rows, or about ``limit`` random ones, and factors of their masses.

    Each cluster is drawn from by its size, and a small one more than that; its rows then count less. The seed is fixed.
    """
    n = len(labels)
    if n <= limit:
        return np.arange(n), np.ones(n)
    random, drawn, factors = np.random.RandomState(0), [], []
    for rows in rows_by_cluster(labels, n_clusters):
        wanted = len(rows) * limit / n
        size = min(len(rows), max(round(wanted), MIN_ROWS))
        drawn.append(random.permutation(rows)[:size])
        factors.append(np.full(size, wanted / max(size, 1)))
    return np.concatenate(drawn), np.concatenate(factors)


def dense_core(labels: Integers, n_clusters: int, log_distances: Floats, masses: Floats) -> Masks:
    """Which samples are in the densest 70 % of their cluster's mass; equally dense samples are treated alike."""
    core = np.zeros(len(labels), dtype=bool)
    for rows in rows_by_cluster(labels, n_clusters):
        if len(rows):
            own = log_distances[rows]
            order = np.argsort(own)
            sums = np.cumsum(masses[rows][order])
            at = int(np.searchsorted(sums, CORE * sums[-1] * (1.0 - 1e-12)))
            core[rows] = own <= own[order[min(at, len(rows) - 1)]]
    return core
