"""The six criteria by which numbers of clusters are compared."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from afcm._typing import Floats
from afcm.estimators.mixture import GeneralizedGaussianMixture
from afcm.estimators.plain import PlainAFCM
from afcm.fitting import starts
from afcm.metrics import adjusted_rand, fuzzy_silhouette, xie_beni

# How often the samples are halved, and the clusterings of the halves compared.
STABILITY_ROUNDS = 4


class Criterion(NamedTuple):
    """A column of the table: its meaning, and whether the highest value is the best."""

    meaning: str
    highest: bool


CRITERIA = {
    "eigengap": Criterion("gap after the c-th eigenvalue of the graph", True),
    "stability": Criterion("agreement (ARI) of clusterings learned on two halves of the spectral rows", True),
    "fuzzy_silhouette": Criterion("of PlainAFCM on X", True),
    "xie_beni": Criterion("compactness over separation, PlainAFCM on X", False),
    "plain_bic": Criterion("BIC of PlainAFCM on X: equal, spherical Gaussians", False),
    "mixture_bic": Criterion("BIC of a Gaussian mixture on X with a variance for each column", False),
}


def eigengaps(values: Floats, counts: list[int]) -> list[float]:
    """``θ_c − θ_{c+1}`` of the falling eigenvalues of S."""
    return [float(values[c - 1] - values[c]) for c in counts]


def stability(vectors: Floats, n_clusters: int, random: np.random.RandomState) -> float:
    """Mean ARI over all samples of two clusterings, each learned by k-means on its own half of the unit-length rows."""
    rows = starts.normalize_rows(vectors[:, :n_clusters])
    agreements = np.zeros(STABILITY_ROUNDS)
    for i in range(STABILITY_ROUNDS):
        halves = np.array_split(random.permutation(rows.shape[0]), 2)
        if min(half.size for half in halves) >= n_clusters:
            fits = [KMeans(n_clusters, n_init=1, random_state=random.randint(2**31)).fit(rows[half]) for half in halves]
            agreements[i] = adjusted_rand(fits[0].predict(rows), fits[1].predict(rows))
    return float(agreements.mean())


def judge_plain(X: Any, n_clusters: int, random: np.random.RandomState) -> dict[str, float]:
    model = PlainAFCM(n_clusters, random_state=random).fit(X)
    found = {"plain_bic": model.bic(X)}
    if n_clusters > 1:
        found["xie_beni"] = xie_beni(X, model.memberships_, model.cluster_centers_)
        found["fuzzy_silhouette"] = fuzzy_silhouette(X, model.memberships_)
    return found


def judge_mixture(X: Any, n_clusters: int, random: np.random.RandomState) -> dict[str, float]:
    model = GeneralizedGaussianMixture(
        n_clusters, covariance_type="diag", shape=1.0, max_iter=100, tol=1e-4, random_state=random
    )
    return {"mixture_bic": model.fit(X).bic(X)}
