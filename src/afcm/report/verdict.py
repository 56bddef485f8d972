"""Reads a fitted soft clustering and judges it: ambiguous samples, agreement with known classes, a summary in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse

from afcm._typing import Floats
from afcm._util.pipelines import last_step
from afcm.equations.sparse_memberships import rank_memberships
from afcm.estimators.afcm import AFCM
from afcm.estimators.base import crispness, hard_labels, membership_state
from afcm.metrics import adjusted_rand, clustering_accuracy, normalized_mutual_info
from afcm.metrics.ambiguity import ambiguity, is_ambiguous
from afcm.models.background import CLEAR
from afcm.report import words
from afcm.report.features import Ints

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Fit:
    """The clustering and how it came about; None if the model does not say."""

    labels: Ints
    memberships: Any
    state: str
    crispness: float
    method: str | None = None  # how memberships were made, where there are several ways
    gamma: float | None = None
    gamma_cap: float | None = None
    auto: bool = False
    n_components: int | None = None
    joins: bool = False  # the method joins pieces of the graph where there are more of them than clusters
    n_iter: int | None = None
    converged: bool | None = None
    history: dict[str, Floats] = field(default_factory=dict)
    embedding: Floats | None = None
    noise_share: float | None = None
    outlier_scores: Floats | None = None
    stability: Floats | None = None  # of each cluster over other graphs

    @classmethod
    def of(cls, estimator: Any) -> Fit:
        """Read the fitted attributes."""
        own = read_memberships(estimator)
        traces = {name: _to_floats(values) for name, values in getattr(estimator, "history_", {}).items()}
        # A mixture with scatter matrices has a fixed γ, which says nothing.
        has_gamma = getattr(estimator, "covariance_type", "identity") == "identity"
        return cls(
            labels=np.asarray(estimator.labels_ if hasattr(estimator, "labels_") else hard_labels(own), dtype=np.intp),
            memberships=own,
            state=estimator.membership_state_ if hasattr(estimator, "membership_state_") else membership_state(own),
            crispness=float(estimator.crispness_ if hasattr(estimator, "crispness_") else crispness(own)),
            method=getattr(estimator, "membership_method_", None),
            gamma=_read(estimator, "gamma_", float) if has_gamma else None,
            gamma_cap=_read(estimator, "gamma_cap_", float),
            auto=isinstance(getattr(estimator, "n_clusters", None), str),
            n_components=_read(estimator, "n_components_", int),
            joins=isinstance(estimator, AFCM),
            n_iter=_read(estimator, "n_iter_", int),
            converged=getattr(estimator, "converged_", None),
            history={name: values for name, values in traces.items() if values.ndim == 1},
            embedding=_read(estimator, "embedding_", _to_floats),
            noise_share=_read(estimator, "noise_share_", float),
            outlier_scores=_read(estimator, "outlier_scores_", _to_floats),
            stability=_read(estimator, "stability_", _to_floats),
        )


class Scores(NamedTuple):
    """Agreement of the labels with known classes, over the samples that have one."""

    accuracy: float
    nmi: float
    ari: float
    n_known: int


@dataclass(frozen=True, eq=False)
class Verdict:
    """A clustering, how sure it is of each sample, and how it agrees with known classes."""

    fit: Fit
    scores: Scores | None

    @classmethod
    def on(cls, model: Any, classes: Sequence[Any] | None = None) -> Verdict:
        """Judge a fitted model, by the samples of its fit."""
        fit = Fit.of(last_step(model))
        return Verdict(fit, None if classes is None else score_labels(name_classes(classes), fit.labels))

    @property
    def n_samples(self) -> int:
        return int(self.fit.labels.size)

    @property
    def n_clusters(self) -> int:
        return int(self.fit.memberships.shape[1])

    @cached_property
    def sizes(self) -> Ints:
        return np.bincount(self.fit.labels, minlength=self.n_clusters)

    @cached_property
    def ambiguity(self) -> Floats:
        """0 for a certain sample, 1 for a tie of its two best clusters."""
        return np.asarray(ambiguity(self.fit.memberships), dtype=np.float64)

    @cached_property
    def ambiguous(self) -> Ints:
        """The ambiguous samples, the worst first."""
        order = np.argsort(-self.ambiguity, kind="stable")
        return order[is_ambiguous(self.ambiguity[order])]

    @cached_property
    def outliers(self) -> Ints:
        """The samples that are rather background than of a cluster, the worst first."""
        if self.fit.outlier_scores is None:
            return np.empty(0, dtype=np.intp)
        order = np.argsort(-self.fit.outlier_scores, kind="stable")
        return order[self.fit.outlier_scores[order] >= CLEAR]

    @cached_property
    def pairs(self) -> list[tuple[int, int, int]]:
        """(cluster, cluster, ambiguous samples between them), the most first."""
        if not self.ambiguous.size:
            return []
        best = np.sort(find_two_best(self.fit.memberships[self.ambiguous]), axis=1)
        counts = Counter((int(first), int(second)) for first, second in best)
        return [(*pair, count) for pair, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]

    @cached_property
    def summary(self) -> list[str]:
        """The findings in words, one paragraph each."""
        fit, merged = self.fit, self.fit.state == "merged"
        change = fit.history.get("membership_change")
        doubtful = self.n_clusters > 1 and not merged
        can_doubt = words.are_probabilities(fit.method) or fit.state != "hard"
        said = [
            words.describe_sizes(self.sizes.tolist(), auto=fit.auto),
            words.describe_doubt(self.ambiguous.size, self.n_samples, self.pairs, can_doubt=can_doubt)
            if doubtful
            else "",
            words.describe_background(fit.noise_share, self.outliers.size),
            words.describe_memberships(
                fit.state,
                fit.crispness,
                self.n_clusters,
                method=fit.method,
                gamma=fit.gamma,
                gamma_cap=fit.gamma_cap,
                embedded=fit.embedding is not None,
            ),
            words.describe_stability([] if fit.stability is None else fit.stability.tolist()),
            words.describe_components(fit.n_components, self.n_clusters, joins=fit.joins),
            words.describe_convergence(fit.converged, fit.n_iter, None if change is None else float(change[-1])),
            words.describe_scores(*self.scores, self.n_samples) if self.scores else "",
        ]
        return [sentence for sentence in said if sentence]


def name_classes(classes: Sequence[Any]) -> tuple[str | None, ...]:
    """Return classes as text, None if unknown (None, NaN, or pandas' own NA and NaT)."""
    names = [None if isinstance(label, float) and math.isnan(label) else label for label in classes]
    unknown = ("NoneType", "NAType", "NaTType")
    return tuple(None if type(name).__name__ in unknown else str(name) for name in names)


def score_labels(classes: tuple[str | None, ...], labels: Ints) -> Scores | None:
    """Measure agreement over the samples whose class is known; None if there are none."""
    known = np.array([i for i, label in enumerate(classes) if label is not None], dtype=np.intp)
    if not known.size:
        return None
    truth, found = [classes[i] for i in known], labels[known]
    accuracy, nmi = clustering_accuracy(truth, found), normalized_mutual_info(truth, found)
    return Scores(accuracy, nmi, adjusted_rand(truth, found), int(known.size))


def find_two_best(memberships: Any) -> Any:
    """Return the two clusters with the largest memberships of each sample, of which sparse ones hold two at least."""
    if sparse.issparse(memberships):
        return rank_memberships(memberships).clusters[:, :2]
    return np.argpartition(memberships, -2, axis=1)[:, -2:]


def read_memberships(estimator: Any) -> Any:
    """Return the learned memberships, sparse ones as they are; 0 and 1 for a model with labels only."""
    if hasattr(estimator, "memberships_"):
        if sparse.issparse(estimator.memberships_):
            return estimator.memberships_
        return np.asarray(estimator.memberships_, dtype=np.float64)
    if not hasattr(estimator, "labels_"):
        raise ValueError(f"{type(estimator).__name__} has no labels_ and no memberships_; fit it first")
    labels = np.asarray(estimator.labels_, dtype=np.intp)
    return np.eye(int(labels.max()) + 1)[labels]


def _read(estimator: Any, name: str, convert: Callable[[Any], T]) -> T | None:
    value = getattr(estimator, name, None)
    return None if value is None else convert(value)


def _to_floats(values: Any) -> Floats:
    return np.asarray(values, dtype=np.float64)
