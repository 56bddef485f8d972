"""The Xie–Beni index: compactness of the clusters over the separation of their centers."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist, pdist

from afcm.metrics._checks import as_floats, as_memberships, check_at_least, check_same_length


def xie_beni(X: ArrayLike, memberships: ArrayLike, centers: ArrayLike, *, m: float = 2.0) -> float:
    """Compactness over separation: Σᵢⱼ uᵢⱼᵐ ‖xᵢ − vⱼ‖² / (n · minⱼ≠ₖ ‖vⱼ − vₖ‖²). Smaller is better.

    It needs centers, hence suits round clusters. It tends to fall as the number of clusters nears
    n_samples, so compare it over small numbers of clusters.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The samples.
    memberships : array-like of shape (n_samples, n_clusters)
        Rows are nonnegative and sum to 1.
    centers : array-like of shape (n_clusters, n_features)
        Cluster centers, in the order of the columns of `memberships`.
    m : float, default=2.0
        Exponent of the memberships: 2 in the original index; the fuzzifier of the fit in its common
        extension.

    Returns
    -------
    float
        A nonnegative value; infinite when two centers coincide.

    References
    ----------
    X. L. Xie and G. Beni, "A validity measure for fuzzy clustering", IEEE Transactions on Pattern
    Analysis and Machine Intelligence 13, 841-847, 1991.

    Examples
    --------
    >>> from afcm.metrics import xie_beni
    >>> X = [[0.0], [2.0], [10.0], [12.0]]
    >>> xie_beni(X, [[1, 0], [1, 0], [0, 1], [0, 1]], centers=[[1.0], [11.0]])
    0.01
    """
    X, memberships = as_floats(X, "X", ndim=2), as_memberships(memberships)
    centers = as_floats(centers, "centers", ndim=2)
    check_same_length("memberships", len(memberships), "X", len(X))
    check_at_least(m, 1.0, "m", "pass the fuzzifier of the fit, or 2 for the original index")
    if centers.shape != (memberships.shape[1], X.shape[1]):
        raise ValueError(
            f"centers must have shape {(memberships.shape[1], X.shape[1])}, a row per column of memberships "
            f"and a column per feature of X; got {centers.shape}; pass the centres of the same fit"
        )
    if len(centers) < 2:
        raise ValueError("centers must have at least 2 rows; got 1; one cluster has no separation to compare")
    separation = pdist(centers, "sqeuclidean").min()
    compactness = (memberships**m * cdist(X, centers, "sqeuclidean")).sum() / len(X)
    return float(compactness / separation) if separation > 0 else float(np.inf)
