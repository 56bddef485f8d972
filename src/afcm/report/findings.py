"""`Findings`: everything the report shows, computed from a fitted model before a page is thought of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from afcm.doubt import AMBIGUOUS, ambiguity
from afcm.metrics import adjusted_rand, clustering_accuracy, normalized_mutual_info
from afcm.report import reading, words
from afcm.report.features import Features, Floats, Ints, Profile, dense, features_of, filled, no_features, profile_of
from afcm.report.reading import Fit
from afcm.report.views import View, embedding_view, principal_view, shown_rows

if TYPE_CHECKING:
    from afcm.selection import Selection


class Scores(NamedTuple):
    """Agreement of the labels with known classes, over the samples that have one."""

    accuracy: float
    nmi: float
    ari: float
    n_known: int


@dataclass(frozen=True, eq=False)
class Findings:
    """What there is to say about a fitted soft clustering.

    Attributes
    ----------
    title, method : str
    id_name, ids : str, tuple of str
        What a sample is called, and the name of each.
    fit : Fit
        Labels, memberships (the model's own and those that tell doubt), history, and what the model says of itself.
    ambiguity : array (n_samples,)
    views : tuple of View
        Pictures of the samples.
    features : Features
    profile : Profile
        Sizes, means and deviations of each cluster.
    classes : tuple of (str or None), or None
    scores : Scores or None
    parameters, settings, versions : dict of str
    selection : Selection or None
    model_file : str or None
    predicts : bool
        The model can place new samples.
    random_state : int
        Of the choice of samples to show.
    """

    title: str
    method: str
    id_name: str
    ids: tuple[str, ...]
    fit: Fit
    ambiguity: Floats
    views: tuple[View, ...]
    features: Features
    profile: Profile
    classes: tuple[str | None, ...] | None
    scores: Scores | None
    parameters: Mapping[str, str]
    settings: Mapping[str, str]
    versions: Mapping[str, str]
    selection: Selection | None
    model_file: str | None
    predicts: bool
    random_state: int

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        *,
        features: Any = None,
        feature_names: Sequence[str] | None = None,
        ids: Sequence[Any] | None = None,
        id_name: str = "sample",
        classes: Sequence[Any] | None = None,
        title: str | None = None,
        settings: Mapping[str, Any] | None = None,
        selection: Selection | None = None,
        model_file: str | None = None,
        random_state: int = 0,
    ) -> Findings:
        """Look at a fitted model.

        Parameters
        ----------
        model : fitted clusterer of this package, or fitted scikit-learn Pipeline that ends in one
        X : array, sparse matrix or data frame
            The samples, as they were given to ``model.fit``.
        features : array-like (n_samples, n_features), optional
            Values in their own units for profiles and table. Default: X (nothing for precomputed similarities).
        feature_names : sequence of str, optional
            Default: the columns of a data frame, ``feature_names_in_``, or x0, x1, …
        ids : sequence, optional
            Names of the samples. Default: 0, 1, …
        classes : sequence, optional
            Known classes, for comparison only; None or NaN where unknown.
        settings : mapping, optional
            Shown as it is: command, file, scaling, seed, …
        selection : Selection, optional
            How the number of clusters was chosen.
        model_file : str, optional
            Name of the saved model, to say how to load it.
        random_state : int, default=0
            For the choice of samples where there are too many to show.
        """
        estimator, seen = reading.last_step(model), reading.seen_by_last_step(model, X)
        fit = Fit.of(estimator, seen)
        n_samples, n_clusters = fit.memberships.shape
        names = _sequence("ids", ids if ids is not None else range(n_samples), n_samples)
        known = None if classes is None else _sequence("classes", classes, n_samples)
        table = _features(model, X, features, feature_names)
        _check_length("X" if features is None else "features", table.values.shape[0], n_samples)
        known_classes = None if known is None else tuple(None if _missing(label) else str(label) for label in known)
        return cls(
            title=title or f"{type(estimator).__name__}: {words.counted(n_samples, 'sample')}",
            method=reading.method_of(model),
            id_name=str(id_name),
            ids=tuple(str(name) for name in names),
            fit=fit,
            ambiguity=np.asarray(ambiguity(fit.honest), dtype=np.float64),
            views=_views(fit, estimator, seen, table, random_state),
            features=table,
            profile=profile_of(table, fit.labels, n_clusters),
            classes=known_classes,
            scores=None if known_classes is None else _scores(known_classes, fit.labels),
            parameters=reading.parameters_of(model),
            settings={str(name): str(value) for name, value in (settings or {}).items()},
            versions=reading.versions(),
            selection=selection,
            model_file=None if model_file is None else str(model_file),
            predicts=hasattr(estimator, "predict"),
            random_state=random_state,
        )

    @property
    def n_samples(self) -> int:
        """Of the fit, shown or not."""
        return int(self.fit.labels.size)

    @property
    def n_clusters(self) -> int:
        """Columns of the memberships."""
        return int(self.fit.memberships.shape[1])

    @cached_property
    def shown(self) -> Ints:
        """The samples in picture and table, rising."""
        return shown_rows(self.fit.labels, self.ambiguity, self.random_state)

    @cached_property
    def ambiguous(self) -> Ints:
        """The ambiguous samples, the worst first."""
        order = np.argsort(-self.ambiguity, kind="stable")
        return order[self.ambiguity[order] >= AMBIGUOUS]

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
            words.of_sizes(self.profile.sizes.tolist(), auto=fit.auto),
            words.of_doubt(self.ambiguous.size, self.n_samples, self.pairs, can_doubt=can_doubt) if doubtful else "",
            f"{softness} {words.of_calibration(moved) if fit.calibrated and doubtful else ''}".strip(),
            words.of_components(fit.n_components, self.n_clusters, joins=fit.joins),
            words.of_convergence(fit.converged, fit.n_iter, None if change is None else float(change[-1])),
            words.of_scores(*self.scores, self.n_samples) if self.scores else "",
        ]
        return [sentence for sentence in said if sentence]

    @property
    def sampling(self) -> str:
        """Which samples are shown, if not all."""
        shown_ambiguous = int(np.isin(self.ambiguous, self.shown).sum())
        return words.of_sampling(self.shown.size, self.n_samples, shown_ambiguous, self.ambiguous.size)


def _features(model: Any, X: Any, features: Any, names: Sequence[str] | None) -> Features:
    if features is None and getattr(reading.last_step(model), "affinity", None) == "precomputed":
        return no_features(X.shape[0])
    if names is None and features is None and not hasattr(X, "columns"):
        names = getattr(model, "feature_names_in_", None)
    return features_of(X if features is None else features, names)


def _views(fit: Fit, estimator: Any, seen: Any, table: Features, random_state: int) -> tuple[View, ...]:
    """The samples as the model saw them, and its embedding if it tells clusters apart."""
    views = []
    if getattr(estimator, "affinity", None) != "precomputed":
        values, columns = dense(seen)
        if len(columns) <= 2 and len(columns) == len(table.names):  # drawn as they are: in their own units
            values = filled(table)
        names = table.names if len(columns) == len(table.names) else tuple(f"x{j}" for j in columns)
        views.append(principal_view(values, names, random_state))
    elif table.names:
        views.append(principal_view(filled(table), table.names, random_state))
    if fit.embedding is not None and (fit.memberships.shape[1] > 1 or not views):
        views.append(embedding_view(fit.embedding, random_state))
    return tuple(views)


def _scores(classes: tuple[str | None, ...], labels: Ints) -> Scores | None:
    known = np.array([i for i, label in enumerate(classes) if label is not None], dtype=np.intp)
    if not known.size:
        return None
    truth, found = [classes[i] for i in known], labels[known]
    accuracy, nmi = clustering_accuracy(truth, found), normalized_mutual_info(truth, found)
    return Scores(accuracy, nmi, adjusted_rand(truth, found), int(known.size))


def _sequence(name: str, values: Any, n_samples: int) -> list[Any]:
    listing = next((name for name in ("tolist", "to_pylist", "to_list") if hasattr(values, name)), None)
    items = list(values) if listing is None else getattr(values, listing)()
    _check_length(name, len(items), n_samples)
    return items


def _check_length(name: str, length: int, n_samples: int) -> None:
    if length != n_samples:
        raise ValueError(f"{name} has {length} rows but the model was fitted on {n_samples}; give those of the fit")


def _missing(label: Any) -> bool:
    nothing = label is None or type(label).__name__ in ("NAType", "NaTType")  # pandas' own, which has no part in this
    return nothing or (isinstance(label, float) and math.isnan(label))
