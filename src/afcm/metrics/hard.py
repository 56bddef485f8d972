"""Indices of two hard labelings: accuracy, normalized mutual information and the adjusted Rand index."""

from typing import Literal

from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from afcm.metrics._checks import Labels, as_code_pair

AVERAGES = ("max", "arithmetic", "geometric", "min")


def clustering_accuracy(labels_true: Labels, labels_pred: Labels) -> float:
    """Share of samples labeled right under the best one-to-one matching of clusters to classes.

    The matching is found on the contingency table by the Hungarian method. When there are more clusters
    than classes, or fewer, the ones left over match nothing and their samples count as errors.

    Parameters
    ----------
    labels_true, labels_pred : sequence of hashable, length n_samples
        Known classes and found clusters. Their names need not agree, nor be of the same type.

    Returns
    -------
    float
        Accuracy in (0, 1].

    Examples
    --------
    >>> from afcm.metrics import clustering_accuracy
    >>> clustering_accuracy(["cat", "cat", "dog", "dog"], [1, 1, 0, 1])
    0.75
    """
    true, pred = as_code_pair(labels_true, labels_pred)
    table = contingency_matrix(true, pred)
    return float(table[linear_sum_assignment(table, maximize=True)].sum() / len(true))


def normalized_mutual_info(
    labels_true: Labels, labels_pred: Labels, *, average: Literal["max", "arithmetic", "geometric", "min"] = "max"
) -> float:
    """Mutual information divided by an average of the two entropies.

    The default, the larger entropy, is what the fuzzy clustering literature reports; scikit-learn's own
    default is "arithmetic" and gives larger numbers, so never compare across the two.

    Parameters
    ----------
    labels_true, labels_pred : sequence of hashable, length n_samples
        The two labelings; the index is symmetric in them.
    average : {"max", "arithmetic", "geometric", "min"}, default="max"
        How the two entropies are averaged.

    Returns
    -------
    float
        A value in [0, 1]: 1 when each labeling determines the other. Under "min" it is enough
        that one determines the other, so over-splitting goes unpunished.

    Examples
    --------
    >>> from afcm.metrics import normalized_mutual_info
    >>> round(normalized_mutual_info(["a", "a", "b", "b"], [0, 0, 1, 2]), 4)
    0.6667
    >>> round(normalized_mutual_info(["a", "a", "b", "b"], [0, 0, 1, 2], average="arithmetic"), 4)
    0.8
    """
    if average not in AVERAGES:
        raise ValueError(f"average={average!r} is unknown; use one of {', '.join(AVERAGES)}")
    true, pred = as_code_pair(labels_true, labels_pred)
    return float(normalized_mutual_info_score(true, pred, average_method=average))


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
