"""The clusterers that are tried: our own and the peers, each with its defaults, behind one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any

SEED = 0
# Their init is of anchors, so the cases with memberships of samples do not apply.
ANCHOR_STARTS = ("FCAG",)


@dataclass(frozen=True)
class Fitted:
    """Result of a fit: memberships (n×c, or None) and labels, and a function for memberships of new samples (or None).

    ``again``: labels predicted for the samples of the fit.
    """

    memberships: Any
    labels: Any
    predict: Callable[[Any], Any] | None = None
    again: Any = None


@dataclass(frozen=True)
class Subject:
    """A clusterer, the options it takes besides X and n_clusters, and its distribution."""

    name: str
    distribution: str
    fit: Callable[..., Fitted]
    takes: frozenset[str]
    ours: bool = False
    apart: bool = False  # lives in the peers' own environment
    predicts: bool = True

    @property
    def version(self) -> str:
        """Installed version, or an empty string."""
        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return ""


def make_own(entry: Any) -> Subject:
    """Subject of an entry in the package's catalogue."""

    def fit(X: Any, n_clusters: Any, *, sample_weight: Any = None, random_state: Any = SEED, **options: Any) -> Fitted:
        model = entry.cls(n_clusters, random_state=random_state, **options)
        model.fit(X, **({} if sample_weight is None else {"sample_weight": sample_weight}))
        return Fitted(model.memberships_, model.labels_, getattr(model, "predict_proba", None))

    takes = entry.parameters | ({"sample_weight"} if entry.takes_weights else set())
    if entry.name in ANCHOR_STARTS:
        takes -= {"init"}
    return Subject(entry.name, "afcm", fit, takes, ours=True, predicts=entry.predicts)


def scikit_fuzzy(
    X: Any,
    n_clusters: Any,
    *,
    m: Any = 2.0,
    max_iter: Any = 300,
    tol: Any = 1e-6,
    random_state: Any = SEED,
    **more: Any,
) -> Fitted:
    """`skfuzzy.cmeans`, whose samples are columns."""
    import numpy as np
    from skfuzzy.cluster import cmeans, cmeans_predict

    def transpose(array: Any) -> Any:
        return array.T if hasattr(array, "T") else np.transpose(array)

    start = {name: transpose(value) for name, value in more.items()}  # init, clusters × samples
    centers, memberships, *_ = cmeans(
        transpose(X), n_clusters, m, error=tol, maxiter=max_iter, seed=random_state, **start
    )

    def predict(new: Any) -> Any:
        return cmeans_predict(transpose(new), centers, m, error=tol, maxiter=max_iter, seed=random_state)[0].T

    return Fitted(memberships.T, memberships.argmax(axis=0), predict)


def fuzzy_c_means(
    X: Any, n_clusters: Any, *, m: Any = 2.0, max_iter: Any = 150, tol: Any = 1e-5, random_state: Any = SEED
) -> Fitted:
    """`fcmeans.FCM`."""
    from fcmeans import FCM

    model = FCM(n_clusters=n_clusters, m=m, max_iter=max_iter, error=tol, random_state=random_state)
    model.fit(X)
    return Fitted(model.u, model.u.argmax(axis=1), model.soft_predict)


def soft_clustering(
    X: Any, n_clusters: Any, *, m: Any = 2.0, max_iter: Any = 300, tol: Any = 1e-5, random_state: Any = SEED
) -> Fitted:
    """`soft_clustering.FCM`."""
    from soft_clustering import FCM

    model = FCM(random_state=random_state, m=m, max_iter=max_iter, tol=tol)
    memberships = model.fit_predict(X, n_clusters)
    return Fitted(memberships, memberships.argmax(axis=1))


def spectral_clustering(X: Any, n_clusters: Any, *, random_state: Any = SEED) -> Fitted:
    """`sklearn.cluster.SpectralClustering` on a graph of neighbours; labels only."""
    from sklearn.cluster import SpectralClustering

    model = SpectralClustering(n_clusters, affinity="nearest_neighbors", random_state=random_state).fit(X)
    return Fitted(None, model.labels_)


FUZZY = frozenset({"m", "max_iter", "tol", "random_state"})

PEERS = (
    Subject("scikit-fuzzy", "scikit-fuzzy", scikit_fuzzy, FUZZY | {"init"}),
    Subject("fuzzy-c-means", "fuzzy-c-means", fuzzy_c_means, FUZZY, apart=True),
    Subject("soft-clustering", "soft-clustering", soft_clustering, FUZZY, apart=True, predicts=False),
    Subject("SpectralClustering", "scikit-learn", spectral_clustering, frozenset({"random_state"}), predicts=False),
)


@cache
def all_subjects() -> tuple[Subject, ...]:
    """Subjects of the package's catalogue, then the peers."""
    from afcm.catalogue import CATALOGUE  # not installed in the peers' own environment

    return (*map(make_own, CATALOGUE), *PEERS)


def subject_named(name: str) -> Subject:
    peers = {peer.name: peer for peer in PEERS}
    return peers[name] if name in peers else next(subject for subject in all_subjects() if subject.name == name)
