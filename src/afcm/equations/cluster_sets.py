"""The smallest sets of clusters that hold a given share of the memberships."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace


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
