"""Normalized mutual information of two labelings."""

from typing import Literal

from sklearn.metrics import normalized_mutual_info_score

from afcm.metrics._checks import Labels, as_code_pair

AVERAGES = ("max", "arithmetic", "geometric", "min")


def normalized_mutual_info(
    labels_true: Labels,
    labels_pred: Labels,
    *,
    average: Literal["max", "arithmetic", "geometric", "min"] = "max",
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
