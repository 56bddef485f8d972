"""Merges identical samples into one node of the graph, whose mass is their number or total weight."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from afcm._typing import Floats, Integers
from afcm.arrays import backend_of, from_host, is_tensor, take_rows, to_host


class DistinctRows(NamedTuple):
    """The distinct rows of a table."""

    rows: Integers  # the number of one row of each kind
    masses: Floats | None  # the total weight of each; None if every row is its own kind, with weight 1
    inverse: Integers | slice  # where each row of the table is in ``rows``; −1 if its weight is 0

    def take(self, table: Any) -> Any:
        """The distinct rows of the table; without a copy where no row has moved."""
        return table if isinstance(self.inverse, slice) else take_rows(table, self.rows)

    def arrange(self, order: Integers) -> DistinctRows:
        """Put the distinct rows into another order."""
        places = np.empty(order.size + 1, np.intp)
        places[order], places[-1] = np.arange(order.size), -1  # −1 stays −1
        masses = None if self.masses is None else take_rows(self.masses, order)
        inverse = places[:-1] if isinstance(self.inverse, slice) else places[self.inverse]
        return DistinctRows(self.rows[order], masses, inverse)


def merge_duplicates(points: Any, sample_weight: Floats | None = None, *, merge: bool = True) -> DistinctRows:
    """Make identical rows one with their total weight, and drop rows of weight 0.

    With duplicates or weights the rows come in an order that depends on their contents alone, so that repeating a
    sample and doubling its weight give the same problem to the last bit. Without either no row moves.
    """
    n = points.shape[0]
    everything = DistinctRows(np.arange(n), None, slice(None))
    if not merge and sample_weight is None:
        return everything
    dense = not sp.issparse(points)
    if sample_weight is None and dense and not backend_of(points).may_have_equal_rows(points):
        return everything
    if is_tensor(points):
        found = merge_duplicates(to_host(points), sample_weight, merge=merge)  # duplicates are sorted out on the host
        return found._replace(masses=from_host(found.masses, points))
    first, inverse = _first_of_equals(points) if merge else (np.arange(n), np.arange(n))
    if sample_weight is None and first.size == n:
        return everything
    weights = np.ones(n) if sample_weight is None else sample_weight
    masses = np.bincount(inverse, weights=weights).astype(np.float64)
    kept = masses > 0
    renumbered = np.where(kept, np.cumsum(kept) - 1, -1)
    return DistinctRows(first[kept], masses[kept], renumbered[inverse])


def _first_of_equals(points: Any) -> tuple[Integers, Integers]:
    """The first of each group of equal rows, in the order of their contents, and the group of each row."""
    keys = _rows_as_objects(points) if sp.issparse(points) else row_keys(points)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if sp.issparse(points) or np.array_equal(points[first[inverse]], points):  # no two different rows share a key
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
