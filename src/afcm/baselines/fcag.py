"""FCAG, fast clustering with anchor guidance (Nie, Xue, Yu, Li, TPAMI 2024)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from afcm._typing import Floats, Integers
from afcm.baselines import equations, loops
from afcm.baselines.base import Baseline
from afcm.baselines.cdkm import check_labels, random_labels
from afcm.estimators import validation
from afcm.estimators.parameters import Rules, choice, choice_or_array, integer
from afcm.fitting import starts
from afcm.fitting.loop import Result
from afcm.graph.anchors.learning import METHODS
from afcm.graph.anchors.weights import anchor_weights

# Neighbors among the anchors by default, at most a quarter of them: a sparser graph of few anchors leaves the sweeps
# in poor optima, a denser one says little.
DEFAULT_NEIGHBORS, NEIGHBOR_SHARE = 10, 4


@dataclass(frozen=True)
class GuidanceState:
    """Labels of the anchors, as numbers and as the indicator Q (m×c)."""

    labels: Integers
    memberships: Floats
    links: Floats  # G Q
    squares: Floats  # q_kᵀ G q_k
    precision: None = None

    @property
    def objective(self) -> float:
        """The sum with a minus, so that sweeps lower it: ``−Σ_k ‖B q_k‖``."""
        return -float(np.sqrt(self.squares).sum())


@dataclass(frozen=True)
class GuidanceProblem:
    """``max_Q Σ_k ‖B q_k‖`` over hard labels of the anchors, given ``G = Bᵀ B`` (CSR)."""

    anchors: Floats
    gram: Any
    n_clusters: int

    state_types: ClassVar[tuple[type, ...]] = (GuidanceState,)  # for checkpoints

    def sweep(self, state: GuidanceState) -> GuidanceState:
        """Every anchor once, in order: to the cluster that raises the sum most, if any does."""
        labels, links, squares = state.labels.copy(), state.links.copy(), state.squares.copy()
        sizes = np.bincount(labels, minlength=self.n_clusters)
        loop = loops.choose_loop(loops.anchors_scalar, loops.anchors_vectorized, labels.size * self.n_clusters * 10)
        gram = loops.Gram(self.gram.indptr, self.gram.indices, self.gram.data, self.gram.diagonal())
        loop(gram, links, squares, sizes, labels)
        return self.at(labels)

    def at(self, labels: Integers) -> GuidanceState:
        indicator = starts.one_hot(labels, self.n_clusters)
        links = self.gram @ indicator
        return GuidanceState(labels, indicator, links, equations.cluster_squares(links, indicator))


class FCAG(Baseline):
    """Fast clustering with anchor guidance: label a few anchors, and the samples follow their nearest.

    Raises ``Σ_k ‖B q_k‖`` over hard labels q of the anchors, where the sparse rows of B are the samples' weights on
    their nearest anchors.

    Parameters
    ----------
    n_clusters : int, default=8
    n_anchors : int or "auto", default="auto"
        ``"auto"``: the power of two nearest to ``sqrt(n_samples * n_clusters)``, between n_clusters and n_samples.
    n_neighbors : int or "auto", default="auto"
        Anchors with a weight for each sample, fewer than there are anchors. ``"auto"``: 10, or a quarter of them.
    anchors : {"bkhk", "k-means", "random"}, default="bkhk"
        ``"bkhk"``: balanced hierarchical k-means. ``"random"``: samples.
    init : {"random", "k-means"} or array, default="random"
        ``"random"``: random labels of the anchors. ``"k-means"`` clusters them. An array: their labels.
    n_init : int, default=1
        Runs; the one with the largest sum is kept.
    max_iter : int, default=30
        Sweeps over all anchors.
    tol : float, default=1e-6
        A run stops after a sweep without a move, or when the sum changes by no more than ``tol``/100 of itself.
    random_state : int, RandomState or None, default=None
    callback : callable, optional
        Called after each sweep with an `afcm.fitting.loop.Iteration`; or an `afcm.checkpoints.Checkpoint`.

    Attributes
    ----------
    memberships_ : array (n_samples, n_clusters)
        B Q: the weight of each sample on the anchors of each cluster.
    labels_ : array (n_samples,)
    anchors_ : array (n_anchors, n_features)
    anchor_labels_ : array (n_anchors,)
    objective_ : float
        ``−Σ_k ‖B q_k‖``: lower is better, as everywhere in the package.
    history_ : dict of arrays
    n_iter_, converged_, crispness_, membership_state_, n_features_in_, feature_names_in_

    References
    ----------
    F. Nie, J. Xue, W. Yu, X. Li. Fast clustering with anchor guidance. IEEE TPAMI 46(4), 2024.

    Examples
    --------
    >>> from afcm.baselines import FCAG
    >>> from afcm.datasets import make_rings
    >>> X, _ = make_rings(random_state=0)
    >>> model = FCAG(n_clusters=3, n_anchors=64, random_state=0).fit(X)
    >>> model.memberships_.shape, model.anchors_.shape
    ((900, 3), (64, 2))
    """

    _parameter_rules: ClassVar[Rules] = {
        **Baseline._parameter_rules,
        "init": choice_or_array("random", "k-means"),
        "anchors": choice(table=METHODS),
        "n_anchors": integer(or_word="auto"),
        "n_neighbors": integer(or_word="auto"),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_anchors: int | str = "auto",
        n_neighbors: int | str = "auto",
        anchors: str = "bkhk",
        init: Any = "random",
        n_init: int = 1,
        max_iter: int = 30,
        tol: float = 1e-6,
        random_state: Any = None,
        callback: Callable[[Any], object] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.anchors = anchors
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callback = callback

    def _problem(self, X: Any, random: np.random.RandomState) -> GuidanceProblem:
        n_anchors = self._effective_anchors(X.shape[0])
        self._n_neighbors = self._effective_neighbors(n_anchors)
        self.anchors_ = METHODS[self.anchors](X, n_anchors, random)
        self._weights = anchor_weights(X, self.anchors_, self._n_neighbors)
        gram = sp.csr_array(self._weights.T @ self._weights)
        return GuidanceProblem(self.anchors_, gram, self.n_clusters)

    def _effective_anchors(self, n_samples: int) -> int:
        if self.n_anchors == "auto":
            balanced = 2 ** round(math.log2(n_samples * self.n_clusters) / 2)
            return min(max(balanced, self.n_clusters), n_samples)
        if not self.n_clusters <= int(self.n_anchors) <= n_samples:
            raise ValueError(
                f"n_anchors={self.n_anchors} must lie between n_clusters={self.n_clusters} and n_samples={n_samples}; "
                "use such a number, or 'auto'"
            )
        return int(self.n_anchors)

    def _effective_neighbors(self, n_anchors: int) -> int:
        if self.n_neighbors == "auto":
            return max(1, min(DEFAULT_NEIGHBORS, n_anchors // NEIGHBOR_SHARE))
        if int(self.n_neighbors) >= n_anchors:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be below the number of anchors, {n_anchors}; use at most "
                f"{max(n_anchors - 1, 1)}, or 'auto'"
            )
        return int(self.n_neighbors)

    def _start(self, problem: GuidanceProblem, random: np.random.RandomState) -> GuidanceState:
        n_anchors, n_clusters = problem.anchors.shape[0], self.n_clusters
        if not isinstance(self.init, str):
            return problem.at(check_labels(validation.number_array("init", self.init), n_anchors, n_clusters))
        if self.init == "random":
            return problem.at(random_labels(n_anchors, n_clusters, random))
        return problem.at(starts.k_means(problem.anchors, n_clusters, None, random))

    def _store(self, problem: GuidanceProblem, best: Result[GuidanceState]) -> None:
        self.anchor_labels_ = best.state.labels
        self._store_run(best, self._weights @ best.state.memberships, doubt_hard=False)
        del self._weights

    def predict_proba(self, X: Any) -> Any:
        """Memberships of new samples: their own weights on the anchors, B Q, n×c; rows sum to 1."""
        return self._anchor_weights(X) @ starts.one_hot(self.anchor_labels_, self.n_clusters)

    def transform(self, X: Any) -> Any:
        """Weights on the anchors, B, n×m."""
        return self._anchor_weights(X).toarray()

    def _anchor_weights(self, X: Any) -> Any:
        return anchor_weights(self._validate_new_table(X), self.anchors_, self._n_neighbors)

    @property
    def _n_features_out(self) -> int:
        return int(self.anchors_.shape[0])
