"""What every soft clusterer of the package has in common."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from array_api_compat import array_namespace, device
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from afcm.arrays import backend_of, is_chunked, map_rows
from afcm.estimators.inputs import DTYPES, entered
from afcm.estimators.tables import validated
from afcm.exceptions import HardMembershipsWarning, MergedClustersWarning, NotConvergedWarning
from afcm.fitting.loop import Result

# Memberships that all lie this close to 1/c are merged clusters, not an answer; to 0 or 1, hard.
MERGED_TOL = HARD_TOL = 1e-3

__all__ = ["DTYPES", "SoftClusterer", "crispness", "hard_labels", "membership_state"]


class SoftClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Labels from memberships, membership diagnostics, and the attributes of a finished run."""

    memberships_: Any
    n_clusters: Any
    max_iter: int

    def predict(self, X: Any) -> Any:
        """Index of the cluster with the largest membership, for each row of X."""
        return hard_labels(self.predict_proba(X))

    def predict_proba(self, X: Any) -> Any:
        """Memberships of new samples, n×c; rows sum to 1. The model is not changed."""
        raise NotImplementedError

    def _validated_new(self, X: Any, *, accept_sparse: bool = False) -> Any:
        check_is_fitted(self)
        sparse = "csr" if accept_sparse else False
        return validated(self, X, accept_sparse=sparse, dtype=DTYPES, reset=False)

    def _entered(self, X: Any, *, accept_sparse: bool = False) -> Any:
        """`_validated_new` for models that take tensors too: X where it is to be worked on."""
        check_is_fitted(self)
        sparse = "csr" if accept_sparse else False
        return entered(self, X, device=getattr(self, "device", None), accept_sparse=sparse, reset=False)

    def _store_run(self, result: Result[Any], memberships: Any, *, doubt_hard: bool) -> None:
        """The attributes that every alternating fit leaves behind, and a word when something needs saying.

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
        known = extent(memberships)
        self.crispness_ = crispness(known)
        self.membership_state_ = self._judged(known)
        self._warn(result, doubt_hard)

    def _warn(self, result: Result[Any], doubt_hard: bool) -> None:
        name = type(self).__name__
        merged = self._merged_finding()
        if merged:
            warnings.warn(f"{name}: {merged}; {self._merged_advice()}", MergedClustersWarning, stacklevel=4)
        if self.membership_state_ == "hard" and doubt_hard:
            warnings.warn(
                f"{name}: memberships became hard (gamma_={self.gamma_:.3g}): they are 0 or 1 and tell labels, not "
                f"ambiguity; {self._hard_advice()}",
                HardMembershipsWarning,
                stacklevel=4,
            )
        if not result.converged:
            early = result.n_iter < self.max_iter  # Ctrl-C
            after = f"stopped after {result.n_iter}" if early else f"not converged after max_iter={self.max_iter}"
            warnings.warn(
                f"{name}: {after} sweeps (memberships still changed by "
                f"{result.history['membership_change'][-1]:.3g}); {'fit again' if early else 'raise max_iter or tol'}",
                NotConvergedWarning,
                stacklevel=4,
            )

    def _judged(self, memberships: Any) -> str:
        return membership_state(memberships)

    def _merged_finding(self) -> str:
        """What there is to say about merged clusters, or nothing."""
        if self.membership_state_ != "merged":
            return ""
        return f"all clusters merged, every membership is 1/{self.memberships_.shape[1]} and the labels mean nothing"

    def _merged_advice(self) -> str:
        return "try another init or fewer clusters"

    def _hard_advice(self) -> str:
        return "the clusters are points at this scale: use fewer clusters, or read the result as labels"


def hard_labels(memberships: Any, block_rows: int = 8192) -> Any:
    """``argmax_j u_ij`` (the first on ties), by blocks: NumPy's argmax copies what is not in row order."""
    if is_chunked(memberships):
        return map_rows(hard_labels, memberships)
    xp = array_namespace(memberships)
    labels = xp.empty(memberships.shape[0], dtype=xp.int64, device=device(memberships))
    for start in range(0, memberships.shape[0], block_rows):
        labels[start : start + block_rows] = xp.argmax(memberships[start : start + block_rows], axis=1)
    return labels


class Extent(NamedTuple):
    """What memberships are like as a whole."""

    shape: tuple[int, int]
    square_sum: float
    smallest: float
    largest: float
    least_sure: float  # the smallest of the samples' largest


def extent(memberships: Any) -> Extent:
    """One pass over memberships."""
    if is_chunked(memberships):
        return Extent(memberships.shape, *backend_of(memberships).measure_extent(memberships))
    sure = array_namespace(memberships).max(memberships, axis=1)
    numbers = (backend_of(memberships).sum_squares(memberships), memberships.min(), sure.max(), sure.min())
    return Extent(memberships.shape, *map(float, numbers))


def crispness(memberships: Any) -> float:
    """The normalised partition coefficient ``(c Σ u²/n − 1) / (c − 1)``: 0 for all 1/c, 1 for all 0 or 1."""
    known = memberships if isinstance(memberships, Extent) else extent(memberships)
    n_samples, n_clusters = known.shape
    if n_clusters == 1:
        return 1.0
    coefficient = known.square_sum / n_samples
    return min(max((n_clusters * coefficient - 1) / (n_clusters - 1), 0.0), 1.0)


def membership_state(memberships: Any) -> str:
    """``"merged"`` (all 1/c), ``"hard"`` (all 0 or 1) or ``"soft"``."""
    known = memberships if isinstance(memberships, Extent) else extent(memberships)
    n_clusters = known.shape[1]
    if n_clusters == 1:
        return "soft"
    if max(known.largest - 1 / n_clusters, 1 / n_clusters - known.smallest) < MERGED_TOL:
        return "merged"
    return "hard" if known.least_sure > 1 - HARD_TOL else "soft"
