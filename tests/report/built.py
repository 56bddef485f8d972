"""Fitted models in every state that a report must find words for, built by hand."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from afcm.selection.choosing import CRITERIA, Selection


class Built(BaseEstimator):
    """Has the fitted attributes it is given and nothing else."""

    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def with_(self, **attributes):
        vars(self).update({f"{name}_": value for name, value in attributes.items()})
        return self


def soft(memberships, **attributes):
    memberships = np.asarray(memberships, dtype=float)
    labels = memberships.argmax(axis=1)
    return Built(memberships.shape[1]).with_(memberships=memberships, labels=labels, **attributes)


def grid(n_samples, n_features=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n_samples, n_features)).round(3)


def drawn_memberships(n_samples, n_clusters, seed=0, sharpness=0.2):
    return np.random.default_rng(seed).dirichlet(np.full(n_clusters, sharpness), size=n_samples)


def selection():
    table = [{"n_clusters": c, **dict.fromkeys(CRITERIA, float(c))} for c in (1, 2, 3)]
    table[0]["stability"] = float("nan")
    votes = {name: 3 if criterion.highest else 1 for name, criterion in CRITERIA.items()}
    return Selection(2, "the graph has <2> pieces", table, votes, None)
