"""Indices that tell how good a partition is: against known labels, on its own, or against another soft partition.

One index is one function. All take lists, NumPy arrays or data frames with samples as rows, return a
``float``, and refuse missing values with the place where they are.
"""

from afcm.metrics.hard import adjusted_rand, clustering_accuracy, normalized_mutual_info
from afcm.metrics.soft_rand import adjusted_fuzzy_rand, fuzzy_rand
from afcm.metrics.validity import (
    fuzzy_silhouette,
    normalized_partition_coefficient,
    partition_coefficient,
    partition_entropy,
    xie_beni,
)

__all__ = [
    "adjusted_fuzzy_rand",
    "adjusted_rand",
    "clustering_accuracy",
    "fuzzy_rand",
    "fuzzy_silhouette",
    "normalized_mutual_info",
    "normalized_partition_coefficient",
    "partition_coefficient",
    "partition_entropy",
    "xie_beni",
]
