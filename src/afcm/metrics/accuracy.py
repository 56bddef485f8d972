"""Clustering accuracy: the share of samples that the best renaming of clusters gets right."""

from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from afcm.metrics._checks import Labels, as_code_pair


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
