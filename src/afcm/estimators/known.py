"""Labels known of some samples: the y of a fit, checked and counted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from afcm import arrays
from afcm._typing import Floats, Integers
from afcm._util.messages import count_noun, warn_user
from afcm.exceptions import KnownLabelsWarning
from afcm.graph.duplicates import DistinctRows
from afcm.graph.prepared import PreparedGraph

# Rows that a warning names.
MOST_NAMED = 5


@dataclass(frozen=True)
class KnownLabels:
    """Known labels of the nodes of a graph."""

    classes: Any  # m different labels, in their order
    of_nodes: Integers  # the number of each node's label among them; −1: unknown

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    def number(self, n_clusters: int) -> tuple[Any, Integers]:
        """Names of the clusters ("" where none is known), and the cluster of each node (−1: unknown).

        Labels that are integers from 0 to c − 1 are the numbers of the clusters themselves.
        """
        numbers = np.arange(self.n_classes)
        if self.classes.dtype.kind == "i" and self.classes[0] >= 0 and self.classes[-1] < n_clusters:
            numbers = self.classes
        names = np.full(n_clusters, "", dtype=object)
        names[numbers] = [str(label) for label in self.classes]
        return names, np.where(self.of_nodes >= 0, numbers[self.of_nodes], -1)


def find_known_labels(y: Any, prepared: PreparedGraph, n_clusters: Any, *, paper: bool) -> KnownLabels | None:
    """The known labels of a graph's nodes; None if y knows no sample, or knows all and is scikit-learn's ignored y.

    Raises ValueError where the fit cannot keep them, and warns if identical samples have different ones.
    """
    values, unknown = read_labels(y)
    if not unknown.any() or unknown.all():
        return None
    n_samples = prepared.samples.shape[0]
    if values.shape != (n_samples,):
        raise ValueError(f"y has shape {values.shape}, expected ({n_samples},): one label per sample, -1 for unknown")
    if paper:
        raise ValueError("y holds known labels, which the paper's memberships cannot follow; use memberships='auto'")
    if arrays.is_chunked(prepared.samples):
        raise ValueError("y holds known labels, which need all of X in memory; use X.compute() if that fits, or y=None")
    classes, numbers = number_labels(values[~unknown])
    if n_clusters != "auto" and len(classes) > int(n_clusters):
        raise ValueError(
            f"y holds {len(classes)} different known labels, more than n_clusters={n_clusters}; use "
            f"n_clusters={len(classes)} or more, or 'auto'"
        )
    of_samples = np.full(n_samples, -1)
    of_samples[~unknown] = numbers
    return KnownLabels(classes, label_nodes(of_samples, prepared.nodes, len(classes), prepared.sample_weight))


def read_labels(y: Any) -> tuple[Any, Any]:
    """The values of y on the host, and which of them are unknown: −1, None and NaN."""
    if y is None:
        return np.empty(0), np.empty(0, dtype=bool)
    values = np.asarray(y.compute() if arrays.is_dask(y) else arrays.to_host(y))
    if values.dtype.kind in "iufb":
        return values, np.isnan(values) | (values == -1) if values.dtype.kind == "f" else values == -1
    unknown = [is_unknown(value) for value in values.ravel().tolist()]
    return values, np.array(unknown, dtype=bool).reshape(values.shape)


def is_unknown(value: Any) -> bool:
    try:
        return value is None or (not isinstance(value, str) and bool(value == -1 or math.isnan(value)))
    except TypeError:  # pandas.NA is neither equal nor different
        return True


def number_labels(values: Any) -> tuple[Any, Integers]:
    """The different labels in their order, whole numbers as integers, and the number of each."""
    if values.dtype.kind == "O":
        whole = all(isinstance(value, (int, float)) and float(value).is_integer() for value in values.tolist())
        values = values.astype(np.int64 if whole else str)
    if values.dtype.kind in "ub" or (values.dtype.kind == "f" and (values == np.floor(values)).all()):
        values = values.astype(np.int64)
    classes, numbers = np.unique(values, return_inverse=True)
    return classes, numbers


def label_nodes(of_samples: Integers, nodes: DistinctRows, n_classes: int, weights: Floats | None) -> Integers:
    """The label of each node: that of most of its samples, by weight; −1 where none is known.

    Warns of samples whose label is not that of their node.
    """
    held = np.flatnonzero(of_samples >= 0)
    node = np.arange(len(of_samples))[nodes.inverse] if isinstance(nodes.inverse, slice) else nodes.inverse
    held = held[node[held] >= 0]  # a sample of weight 0 is not there
    masses = np.ones(len(held)) if weights is None else weights[held]
    counts = np.zeros((len(nodes.rows), n_classes))
    np.add.at(counts, (node[held], of_samples[held]), masses)
    labels = np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), -1)
    outvoted = held[labels[node[held]] != of_samples[held]]
    if outvoted.size:
        rows = ", ".join(str(row) for row in outvoted[:MOST_NAMED]) + (", …" if outvoted.size > MOST_NAMED else "")
        warn_user(
            f"AFCM: known labels contradict each other in {count_noun(outvoted.size, 'sample')} (row {rows}), labeled "
            "otherwise in y than most identical samples, whose label is taken instead; check y there",
            KnownLabelsWarning,
        )
    return labels
