"""The adjusted Rand index of two hard labelings."""

from sklearn.metrics import adjusted_rand_score

from afcm.metrics._checks import Labels, as_code_pair


def adjusted_rand(labels_true: Labels, labels_pred: Labels) -> float:
    """Rand index corrected for chance, after Hubert and Arabie.

    Parameters
    ----------
    labels_true, labels_pred : sequence of hashable, length n_samples
        The two labelings; the index is symmetric in them.

    Returns
    -------
    float
        At most 1 (same partition); 0 on average for labels shuffled at random; may be negative.

    See Also
    --------
    adjusted_fuzzy_rand : For membership matrices.

    References
    ----------
    L. Hubert and P. Arabie, "Comparing partitions", Journal of Classification 2, 193-218, 1985.

    Examples
    --------
    >>> from afcm.metrics import adjusted_rand
    >>> round(adjusted_rand(["a", "a", "b", "b"], [0, 0, 1, 2]), 4)
    0.5714
    """
    return float(adjusted_rand_score(*as_code_pair(labels_true, labels_pred)))
