"""Validity of a soft partition on its own: coefficient, entropy, the Xie–Beni index and the fuzzy silhouette."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist, pdist
from scipy.special import entr

from afcm._typing import Floats, Integers
from afcm.metrics._checks import as_floats, as_memberships, as_weights, check_at_least, check_same_length


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


def fuzzy_silhouette(X: ArrayLike, memberships: ArrayLike, *, alpha: float = 1.0, block_size: int = 1024) -> float:
    """Mean crisp silhouette weighted by (largest − second largest membership)^alpha.

    Labels are the largest memberships, the first on ties. A sample alone in its cluster has silhouette 0,
    and so has one at distance 0 from its own and the nearest other cluster. Distances are Euclidean and
    are taken tile by tile, so time is O(n²) but memory O(n·c + block_size²).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The samples.
    memberships : array-like of shape (n_samples, n_clusters)
        Rows are nonnegative and sum to 1; at least two clusters must win some sample.
    alpha : float, default=1.0
        How much undecided samples are played down; 0 gives the plain mean silhouette.
    block_size : int, default=1024
        Side of a tile of distances; it changes memory and speed, not the value.

    Returns
    -------
    float
        A value in [−1, 1], larger for well separated clusters. When every sample is tied between its two
        best clusters all weights are 0: nothing speaks for or against the partition, and the value is 0.

    References
    ----------
    R. J. G. B. Campello and E. R. Hruschka, "A fuzzy extension of the silhouette width criterion for
    cluster analysis", Fuzzy Sets and Systems 157, 2858-2875, 2006.

    Examples
    --------
    >>> from afcm.metrics import fuzzy_silhouette
    >>> X = [[0.0], [1.0], [9.0], [10.0], [5.0]]
    >>> memberships = [[1, 0], [0.9, 0.1], [0.1, 0.9], [0, 1], [0.5, 0.5]]
    >>> round(fuzzy_silhouette(X, memberships), 3)
    0.78
    >>> round(fuzzy_silhouette(X, memberships, alpha=0), 3)
    0.624
    """
    X, memberships = as_floats(X, "X", ndim=2), as_memberships(memberships)
    check_same_length("memberships", len(memberships), "X", len(X))
    check_at_least(alpha, 0.0, "alpha", "use 1, the value of the paper")
    check_at_least(block_size, 1, "block_size", "use 1024, or as many rows as a square tile of memory allows")
    labels = memberships.argmax(axis=1)
    if np.all(labels == labels[0]):
        raise ValueError(
            f"memberships must favour at least 2 clusters; all {len(labels)} rows are largest in column "
            f"{labels[0]}; a silhouette compares clusters, so fit again with more clusters or less fuzziness"
        )
    second, largest = np.sort(memberships, axis=1)[:, -2:].T
    weights = (largest - second) ** alpha
    if not weights.any():
        return 0.0
    return float(np.average(_measure_silhouettes(X, labels, block_size), weights=weights))


def _measure_silhouettes(X: Floats, labels: Integers, block_size: int) -> Floats:
    """Return (b − a) / max(a, b) per sample, where a and b are mean distances to own and nearest cluster."""
    one_hot = np.eye(labels.max() + 1)[:, np.unique(labels)][labels]
    totals = np.zeros_like(one_hot)  # of distances, from each sample to each cluster
    tiles = [slice(start, start + block_size) for start in range(0, len(X), block_size)]
    for rows in tiles:
        for columns in tiles:
            totals[rows] += cdist(X[rows], X[columns]) @ one_hot[columns]
    own, sizes = one_hot.astype(bool), one_hot.sum(axis=0)
    peers = (one_hot @ sizes) - 1
    within = totals[own] / np.maximum(peers, 1)
    nearest = np.where(own, np.inf, totals / sizes).min(axis=1)
    widest = np.maximum(within, nearest)
    defined = (peers > 0) & (widest > 0)
    silhouettes = np.zeros(len(X))
    silhouettes[defined] = (nearest - within)[defined] / widest[defined]
    return silhouettes
