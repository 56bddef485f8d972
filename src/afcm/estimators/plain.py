"""`PlainAFCM`, the scikit-learn face of `afcm.models.plain`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from afcm import arrays
from afcm.equations import paper
from afcm.estimators import validation
from afcm.estimators.base import LikelihoodScores, hard_labels
from afcm.estimators.centers import CenterClusterer
from afcm.estimators.noise import LearnedBackground
from afcm.estimators.parameters import Rules, share_or_none
from afcm.models.cluster_mixture import Share
from afcm.models.fitted_background import Assign
from afcm.models.plain import PlainProblem


class PlainAFCM(LearnedBackground, LikelihoodScores, CenterClusterer):
    """Fuzzy c-means that learns its own fuzziness (the paper's Algorithm 2).

    Entropy-regularized fuzzy c-means whose precision γ is estimated with the centers. The same thing seen as a
    density: a mixture of spherical Gaussians with equal weights and one variance σ², γ = 1/(2σ²).

    Parameters
    ----------
    n_clusters : int, default=8
    noise : "auto", None or float, default=None
        ``"auto"`` looks for background, samples that belong to no cluster, and tells it by ``outlier_scores_`` and
        ``noise_share_``; where a test finds none both are 0. A number between 0 and 1 is the share of background. Clear
        background is left out of the learning, so that it bends neither centers nor γ; every sample gets
        memberships and a label in any case. None: nobody looks, as in the paper. `partial_fit` never looks.
    init : {"k-means++", "random"} or array, default="k-means++"
        ``"random"`` draws random memberships (the paper's start). An array holds memberships (n_samples × n_clusters)
        or centers (n_clusters × n_features).
    n_init : int or "auto", default="auto"
        Runs from different random starts; the one with the lowest objective is kept. That is safe here: J is
        the negative log-likelihood (up to a constant), bounded as long as X has more different samples than clusters.
        ``"auto"`` is 5, and 1 for a given array.
    max_iter : int, default=300
    tol : float, default=1e-6
        A run stops when no membership changes by more than ``tol``, or J by no more than ``tol``/100 a sample.
    random_state : int, RandomState or None, default=None
    callback : callable, optional
        Called after each sweep with an `afcm.fitting.loop.Iteration`; or an `afcm.checkpoints.Checkpoint`.
    device : str or torch.device, optional
        Where to compute, for example ``"cuda"`` (needs PyTorch): NumPy X goes there and NumPy results come back.
        Tensors are worked on where they are, and give tensors.
    warm_start : bool, default=False
        A further `fit` makes one run from the centers and γ of the fit before, whatever ``init`` and ``n_init`` say.
    memberships_format : {"dense", "sparse"}, default="dense"
        ``"sparse"``, for very many clusters: ``memberships_`` and `predict_proba` are SciPy CSR arrays of the largest
        few of each sample, at most 16, and fewer if those leave no more than 0.001 to all others. They are not scaled:
        a row sums to what its clusters hold. The fit keeps no array of n_samples × n_clusters.

    Attributes
    ----------
    memberships_ : array (n_samples, n_clusters)
    labels_ : array (n_samples,)
        ``argmax`` of the memberships.
    cluster_centers_ : array (n_clusters, n_features)
    gamma_ : float
        The learned precision; ``sqrt(1 / (2 * gamma_))`` is the clusters' standard deviation along each axis.
    objective_ : float
    history_ : dict of arrays
        ``objective``, ``gamma`` and ``membership_change`` after each sweep.
    n_iter_ : int
    converged_ : bool
    crispness_ : float
        0 when every membership is 1/c, 1 when every one is 0 or 1.
    membership_state_ : {"soft", "hard", "merged"}
        ``"hard"``: all are 0 or 1, with a warning if γ ran to its cap; ``"merged"``: all are 1/c, with a warning.
    noise_share_ : float
        Estimated share of background among the samples.
    outlier_scores_ : array (n_samples,)
        Estimated probability of each sample to be background rather than of any cluster. Both are there unless
        ``noise=None``.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from afcm import PlainAFCM
    >>> X = load_iris().data
    >>> model = PlainAFCM(n_clusters=3, random_state=0).fit(X)
    >>> model.memberships_.shape
    (150, 3)
    >>> model.membership_state_
    'soft'
    >>> print(f"{model.gamma_:.2f}")
    3.75
    """

    _parameter_rules: ClassVar[Rules] = {**CenterClusterer._parameter_rules, "noise": share_or_none}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        noise: Share = None,
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: Any = None,
        callback: Callable[[Any], object] | None = None,
        device: Any = None,
        warm_start: bool = False,
        memberships_format: str = "dense",
    ) -> None:
        self.n_clusters = n_clusters
        self.noise = noise
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callback = callback
        self.device = device
        self.warm_start = warm_start
        self.memberships_format = memberships_format

    def _problem(self, X: Any, masses: Any = None) -> PlainProblem:
        return PlainProblem(X, masses)

    def _validate_queries(self, X: Any) -> Any:
        return self._validate_new(X)

    def _assigner(self) -> Assign:
        return partial(assign, centers=arrays.to_host(self.cluster_centers_), precision=self.gamma_)

    def score_samples(self, X: Any) -> Any:
        """Log-density of each sample under the equivalent mixture."""
        points = self._validate_new(X)
        log_densities = partial(mixture_log_densities, centers=self._centers_for(points), precision=self.gamma_)
        return arrays.to_device_of(arrays.map_rows(log_densities, points), X)

    def _n_parameters(self) -> int:
        return math.prod(self.cluster_centers_.shape) + 1

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, Any]:
        """Draw samples from the equivalent mixture; returns them and the clusters they came from."""
        n = validation.check_integer("n_samples", n_samples)
        random = check_random_state(random_state)
        labels = np.sort(random.randint(self.cluster_centers_.shape[0], size=n))
        noise = random.standard_normal((n, self.n_features_in_)) / math.sqrt(2 * self.gamma_)
        return arrays.to_host(self.cluster_centers_)[labels] + noise, labels


def assign(points: Any, centers: Any, precision: float) -> Any:
    """The cluster of the largest membership, on the host."""
    return hard_labels(PlainProblem(arrays.to_host(points)).memberships_at(centers, precision))


def mixture_log_densities(points: Any, centers: Any, precision: float) -> Any:
    """Log-density of each sample under equal-weight spherical Gaussians, γ = 1/(2σ²)."""
    constant = 0.5 * points.shape[1] * math.log(precision / math.pi) - math.log(centers.shape[0])
    return constant - paper.free_energies(paper.squared_distances(points, centers), precision)
