"""Rand indices of two soft partitions: the Frobenius (adjusted) Rand index.

Why this one. Putting soft memberships in the Hubert–Arabie formula (Campello 2007, Brouwer 2009, Anderson
et al. 2010) scores a soft partition below 1 against itself. Two published indices do not: the concordance of
Hüllermeier et al. (2012), adjusted by D'Ambrosio et al. (2021), which visits all n² pairs and sorts them to
adjust, and the Frobenius index of Andrews, Browne and Hvingelby (2022), which needs inner products of the
pair matrices only. Those come from the c₁ × c₂ table of the memberships, so it costs O(n·c₁·c₂): hence it.

The bonds of a partition U are A = s·UUᵀ, where s = ⟨UUᵀ, 11ᵀ⟩ / ⟨UUᵀ, UUᵀ⟩ (s = 1 for hard U). Then
fuzzy Rand = 1 − ‖A − B‖² / (n(n − 1)), and its adjusted form puts the mean of ‖A − B‖² over all orders of
the samples in the place of n(n − 1).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from afcm._typing import Floats
from afcm.metrics._checks import as_memberships, check_same_length

ROUNDING = 1e-13  # a distance this small, relative to its terms, is a difference of equal numbers
FLAT = 1e-28  # bonds whose entries all agree to 14 digits (squared) say that all samples are alike


class _Distances(NamedTuple):
    observed: float  # ‖A − B‖²
    expected: float  # its mean when the samples of one partition are shuffled
    n_pairs: int  # ordered pairs of distinct samples


def fuzzy_rand(first: ArrayLike, second: ArrayLike) -> float:
    """Agreement of two soft partitions on which pairs of samples belong together.

    The Frobenius Rand index. For hard partitions it is the Rand index; for a partition and itself, however
    soft, it is 1. Clusters may be renamed and the numbers of clusters may differ. Cost: O(n·c₁·c₂).

    Parameters
    ----------
    first, second : array-like of shape (n_samples, n_clusters), numbers of clusters may differ
        Two membership matrices of the same samples; rows are nonnegative and sum to 1.

    Returns
    -------
    float
        At most 1. Never below −1/(n_samples − 1), but a little below 0 is possible for very soft
        partitions of very few samples. A single sample agrees with itself: 1.

    See Also
    --------
    adjusted_fuzzy_rand : Corrected for chance; prefer it, as this index is near 1 for many clusters.

    Notes
    -----
    The matrices UUᵀ are brought to a common scale first. So the value is 1 exactly when they are
    proportional: uniform memberships 1/c equal a single cluster, and splitting *every* cluster in equal
    halves changes nothing. A hard partition and a softened one differ.

    References
    ----------
    J. L. Andrews, R. Browne and C. D. Hvingelby, "On assessments of agreement between fuzzy partitions",
    Journal of Classification 39, 326-342, 2022.

    Examples
    --------
    >>> from afcm.metrics import fuzzy_rand
    >>> soft = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]
    >>> fuzzy_rand(soft, soft)
    1.0
    >>> round(fuzzy_rand(soft, [[1, 0], [1, 0], [0, 1]]), 3)
    0.739
    """
    distances = _compare_bonds(first, second)
    return 1.0 - distances.observed / distances.n_pairs if distances.n_pairs else 1.0


def adjusted_fuzzy_rand(first: ArrayLike, second: ArrayLike) -> float:
    """Agreement of two soft partitions, corrected for chance.

    The Frobenius adjusted Rand index. For hard partitions it is the index of Hubert and Arabie; for a
    partition and itself, however soft, it is 1; over all orders of the samples of one partition its
    mean is 0, exactly. Clusters may be renamed and their numbers may differ. Cost: O(n·c₁·c₂).

    Parameters
    ----------
    first, second : array-like of shape (n_samples, n_clusters), numbers of clusters may differ
        Two membership matrices of the same samples; rows are nonnegative and sum to 1.

    Returns
    -------
    float
        At most 1, negative when the partitions agree less than shuffled ones. When every shuffle gives
        the same bonds (two single clusters, all samples alone, uniform memberships) the value is 1.

    See Also
    --------
    adjusted_rand : For labels.
    fuzzy_rand : Not corrected; its notes on scale hold here too.

    Notes
    -----
    Chance means shuffled samples with the memberships kept, as in Hubert and Arabie. DeWolfe and Andrews
    argue that this is hard to justify for soft partitions and give others; the choice moves the zero, not
    the one. Memberships that are almost, not exactly, uniform are compared by what little they
    say: look at `partition_coefficient` beside this index.

    References
    ----------
    J. L. Andrews, R. Browne and C. D. Hvingelby, "On assessments of agreement between fuzzy partitions",
    Journal of Classification 39, 326-342, 2022.
    R. DeWolfe and J. L. Andrews, "Random models for fuzzy clustering similarity measures",
    arXiv:2312.10270, 2023.

    Examples
    --------
    >>> from afcm.metrics import adjusted_fuzzy_rand
    >>> soft = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]
    >>> adjusted_fuzzy_rand(soft, soft)
    1.0
    >>> round(adjusted_fuzzy_rand(soft, [[1, 0], [1, 0], [0, 1]]), 3)
    0.512
    """
    distances = _compare_bonds(first, second)
    return 1.0 - distances.observed / distances.expected if distances.expected else 1.0


def _compare_bonds(first: ArrayLike, second: ArrayLike) -> _Distances:
    """Return the observed and expected distance of bonds A and B, each split along J = 11ᵀ/n and the rest."""
    first, second = as_memberships(first, "first"), as_memberships(second, "second")
    check_same_length("second", len(second), "first", len(first))
    U, V, n = _scale_memberships(first), _scale_memberships(second), len(first)
    terms = (_level(U) - _level(V)) ** 2 + _product(U, U) + _product(V, V)
    observed = terms - 2 * _product(U, V)
    expected = terms - 2 * _spread(U) * _spread(V) / max(n - 1, 1)
    floor = ROUNDING * terms + FLAT * n**2
    observed, expected = (d if d > floor else 0.0 for d in (observed, expected))
    return _Distances(observed, expected, n * (n - 1))


def _scale_memberships(memberships: Floats) -> Floats:
    """Return √s·U, whose bonds A satisfy ⟨A, A⟩ = ⟨A, 11ᵀ⟩ as 0/1 bonds do."""
    total = np.sum(memberships.sum(axis=0) ** 2)
    scaled: Floats = memberships * np.sqrt(total / np.sum((memberships.T @ memberships) ** 2))
    return scaled


def _level(U: Floats) -> float:
    return float(len(U) * np.sum(U.mean(axis=0) ** 2))  # ⟨UUᵀ, J⟩


def _spread(U: Floats) -> float:
    return float(np.sum((U - U.mean(axis=0)) ** 2))  # ⟨UUᵀ, I − J⟩


def _product(U: Floats, V: Floats) -> float:
    """⟨UUᵀ, VVᵀ⟩ − ⟨UUᵀ, J⟩⟨VVᵀ, J⟩, from centered columns: exact even when all rows are near 1/c."""
    u, v = U.mean(axis=0), V.mean(axis=0)
    U, V = U - u, V - v
    return float(2 * len(U) * (U @ u) @ (V @ v) + np.sum((U.T @ V) ** 2))
