"""How columns relate: their robust range, their squared distances, which say the same, and which go together.

A column is a block of coordinates, n×p; NaN is a missing value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.neighbors import NearestNeighbors

from afcm._typing import Floats

# Values beyond this many interquartile ranges from the quartiles are outliers and have no part in the range (Tukey's
# "far out"). Without outliers the range is that from the least to the largest value.
FENCE = 3.0
# Two columns say the same as far as their squared correlation goes beyond this.
SAME = 0.98
# Neighbors in the other columns that are asked whether a column agrees, and rows that are looked at.
N_NEIGHBORS, N_ROWS = 10, 2000


def find_inliers(values: Floats) -> Floats:
    """Return the known values inside Tukey's fences; quartiles are of the values that differ from the commonest.

    A column of which more than half the values are equal has no interquartile range otherwise.
    """
    known = values[~np.isnan(values)]
    low, high = np.quantile(known, [0.25, 0.75])
    if low == high:
        low, high = np.quantile(known[known != low], [0.25, 0.75]) if (known != low).any() else (low, high)
        low, high = min(low, np.median(known)), max(high, np.median(known))
    reach = FENCE * (high - low)
    return known[(known >= low - reach) & (known <= high + reach)]


def mean_squared_distance(block: Floats) -> float:
    """``E|z_i − z_l|²`` of two rows drawn at random, missing values passed over: twice the sum of the variances."""
    return 2 * float(np.nanvar(block, axis=0).sum())


def neighbor_agreement(block: Floats, others: Floats) -> float:
    """How far rows that are near each other in the other columns agree in this one, from 0 (as chance) to 1.

    ``1 − E|z_i − z_l|² over neighbors / E|z_i − z_l|² over all pairs``. Of a category this is
    ``(a − Σ_v p_v²) / (1 − Σ_v p_v²)`` with a the share of neighbors of the same category: the part of the column's
    variance that the place among the other columns explains. No values may be missing.
    """
    n_samples = block.shape[0]
    rows = np.random.default_rng(0).permutation(n_samples)[:N_ROWS]
    count = max(1, min(N_NEIGHBORS, rows.size // N_NEIGHBORS))  # few rows have few that are near
    block, others = block[rows], others[rows]
    near = NearestNeighbors(n_neighbors=count).fit(others).kneighbors(return_distance=False)
    apart = np.sum((block[:, None] - block[near]) ** 2, axis=2).mean()
    total = mean_squared_distance(block)
    return float(np.clip(1 - apart / total, 0, 1)) if total > 0 else 0.0


def block_correlations(blocks: Sequence[Floats]) -> Floats:
    """The RV coefficient of every two blocks without missing values: of two single columns, their squared correlation.

    ``|Z_jᵀ Z_k|² / (|Z_jᵀ Z_j| |Z_kᵀ Z_k|)`` of centered blocks, with Frobenius norms.
    """
    widths = [block.shape[1] for block in blocks]
    joined = np.hstack(blocks)
    joined = joined - joined.mean(axis=0)
    squares = (joined.T @ joined) ** 2
    starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
    sums = np.add.reduceat(np.add.reduceat(squares, starts, axis=0), starts, axis=1)
    norms = np.sqrt(np.diag(sums))
    return np.divide(sums, np.outer(norms, norms), out=np.eye(len(blocks)), where=np.outer(norms, norms) > 0)


def measure_sameness(blocks: Sequence[Floats]) -> Floats:
    """How far every two columns say the same: 0 up to a squared correlation of `SAME`, rising to 1 for copies."""
    return np.clip((block_correlations(blocks) - SAME) / (1 - SAME), 0, 1)
