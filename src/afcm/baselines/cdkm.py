"""CDKM, coordinate descent for k-means (Nie, Xue, Wu, Wang, Li, Li, TPAMI 2022)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from afcm._typing import Floats, Integers
from afcm.baselines import loops
from afcm.baselines.base import Baseline
from afcm.equations import paper
from afcm.estimators import validation
from afcm.estimators.parameters import Rules, choice_or_array
from afcm.fitting import starts


@dataclass(frozen=True)
class HardState:
    """Labels, their means and objective, and whether a label changed in the last sweep."""

    labels: Integers
    centers: Floats
    objective: float
    change: float = 1.0  # max_ij |u_ij − u'_ij| against the state before
    precision: None = None

    @cached_property
    def memberships(self) -> Floats:
        return starts.one_hot(self.labels, self.centers.shape[0])


@dataclass(frozen=True)
class HardProblem:
    """The k-means objective ``Σ_i ‖x_i − m_{label(i)}‖²`` over labels, no cluster empty."""

    points: Floats
    n_clusters: int

    state_types: ClassVar[tuple[type, ...]] = (HardState,)  # for checkpoints

    def sweep(self, state: HardState) -> HardState:
        """Every sample once, in order: to the cluster that lowers the objective most, if any does."""
        labels, centers = state.labels.copy(), state.centers.copy()
        sizes = np.bincount(labels, minlength=self.n_clusters)
        move = self._choose_loop(loops.hartigan_scalar, loops.hartigan_vectorized)
        move(self.points, labels, centers, sizes)
        return replace(self.at(labels), change=float(np.any(labels != state.labels)))

    def at(self, labels: Integers) -> HardState:
        """The state of these labels, computed from scratch so that rounding does not add up over the sweeps."""
        centers = np.empty((self.n_clusters, self.points.shape[1]))
        moments = self._choose_loop(loops.moments_scalar, loops.moments_vectorized)
        return HardState(labels, centers, moments(self.points, labels, centers))

    def _choose_loop(self, scalar: Any, vectorized: Any) -> Any:
        return loops.choose_loop(scalar, vectorized, self.points.size * self.n_clusters)


class CDKM(Baseline):
    """k-means by coordinate descent: samples change cluster one at a time, and the centers follow at once.

    The result is a local optimum for every single move (Hartigan's), a stricter one than Lloyd's algorithm finds.

    Parameters
    ----------
    n_clusters : int, default=8
    init : {"random", "k-means++"} or array, default="random"
        ``"random"``: random labels, the authors'. ``"k-means++"``: the nearest of seeded centers. An array holds labels
        (n_samples,), memberships (n_samples × n_clusters) or centers (n_clusters × n_features), no cluster empty.
    n_init : int, default=1
        Runs; the one with the lowest objective is kept.
    max_iter : int, default=300
        Sweeps over all samples.
    tol : float, default=0.0
        0: a run stops after a sweep without a move. Else also when the objective changes by no more than ``tol``/100
        of itself.
    random_state : int, RandomState or None, default=None
    callback : callable, optional
        Called after each sweep with an `afcm.fitting.loop.Iteration`; or an `afcm.checkpoints.Checkpoint`.

    Attributes
    ----------
    labels_ : array (n_samples,)
    memberships_ : array (n_samples, n_clusters)
        One 1 in each row.
    cluster_centers_ : array (n_clusters, n_features)
    objective_ : float
        Sum of squared distances to the centers.
    history_ : dict of arrays
    n_iter_, converged_, crispness_, membership_state_, n_features_in_, feature_names_in_

    Notes
    -----
    With Numba installed (``pip install afcm[fast]``) large problems run as machine code; the labels are the same.

    References
    ----------
    F. Nie, J. Xue, D. Wu, R. Wang, H. Li, X. Li. Coordinate descent method for k-means. IEEE TPAMI 44(5), 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import minmax_scale
    >>> from afcm.baselines import CDKM
    >>> model = CDKM(n_clusters=3, random_state=0).fit(minmax_scale(load_iris().data))
    >>> print(f"{model.objective_:.4f}")
    6.9822
    """

    _parameter_rules: ClassVar[Rules] = {**Baseline._parameter_rules, "init": choice_or_array("random", "k-means++")}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "random",
        n_init: int = 1,
        max_iter: int = 300,
        tol: float = 0.0,
        random_state: Any = None,
        callback: Callable[[Any], object] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callback = callback

    def _problem(self, X: Any, random: np.random.RandomState) -> HardProblem:
        return HardProblem(np.ascontiguousarray(X), self.n_clusters)

    def _start(self, problem: HardProblem, random: np.random.RandomState) -> HardState:
        X, n_clusters = problem.points, self.n_clusters
        if not isinstance(self.init, str):
            return problem.at(labels_from_init(self.init, X, n_clusters))
        if self.init == "random":
            return problem.at(random_labels(X.shape[0], n_clusters, random))
        labels = nearest_centers(X, starts.seed_centers(X, n_clusters, None, random))
        return problem.at(fill_empty_clusters(labels, n_clusters, random))

    def predict_proba(self, X: Any) -> Any:
        """Hard memberships of new samples, n×c: 1 for the nearest center."""
        return starts.one_hot(nearest_centers(self._validate_new_table(X), self.cluster_centers_), self.n_clusters)


def nearest_centers(points: Floats, centers: Floats) -> Integers:
    return np.asarray(paper.squared_distances(points, centers).argmin(axis=1), dtype=np.intp)


def random_labels(n_samples: int, n_clusters: int, random: np.random.RandomState) -> Integers:
    """Uniform labels, no cluster empty."""
    return fill_empty_clusters(random.randint(n_clusters, size=n_samples).astype(np.intp), n_clusters, random)


def fill_empty_clusters(labels: Integers, n_clusters: int, random: np.random.RandomState) -> Integers:
    """The labels; if any cluster is empty, one random sample goes to each cluster."""
    if np.bincount(labels, minlength=n_clusters).all():
        return labels
    filled = labels.copy()
    filled[random.permutation(labels.size)[:n_clusters]] = np.arange(n_clusters)
    return filled


def labels_from_init(init: Any, points: Floats, n_clusters: int) -> Integers:
    """Labels from an array of labels, memberships or centers; an empty cluster is refused."""
    array = validation.number_array("init", init)
    if array.ndim == 1:
        labels = check_labels(array, points.shape[0], n_clusters)
    else:
        kind, array = validation.check_init_array(init, points.shape[0], n_clusters, points.shape[1])
        labels = np.argmax(array, axis=1) if kind == "memberships" else nearest_centers(points, array)
    empty = np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0)
    if empty.size:
        raise ValueError(f"init leaves cluster {empty[0]} of {n_clusters} empty; give each cluster a sample")
    return labels


def check_labels(array: Any, n_rows: int, n_clusters: int) -> Integers:
    """The labels of ``init``, if they are integers from 0 to c − 1, one for each row."""
    if array.shape != (n_rows,):
        raise ValueError(f"init has shape {array.shape}; give {n_rows} labels")
    if not np.issubdtype(array.dtype, np.integer) or array.min() < 0 or array.max() >= n_clusters:
        raise ValueError(f"init must hold integer labels from 0 to {n_clusters - 1} (n_clusters={n_clusters})")
    return array.astype(np.intp)
