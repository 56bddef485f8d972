"""Memberships in very many clusters, of which each sample has the largest few: rows of a SciPy CSR array.

What is kept is not changed: a row sums to what its clusters hold together, and the rest belongs to the clusters that
are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace
from scipy import sparse

from afcm._typing import Floats, Integers

# Clusters are left out as long as they hold no more than this of a sample together, and from so many on in any case.
MOST_LEFT, MOST_KEPT = 1e-3, 16
# Of a fit's own samples so many are kept, however small: a mixture asks which clusters a walk visits at all.
FINE_KEPT = 64
# Entries that dense rows have at most at a time.
BLOCK_ENTRIES = 1 << 20


class RankedMemberships(NamedTuple):
    """The clusters of each sample from the largest membership to the smallest, n×k, and their memberships.

    Where a sample has fewer clusters, their numbers are −1 and their memberships 0.
    """

    clusters: Integers
    values: Floats


def keep_largest(memberships: Floats, most_left: float = MOST_LEFT, most_kept: int = MOST_KEPT) -> sparse.csr_array:
    """The fewest largest memberships of each row that leave at most ``most_left``; at most ``most_kept``."""
    n_rows, n_clusters = memberships.shape
    n_kept = min(most_kept, n_clusters)
    columns = np.sort(np.argpartition(memberships, n_clusters - n_kept, axis=1)[:, n_clusters - n_kept :], axis=1)
    values = np.take_along_axis(memberships, columns, axis=1)
    falling = np.argsort(-values, axis=1, kind="stable")  # of equal ones the first
    ranked = np.take_along_axis(values, falling, axis=1)
    enough = np.cumsum(ranked, axis=1, dtype=np.float64) - ranked < 1 - most_left
    enough &= ranked > 0
    enough[:, 0] = True
    kept = np.empty_like(enough)
    np.put_along_axis(kept, falling, enough, axis=1)
    starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    parts = values[kept], columns[kept].astype(np.int32), starts.astype(np.int32 if starts[-1] < 2**31 else np.int64)
    return sparse.csr_array(parts, shape=(n_rows, n_clusters))


def keep_blocks(
    make_rows: Callable[[slice], Floats],
    shape: tuple[int, int],
    most_left: float = MOST_LEFT,
    most_kept: int = MOST_KEPT,
) -> sparse.csr_array:
    """`keep_largest` of an array of this shape, some rows of which are made at a time."""
    size = max(1, BLOCK_ENTRIES // shape[1])
    blocks = (make_rows(slice(start, start + size)) for start in range(0, shape[0], size))
    return sparse.vstack([keep_largest(block, most_left, most_kept) for block in blocks], format="csr")


def keep_fine(memberships: Floats) -> sparse.csr_array:
    """The `FINE_KEPT` largest of each row: those that a fit keeps of its own memberships."""
    return keep_blocks(lambda rows: memberships[rows], memberships.shape, 0.0, FINE_KEPT)


def map_dense_rows(function: Callable[..., Floats], memberships: sparse.csr_array, *others: Floats) -> sparse.csr_array:
    """`keep_largest` of a function of dense rows, and of the same rows of other arrays; its width may differ."""

    def make_rows(rows: slice) -> Floats:
        return function(memberships[rows].toarray(), *(other[rows] for other in others))

    return keep_blocks(make_rows, memberships.shape)


def replace_rows(memberships: sparse.csr_array, numbers: Integers, rows: sparse.csr_array) -> sparse.csr_array:
    """The memberships with other rows in place of those with these numbers."""
    n_rows = memberships.shape[0]
    chosen = np.arange(n_rows)
    chosen[numbers] = n_rows + np.arange(len(numbers))
    return sparse.vstack([memberships, rows], format="csr")[chosen]


def put_rows(values: Any, where: Any, rows: Any) -> Any:
    """The values with other rows at these places; dense ones are changed themselves."""
    if sparse.issparse(values):
        return replace_rows(values, where, rows if sparse.issparse(rows) else keep_largest(rows))
    values[where] = rows
    return values


def choose_twins(twins: Any, own: Any, others: Any) -> Any:
    """The row of ``own`` that each number names, and where it is −1 that of ``others``; both in the same form."""
    if not sparse.issparse(own):
        return array_namespace(own).where(twins[:, None] >= 0, own[twins], others)
    there = np.flatnonzero(twins >= 0)
    return replace_rows(others, there, own[twins[there]])


def argmax_rows(memberships: Any) -> Any:
    """``argmax_j u_ij``, the first on ties, of memberships in either form."""
    if sparse.issparse(memberships):
        return find_largest(memberships)
    return array_namespace(memberships).argmax(memberships, axis=1)


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
