"""What the alternating baselines have in common: validate → problem → runs → the best of them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from afcm.equations import paper
from afcm.estimators import validation
from afcm.estimators.base import SoftClusterer
from afcm.estimators.tables import validated
from afcm.fitting.loop import Result, either_still, run


class Baseline(SoftClusterer):
    """A clusterer that is fitted by sweeps from `n_init` starts; the lowest objective wins. All in float64."""

    n_init: int
    tol: float
    random_state: Any
    _stop = staticmethod(either_still)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array (n_samples, n_features)
        y : ignored
        """
        self._check_parameters()
        X = self._validated(X)
        random = check_random_state(self.random_state)
        problem = self._problem(X, random)
        results = [
            run(problem, self._start(problem, random), max_iter=self.max_iter, tol=self.tol, stop=self._stop)
            for _ in range(self.n_init)
        ]
        self._store(problem, min(results, key=lambda result: result.state.objective))
        return self

    def _check_parameters(self) -> None:
        validation.check_integer("n_clusters", self.n_clusters)
        validation.check_integer("n_init", self.n_init)
        validation.check_integer("max_iter", self.max_iter)
        validation.check_real("tol", self.tol)

    def _validated(self, X: Any) -> Any:
        X = validated(self, X, dtype=np.float64)
        n_distinct = validation.count_distinct(X, None, max(self.n_clusters, 2))
        validation.check_enough_samples(self.n_clusters, X.shape[0], n_distinct)
        if n_distinct > 1:
            with np.errstate(over="ignore", invalid="ignore"):
                scatter = float(np.sum((X - X.mean(axis=0)) ** 2))
            validation.check_scale(X, scatter)
        return X

    def _problem(self, X: Any, random: np.random.RandomState) -> Any:
        """The problem whose sweeps lower the objective."""
        raise NotImplementedError

    def _start(self, problem: Any, random: np.random.RandomState) -> Any:
        """A state to start from."""
        raise NotImplementedError

    def _store(self, problem: Any, best: Result[Any]) -> None:
        """The attributes of the fit."""
        self.cluster_centers_ = best.state.centers
        self._store_run(best, best.state.memberships, doubt_hard=False)

    def _merged_finding(self) -> str:
        """Clusters without a sample are merged ones, too: a poor optimum that memberships of 0 and 1 do not show."""
        n_used = np.unique(self.labels_).size
        few = f"only {n_used} of {self.n_clusters} clusters have samples" if n_used < self.n_clusters else ""
        return super()._merged_finding() or few

    def transform(self, X: Any) -> Any:
        """Distances to the centres, n×c (as `sklearn.cluster.KMeans.transform`)."""
        return np.sqrt(paper.squared_distances(self._validated_new(X), self.cluster_centers_))

    def _validated_new(self, X: Any, *, accept_sparse: bool = False) -> Any:
        check_is_fitted(self)
        return validated(self, X, dtype=np.float64, reset=False)  # as in the fit

    @property
    def _n_features_out(self) -> int:
        return int(self.n_clusters)
