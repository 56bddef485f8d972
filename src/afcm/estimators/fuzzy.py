"""`FCM` and `EntropyFCM`, the scikit-learn faces of `afcm.models.fuzzy`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from afcm.estimators import validation
from afcm.estimators.centers import CenterClusterer
from afcm.estimators.parameters import Rules
from afcm.fitting import starts
from afcm.models.fuzzy import EntropyProblem, FuzzyProblem


def check_gamma(name: str, value: Any) -> None:
    """``"auto"``, or a positive number."""
    if isinstance(value, str):
        validation.check_choice(name, value, ("auto",))
    else:
        validation.check_real(name, value, positive=True)


class FixedFuzziness(CenterClusterer):
    """Fuzzy c-means whose fuzziness the user chooses; its objective scores new samples."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the objective on X per sample, at the fitted centers: higher is better.

        On the fitted samples that is ``-objective_ / n_samples``. It always grows with ``n_clusters``: compare
        fits on the same samples with the same number of clusters and the same fuzziness.
        """
        state = self._state_of(X, sample_weight)
        return -state.objective / state.problem.mass

    def _merged_finding(self) -> str:
        """Too much fuzziness merges clusters one by one before it merges all."""
        different = self._n_different_centers()
        if self.membership_state_ == "merged" or different == self.n_clusters:
            return super()._merged_finding()
        return f"only {different} of {self.n_clusters} centres are different, clusters merged"


class FCM(FixedFuzziness):
    """Fuzzy c-means (Bezdek): memberships that fall off as a power of the distance.

    Lowers ``J = Σ_ij u_ij^m ‖x_i − v_j‖²`` over centers V and memberships U whose rows sum to 1.

    Parameters
    ----------
    n_clusters : int, default=8
    m : float, default=2.0
        Fuzziness, above 1. Near 1 the memberships are those of k-means. What is right depends on the data, above all on
        the number of features: at ``m=2`` all clusters merge in a few dozen dimensions, with a warning. `PlainAFCM`
        learns its fuzziness instead.
    init : {"k-means++", "random"} or array, default="k-means++"
        ``"random"`` draws random memberships. An array holds memberships (n_samples × n_clusters) or centers
        (n_clusters × n_features).
    n_init : int or "auto", default="auto"
        Runs from different random starts; the one with the lowest objective is kept. ``"auto"`` is 5, and 1 for
        a given array.
    max_iter : int, default=300
    tol : float, default=1e-6
    stop : {"memberships", "objective", "either"}, default="memberships"
        A run stops when no membership changes by more than ``tol``; when J changes by no more than ``tol``, in its own
        unit; or when either no membership changes by more than ``tol`` or J by no more than ``tol``/100 of itself.
    random_state : int, RandomState or None, default=None
    callback : callable, optional
        Called after each sweep with an `afcm.fitting.loop.Iteration`; or an `afcm.checkpoints.Checkpoint`.
    device : str or torch.device, optional
        Where to compute, for example ``"cuda"`` (needs PyTorch): NumPy X goes there and NumPy results come back.
        Tensors are worked on where they are, and give tensors.
    warm_start : bool, default=False
        A further `fit` makes one run from the centers of the fit before, whatever ``init`` and ``n_init`` say.
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
    objective_ : float
    history_ : dict of arrays
        ``objective`` and ``membership_change`` after each sweep.
    n_iter_ : int
    converged_ : bool
    crispness_ : float
        0 when every membership is 1/c, 1 when every one is 0 or 1.
    membership_state_ : {"soft", "hard", "merged"}
        ``"hard"``: all are 0 or 1; ``"merged"``: all are 1/c or all centers coincide, with a warning.
    n_features_in_, feature_names_in_

    See Also
    --------
    EntropyFCM : Memberships that fall off exponentially.
    PlainAFCM : The same with a fuzziness that is learned.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from afcm import FCM
    >>> X = load_iris().data
    >>> model = FCM(n_clusters=3, random_state=0).fit(X)
    >>> model.memberships_.shape
    (150, 3)
    >>> print(f"{model.objective_:.2f}")
    60.51
    >>> bool((model.predict(X) == model.labels_).all())
    True
    """

    _parameter_rules: ClassVar[Rules] = {**CenterClusterer._parameter_rules, "m": validation.check_exponent}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        m: float = 2.0,
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        stop: str = "memberships",
        random_state: Any = None,
        callback: Callable[[Any], object] | None = None,
        device: Any = None,
        warm_start: bool = False,
        memberships_format: str = "dense",
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callback = callback
        self.device = device
        self.warm_start = warm_start
        self.memberships_format = memberships_format
        self.m = m
        self.stop = stop

    @classmethod
    def matlab(cls, n_clusters: int, **changes: Any) -> Self:
        """MATLAB's ``fcm`` as its defaults are: one run from random memberships, m = 2, loose in its stop.

        At most 100 sweeps, until J changes by no more than 1e-5. That is early: on Iris scaled to [0, 1] most starts
        stop before their labels are final. ``changes`` are any other parameters.

        Examples
        --------
        >>> from afcm import FCM
        >>> FCM.matlab(3, random_state=0)
        FCM(init='random', max_iter=100, n_clusters=3, n_init=1, random_state=0,
            stop='objective', tol=1e-05)
        """
        setting: dict[str, Any] = {"m": 2.0, "init": "random", "n_init": 1}
        setting |= {"max_iter": 100, "tol": 1e-5, "stop": "objective"}
        return cls(n_clusters, **(setting | changes))

    def _prepare(self, X: Any, masses: Any, random: np.random.RandomState) -> None:
        self._exponent = float(self.m)

    def _problem(self, X: Any, masses: Any = None) -> FuzzyProblem:
        return FuzzyProblem(X, masses, self._exponent)

    def _merged_advice(self) -> str:
        return (
            f"m={self.m!r} is too fuzzy for {self.n_features_in_} features: use a smaller m (try "
            f"{1 + (self.m - 1) / 4:.3g}), or PlainAFCM, which learns its fuzziness"
        )


class EntropyFCM(FixedFuzziness):
    """Fuzzy c-means with an entropy term (FCM-ER, Li and Mukaidono): memberships that fall off exponentially.

    Lowers ``J = Σ_ij u_ij ‖x_i − v_j‖² + (1/γ) Σ_ij u_ij log u_ij`` with a fixed γ.

    Parameters
    ----------
    n_clusters : int, default=8
    gamma : float or "auto", default="auto"
        Precision γ, in units of 1/X²: large is crisp (k-means), small is fuzzy, and below 1/(2 × the largest
        eigenvalue of the covariance of X) all clusters merge, with a warning. ``"auto"`` is d/(2 s²), with d features
        and s² the mean squared distance of a sample to its center in a short run of k-means: clusters as wide as those
        of k-means. `PlainAFCM` learns γ instead.
    init : {"k-means++", "random"} or array, default="k-means++"
        ``"random"`` draws random memberships. An array holds memberships (n_samples × n_clusters) or centers
        (n_clusters × n_features).
    n_init : int or "auto", default="auto"
        Runs from different random starts; the one with the lowest objective is kept. ``"auto"`` is 5, and 1 for
        a given array.
    max_iter : int, default=300
    tol : float, default=1e-6
    stop : {"memberships", "objective", "either"}, default="memberships"
        A run stops when no membership changes by more than ``tol``; when J changes by no more than ``tol``, in its own
        unit; or when either no membership changes by more than ``tol`` or J by no more than ``tol``/100 of itself.
    random_state : int, RandomState or None, default=None
    callback : callable, optional
        Called after each sweep with an `afcm.fitting.loop.Iteration`; or an `afcm.checkpoints.Checkpoint`.
    device : str or torch.device, optional
        Where to compute, for example ``"cuda"`` (needs PyTorch): NumPy X goes there and NumPy results come back.
        Tensors are worked on where they are, and give tensors.
    warm_start : bool, default=False
        A further `fit` makes one run from the centers of the fit before, whatever ``init`` and ``n_init`` say.
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
        The precision of the fit.
    objective_ : float
    history_ : dict of arrays
        ``objective``, ``gamma`` (constant) and ``membership_change`` after each sweep.
    n_iter_ : int
    converged_ : bool
    crispness_ : float
        0 when every membership is 1/c, 1 when every one is 0 or 1.
    membership_state_ : {"soft", "hard", "merged"}
        ``"hard"``: all are 0 or 1; ``"merged"``: all are 1/c or all centers coincide, with a warning.
    n_features_in_, feature_names_in_

    See Also
    --------
    FCM : Memberships that fall off as a power of the distance.
    PlainAFCM : The same with a precision that is learned.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import minmax_scale
    >>> from afcm import EntropyFCM
    >>> from afcm.metrics import clustering_accuracy
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EntropyFCM(n_clusters=3, gamma=8, random_state=0).fit(minmax_scale(X))
    >>> print(f"{100 * clustering_accuracy(y, model.labels_):.2f}")
    89.33
    """

    _parameter_rules: ClassVar[Rules] = {**CenterClusterer._parameter_rules, "gamma": check_gamma}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        gamma: float | str = "auto",
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        stop: str = "memberships",
        random_state: Any = None,
        callback: Callable[[Any], object] | None = None,
        device: Any = None,
        warm_start: bool = False,
        memberships_format: str = "dense",
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callback = callback
        self.device = device
        self.warm_start = warm_start
        self.memberships_format = memberships_format
        self.gamma = gamma
        self.stop = stop

    def _prepare(self, X: Any, masses: Any, random: np.random.RandomState) -> None:
        if not isinstance(self.gamma, str):
            self.gamma_ = float(self.gamma)
        elif not self._continues():
            seeds = starts.seed_centers(X, self.n_clusters, masses, random)
            self.gamma_ = starts.k_means_precision(X, masses, seeds)

    def _problem(self, X: Any, masses: Any = None) -> EntropyProblem:
        return EntropyProblem(X, masses, self.gamma_)

    def _merged_advice(self) -> str:
        return (
            f"gamma={self.gamma_:.3g} is too small for the spread of X: use a larger gamma (try "
            f"{4 * self.gamma_:.3g}) or 'auto', or PlainAFCM, which learns it"
        )
