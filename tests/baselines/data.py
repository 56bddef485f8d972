"""What the tests of the baselines share: Iris as the paper scales it, its three numbers, small labelled data."""

from functools import cache

import numpy as np
from sklearn.datasets import load_iris, make_blobs
from sklearn.preprocessing import minmax_scale

from afcm.metrics import adjusted_rand, clustering_accuracy, normalized_mutual_info


@cache
def iris():
    X, y = load_iris(return_X_y=True)
    return minmax_scale(X), y


def percents(labels):
    """ACC, NMI (by the larger entropy) and ARI on Iris, as the paper prints them."""
    _, y = iris()
    scores = (index(y, labels) for index in (clustering_accuracy, normalized_mutual_info, adjusted_rand))
    return tuple(round(100 * score, 2) for score in scores)


@cache
def blobs(n_samples=120, n_features=3, n_clusters=3, spread=1.0, seed=0):
    return make_blobs(n_samples, n_features, centers=n_clusters, cluster_std=spread, random_state=seed)


def never_rises(values, slack=1e-12):
    values = np.asarray(values)
    return bool(np.all(np.diff(values) <= slack * np.maximum(1, np.abs(values[1:]))))


def nudged_rows(memberships, rng, size):
    """A feasible step: part of the way towards random points of the simplex."""
    towards = rng.dirichlet(np.ones(memberships.shape[1]), size=memberships.shape[0])
    return memberships + size * (towards - memberships)
