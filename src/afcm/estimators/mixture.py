"""`GeneralizedGaussianMixture`, the scikit-learn face of `afcm.models.mixture`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from afcm._util.messages import warn_user
from afcm.checkpoints import open_journal
from afcm.equations import generalized_gaussian
from afcm.equations.scatters import STRUCTURES, SingularScatterError
from afcm.estimators import mixture_starts, validation
from afcm.estimators.base import LikelihoodScores, SoftClusterer, hard_labels
from afcm.estimators.inputs import check_memory, validate_table
from afcm.estimators.noise import LearnedBackground, set_aside
from afcm.estimators.parameters import ITERATIVE, Rules, choice, choice_or_array, integer, real, share_or_none
from afcm.exceptions import AFCMWarning
from afcm.fitting.loop import best_run, share_still
from afcm.graph.duplicates import DistinctRows, merge_duplicates
from afcm.models import mixture
from afcm.models.cluster_mixture import Share
from afcm.models.fitted_background import Assign
from afcm.models.mixture import MixtureProblem, Parameters
from afcm.models.plain import total_scatter


def check_shape(name: str, value: Any) -> None:
    """``"learn"``, or a number within the bounds of β."""
    lower, upper = generalized_gaussian.SHAPE_BOUNDS
    if isinstance(value, str):
        validation.check_choice(name, value, ("learn",))
    elif not lower <= validation.check_real(name, value) <= upper:
        raise ValueError(f"{name}={value!r} must lie between {lower} and {upper}; use 'learn' to estimate it")


class GeneralizedGaussianMixture(LearnedBackground, LikelihoodScores, SoftClusterer):
    """Mixture of multivariate generalized Gaussians (the paper's proposition 1).

    Component j has the density ``C |Σ_j|^{-1/2} exp(−m y^β)`` with ``y = (x − v_j)ᵀ Σ_j⁻¹ (x − v_j)``. The shape β says
    how heavy the tails are: 1 is the Gaussian, 1/2 the Laplace-like, large values are flat with sharp edges. It is
    learned with the rest by generalized EM, so a few far samples need not spoil centers and scatters.

    Parameters
    ----------
    n_clusters : int, default=8
    covariance_type : {"full", "tied", "diag", "spherical", "identity"}, default="full"
        As in `sklearn.mixture.GaussianMixture`. ``"identity"`` is the paper's simplification Σ = I, where
        the scale m is learned instead: `PlainAFCM` with mixing weights and a shape.
    shape : "learn" or float, default="learn"
        β, or a number from 0.05 to 20 to fix it. ``shape=1`` is the Gaussian mixture. Below 1/2 every sample is a
        peak of the likelihood for a center: with few samples and far outliers the learned β may run to 0.05,
        which is said in a warning.
    shared_shape : bool, default=True
        One β for all components (the paper), or one for each.
    noise : "auto", None or float, default=None
        ``"auto"`` looks for background, samples that belong to no cluster, and tells it by ``outlier_scores_`` and
        ``noise_share_``; where a test finds none both are 0. A number between 0 and 1 is the share of background. Clear
        background is left out of the learning, so that it bends no center, scatter or shape; every sample gets
        memberships and a label in any case. None: nobody looks.
    init : {"k-means", "k-means++", "random"} or array, default="k-means"
        ``"random"`` draws random memberships. An array holds memberships (n_samples × n_clusters), or centers
        (n_clusters × n_features) of which each sample takes the nearest.
    n_init : int, default=1
        Runs from different random starts; the one with the lowest objective is kept. A given array makes one run.
    max_iter : int, default=500
    tol : float, default=1e-6
        A run stops when J changes by no more than ``tol``/100 a sample (hard memberships stand still long before shape
        and scatters do).
    reg_covar : float, default=1e-6
        The smallest variance a component may have in any direction. It bounds J, and changes nothing as long as the
        variances are larger (`sklearn.mixture.GaussianMixture` adds it to every variance instead).
    random_state : int, RandomState or None, default=None
    callback : callable, optional
        Called after each sweep with an `afcm.fitting.loop.Iteration`; or an `afcm.checkpoints.Checkpoint`.
    warm_start : bool, default=False
        A further `fit` makes one run from the parameters of the fit before, whatever ``init`` and ``n_init`` say.

    Attributes
    ----------
    weights_ : array (n_clusters,)
    cluster_centers_ : array (n_clusters, n_features)
        Also called ``means_``.
    scatters_ : array
        The scatter matrices Σ_j, which are not covariances unless β = 1; shaped as in
        `sklearn.mixture.GaussianMixture` (``"identity"``: ones).
    covariances_ : array
        ``m^{−1/β} Γ((d+2)/(2β)) / (d Γ(d/(2β))) Σ_j``, the covariances of the components; shaped like
        ``scatters_``, and one per component where β differs.
    shape_ : float or array (n_clusters,)
        β; an array if each component learned its own.
    scale_, gamma_ : float
        m, which is AFCM's γ. It is redundant with the size of Σ and therefore 1/2 (the Gaussian's) unless
        ``covariance_type="identity"``.
    memberships_ : array (n_samples, n_clusters)
    labels_ : array (n_samples,)
        ``argmax`` of the memberships.
    objective_ : float
        J of proposition 1, the negative log-likelihood of the (weighted) samples.
    history_ : dict of arrays
        ``objective``, ``gamma``, ``membership_change`` and ``shape`` (n_iter, or n_iter × n_clusters) after each sweep.
    n_iter_, converged_ : int, bool
    crispness_ : float
        0 when every membership is 1/c, 1 when every one is 0 or 1.
    membership_state_ : {"soft", "hard", "merged"}
    noise_share_ : float
        Estimated share of background among the samples.
    outlier_scores_ : array (n_samples,)
        Estimated probability of each sample to be background rather than of any cluster. Both are there unless
        ``noise=None``.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from afcm import GeneralizedGaussianMixture
    >>> X = load_iris().data
    >>> model = GeneralizedGaussianMixture(n_clusters=3, covariance_type="tied", random_state=0).fit(X)
    >>> model.memberships_.shape
    (150, 3)
    >>> print(f"{model.shape_:.2f}")
    0.61
    >>> draws, components = model.sample(5, random_state=0)
    >>> draws.shape
    (5, 4)
    """

    _parameter_rules: ClassVar[Rules] = {
        **ITERATIVE,
        "n_init": integer(),
        "reg_covar": real(),
        "covariance_type": choice(*STRUCTURES),
        "noise": share_or_none,
        "init": choice_or_array("k-means", "k-means++", "random"),
        "shared_shape": validation.check_flag,
        "warm_start": validation.check_flag,
        "shape": check_shape,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        covariance_type: str = "full",
        shape: float | str = "learn",
        shared_shape: bool = True,
        noise: Share = None,
        init: Any = "k-means",
        n_init: int = 1,
        max_iter: int = 500,
        tol: float = 1e-6,
        reg_covar: float = 1e-6,
        random_state: Any = None,
        callback: Callable[[Any], object] | None = None,
        warm_start: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.covariance_type = covariance_type
        self.shape = shape
        self.shared_shape = shared_shape
        self.noise = noise
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.reg_covar = reg_covar
        self.random_state = random_state
        self.callback = callback
        self.warm_start = warm_start

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn weights, centers, scatters, shape and memberships.

        Parameters
        ----------
        X : array (n_samples, n_features)
        y : ignored
        sample_weight : array (n_samples,), optional
            Weight 0 is as if the sample were absent, weight 2 as if it were there twice.
        """
        self._check_parameters()
        X = validate_table(self, X)
        weights = validation.check_sample_weight(sample_weight, X.shape[0])
        kept = set_aside(X, weights, self.noise, self.n_clusters)
        samples = merge_duplicates(X, kept)
        validation.check_enough_samples(self.n_clusters, X.shape[0], samples.rows.size)
        if samples.rows.size == 1:
            raise ValueError(f"X has but one sample to learn a scatter from (n_samples={X.shape[0]}); use at least two")
        origin, problem = self._problem(X, samples)
        journal = open_journal(self, X, kept)
        random = journal.restore_random(check_random_state(self.random_state))
        given = partial(mixture_starts.read_given, self.init, self.n_clusters, X, kept, samples)
        try:
            best, interrupt = best_run(
                problem,
                mixture_starts.make_starters(self, problem, origin, given, random),
                key=lambda result: result.state.objective,
                max_iter=self.max_iter,
                tol=self.tol,
                stop=share_still,
                journal=journal,
            )
        except SingularScatterError as error:
            raise ValueError(
                f"reg_covar={self.reg_covar!r} is too small for these data: {error}; raise it to about 1e-6 times the "
                "variance of a feature, or use covariance_type='diag', or fewer clusters"
            ) from error
        self._store_parameters(best.state.parameters, origin)
        self._store_run(best, self._memberships_of(X), doubt_hard=False)
        if not np.ndim(self.shape_):
            self.history_["shape"] = self.history_["shape"][:, 0]
        self._warn_of_needles()
        self._tell_background(X, weights, self.noise, X)
        if interrupt is not None:
            raise interrupt
        return self

    def _warn_of_needles(self) -> None:
        lowest = generalized_gaussian.SHAPE_BOUNDS[0]
        if isinstance(self.shape, str) and np.min(self.shape_) <= lowest:
            warn_user(
                f"{type(self).__name__}: the learned shape ran to its lower bound {lowest}: the density is a needle "
                "and its centres sit on single samples; fix shape (0.5 still has heavy tails), or use fewer clusters "
                "or more samples",
                AFCMWarning,
            )

    def _problem(self, X: Any, samples: DistinctRows) -> tuple[Any, MixtureProblem]:
        """The mean, and the problem of the different samples about it, in double precision."""
        points = X[samples.rows].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            validation.check_scale(X, total_scatter(points, samples.masses))
        origin = np.average(points, axis=0, weights=samples.masses)
        structure, dimension = STRUCTURES[self.covariance_type], X.shape[1]
        check_memory(
            16 * self.n_clusters * structure.geometry.n_parameters(dimension),
            f"covariance_type={self.covariance_type!r} with {dimension} features",
            "use 'diag' or 'spherical', or fewer features, for example with sklearn.decomposition.PCA",
        )
        settings = structure, self.reg_covar, isinstance(self.shape, str), bool(self.shared_shape)
        return origin, MixtureProblem(points - origin, samples.masses, *settings)

    def _store_parameters(self, fitted: Parameters, origin: Any) -> None:
        structure = STRUCTURES[self.covariance_type]
        self.weights_ = fitted.weights
        self.cluster_centers_ = fitted.centers + origin
        own = isinstance(self.shape, str) and not self.shared_shape
        self.shape_ = fitted.shapes if own else float(fitted.shapes[0])
        self.scale_ = fitted.scale
        self.scatters_ = np.array(fitted.scatters[0] if structure.tied else fitted.scatters)
        factors = generalized_gaussian.covariance_factors(self.shape_, self.scale_, self.n_features_in_)
        trailing = (1,) * (fitted.scatters.ndim - 1)
        self.covariances_ = np.reshape(factors, np.shape(factors) + trailing * own) * self.scatters_

    @property
    def means_(self) -> Any:
        """The centers, under scikit-learn's name for them."""
        return self.cluster_centers_

    def _parameters(self) -> Parameters:
        n_clusters, structure = self.weights_.size, STRUCTURES[self.covariance_type]
        full = (n_clusters, *self.scatters_.shape)
        scatters = np.broadcast_to(self.scatters_, full) if structure.tied else self.scatters_
        shapes = np.broadcast_to(self.shape_, n_clusters)
        return Parameters(self.weights_, self.cluster_centers_, scatters, shapes, self.scale_)

    def _log_joint(self, X: Any) -> Any:
        return mixture.log_joint(X, self._parameters(), STRUCTURES[self.covariance_type])

    def predict_proba(self, X: Any) -> Any:
        """Memberships of new samples, n×c; rows sum to 1. The model is not changed."""
        return self._memberships_of(self._validate_new_table(X))

    def _memberships_of(self, X: Any) -> Any:
        return generalized_gaussian.memberships(self._log_joint(X)).astype(X.dtype, copy=False)

    def _validate_queries(self, X: Any) -> Any:
        return self._validate_new_table(X)

    def _assigner(self) -> Assign:
        return lambda points: hard_labels(self._memberships_of(points))

    def transform(self, X: Any) -> Any:
        """Distances to the centers in each component's own metric Σ_j, n×c (Mahalanobis' for β = 1)."""
        X = self._validate_new_table(X)
        distances = mixture.squared_distances(X, self._parameters(), STRUCTURES[self.covariance_type])
        return np.sqrt(distances).astype(X.dtype, copy=False)

    def score_samples(self, X: Any) -> Any:
        """Log-density of each sample under the mixture."""
        return generalized_gaussian.log_likelihoods(self._log_joint(self._validate_new_table(X)))

    def _n_parameters(self) -> int:
        n_clusters, dimension = self.cluster_centers_.shape
        n_shapes = np.size(self.shape_) if isinstance(self.shape, str) else 0
        scatters = STRUCTURES[self.covariance_type].n_parameters(n_clusters, dimension)
        return int(n_clusters * dimension + n_clusters - 1 + scatters + n_shapes)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, Any]:
        """Draw samples from the mixture; returns them and the components they came from."""
        check_is_fitted(self)
        n = validation.check_integer("n_samples", n_samples)
        random = check_random_state(random_state)
        counts = random.multinomial(n, self.weights_ / self.weights_.sum())
        drawn = mixture.draw_samples(self._parameters(), STRUCTURES[self.covariance_type], counts, random)
        return drawn, np.repeat(np.arange(counts.size), counts)
