"""Spectral clustering on AFCM's own graph: the paper's SC and its two ablations."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from afcm._typing import Floats
from afcm._util.messages import warn_user
from afcm.estimators import validation
from afcm.estimators.inputs import forget, validate_table
from afcm.estimators.parameters import Rules, check_parameters, choice, integer, real
from afcm.estimators.plain import PlainAFCM
from afcm.exceptions import AFCMWarning, NotConvergedWarning
from afcm.fitting import starts
from afcm.graph.affinity import neighbor_graph
from afcm.graph.duplicates import merge_duplicates
from afcm.graph.kernels import KERNELS
from afcm.graph.prepared import PreparedGraph
from afcm.linalg.ratios import normalize_rows
from afcm.neighbors import find_neighbors

# The eigenvectors end when the subspace is this close (radians).
ANGLE_TOL = 1e-6


class SpectralBaseline(ClusterMixin, BaseEstimator):
    """Spectral clustering in the paper's conventions: AFCM without learning the embedding.

    The c smallest eigenvectors of the normalized Laplacian of a nearest-neighbor graph (the constant one kept,
    duplicates not merged, ``W ← (W + Wᵀ)/2``), then clusters of their rows.

    Parameters
    ----------
    n_clusters : int, default=8
    n_neighbors : int, default=5
        Neighbors of each sample in the graph, itself not counted.
    kernel : {"gaussian", "adaptive", "local", "binary"}, default="gaussian"
    bandwidth : float, default=2.0
        σ of the Gaussian kernel (the paper's value, for min-max scaled data).
    row_normalized : bool, default=False
        Rows of the embedding scaled to length one (Ng, Jordan, Weiss).
    assign : {"kmeans", "plain"}, default="kmeans"
        ``"kmeans"`` is the paper's SC and Ablation-1; ``"plain"``, PlainAFCM on the rows, its Ablation-2.
    n_init : int, default=10
        Restarts of the assignment; the one with the lowest objective is kept.
    max_iter : int, default=300
        Of the assignment.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : array (n_samples,)
    memberships_ : array (n_samples, n_clusters)
        0 and 1 for ``assign="kmeans"``.
    embedding_ : array (n_samples, n_clusters)
        The rows that were clustered.
    eigenvalues_ : array (n_clusters,)
        Of the Laplacian, rising from 0.
    cluster_centers_ : array (n_clusters, n_clusters)
        In the embedding.
    objective_ : float
        Of the assignment: sum of squared distances, or PlainAFCM's J.
    history_ : dict of arrays
        Of the assignment by PlainAFCM; for k-means its end only.
    n_iter_ : int
        Sweeps of the assignment.
    converged_ : bool
    n_components_ : int
        Connected components of the graph. With more than c the eigenvectors are not unique, which is warned of.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import minmax_scale
    >>> from afcm.baselines import SpectralBaseline
    >>> from afcm.metrics import clustering_accuracy
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SpectralBaseline(n_clusters=3, n_neighbors=3, random_state=0).fit(minmax_scale(X))
    >>> print(f"{clustering_accuracy(y, model.labels_):.4f}")
    0.9467
    """

    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": integer(),
        "n_neighbors": integer(),
        "n_init": integer(),
        "max_iter": integer(),
        "kernel": choice(table=KERNELS),
        "bandwidth": real(positive=True),
        "assign": choice("kmeans", "plain"),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: int = 5,
        kernel: str = "gaussian",
        bandwidth: float = 2.0,
        row_normalized: bool = False,
        assign: str = "kmeans",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.row_normalized = row_normalized
        self.assign = assign
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the samples and cluster the rows.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
        y : ignored
        """
        self._check_parameters()
        X = self._validate_training(X)
        k = int(self.n_neighbors)
        found = find_neighbors(X, min(k + 1, X.shape[0] - 1))
        graph = neighbor_graph(found, k, kernel=self.kernel, bandwidth=float(self.bandwidth))
        names = getattr(self, "feature_names_in_", None)
        nodes = merge_duplicates(X, merge=False)
        return self.fit_prepared(PreparedGraph(X, nodes, X, None, graph, graph, feature_names=names))

    def fit_prepared(self, prepared: PreparedGraph) -> Self:
        """Embed and cluster the samples of a graph from `AFCM.prepare`; its masses count in the clusters.

        Parameters
        ----------
        prepared : PreparedGraph
            Without samples of weight 0, which the graph does not hold: they are refused.
        """
        self._check_parameters()
        inverse = prepared.nodes.inverse
        if not isinstance(inverse, slice) and (inverse < 0).any():
            raise ValueError("some samples have weight 0 and are not in the graph; SpectralBaseline cannot place them")
        self.n_features_in_ = int(prepared.samples.shape[1])
        if prepared.feature_names is None:
            forget(self, "feature_names_in_")
        else:
            self.feature_names_in_ = prepared.feature_names
        random = check_random_state(self.random_state)
        self.n_components_ = prepared.graph.components[0]
        embedding = self._embedding(prepared)
        {"kmeans": self._assign_kmeans, "plain": self._assign_plain}[self.assign](
            embedding, prepared.graph.masses, random
        )
        for name in ("labels_", "memberships_"):  # of the nodes: for every sample
            setattr(self, name, getattr(self, name)[inverse])
        self.embedding_ = embedding[inverse]
        return self

    def _check_parameters(self) -> None:
        check_parameters(self, self._parameter_rules)

    def _validate_training(self, X: Any) -> Any:
        X = validate_table(self, X, accept_sparse="csr", ensure_min_samples=2, spread=True)
        n = X.shape[0]
        different = merge_duplicates(X)
        validation.check_enough_samples(self.n_clusters, n, different.rows.size)
        if self.n_neighbors >= n:
            raise ValueError(f"n_neighbors={self.n_neighbors} must be below n_samples={n}; use at most {n - 1}")
        n_copies = 1 if different.masses is None else int(different.masses.max())
        if n_copies > self.n_neighbors:
            warn_user(
                f"SpectralBaseline: a sample is there {n_copies} times, more than n_neighbors={self.n_neighbors}: its "
                "copies have no other neighbours and cut the graph into islands; remove duplicates, use more "
                "n_neighbors, or AFCM, which merges them",
                AFCMWarning,
            )
        return X

    def _embedding(self, prepared: PreparedGraph) -> Floats:
        n_clusters, masses = self.n_clusters, prepared.graph.masses
        if self.n_components_ > n_clusters:
            warn_user(
                f"SpectralBaseline: the graph has {self.n_components_} components, more than n_clusters={n_clusters}: "
                "its leading eigenvectors are not unique and the labels are arbitrary; use more n_neighbors",
                AFCMWarning,
            )
        eigen = prepared.eigenvectors(n_clusters, ANGLE_TOL)
        if not eigen.converged:
            warn_user(
                f"SpectralBaseline: the eigen-solver stopped with a relative residual of {eigen.residual:.3g}; use "
                "more n_neighbors",
                NotConvergedWarning,
            )
        self.eigenvalues_ = 1 - eigen.values
        if self.row_normalized:
            return normalize_rows(eigen.vectors)
        return eigen.vectors if masses is None else eigen.vectors / np.sqrt(masses)[:, None]

    def _assign_kmeans(self, embedding: Floats, masses: Any, random: np.random.RandomState) -> None:
        model = KMeans(self.n_clusters, n_init=self.n_init, max_iter=self.max_iter, random_state=random)
        with warnings.catch_warnings():  # fewer distinct rows than clusters is no news here
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(embedding, sample_weight=masses)
        self.labels_ = model.labels_
        self.memberships_ = starts.one_hot(model.labels_, self.n_clusters)
        self.cluster_centers_ = model.cluster_centers_
        self.objective_ = float(model.inertia_)
        self.history_ = {"objective": np.array([self.objective_])}
        self.n_iter_ = model.n_iter_
        self.converged_ = model.n_iter_ < self.max_iter

    def _assign_plain(self, embedding: Floats, masses: Any, random: np.random.RandomState) -> None:
        model = PlainAFCM(self.n_clusters, n_init=self.n_init, max_iter=self.max_iter, random_state=random)
        model.fit(embedding, sample_weight=masses)
        names = ("labels_", "memberships_", "cluster_centers_", "objective_", "history_", "n_iter_", "converged_")
        for name in names:
            setattr(self, name, getattr(model, name))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
