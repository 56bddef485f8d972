"""FKPS, fuzzy k-means with shrunk patterns (Zhao, Nie, Wang, Li, TKDE 2023)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import svd

from afcm._typing import Floats
from afcm.baselines import equations
from afcm.baselines.base import Baseline
from afcm.equations import paper
from afcm.estimators import validation
from afcm.estimators.parameters import Rules, choice_or_array, integer, real
from afcm.fitting import starts
from afcm.fitting.loop import Result, run
from afcm.neighbors import find_neighbors

# As published: sweeps of memberships and centers between two shrinkages, and the (relative) decrease that ends them.
INNER_SWEEPS, INNER_TOL = 50, 1e-2
# Sweeps that place new samples: patterns and memberships for fixed centers.
PLACING_SWEEPS = 200
# Directions with less than this share of the largest spread are left out.
RANK_TOL = 1e-10


@dataclass(frozen=True)
class QuadraticState:
    """Centers and the memberships that are best for them."""

    centers: Floats
    memberships: Floats
    precision: float
    objective: float


@dataclass(frozen=True)
class QuadraticProblem:
    """``Σ_ij u_ij ‖f_i − v_j‖² + g ‖U‖²``: fuzzy k-means with quadratic regularization (Miyamoto, Umayahara)."""

    points: Floats
    fuzziness: float

    def sweep(self, state: QuadraticState) -> QuadraticState:
        """Update the centers V, then the memberships U."""
        return self.from_memberships(state.memberships)

    def from_memberships(self, memberships: Floats) -> QuadraticState:
        """The best centers for these memberships, then the best memberships for those."""
        return self.at(paper.centers(self.points, memberships))

    def at(self, centers: Floats) -> QuadraticState:
        """The best memberships for these centers."""
        costs = paper.squared_distances(self.points, centers)
        memberships = equations.quadratic_memberships(costs, self.fuzziness)
        objective = equations.quadratic_objective(costs, memberships, self.fuzziness)
        return QuadraticState(centers, memberships, 0.5 / self.fuzziness, objective)


@dataclass(frozen=True)
class ShrunkState:
    """U, V, the patterns F, and W (None: the identity)."""

    memberships: Floats
    precision: float
    objective: float = math.inf
    centers: Any = None
    patterns: Any = None
    directions: Any = None


@dataclass(frozen=True)
class ShrunkProblem:
    """``Σ_ij u_ij ‖f_i − v_j‖² + g ‖U‖² + b ‖X W − F‖²``, W = I or ``Wᵀ XᵀX W = I``."""

    points: Floats
    fuzziness: float
    fidelity: float
    n_directions: int | None = None

    state_types: ClassVar[tuple[type, ...]] = (ShrunkState,)  # for checkpoints

    def sweep(self, state: ShrunkState) -> ShrunkState:
        """W and F (V eliminated), then V and U until they stand still."""
        factor = paper.membership_factor(state.memberships)
        directions, points = self.project(factor)
        patterns = equations.shrunk_patterns(points, factor, self.fidelity)
        inner = QuadraticProblem(patterns, self.fuzziness)
        start = inner.from_memberships(state.memberships)
        found = run(inner, start, max_iter=INNER_SWEEPS, tol=INNER_TOL).state
        objective = found.objective + self.fidelity * float(np.sum((points - patterns) ** 2))
        return ShrunkState(found.memberships, found.precision, objective, found.centers, patterns, directions)

    def project(self, factor: Floats) -> tuple[Floats | None, Floats]:
        """W, and the projected samples X W."""
        if self.n_directions is None:
            return None, self.points
        directions = equations.discriminant_directions(self.points, factor, self.fidelity, self.n_directions)
        return directions, self.points @ directions

    def from_memberships(self, memberships: Floats) -> ShrunkState:
        """The state that a run starts with: the first sweep computes the rest."""
        return ShrunkState(memberships, 0.5 / self.fuzziness)


@dataclass(frozen=True)
class PlacingProblem:
    """New samples among fixed centers: ``Σ_j u_ij ‖f_i − v_j‖² + g ‖u_i‖² + b ‖x_i − f_i‖²`` over u_i and f_i."""

    points: Floats
    centers: Floats
    fuzziness: float
    fidelity: float

    def sweep(self, state: ShrunkState) -> ShrunkState:
        """Update the patterns F, then the memberships U."""
        return self.at(equations.pull_patterns(self.points, state.memberships, self.centers, self.fidelity))

    def at(self, patterns: Floats) -> ShrunkState:
        """The best memberships for these patterns."""
        found = QuadraticProblem(patterns, self.fuzziness).at(self.centers)
        objective = found.objective + self.fidelity * float(np.sum((self.points - patterns) ** 2))
        return ShrunkState(found.memberships, found.precision, objective, self.centers, patterns)


class FKPS(Baseline):
    """Fuzzy k-means on shrunk patterns: each sample may move towards its clusters, at a price.

    Lowers ``Σ_ij u_ij ‖f_i − v_j‖² + g ‖U‖² + b ‖X − F‖²`` over memberships, centers and patterns F.

    Parameters
    ----------
    n_clusters : int, default=8
    fuzziness : float, default=0.1
        g. Its unit is that of squared distances: towards 0 the memberships become hard, towards infinity 1/c.
    fidelity : float, default=1.0
        b. Towards infinity F = X and the patterns do not shrink; towards 0 they fall onto the centers.
    projection : int or None, default=None
        None is the base model. r: the projected model, ``‖X W − F‖`` with ``Wᵀ XᵀX W = I``, r columns; X is centered
        first (the constant direction would win, and says nothing) and directions without spread are left out.
    init : {"random", "k-means"} or array, default="random"
        ``"random"``: random memberships, as published. An array holds memberships (n_samples × n_clusters) or centers
        (n_clusters × n_features).
    n_init : int, default=1
        Runs; the one with the lowest objective is kept.
    max_iter : int, default=100
        Shrinkages; between two of them memberships and centers are updated up to 50 times.
    tol : float, default=1e-6
        A run stops when no membership changes by more than ``tol``, or the objective by no more than ``tol``/100 of it.
    random_state : int, RandomState or None, default=None
    callback : callable, optional
        Called after each sweep with an `afcm.fitting.loop.Iteration`; or an `afcm.checkpoints.Checkpoint`.

    Attributes
    ----------
    memberships_ : array (n_samples, n_clusters)
    labels_ : array (n_samples,)
    patterns_ : array (n_samples, n_features), or (n_samples, projection)
        F.
    cluster_centers_ : array (n_clusters, n_features), or (n_clusters, projection)
        Among the patterns.
    directions_ : array (n_features, projection) or None
        W.
    gamma_ : float
        ``1 / (2 fuzziness)``.
    objective_ : float
    history_ : dict of arrays
    n_iter_, converged_, crispness_, membership_state_, n_features_in_, feature_names_in_

    Notes
    -----
    The publication places no new samples. Here their pattern and memberships lower the same objective with the centers
    held fixed, from the memberships of the nearest fitted sample: the objective of one sample has several minima, and
    a fitted sample stays in its own.

    References
    ----------
    X. Zhao, F. Nie, R. Wang, X. Li. Robust fuzzy k-means clustering with shrunk patterns learning. TKDE 35(3), 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import minmax_scale
    >>> from afcm.baselines import FKPS
    >>> X = minmax_scale(load_iris().data)
    >>> model = FKPS(n_clusters=3, random_state=0).fit(X)
    >>> bool(model.patterns_.var() < X.var())
    True
    """

    _parameter_rules: ClassVar[Rules] = {
        **Baseline._parameter_rules,
        "init": choice_or_array("random", "k-means"),
        "fuzziness": real(positive=True),
        "fidelity": real(positive=True),
        "projection": integer(or_none=True),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        fuzziness: float = 0.1,
        fidelity: float = 1.0,
        projection: int | None = None,
        init: Any = "random",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: Any = None,
        callback: Callable[[Any], object] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.fuzziness = fuzziness
        self.fidelity = fidelity
        self.projection = projection
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callback = callback

    def _problem(self, X: Any, random: np.random.RandomState) -> ShrunkProblem:
        self._mean, self._axes = np.zeros(X.shape[1]), None
        if self.projection is not None:
            self._mean = X.mean(axis=0)
            _, spread, axes = svd(X - self._mean, full_matrices=False)
            self._axes = axes[spread > RANK_TOL * max(spread[0], np.finfo(float).tiny)].T
            if self.projection > self._axes.shape[1]:
                raise ValueError(
                    f"projection={self.projection} must be at most {self._axes.shape[1]}, the number of directions in "
                    "which X varies; use fewer, or None"
                )
        return ShrunkProblem(self._reduce(X), float(self.fuzziness), float(self.fidelity), self.projection)

    def _reduce(self, X: Any) -> Any:
        return X if self._axes is None else (X - self._mean) @ self._axes

    def _start(self, problem: ShrunkProblem, random: np.random.RandomState) -> ShrunkState:
        X, n_clusters = problem.points, self.n_clusters
        if not isinstance(self.init, str):
            kind, array = validation.check_init_array(self.init, X.shape[0], n_clusters, self.n_features_in_)
            if kind == "centers":
                array = QuadraticProblem(X, problem.fuzziness).at(self._reduce(array)).memberships
            return problem.from_memberships(array)
        if self.init == "random":
            return problem.from_memberships(starts.draw_memberships(X.shape[0], n_clusters, random))
        return problem.from_memberships(starts.one_hot(starts.k_means(X, n_clusters, None, random), n_clusters))

    def _store(self, problem: ShrunkProblem, best: Result[ShrunkState]) -> None:
        super()._store(problem, best)
        self.patterns_ = best.state.patterns
        self.directions_ = None if self._axes is None else self._axes @ best.state.directions

    def predict_proba(self, X: Any) -> Any:
        """Memberships of new samples in the fitted clusters, n×c; rows sum to 1."""
        return self._place(X).memberships

    def transform(self, X: Any) -> Any:
        """Distances of the samples' patterns to the centers, n×c."""
        return np.sqrt(paper.squared_distances(self._place(X).patterns, self.cluster_centers_))

    def _place(self, X: Any) -> ShrunkState:
        points = self._validate_new_table(X)
        if self.directions_ is not None:
            points = (points - self._mean) @ self.directions_
        centers, fidelity = self.cluster_centers_, float(self.fidelity)
        fitted = equations.recover_samples(self.patterns_, self.memberships_, centers, fidelity)
        start = self.memberships_[find_neighbors(fitted, 1, points).indices[:, 0]]
        problem = PlacingProblem(points, centers, float(self.fuzziness), fidelity)
        patterns = equations.pull_patterns(points, start, centers, fidelity)
        return run(problem, problem.at(patterns), max_iter=PLACING_SWEEPS, tol=0.0).state

    def _merged_advice(self) -> str:
        return (
            f"use a smaller fuzziness than {self.fuzziness}, a larger fidelity than {self.fidelity}, more n_init or "
            "fewer clusters"
        )
