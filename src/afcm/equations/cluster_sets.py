"""The smallest sets of clusters that hold a given share of the memberships."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace
from scipy import sparse

from afcm.equations.sparse_memberships import rank_memberships


def smallest_sets(memberships: Any, alpha: float) -> Any:
    """True where a cluster is among the fewest whose memberships sum to at least 1 − alpha; n×c.

    Clusters enter by their memberships, the largest first, of equal ones the first. A sum that misses 1 − alpha by
    rounding reaches it.
    """
    xp = array_namespace(memberships)
    order = xp.argsort(memberships, axis=1, descending=True, stable=True)
    ranked = xp.take_along_axis(memberships, order, axis=1)
    before = xp.cumulative_sum(ranked, axis=1) - ranked
    rounding = memberships.shape[1] * float(xp.finfo(memberships.dtype).eps)
    kept = before < 1 - alpha - rounding
    kept[:, 0] = True
    return xp.take_along_axis(kept, xp.argsort(order, axis=1), axis=1)


def sparse_sets(memberships: sparse.csr_array, alpha: float) -> sparse.csr_array:
    """`smallest_sets` of the largest memberships alone; all of a row that sums to less than 1 − alpha."""
    clusters, values = rank_memberships(memberships)
    inside = smallest_sets(values, alpha) & (clusters >= 0)
    rows = np.repeat(np.arange(len(clusters)), inside.sum(axis=1))
    return sparse.csr_array((np.ones(rows.size, dtype=bool), (rows, clusters[inside])), shape=memberships.shape)
