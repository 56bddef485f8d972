"""RSFKM, robust and sparse fuzzy k-means (Xu, Han, Xiong, Nie, IJCAI 2016)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from afcm._typing import Floats
from afcm.baselines import equations
from afcm.baselines.base import Baseline
from afcm.equations import fuzzy_c_means, paper
from afcm.estimators import validation
from afcm.estimators.parameters import Rules, choice_or_array, real
from afcm.fitting import starts
from afcm.fitting.loop import Step, memberships_still, share_still


def both_still(step: Step, tol: float) -> bool:
    """Memberships by ``tol`` and J by ``tol``/100 of itself: the centers creep on when the memberships are hard."""
    return memberships_still(step, tol) and share_still(step, tol)


@dataclass(frozen=True)
class RobustState:
    """Centers, the memberships that are best for them, and the weights of the next centers."""

    centers: Floats
    memberships: Floats
    reweights: Floats
    precision: float
    objective: float


@dataclass(frozen=True)
class RobustProblem:
    """``Σ_ij u_ij min(‖x_i − v_j‖, τ) + g ‖U‖²``; ``literal`` lets the memberships see ``s d²``, as published."""

    points: Floats
    fuzziness: float
    cap: float
    literal: bool = False

    state_types: ClassVar[tuple[type, ...]] = (RobustState,)  # for checkpoints

    def sweep(self, state: RobustState) -> RobustState:
        """V, then S and U."""
        centers = equations.reweighted_centers(self.points, state.memberships, state.reweights, state.centers)
        return self.at(centers)

    def at(self, centers: Floats, reweights: Floats | None = None) -> RobustState:
        """S and U for these centers."""
        distances = fuzzy_c_means.distances(self.points, centers)
        reweights = equations.reweights(distances, self.cap) if reweights is None else reweights
        capped = equations.cap_distances(distances, self.cap)
        costs = reweights * distances**2 if self.literal else capped
        memberships = equations.quadratic_memberships(costs, self.fuzziness)
        objective = equations.quadratic_objective(capped, memberships, self.fuzziness)
        return RobustState(centers, memberships, reweights, 0.5 / self.fuzziness, objective)

    def from_centers(self, centers: Floats) -> RobustState:
        """The state that a run starts with; the published scheme begins with S = 1."""
        ones = np.ones((self.points.shape[0], centers.shape[0]))
        return self.at(centers, ones if self.literal else None)


class RSFKM(Baseline):
    """Robust and sparse fuzzy k-means: distances not squared, capped at τ, and memberships that can be 0.

    Lowers ``Σ_ij u_ij min(‖x_i − v_j‖, τ) + g ‖U‖²`` over memberships and centers.

    Parameters
    ----------
    n_clusters : int, default=8
    fuzziness : float, default=0.2
        g. Its unit is that of distances: towards 0 the memberships become hard, towards infinity 1/c.
    tau : float, default=inf
        τ, the distance beyond which a sample no longer pulls at a center.
    literal : bool, default=False
        The published scheme. Its memberships see half the distance (so that its g is half of ours), and nothing beyond
        τ: outliers then prefer far clusters and the objective may rise. By default memberships minimize the
        objective itself, which never rises.
    init : {"k-means", "k-means++"} or array, default="k-means"
        An array holds centers (n_clusters × n_features) or memberships (n_samples × n_clusters).
    n_init : int, default=1
        Runs; the one with the lowest objective is kept.
    max_iter : int, default=300
    tol : float, default=1e-6
        A run stops when no membership changes by more than ``tol`` and the objective by no more than ``tol``/100 of it.
    random_state : int, RandomState or None, default=None
    callback : callable, optional
        Called after each sweep with an `afcm.fitting.loop.Iteration`; or an `afcm.checkpoints.Checkpoint`.

    Attributes
    ----------
    memberships_ : array (n_samples, n_clusters)
    labels_ : array (n_samples,)
    cluster_centers_ : array (n_clusters, n_features)
    gamma_ : float
        ``1 / (2 fuzziness)``.
    objective_ : float
    history_ : dict of arrays
    n_iter_, converged_, crispness_, membership_state_, n_features_in_, feature_names_in_

    References
    ----------
    J. Xu, J. Han, K. Xiong, F. Nie. Robust and sparse fuzzy k-means clustering. IJCAI 2016.

    Examples
    --------
    >>> from afcm.baselines import RSFKM
    >>> X = [[0.0, 0.0], [0.0, 1.0], [5.0, 5.0], [5.0, 6.0], [90.0, 90.0]]
    >>> model = RSFKM(n_clusters=2, tau=10.0, init=[[0.0, 0.0], [5.0, 5.0]]).fit(X)
    >>> model.labels_[:4]
    array([0, 0, 1, 1])
    >>> bool((model.cluster_centers_ < 6.5).all())  # the outlier does not count
    True
    """

    _stop = staticmethod(both_still)

    _parameter_rules: ClassVar[Rules] = {
        **Baseline._parameter_rules,
        "init": choice_or_array("k-means", "k-means++"),
        "fuzziness": real(positive=True),
        "tau": real(positive=True, or_infinite=True),
        "literal": validation.check_flag,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        fuzziness: float = 0.2,
        tau: float = math.inf,
        literal: bool = False,
        init: Any = "k-means",
        n_init: int = 1,
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: Any = None,
        callback: Callable[[Any], object] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.fuzziness = fuzziness
        self.tau = tau
        self.literal = literal
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callback = callback

    def _problem(self, X: Any, random: Any = None) -> RobustProblem:
        return RobustProblem(X, float(self.fuzziness), float(self.tau), bool(self.literal))

    def _start(self, problem: RobustProblem, random: np.random.RandomState) -> RobustState:
        X = problem.points
        if not isinstance(self.init, str):
            kind, array = validation.check_init_array(self.init, X.shape[0], self.n_clusters, X.shape[1])
            return problem.from_centers(array if kind == "centers" else paper.centers(X, array))
        if validation.check_choice("init", self.init, ("k-means", "k-means++")) == "k-means++":
            return problem.from_centers(starts.seed_centers(X, self.n_clusters, None, random))
        labels = starts.k_means(X, self.n_clusters, None, random)
        return problem.from_centers(paper.centers(X, starts.one_hot(labels, self.n_clusters)))

    def predict_proba(self, X: Any) -> Any:
        """Memberships of new samples in the fitted clusters, n×c; rows sum to 1."""
        X = self._validate_new_table(X)
        return self._problem(X).at(self.cluster_centers_).memberships

    def _merged_advice(self) -> str:
        return f"use a smaller fuzziness than {self.fuzziness}, more n_init or fewer clusters"
