"""`Verdict`: what there is to say about a fitted soft clustering in a few sentences."""

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
    ambiguity : array (n_samples,)
    scores : Scores or None
    """

    fit: Fit
    ambiguity: Floats
    scores: Scores | None

    @classmethod
    def on(cls, model: Any, X: Any, classes: Sequence[Any] | None = None) -> Verdict:
        """Look at a fitted model; ``X`` as it was given to ``model.fit``."""
        fit = Fit.of(last_step(model), transform_before_last_step(model, X))
        scores = None if classes is None else scores_of(known_classes(classes), fit.labels)
        return Verdict(fit, doubts(fit), scores)

    @property
    def n_samples(self) -> int:
        """Of the fit."""
        return int(self.fit.labels.size)

    @property
    def n_clusters(self) -> int:
        """Columns of the memberships."""
        return int(self.fit.memberships.shape[1])

    @cached_property
    def sizes(self) -> Ints:
        """Samples of each cluster."""
        return np.bincount(self.fit.labels, minlength=self.n_clusters)

    @cached_property
    def ambiguous(self) -> Ints:
        """The ambiguous samples, the worst first."""
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
        softness = words.of_memberships(
            fit.state, fit.crispness, self.n_clusters, gamma=fit.gamma, gamma_cap=fit.gamma_cap, embedded=embedded
        )
        moved = int(np.sum(np.argmax(fit.honest, axis=1) != fit.labels))
        said = [
            words.of_sizes(self.sizes.tolist(), auto=fit.auto),
            words.of_doubt(self.ambiguous.size, self.n_samples, self.pairs, can_doubt=can_doubt) if doubtful else "",
            f"{softness} {words.of_calibration(moved) if fit.calibrated and doubtful else ''}".strip(),
            words.of_components(fit.n_components, self.n_clusters, joins=fit.joins),
            words.of_convergence(fit.converged, fit.n_iter, None if change is None else float(change[-1])),
            words.of_scores(*self.scores, self.n_samples) if self.scores else "",
        ]
        return [sentence for sentence in said if sentence]


def doubts(fit: Fit) -> Floats:
    """Ambiguity of each sample."""
    return np.asarray(ambiguity(fit.honest), dtype=np.float64)


def known_classes(classes: Sequence[Any]) -> tuple[str | None, ...]:
    """Classes as text, None where there is none."""
    return tuple(None if _missing(label) else str(label) for label in classes)


def scores_of(classes: tuple[str | None, ...], labels: Ints) -> Scores | None:
    """Agreement over the samples whose class is known; None if there are none."""
    known = np.array([i for i, label in enumerate(classes) if label is not None], dtype=np.intp)
    if not known.size:
        return None
    truth, found = [classes[i] for i in known], labels[known]
    accuracy, nmi = clustering_accuracy(truth, found), normalized_mutual_info(truth, found)
    return Scores(accuracy, nmi, adjusted_rand(truth, found), int(known.size))


def _missing(label: Any) -> bool:
    nothing = label is None or type(label).__name__ in ("NAType", "NaTType")  # pandas' own, which has no part in this
    return nothing or (isinstance(label, float) and math.isnan(label))
