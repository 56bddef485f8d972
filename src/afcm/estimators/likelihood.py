"""Scores of models that give a density: mean log-likelihood and information criteria."""

from __future__ import annotations

import math
from typing import Any


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
