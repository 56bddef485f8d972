"""Ambiguity of samples: the doubt of a soft clustering about each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from afcm.equations.sparse_memberships import rank_memberships

# A sample is called ambiguous from here on: its best cluster leads the second by no more than half of the whole.
AMBIGUOUS = 0.5
BLOCK_ROWS = 1 << 16


def ambiguity(memberships: Any) -> NDArray[np.floating[Any]]:
    """Return 1 minus the lead of the largest membership over the second: 0 for a certain sample, 1 for a tie.

    Parameters
    ----------
    memberships : array or CSR array (n_samples, n_clusters)

    Returns
    -------
    array (n_samples,)

    Examples
    --------
    >>> from afcm.metrics.ambiguity import ambiguity
    >>> ambiguity([[1.0, 0.0], [0.75, 0.25], [0.5, 0.5]])
    array([0. , 0.5, 1. ])
    """
    if sparse.issparse(memberships):  # two columns at least: a cluster that is left out has 0
        ranked = rank_memberships(memberships).values
        memberships = np.pad(ranked, ((0, 0), (0, 1))) if memberships.shape[1] > 1 else ranked
    memberships = np.asarray(memberships)
    doubts = np.zeros(memberships.shape[0], dtype=memberships.dtype)
    if memberships.shape[1] > 1:
        for start in range(0, doubts.size, BLOCK_ROWS):  # a copy of a block, not of all
            rows = slice(start, start + BLOCK_ROWS)
            second, first = np.partition(memberships[rows], -2, axis=1)[:, -2:].T
            doubts[rows] = np.clip(1 - (first - second), 0, 1)
    return doubts


def is_ambiguous(doubts: Any) -> Any:
    """Tell which samples deserve a look, from their ambiguity."""
    return doubts >= AMBIGUOUS
