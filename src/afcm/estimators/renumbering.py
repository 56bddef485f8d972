"""Clusters under other numbers: every part of a fitted model that knows the clusters follows."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from afcm._typing import Integers
from afcm.arrays import from_host, is_tensor
from afcm.arrays.numpy_arrays import take_columns
from afcm.estimators.base import hard_labels
from afcm.estimators.streaming import Stream
from afcm.models.anchored import AnchorExtension
from afcm.models.anchored_chunks import Replay, ReplayExtension
from afcm.models.distance_background import DistanceBackground
from afcm.models.extension import Extension
from afcm.models.fitted_background import FittedBackground
from afcm.models.fitted_graph import FittedGraph
from afcm.models.local_mixture import LocalMixture
from afcm.models.regrouping import Merge

# Name of an attribute → the method of `Renumbering` for it.
Rules = Mapping[str, str]
PLACED: Rules = {"memberships": "take_columns", "centers": "take_rows"}
PARTS: dict[type, Rules] = {
    FittedGraph: {
        "extension": "renumber_part",
        "densities": "renumber_part",
        "walked": "take_columns",
        "of_nodes": "take_columns",
        "links": "take_both",
        "views": "rename",
    },
    Extension: PLACED,
    AnchorExtension: PLACED,
    ReplayExtension: {"replay": "renumber_part"},
    Replay: {"first": "take_columns", "on_clusters": "take_columns", "centers": "take_columns"},  # of t steps: t×c×q
    FittedBackground: {"densities": "renumber_part"},
    LocalMixture: {"owners": "rename"},
    DistanceBackground: {"means": "take_rows", "sds": "take_rows"},
    Stream: {"totals": "take_rows", "moments": "take_rows"},
}
ATTRIBUTES: Rules = {
    "memberships_": "take_columns",
    "paper_memberships_": "take_columns",
    "cluster_centers_": "take_rows",
    "cluster_names_": "take_rows",
    "stability_": "take_rows",
    "anchor_labels_": "rename",
    "weights_": "take_rows",
    "shape_": "take_rows",
    "scatters_": "take_rows",
    "covariances_": "take_rows",
    "history_": "renumber_history",
    "_fitted": "renumber_graph",
    "_background": "renumber_part",
    "_stream": "renumber_part",
}


class Renumbering:
    """Values of a fitted model whose cluster ``order[k]`` becomes cluster k; those that shared memory still do.

    Parameters
    ----------
    order : array of int (n_clusters,)
        Each number from 0 to n_clusters − 1 once.
    """

    def __init__(self, order: Any) -> None:
        self.order: Integers = np.asarray(order, dtype=np.intp)
        self._by_memory: dict[tuple[Any, ...], Any] = {}

    def take_rows(self, value: Any) -> Any:
        """Rows of clusters; a number that all clusters share stays."""
        return value[from_host(self.order, value)] if np.ndim(value) else value

    def take_columns(self, value: Any) -> Any:
        """Columns of clusters."""
        memory = describe_memory(value)
        if memory not in self._by_memory:
            if isinstance(value, np.ndarray):  # indexing would give them column by column
                taken = take_columns(value, self.order) if value.ndim == 2 else np.take(value, self.order, axis=1)
            else:
                taken = value[:, from_host(self.order, value)]
            self._by_memory[memory] = taken
        return self._by_memory[memory]

    def take_both(self, value: Any) -> Any:
        """Rows and columns of clusters."""
        return value[np.ix_(self.order, self.order)]

    def rename(self, numbers: Integers) -> Integers:
        """Numbers of clusters."""
        return np.argsort(self.order).astype(numbers.dtype)[numbers]

    def renumber_history(self, history: dict[str, Any]) -> dict[str, Any]:
        """Of several numbers a sweep each belongs to a cluster."""
        return {name: self.take_columns(values) if values.ndim == 2 else values for name, values in history.items()}

    def renumber_part(self, part: Any) -> Any:
        """A data class of a fitted model."""
        return replace(part, **self.apply(PARTS[type(part)], vars(part)))

    def renumber_graph(self, fitted: FittedGraph) -> FittedGraph:
        """A fitted graph. Where clusters were joined or split, one more step gives each a number."""
        if not fitted.steps:
            return self.renumber_part(fitted)
        last = Merge(np.argsort(self.order))
        own = self.apply({"links": "take_both", "views": "rename"}, vars(fitted))
        return replace(fitted, steps=(*fitted.steps, last), **own)

    def renumber_attributes(self, model: Any) -> dict[str, Any]:
        """The attributes of a fitted estimator that change."""
        changed = self.apply(choose_rules(model), vars(model))
        return changed | {"labels_": hard_labels(changed["memberships_"])}

    def apply(self, rules: Rules, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: getattr(self, rule)(values[name]) for name, rule in rules.items() if values.get(name) is not None}


def describe_memory(value: Any) -> tuple[Any, ...]:
    """A key that is equal for views of one memory that look alike."""
    if isinstance(value, np.ndarray):
        return value.__array_interface__["data"][0], value.strides, value.shape, value.dtype
    return (value.data_ptr(), value.stride(), value.shape, value.dtype) if is_tensor(value) else (id(value),)


def choose_rules(model: Any) -> Rules:
    """The rules of an estimator's attributes; clusters with a tied scatter share it."""
    if getattr(model, "covariance_type", None) != "tied":
        return ATTRIBUTES
    shared = {"scatters_"} if np.ndim(model.shape_) else {"scatters_", "covariances_"}
    return {name: rule for name, rule in ATTRIBUTES.items() if name not in shared}


def renumber(model: Any, order: Any) -> Any:
    """A copy of a fitted estimator in which the cluster ``order[k]`` is cluster k."""
    changed = copy(model)
    vars(changed).update(Renumbering(order).renumber_attributes(model))
    return changed


def order_by_size(labels: Integers, n_clusters: int, weights: Any = None) -> Integers:
    """Numbers of the clusters, the largest first, of equal ones that of the first sample; empty ones last."""
    masses = np.ones(len(labels)) if weights is None else np.asarray(weights)
    there = np.flatnonzero(masses > 0)
    first = np.full(n_clusters, len(labels))
    np.minimum.at(first, labels[there], there)
    return np.lexsort((first, -np.bincount(labels, masses, n_clusters)))
