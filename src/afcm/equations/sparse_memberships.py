"""Memberships in very many clusters, of which each sample has the largest few: rows of a SciPy CSR array.

What is kept is not changed: a row sums to what its clusters hold together, and the rest belongs to the clusters that
are left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from afcm._typing import Floats, Integers

# Clusters are left out as long as they hold no more than this of a sample together, and from so many on in any case.
MOST_LEFT, MOST_KEPT = 1e-3, 16


class RankedMemberships(NamedTuple):
    """The clusters of each sample from the largest membership to the smallest, n×k, and their memberships.

    Where a sample has fewer clusters, their numbers are −1 and their memberships 0.
    """

    clusters: Integers
    values: Floats


def keep_largest(memberships: Floats) -> sparse.csr_array:
    """The fewest largest memberships of each row that leave at most `MOST_LEFT`, and never more than `MOST_KEPT`."""
    n_rows, n_clusters = memberships.shape
    n_kept = min(MOST_KEPT, n_clusters)
    columns = np.sort(np.argpartition(memberships, n_clusters - n_kept, axis=1)[:, n_clusters - n_kept :], axis=1)
    values = np.take_along_axis(memberships, columns, axis=1)
    falling = np.argsort(-values, axis=1, kind="stable")  # of equal ones the first
    ranked = np.take_along_axis(values, falling, axis=1)
    enough = np.cumsum(ranked, axis=1, dtype=np.float64) - ranked < 1 - MOST_LEFT
    enough[:, 0] = True
    kept = np.empty_like(enough)
    np.put_along_axis(kept, falling, enough, axis=1)
    starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    parts = values[kept], columns[kept].astype(np.int32), starts.astype(np.int32 if starts[-1] < 2**31 else np.int64)
    return sparse.csr_array(parts, shape=(n_rows, n_clusters))


def largest_of_rows(memberships: sparse.csr_array) -> Floats:
    """``max_j u_ij``; no row is empty."""
    return np.maximum.reduceat(memberships.data, memberships.indptr[:-1]) if memberships.shape[0] else memberships.data


def find_largest(memberships: sparse.csr_array) -> Integers:
    """``argmax_j u_ij``, the first on ties."""
    counts = np.diff(memberships.indptr)
    is_largest = memberships.data == np.repeat(largest_of_rows(memberships), counts)
    columns = np.where(is_largest, memberships.indices, memberships.shape[1])
    found = np.minimum.reduceat(columns, memberships.indptr[:-1]) if memberships.shape[0] else columns
    return np.asarray(found, dtype=np.int64)


def rank_memberships(memberships: sparse.csr_array) -> RankedMemberships:
    """The entries of each row, the largest first, of equal ones the first."""
    counts = np.diff(memberships.indptr)
    rows = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((memberships.indices, -memberships.data, rows))
    places = np.arange(rows.size) - np.repeat(memberships.indptr[:-1], counts)
    shape = len(counts), int(counts.max(initial=1))
    clusters, values = np.full(shape, -1, dtype=np.int64), np.zeros(shape, dtype=memberships.dtype)
    clusters[rows, places], values[rows, places] = memberships.indices[order], memberships.data[order]
    return RankedMemberships(clusters, values)


def mean_left_out(memberships: sparse.csr_array) -> Floats:
    """The mean membership of a sample in the clusters that its row leaves out; 0 where it leaves none."""
    n_left = memberships.shape[1] - np.diff(memberships.indptr)
    rest = np.clip(1.0 - np.asarray(memberships.sum(axis=1)), 0.0, None)
    return np.where(n_left > 0, rest / np.maximum(n_left, 1), 0.0)


def to_dense_rows(memberships: Any, rows: Any) -> Any:
    """Some rows as a dense array, of memberships in either form."""
    taken = memberships[rows]
    return taken.toarray() if sparse.issparse(taken) else taken
