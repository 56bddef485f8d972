"""Bezdek's partition coefficient and its rescaled form: how crisp a soft partition is."""

import numpy as np
from numpy.typing import ArrayLike

from afcm.metrics._checks import as_memberships, as_weights


def partition_coefficient(memberships: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean over samples of Σⱼ uᵢⱼ²: 1 for a hard partition, 1/c for uniform memberships.

    It looks at the memberships alone: a crisp partition of the wrong clusters scores 1 too.

    Parameters
    ----------
    memberships : array-like of shape (n_samples, n_clusters)
        Rows are nonnegative and sum to 1.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the mean; equal by default.

    Returns
    -------
    float
        A value in [1/c, 1].

    References
    ----------
    J. C. Bezdek, "Pattern Recognition with Fuzzy Objective Function Algorithms", Plenum, 1981.

    Examples
    --------
    >>> from afcm.metrics import partition_coefficient
    >>> partition_coefficient([[1.0, 0.0], [0.5, 0.5]])
    0.75
    """
    memberships = as_memberships(memberships)
    weights = as_weights(sample_weight, len(memberships))
    return float(np.average((memberships**2).sum(axis=1), weights=weights))


def normalized_partition_coefficient(memberships: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Partition coefficient on a scale from 0 (uniform) to 1 (hard): (c·PC − 1) / (c − 1).

    The plain coefficient falls as clusters are added; this one can be compared across their number.

    Parameters
    ----------
    memberships : array-like of shape (n_samples, n_clusters)
        Rows are nonnegative and sum to 1.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the mean; equal by default.

    Returns
    -------
    float
        A value in [0, 1]; a single cluster is hard, so its value is 1.

    References
    ----------
    R. N. Davé, "Validating fuzzy partitions obtained through c-shells clustering",
    Pattern Recognition Letters 17, 613-623, 1996.

    Examples
    --------
    >>> from afcm.metrics import normalized_partition_coefficient
    >>> normalized_partition_coefficient([[1.0, 0.0], [0.5, 0.5]])
    0.5
    """
    memberships = as_memberships(memberships)
    n_clusters = memberships.shape[1]
    coefficient = partition_coefficient(memberships, sample_weight=sample_weight)
    return (n_clusters * coefficient - 1) / (n_clusters - 1) if n_clusters > 1 else 1.0
