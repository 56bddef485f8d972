"""Judges a fitted soft clustering: its ambiguous samples, its agreement with known classes, a summary in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from afcm._typing import Floats
from afcm._util.pipelines import last_step, transform_before_last_step
from afcm.metrics import adjusted_rand, clustering_accuracy, normalized_mutual_info
from afcm.metrics.ambiguity import ambiguity, is_ambiguous
from afcm.report import words
from afcm.report.features import Ints
from afcm.report.reading import Fit


class Scores(NamedTuple):
    """Agreement of the labels with known classes, over the samples that have one."""

    accuracy: float
    nmi: float
    ari: float
    n_known: int


@dataclass(frozen=True, eq=False)
class Verdict:
    """A clustering, how sure it is of each sample, and how it agrees with known classes.

    Attributes
    ----------
    fit : Fit
        Labels, memberships (the model's own and those that tell doubt), history, and what the model says of itself.
    scores : Scores or None
    ambiguity : array (n_samples,)
        0 for a certain sample, 1 for a tie of its two best clusters.
    sizes : array (n_clusters,)
    ambiguous : array of int
        The ambiguous samples, the worst first.
    """

    fit: Fit
    scores: Scores | None

    @classmethod
    def on(cls, model: Any, X: Any, classes: Sequence[Any] | None = None) -> Verdict:
        """Judge a fitted model; ``X`` as it was given to ``model.fit``."""
        fit = Fit.of(last_step(model), transform_before_last_step(model, X))
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
        return np.asarray(ambiguity(self.fit.honest), dtype=np.float64)

    @cached_property
    def ambiguous(self) -> Ints:
        order = np.argsort(-self.ambiguity, kind="stable")
        return order[is_ambiguous(self.ambiguity[order])]

    @cached_property
    def pairs(self) -> list[tuple[int, int, int]]:
        """(cluster, cluster, ambiguous samples between them), the most first."""
        if not self.ambiguous.size:
            return []
        best = np.sort(np.argpartition(self.fit.honest[self.ambiguous], -2, axis=1)[:, -2:], axis=1)
        counts = Counter((int(first), int(second)) for first, second in best)
        return [(*pair, count) for pair, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]

    @cached_property
    def summary(self) -> list[str]:
        """The findings in words, one paragraph each."""
        fit, merged = self.fit, self.fit.state == "merged"
        change = fit.history.get("membership_change")
        doubtful = self.n_clusters > 1 and not merged
        can_doubt = fit.calibrated or fit.state != "hard"
        embedded = fit.embedding is not None
        softness = words.describe_memberships(
            fit.state, fit.crispness, self.n_clusters, gamma=fit.gamma, gamma_cap=fit.gamma_cap, embedded=embedded
        )
        n_moved = int(np.sum(np.argmax(fit.honest, axis=1) != fit.labels))
        said = [
            words.describe_sizes(self.sizes.tolist(), auto=fit.auto),
            words.describe_doubt(self.ambiguous.size, self.n_samples, self.pairs, can_doubt=can_doubt)
            if doubtful
            else "",
            f"{softness} {words.describe_calibration(n_moved) if fit.calibrated and doubtful else ''}".strip(),
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
