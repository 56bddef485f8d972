"""The parameter ``noise`` of estimators: background is left out of what is learned, and told by outlier scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from afcm import arrays
from afcm.estimators.inputs import forget
from afcm.estimators.validation import count_distinct
from afcm.models.background import find_clear_background
from afcm.models.cluster_mixture import Share
from afcm.models.fitted_background import Assign, FittedBackground, learn_background


def set_aside(X: Any, weights: Any, share: Share, n_clusters: int) -> Any:
    """The weights of the samples, 0 for clear background; as they were if too few different samples would be left."""
    stray = None if share is None else find_clear_background(X, weights, share)
    if stray is None:
        return weights
    kept = (~stray).astype(np.float64)
    kept = kept if weights is None else weights * kept
    least = max(n_clusters, 2)
    return kept if count_distinct(X, kept, least) >= least else weights


class OutlierScores:
    """`outlier_scores` and the attributes beside it, for an estimator with the parameter ``noise``."""

    noise: Share

    _without_scores: str  # another reason why there are no scores

    def outlier_scores(self, X: Any) -> Any:
        """Probability of new samples to be background rather than of any cluster (n,), from 0 to 1.

        The background is the one that the fit found: 0 for all samples if it found none. A fit with ``noise=None`` did
        not look for one, and raises a `ValueError` here.
        """
        check_is_fitted(self)
        if not hasattr(self, "noise_share_"):
            raise ValueError(
                f"this fit tells no outlier scores: it was made with noise=None, or {self._without_scores}; fit "
                "samples with noise='auto'"
            )
        return arrays.to_device_of(self._score_background(self._validate_queries(X)), X)

    def _validate_queries(self, X: Any) -> Any:
        raise NotImplementedError

    def _score_background(self, X: Any) -> Any:
        raise NotImplementedError

    def _store_scores(self, share: float | None, scores: Any = None) -> None:
        forget(self, "noise_share_", "outlier_scores_")
        if share is not None:
            self.noise_share_, self.outlier_scores_ = share, scores


class LearnedBackground(OutlierScores):
    """Outlier scores of an estimator without a graph: a background is learned from its labels after the fit."""

    n_clusters: int
    _background: FittedBackground

    _without_scores = "by partial_fit, which does not look for background"

    def _assigner(self) -> Assign:
        """A function from samples to their clusters in the fitted model."""
        raise NotImplementedError

    def _tell_background(self, X: Any, weights: Any, share: Share, home: Any) -> None:
        """Learn the background of fitted samples, whose scores go to where ``home`` is; None: forget the one before."""
        forget(self, "_background")
        if share is None:
            self._store_scores(None)
            return
        self._background = learn_background(X, weights, self.n_clusters, self._assigner(), share)
        self._store_scores(self._background.densities.share, arrays.to_device_of(self._score_background(X), home))

    def _score_background(self, X: Any) -> Any:
        return self._background.outlier_scores(X, self._assigner())
