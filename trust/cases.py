"""A case: data and parameters that somebody will pass one day, and what an honest clusterer may do with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

N_CLUSTERS = 3


@dataclass(frozen=True)
class Case:
    """One bad (or merely odd) input.

    ``expected``: the labels of the right answer, if one is known; else any valid memberships will do. ``refuse``: there
    is no right answer, and to give one without a word is a failure. ``names``: what the message of a clear error speaks
    of (a regular expression, case ignored).
    """

    name: str
    kind: str
    make: Callable[[], Any]
    names: str
    n_clusters: Any = N_CLUSTERS
    expected: Any = None
    refuse: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    new: Callable[[], Any] | None = None  # samples to predict after the fit
    only: str = ""  # the one subject parameter this case is about, e.g. "m"


def blobs(n_samples: int = 90, n_features: int = 3, spread: float = 1.0) -> Any:
    """Three round clusters, ten apart, which every clusterer should find."""
    rng = np.random.default_rng(0)
    centers = 10.0 * np.eye(N_CLUSTERS, n_features)
    return centers[truth(n_samples)] + spread * rng.standard_normal((n_samples, n_features))


def truth(n_samples: int = 90) -> Any:
    """Clusters of the samples of `blobs`: 0, 1, 2, 0, 1, 2, …"""
    return np.arange(n_samples) % N_CLUSTERS


def all_cases() -> list[Case]:
    """Collect every case, class by class, in the order of the table."""
    from trust import data_cases, layout_cases, refused_cases

    cases = [*data_cases.cases(), *layout_cases.cases(), *refused_cases.cases()]
    names = [case.name for case in cases]
    if len(set(names)) < len(names):
        raise ValueError("two cases have the same name")
    return cases
