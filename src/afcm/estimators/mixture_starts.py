"""Where the sweeps of a mixture begin: memberships of the different samples, one set for each run."""

from __future__ import annotations

from typing import Any

import numpy as np

from afcm import starts, updates
from afcm.estimators import validation
from afcm.graph import Distinct
from afcm.models.mixture import MixtureProblem


def drawn(problem: MixtureProblem, n_clusters: int, init: str, random: np.random.RandomState) -> Any:
    """Random memberships, or hard ones by k-means or by the nearest of k-means++ centres."""
    points, masses = problem.points, problem.masses
    if init == "random":
        return starts.random_memberships(points.shape[0], n_clusters, random)
    if init == "k-means":
        return starts.one_hot(starts.k_means(points, n_clusters, masses, random), n_clusters)
    return assigned(points, starts.seeded_centers(points, n_clusters, masses, random))


def given(init: Any, n_clusters: int, X: Any, weights: Any, samples: Distinct) -> Any:
    """Memberships from an array of memberships (of all samples) or of centres."""
    kind, array = validation.check_init_array(init, X.shape[0], n_clusters, X.shape[1])
    if kind == "memberships":
        return merged(array, weights, samples)
    return assigned(X[samples.rows].astype(np.float64), array)


def assigned(points: Any, centers: Any) -> Any:
    """Hard memberships: the nearest centre."""
    labels = np.argmin(updates.squared_distances(points, centers), axis=1)
    return starts.one_hot(labels, centers.shape[0])


def merged(memberships: Any, weights: Any, samples: Distinct) -> Any:
    """Memberships of the different samples: the mean over equal ones, by weight."""
    if samples.masses is None or isinstance(samples.inverse, slice):
        return memberships
    sums = np.zeros((samples.rows.size, memberships.shape[1]))
    kept = samples.inverse >= 0
    np.add.at(sums, samples.inverse[kept], updates.weighted(memberships, weights)[kept])
    return sums / samples.masses[:, None]
