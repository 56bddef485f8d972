"""Bezdek's partition entropy: how undecided the memberships are."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from afcm.metrics._checks import as_memberships, as_weights


def partition_entropy(
    memberships: ArrayLike, *, normalized: bool = False, sample_weight: ArrayLike | None = None
) -> float:
    """Mean over samples of −Σⱼ uᵢⱼ log uᵢⱼ, with 0·log 0 = 0.

    Parameters
    ----------
    memberships : array-like of shape (n_samples, n_clusters)
        Rows are nonnegative and sum to 1.
    normalized : bool, default=False
        Divide by log c, the entropy of uniform memberships, so that values lie in [0, 1].
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the mean; equal by default.

    Returns
    -------
    float
        Entropy in nats, in [0, log c]: 0 for a hard partition, and for a single cluster.

    References
    ----------
    J. C. Bezdek, "Pattern Recognition with Fuzzy Objective Function Algorithms", Plenum, 1981.

    Examples
    --------
    >>> from afcm.metrics import partition_entropy
    >>> round(partition_entropy([[1.0, 0.0], [0.5, 0.5]]), 4)
    0.3466
    >>> partition_entropy([[1.0, 0.0], [0.5, 0.5]], normalized=True)
    0.5
    """
    memberships = as_memberships(memberships)
    weights = as_weights(sample_weight, len(memberships))
    entropy = max(0.0, float(np.average(entr(memberships).sum(axis=1), weights=weights)))
    n_clusters = memberships.shape[1]
    return entropy / float(np.log(n_clusters)) if normalized and n_clusters > 1 else entropy
