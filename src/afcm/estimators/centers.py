"""`CenterClusterer`, the base of the estimators whose clusters are their centers: FCM, EntropyFCM and PlainAFCM."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from array_api_compat import array_namespace
from sklearn.utils import check_random_state

from afcm import arrays
from afcm.checkpoints import open_journal
from afcm.equations import fuzzy_c_means, paper
from afcm.estimators import validation
from afcm.estimators.base import MERGED_TOL, MembershipSummary, SoftClusterer, crispness, hard_labels, summarize
from afcm.estimators.inputs import (
    cast,
    check_on_host,
    draw_memberships,
    forget,
    validate_init,
    validate_samples,
    validate_weights,
)
from afcm.estimators.noise import set_aside
from afcm.estimators.parameters import ITERATIVE, Rules, choice, choice_or_array, integer
from afcm.estimators.streaming import STREAM_ATTRIBUTES, Stream, to_double
from afcm.fitting import starts
from afcm.fitting.loop import STOP_RULES, best_run
from afcm.models.centers import CenterProblem, CenterState, Precision
from afcm.models.cluster_mixture import Share
from afcm.models.plain import total_scatter

# Runs from random starts, unless the user says how many.
DEFAULT_RUNS = 5
# Rounding moves memberships by so many machine epsilons from sweep to sweep (measured: up to 20 in float32).
MEMBERSHIP_ROUNDING = 64


class CenterClusterer(SoftClusterer):
    """Sweeps of a `CenterProblem` from several starts; the lowest objective wins. Batches are learned one by one."""

    _stream: Stream
    gamma_: float
    init: Any
    n_init: int | str
    tol: float
    random_state: Any
    device: Any
    warm_start: bool
    stop: str = "either"
    memberships_format: str
    noise: Share = None

    _parameter_rules: ClassVar[Rules] = {
        **ITERATIVE,
        "init": choice_or_array("k-means++", "random"),
        "n_init": integer(or_word="auto"),
        "stop": choice(*STOP_RULES),
        "warm_start": validation.check_flag,
        "memberships_format": choice("dense", "sparse"),
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn centers and memberships.

        Parameters
        ----------
        X : array or tensor (n_samples, n_features)
            Or a Dask array or data frame, which is not gathered: see ``docs/scale.md``.
        y : ignored
        sample_weight : array (n_samples,), optional
            Weight 0 is as if the sample were absent, weight 2 as if it were there twice.
        """
        return self._fit(X, sample_weight, self.noise)

    def _fit(self, X: Any, sample_weight: Any, noise: Share) -> Self:
        self._check_parameters()
        forget(self, *STREAM_ATTRIBUTES)
        given, X = X, validate_samples(self, X, device=self.device)
        weights = validate_weights(X, sample_weight)
        masses, scatter = self._check_masses(X, set_aside(X, weights, noise, self.n_clusters))
        journal = open_journal(self, X, masses)
        random = journal.restore_random(check_random_state(self.random_state))
        self._prepare(X, masses, random)
        problem = self._pose(X, masses).with_total_scatter(scatter)
        best, interrupt = best_run(
            problem,
            self._make_starters(problem, random),
            key=lambda result: result.state.objective,
            max_iter=self.max_iter,
            tol=self._tol(X),
            stop=STOP_RULES[self.stop],
            journal=journal,
        )
        self.cluster_centers_ = arrays.to_device_of(best.state.centers, given)
        self._variance = problem.total_scatter / problem.mass
        memberships = arrays.to_device_of(self._memberships_of(best.state), given)
        self._store_run(best, memberships, doubt_hard=problem.is_capped(best.state.precision))
        self._tell_background(X, weights, noise, given)
        if interrupt is not None:
            raise interrupt
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch of samples, beside what was learned from those before.

        The first batch is fitted as by `fit` and should show all clusters. Each further one is looked at once: its
        statistics join those of the batches before, which fade slowly, and give new centers (and γ). What belongs to
        samples (``memberships_``, ``labels_``, ``objective_``) is that of this batch; ``n_batches_`` and ``mass_seen_``
        count what was seen. ``noise`` concerns `fit` alone: batches are learned from as they are, and get no outlier
        scores.

        Parameters
        ----------
        X : array (n_samples, n_features)
        y : ignored
        sample_weight : array (n_samples,), optional
            As for `fit`.
        """
        if not hasattr(self, "_stream"):
            self._fit(X, sample_weight, None)
            stream = Stream.from_batch(self._state_of(X, sample_weight))
        else:
            batch = self._state_of(X, sample_weight)
            stream, problem = self._stream.with_batch(batch), batch.problem
            centers, precision = stream.update_centers(problem)
            has_samples = stream.totals[:, None] > paper.MIN_MASS
            centers = np.where(has_samples, centers, to_double(self.cluster_centers_))
            self._store_batch(problem.at(cast(centers, problem.points), precision), X)
        self._stream, self.n_batches_, self.mass_seen_ = stream, stream.n_batches, stream.mass
        return self

    def _store_batch(self, state: CenterState, X: Any) -> None:
        self.cluster_centers_ = arrays.to_device_of(state.centers, X)
        if state.precision is not None:
            self.gamma_ = state.precision
        self.memberships_, self.objective_ = arrays.to_device_of(self._memberships_of(state), X), state.objective
        known = summarize(self.memberships_)
        self.labels_, self.crispness_ = hard_labels(self.memberships_), crispness(known)
        self.membership_state_ = self._judge(known)

    def _tol(self, X: Any) -> float:
        """``tol``, but memberships need not stand stiller than rounding lets them."""
        rounding = MEMBERSHIP_ROUNDING * float(array_namespace(X).finfo(X.dtype).eps)
        return max(float(self.tol), rounding if self.stop == "memberships" else 0.0)

    def _check_masses(self, X: Any, weights: Any) -> tuple[Any, float]:
        """The masses (or None), and the total scatter."""
        n_distinct = validation.count_distinct(X, weights, max(self.n_clusters, 2))
        validation.check_enough_samples(self.n_clusters, X.shape[0], n_distinct)
        if n_distinct < 2:
            raise ValueError(
                f"X has no two different samples (n_samples={X.shape[0]}) of positive weight; give at least two"
            )
        masses = None if weights is None else cast(weights, X)
        with np.errstate(over="ignore", invalid="ignore"):
            scatter = total_scatter(X, masses)
        validation.check_scale(X, scatter)
        return masses, scatter

    def _problem(self, X: Any, masses: Any = None) -> CenterProblem:
        """The model for these samples, to fit or to predict."""
        raise NotImplementedError

    def _pose(self, X: Any, masses: Any = None) -> CenterProblem:
        """The model for these samples, without an array of n×c where the memberships are to be sparse."""
        problem = self._problem(X, masses)
        if self.memberships_format == "dense":
            return problem
        check_on_host(X)
        return problem.without_memberships()

    def _memberships_of(self, state: CenterState) -> Any:
        if self.memberships_format == "dense":
            return state.memberships
        return state.problem.sparse_memberships_at(state.centers, state.precision)

    def _prepare(self, X: Any, masses: Any, random: np.random.RandomState) -> None:
        """Set attributes that `_problem` needs and that only a fit can know."""

    def _tell_background(self, X: Any, weights: Any, share: Share, home: Any) -> None:
        """Learn the background after the fit, in a model that has the parameter ``noise``."""

    def _make_starters(self, problem: CenterProblem, random: np.random.RandomState) -> list[Callable[[], CenterState]]:
        if self._continues():
            validation.check_warm_start(self.cluster_centers_.shape, (self.n_clusters, problem.points.shape[1]))
            centers = cast(self.cluster_centers_, problem.points)
            return [lambda: problem.at(centers, getattr(self, "gamma_", None))]
        if not isinstance(self.init, str):
            return [lambda: problem.at(*self._given_start(problem))]
        n_runs = DEFAULT_RUNS if isinstance(self.n_init, str) else self.n_init
        return [lambda: problem.at(*self._random_start(problem, random))] * n_runs

    def _continues(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "cluster_centers_")

    def _given_start(self, problem: CenterProblem) -> tuple[Any, Precision]:
        kind, array = validate_init(problem.points, self.init, self.n_clusters)
        array = cast(array, problem.points)
        return problem.start(array) if kind == "memberships" else (array, problem.first_precision(array))

    def _random_start(self, problem: CenterProblem, random: np.random.RandomState) -> tuple[Any, Precision]:
        X = problem.points
        if self.init == "random":
            return problem.start(cast(draw_memberships(X, self.n_clusters, random), X))
        centers = starts.seed_centers(X, self.n_clusters, problem.masses, random)
        return centers, problem.first_precision(centers)

    def _judge(self, known: MembershipSummary) -> str:
        """Also merged when all centers coincide: then 1/c is where the memberships are going."""
        merged = self.n_clusters > 1 and self._n_different_centers() == 1
        return "merged" if merged else super()._judge(known)

    def _n_different_centers(self) -> int:
        """Centers that do not coincide with one before them."""
        costs = arrays.to_host(paper.squared_distances(self.cluster_centers_, self.cluster_centers_))
        close = np.tril(costs <= MERGED_TOL**2 * self._variance, k=-1)
        return self.n_clusters - int(close.any(axis=1).sum())

    def predict_proba(self, X: Any) -> Any:
        """Memberships of new samples, n×c; rows sum to 1. The model is not changed.

        With ``memberships_format="sparse"`` a CSR array of the largest few of each sample.
        """
        points = self._validate_new(X)
        problem, where = self._pose(points), (self._centers_for(points), getattr(self, "gamma_", None))
        if self.memberships_format == "sparse":
            return problem.sparse_memberships_at(*where)
        return arrays.to_device_of(problem.memberships_at(*where), X)

    def _state_of(self, X: Any, sample_weight: Any = None) -> CenterState:
        """The fitted centers (and γ) with other samples."""
        X = self._validate_new(X)
        weights = validate_weights(X, sample_weight)
        masses = None if weights is None else cast(weights, X)
        return self._pose(X, masses).at(self._centers_for(X), getattr(self, "gamma_", None))

    def _centers_for(self, X: Any) -> Any:
        """The fitted centers where X is (NumPy: with their own dtype)."""
        return cast(self.cluster_centers_, X) if arrays.is_tensor(X) else arrays.to_host(self.cluster_centers_)

    def transform(self, X: Any) -> Any:
        """Distances to the centers, n×c (as `sklearn.cluster.KMeans.transform`)."""
        points = self._validate_new(X)
        distances = partial(fuzzy_c_means.distances, centers=self._centers_for(points))
        return arrays.to_device_of(arrays.map_rows(distances, points, self._n_features_out), X)
