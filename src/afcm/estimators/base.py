"""The bases of estimators: `SoftClusterer` for all of them, `LikelihoodScores` for those that give a density."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from afcm._util.messages import warn_user
from afcm.arrays import backend_of, is_chunked, map_rows
from afcm.equations.cluster_sets import smallest_sets, sparse_sets
from afcm.equations.sparse_memberships import find_largest, largest_of_rows, mean_left_out
from afcm.estimators.inputs import validate_samples, validate_table
from afcm.estimators.notebook import write_summary
from afcm.estimators.parameters import Rules, check_parameters
from afcm.estimators.validation import check_share
from afcm.exceptions import HardMembershipsWarning, MergedClustersWarning, NotConvergedWarning
from afcm.fitting.loop import Result

# Memberships that all lie this close to 1/c are merged clusters, not an answer; to 0 or 1, hard.
MERGED_TOL = HARD_TOL = 1e-3


class SoftClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Labels from memberships, membership diagnostics, and the attributes of a finished run."""

    memberships_: Any
    cluster_centers_: Any
    n_clusters: Any
    max_iter: int

    _parameter_rules: ClassVar[Rules]
    _dtypes: ClassVar[tuple[str, ...]] = ("float64", "float32")

    _hard_advice = "the clusters are points at this scale: use fewer clusters, or read the result as labels"

    def _check_parameters(self) -> None:
        check_parameters(self, self._parameter_rules)

    @property
    def probabilities_(self) -> Any:
        """The largest membership of each fitted sample (n,): how sure its label is, under hdbscan's name for it."""
        return map_rows(largest_memberships, self.memberships_)

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = list(self._dtypes)
        return tags

    def _repr_html_inner(self) -> str:
        """In a notebook: what was found, above scikit-learn's diagram, which stands alone before the fit."""
        diagram = super()._repr_html_inner()
        return write_summary(self) + diagram if hasattr(self, "memberships_") else diagram

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**options)
        return bundle | ({"text/html": self._repr_html_inner()} if "text/html" in bundle else {})

    def predict(self, X: Any) -> Any:
        """Index of the cluster with the largest membership, for each row of X."""
        return hard_labels(self.predict_proba(X))

    def predict_proba(self, X: Any) -> Any:
        """Memberships of new samples, n×c; rows sum to 1. The model is not changed."""
        raise NotImplementedError

    def cluster_sets(self, alpha: float = 0.1, X: Any = None) -> Any:
        """The smallest set of clusters of each sample whose memberships sum to at least 1 − alpha.

        Where memberships are right as probabilities, a sample's own cluster is in its set with a probability of at
        least 1 − alpha. ``docs/memberships.md`` tells how often it is.

        Parameters
        ----------
        alpha : float, default=0.1
            Above 0 and below 1.
        X : array, optional
            New samples, as for `predict_proba`. Default: the samples of the fit.

        Returns
        -------
        array of bool (n_samples, n_clusters)
            True where the cluster is in the sample's set. Every set holds the cluster of the sample's label. Of sparse
            memberships a CSR array; a set holds all clusters of its row if these sum to less.
        """
        check_is_fitted(self)
        check_share("alpha", alpha)
        memberships = self.memberships_ if X is None else self.predict_proba(X)
        if sparse.issparse(memberships):
            return sparse_sets(memberships, float(alpha))
        return map_rows(partial(smallest_sets, alpha=float(alpha)), memberships, memberships.shape[1])

    def _validate_new(self, X: Any, *, accept_sparse: bool = False) -> Any:
        """Check samples for a fitted model, and put them where they are to be worked on."""
        check_is_fitted(self)
        sparse = "csr" if accept_sparse else False
        return validate_samples(self, X, device=getattr(self, "device", None), accept_sparse=sparse, reset=False)

    def _validate_new_table(self, X: Any, **options: Any) -> Any:
        """Check samples in memory for a fitted model that takes nothing else."""
        check_is_fitted(self)
        return validate_table(self, X, reset=False, **options)

    def _store_run(self, result: Result[Any], memberships: Any, *, doubt_hard: bool) -> None:
        """Set the attributes that every iterative fit leaves behind, and warn of what needs saying.

        ``doubt_hard``: hard memberships would come from the model, not from the data, and deserve a warning.
        """
        self.memberships_ = memberships
        self.labels_ = hard_labels(memberships)
        self.objective_ = result.state.objective
        if result.state.precision is not None:
            self.gamma_ = result.state.precision
        self.history_ = result.history
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        known = summarize(memberships)
        self.crispness_ = crispness(known)
        self.membership_state_ = self._judge(known)
        self._warn(result, doubt_hard)

    def _warn(self, result: Result[Any], doubt_hard: bool) -> None:
        name = type(self).__name__
        merged = self._merged_finding()
        if merged:
            warn_user(f"{name}: {merged}; {self._merged_advice()}", MergedClustersWarning)
        if self.membership_state_ == "hard" and doubt_hard:
            warn_user(
                f"{name}: memberships became hard (gamma_={self.gamma_:.3g}): they are 0 or 1 and tell labels, not "
                f"ambiguity; {self._hard_advice}",
                HardMembershipsWarning,
            )
        if not result.converged:
            early = result.n_iter < self.max_iter  # Ctrl-C
            after = f"stopped after {result.n_iter}" if early else f"not converged after max_iter={self.max_iter}"
            warn_user(
                f"{name}: {after} sweeps (memberships still changed by "
                f"{result.history['membership_change'][-1]:.3g}); {'fit again' if early else 'raise max_iter or tol'}",
                NotConvergedWarning,
            )

    def _judge(self, known: MembershipSummary) -> str:
        return membership_state(known)

    def _merged_finding(self) -> str:
        """A sentence about merged clusters, or an empty string."""
        if self.membership_state_ != "merged":
            return ""
        return f"all clusters merged, every membership is 1/{self.memberships_.shape[1]} and the labels mean nothing"

    def _merged_advice(self) -> str:
        return "try another init or fewer clusters"


