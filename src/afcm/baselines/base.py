"""`Baseline`, the base of the iterative rivals: validate, make the problem, run from several starts, keep the best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from afcm.checkpoints import check_checkpoint_early, open_journal
from afcm.equations import paper
from afcm.estimators import validation
from afcm.estimators.base import SoftClusterer
from afcm.estimators.inputs import validate_table
from afcm.estimators.parameters import ITERATIVE, Rules, integer
from afcm.fitting.loop import Result, best_run, either_still


class Baseline(SoftClusterer):
    """A clusterer that is fitted by sweeps from `n_init` starts; the lowest objective wins. All in float64."""

    n_init: int
    tol: float
    random_state: Any
    callback: Callable[[Any], object] | None
    _stop = staticmethod(either_still)
    _dtypes: ClassVar[tuple[str, ...]] = ("float64",)
    _parameter_rules: ClassVar[Rules] = {**ITERATIVE, "n_init": integer()}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array (n_samples, n_features)
        y : ignored
        """
        self._check_parameters()
        check_checkpoint_early(self)
        X = self._validate_training(X)
        journal = open_journal(self, X)
        random = journal.restore_random(check_random_state(self.random_state))
        problem = self._problem(X, random)
        best, interrupt = best_run(
            problem,
            [lambda: self._start(problem, random)] * self.n_init,
            key=lambda result: result.state.objective,
            max_iter=self.max_iter,
            tol=self.tol,
            stop=self._stop,
            journal=journal,
        )
        self._store(problem, best)
        if interrupt is not None:
            raise interrupt
        return self

    def _validate_training(self, X: Any) -> Any:
        X = validate_table(self, X, dtype=np.float64)
        n_distinct = validation.count_distinct(X, None, max(self.n_clusters, 2))
        validation.check_enough_samples(self.n_clusters, X.shape[0], n_distinct)
        if n_distinct > 1:
            with np.errstate(over="ignore", invalid="ignore"):
                scatter = float(np.sum((X - X.mean(axis=0)) ** 2))
            validation.check_scale(X, scatter)
        return X

    def _problem(self, X: Any, random: np.random.RandomState) -> Any:
        raise NotImplementedError

    def _start(self, problem: Any, random: np.random.RandomState) -> Any:
        raise NotImplementedError

    def _store(self, problem: Any, best: Result[Any]) -> None:
        self.cluster_centers_ = best.state.centers
        self._store_run(best, best.state.memberships, doubt_hard=False)

    def _merged_finding(self) -> str:
        """Clusters without a sample are merged ones, too: a poor optimum that memberships of 0 and 1 do not show."""
        n_used = np.unique(self.labels_).size
        few = f"only {n_used} of {self.n_clusters} clusters have samples" if n_used < self.n_clusters else ""
        return super()._merged_finding() or few

    def transform(self, X: Any) -> Any:
        """Distances to the centers, n×c (as `sklearn.cluster.KMeans.transform`)."""
        return np.sqrt(paper.squared_distances(self._validate_new_table(X), self.cluster_centers_))

    def _validate_new_table(self, X: Any, **options: Any) -> Any:
        return super()._validate_new_table(X, dtype=np.float64, **options)  # as in the fit
