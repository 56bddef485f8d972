"""The fuzzy silhouette: crisp silhouettes, counted by how decided each sample is."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from afcm._typing import Floats, Integers
from afcm.metrics._checks import as_floats, as_memberships, check_at_least, check_same_length


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
    totals = _sum_distances(X, one_hot, block_size)
    own, sizes = one_hot.astype(bool), one_hot.sum(axis=0)
    peers = (one_hot @ sizes) - 1
    within = totals[own] / np.maximum(peers, 1)
    nearest = np.where(own, np.inf, totals / sizes).min(axis=1)
    widest = np.maximum(within, nearest)
    defined = (peers > 0) & (widest > 0)
    silhouettes = np.zeros(len(X))
    silhouettes[defined] = (nearest - within)[defined] / widest[defined]
    return silhouettes


def _sum_distances(X: Floats, one_hot: Floats, block_size: int) -> Floats:
    """Return the sum of distances from each sample to each cluster, in tiles of block_size²."""
    totals = np.zeros_like(one_hot)
    tiles = [slice(start, start + block_size) for start in range(0, len(X), block_size)]
    for rows in tiles:
        for columns in tiles:
            totals[rows] += cdist(X[rows], X[columns]) @ one_hot[columns]
    return totals