class LikelihoodScores:
    """`score`, `bic` and `aic` for an estimator with ``score_samples`` and ``_n_parameters``."""

    def score_samples(self, X: Any) -> Any:
        """Log-density of each sample under the fitted model."""
        raise NotImplementedError

    def _n_parameters(self) -> int:
        raise NotImplementedError

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-density: higher is better."""
        return float(self.score_samples(X).mean())

    def bic(self, X: Any) -> float:
        """Bayesian information criterion: lower is better."""
        return -2 * self.score(X) * len(X) + self._n_parameters() * math.log(len(X))

    def aic(self, X: Any) -> float:
        """Akaike information criterion: lower is better."""
        return -2 * self.score(X) * len(X) + 2 * self._n_parameters()


def hard_labels(memberships: Any, block_rows: int = 8192) -> Any:
    """``argmax_j u_ij`` (the first on ties), by blocks: NumPy's argmax copies what is not in row order."""
    if sparse.issparse(memberships):
        return find_largest(memberships)
    if is_chunked(memberships):
        return map_rows(hard_labels, memberships)
    xp = array_namespace(memberships)
    labels = xp.empty(memberships.shape[0], dtype=xp.int64, device=device(memberships))
    for start in range(0, memberships.shape[0], block_rows):
        labels[start : start + block_rows] = xp.argmax(memberships[start : start + block_rows], axis=1)
    return labels


def largest_memberships(memberships: Any) -> Any:
    """``max_j u_ij``."""
    if sparse.issparse(memberships):
        return largest_of_rows(memberships)
    return array_namespace(memberships).max(memberships, axis=1)


class MembershipSummary(NamedTuple):
    """A few numbers about all memberships, from one pass."""

    shape: tuple[int, int]
    square_sum: float
    smallest: float
    largest: float
    least_sure: float  # the smallest of the samples' largest


def summarize(memberships: Any) -> MembershipSummary:
    if is_chunked(memberships):
        return MembershipSummary(memberships.shape, *backend_of(memberships).measure_extent(memberships))
    sure = largest_memberships(memberships)
    if sparse.issparse(memberships):
        left = mean_left_out(memberships)
        is_whole = np.diff(memberships.indptr) == memberships.shape[1]
        smallest = min(left[~is_whole].min(initial=1.0), memberships.data.min())
        return MembershipSummary(
            memberships.shape, *map(float, (memberships.data @ memberships.data, smallest, sure.max(), sure.min()))
        )
    numbers = (backend_of(memberships).sum_squares(memberships), memberships.min(), sure.max(), sure.min())
    return MembershipSummary(memberships.shape, *map(float, numbers))


def crispness(memberships: Any) -> float:
    """The normalized partition coefficient ``(c Σ u²/n − 1) / (c − 1)``: 0 for all 1/c, 1 for all 0 or 1."""
    known = memberships if isinstance(memberships, MembershipSummary) else summarize(memberships)
    n_samples, n_clusters = known.shape
    if n_clusters == 1:
        return 1.0
    coefficient = known.square_sum / n_samples
    return min(max((n_clusters * coefficient - 1) / (n_clusters - 1), 0.0), 1.0)


def membership_state(memberships: Any) -> str:
    """``"merged"`` (all 1/c), ``"hard"`` (all 0 or 1) or ``"soft"``."""
    known = memberships if isinstance(memberships, MembershipSummary) else summarize(memberships)
    n_clusters = known.shape[1]
    if n_clusters == 1:
        return "soft"
    if max(known.largest - 1 / n_clusters, 1 / n_clusters - known.smallest) < MERGED_TOL:
        return "merged"
    return "hard" if known.least_sure > 1 - HARD_TOL else "soft"
