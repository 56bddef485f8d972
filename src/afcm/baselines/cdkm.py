"""CDKM, coordinate descent for k-means (Nie, Xue, Wu, Wang, Li, Li, TPAMI 2022)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from afcm._typing import Floats, Integers
from afcm.baselines import loops
from afcm.baselines.base import Baseline
from afcm.equations import paper
from afcm.estimators import validation
from afcm.fitting import starts


@dataclass(frozen=True)
class HardState:
    """Labels and what follows from them, and whether any is new."""

    labels: Integers
    centers: Floats
    objective: float
    change: float = 1.0  # max_ij |u_ij − u'_ij| against the state before
    precision: None = None

    @cached_property
    def memberships(self) -> Floats:
        """One 1 in each row."""
        return starts.one_hot(self.labels, self.centers.shape[0])


@dataclass(frozen=True)
class HardProblem:
    """The k-means objective ``Σ_i ‖x_i − m_{label(i)}‖²`` over labels, no cluster empty."""

    points: Floats
    n_clusters: int

    def sweep(self, state: HardState) -> HardState:
        """Every sample once, in order: to the cluster that lowers the objective most, if any does."""
        labels, centers = state.labels.copy(), state.centers.copy()
        sizes = np.bincount(labels, minlength=self.n_clusters)
        moves = self.fastest(loops.hartigan_scalar, loops.hartigan_vectorised)
        moves(self.points, labels, centers, sizes)
        return replace(self.at(labels), change=float(np.any(labels != state.labels)))

    def at(self, labels: Integers) -> HardState:
        """Means and objective from scratch, so that rounding does not add up over the sweeps."""
        centers = np.empty((self.n_clusters, self.points.shape[1]))
        moments = self.fastest(loops.moments_scalar, loops.moments_vectorised)
        return HardState(labels, centers, moments(self.points, labels, centers))

    def fastest(self, scalar: Any, vectorised: Any) -> Any:
        """The loop in machine code or NumPy, by what there is to do in a sweep."""
        return loops.fastest(scalar, vectorised, self.points.size * self.n_clusters)


class CDKM(Baseline):
    """k-means by coordinate descent: samples change cluster one at a time, and the centres follow at once.

    The result is a local optimum for every single move (Hartigan's), a stricter one than Lloyd's algorithm finds.

    Parameters
    ----------
    n_clusters : int, default=8
    init : {"random", "k-means++"} or array, default="random"
        ``"random"``: random labels, the authors'. ``"k-means++"``: the nearest of seeded centres. An array holds labels
        (n_samples,), memberships (n_samples × n_clusters) or centres (n_clusters × n_features), no cluster empty.
    n_init : int, default=1
        Runs; the one with the lowest objective is kept.
    max_iter : int, default=300
        Sweeps over all samples.
    tol : float, default=0.0
        0: a run stops after a sweep without a move. Else also when the objective changes by no more than ``tol``/100
        of itself.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : array (n_samples,)
    memberships_ : array (n_samples, n_clusters)
        One 1 in each row.
    cluster_centers_ : array (n_clusters, n_features)
    objective_ : float
        Sum of squared distances to the centres.
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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "random",
        n_init: int = 1,
        max_iter: int = 300,
        tol: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _problem(self, X: Any, random: np.random.RandomState) -> HardProblem:
        return HardProblem(np.ascontiguousarray(X), self.n_clusters)

    def _start(self, problem: HardProblem, random: np.random.RandomState) -> HardState:
        X, n_clusters = problem.points, self.n_clusters
        if not isinstance(self.init, str):
            return problem.at(given_labels(self.init, X, n_clusters))
        if validation.check_choice("init", self.init, ("random", "k-means++")) == "random":
            return problem.at(random_labels(X.shape[0], n_clusters, random))
        labels = nearest(X, starts.seed_centers(X, n_clusters, None, random))
        return problem.at(without_empty(labels, n_clusters, random))

    def predict_proba(self, X: Any) -> Any:
        """1 for the nearest centre, n×c."""
        return starts.one_hot(nearest(self._validated_new(X), self.cluster_centers_), self.n_clusters)


def nearest(points: Floats, centers: Floats) -> Integers:
    """Each row's nearest centre."""
    return np.asarray(paper.squared_distances(points, centers).argmin(axis=1), dtype=np.intp)


def random_labels(n_samples: int, n_clusters: int, random: np.random.RandomState) -> Integers:
    """Uniform labels, no cluster empty."""
    return without_empty(random.randint(n_clusters, size=n_samples).astype(np.intp), n_clusters, random)


def without_empty(labels: Integers, n_clusters: int, random: np.random.RandomState) -> Integers:
    """The labels, or where a cluster is empty, with one random sample in each first."""
    if np.bincount(labels, minlength=n_clusters).all():
        return labels
    filled = labels.copy()
    filled[random.permutation(labels.size)[:n_clusters]] = np.arange(n_clusters)
    return filled


def given_labels(init: Any, points: Floats, n_clusters: int) -> Integers:
    """Labels from an array of labels, memberships or centres; an empty cluster is refused."""
    array = validation.number_array("init", init)
    if array.ndim == 1:
        labels = checked_labels(array, points.shape[0], n_clusters)
    else:
        kind, array = validation.check_init_array(init, points.shape[0], n_clusters, points.shape[1])
        labels = np.argmax(array, axis=1) if kind == "memberships" else nearest(points, array)
    empty = np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0)
    if empty.size:
        raise ValueError(f"init leaves cluster {empty[0]} of {n_clusters} empty; give each cluster a sample")
    return labels


def checked_labels(array: Any, n_rows: int, n_clusters: int) -> Integers:
    """Integers from 0 to c − 1, one for each row."""
    if array.shape != (n_rows,):
        raise ValueError(f"init has shape {array.shape}; give {n_rows} labels")
    if not np.issubdtype(array.dtype, np.integer) or array.min() < 0 or array.max() >= n_clusters:
        raise ValueError(f"init must hold integer labels from 0 to {n_clusters - 1} (n_clusters={n_clusters})")
    return array.astype(np.intp)
