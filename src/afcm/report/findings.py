"""Computes everything the report shows from a fitted model, before a page is thought of."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from afcm._util.messages import count_noun
from afcm._util.pipelines import last_step, transform_before_last_step
from afcm._util.version import __version__
from afcm.report import words
from afcm.report.features import Features, Ints, Profile, fill_missing, profile_clusters, read_features, to_dense
from afcm.report.verdict import Fit, Verdict, name_classes, score_labels
from afcm.report.views import View, choose_rows, view_embedding, view_features

if TYPE_CHECKING:
    from afcm.estimators.levels import Levels
    from afcm.selection import Selection


@dataclass(frozen=True, eq=False)
class Findings(Verdict):
    """A `Verdict`, and all else that the report shows.

    Attributes
    ----------
    title, method : str
    id_name, ids : str, tuple of str
        The word for a sample, and the name of each.
    views : tuple of View
        Pictures of the samples.
    features : Features
    profile : Profile
        Sizes, means and deviations of each cluster.
    classes : tuple of (str or None), or None
    parameters, settings, versions : dict of str
    selection : Selection or None
    levels : Levels or None
        The tree over the clusters, of an `AFCM`.
    model_file : str or None
    predicts : bool
        The model can place new samples.
    random_state : int
        For the choice of samples to show.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from afcm import PlainAFCM
    >>> from afcm.report import Findings
    >>> X = load_iris().data
    >>> findings = Findings.of(PlainAFCM(3, random_state=0).fit(X), X, title="Iris")
    >>> findings.title, len(findings.ids)
    ('Iris', 150)
    """

    title: str
    method: str
    id_name: str
    ids: tuple[str, ...]
    views: tuple[View, ...]
    features: Features
    profile: Profile
    classes: tuple[str | None, ...] | None
    parameters: Mapping[str, str]
    settings: Mapping[str, str]
    versions: Mapping[str, str]
    selection: Selection | None
    levels: Levels | None
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
        """Compute the findings about a fitted model.

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
            For the choice of samples if there are too many to show.

        Returns
        -------
        Findings

        Raises
        ------
        ValueError
            If the model is not fitted, or X, features, ids or classes are not those of its samples.
        """
        estimator, seen = last_step(model), transform_before_last_step(model, X)
        fit = Fit.of(estimator)
        n_samples, n_clusters = fit.memberships.shape
        names = _to_list("ids", range(n_samples) if ids is None else ids, n_samples)
        named = None if classes is None else name_classes(_to_list("classes", classes, n_samples))
        table = _read_table(model, X, features, feature_names)
        _check_length("X" if features is None else "features", table.values.shape[0], n_samples)
        return cls(
            title=title or f"{type(estimator).__name__}: {count_noun(n_samples, 'sample')}",
            method=name_method(model),
            id_name=str(id_name),
            ids=tuple(str(name) for name in names),
            fit=fit,
            views=_make_views(fit, estimator, seen, table, random_state),
            features=table,
            profile=profile_clusters(table, fit.labels, n_clusters),
            classes=named,
            scores=None if named is None else score_labels(named, fit.labels),
            parameters=read_parameters(model),
            settings={str(name): str(value) for name, value in (settings or {}).items()},
            versions=list_versions(),
            selection=selection,
            levels=getattr(estimator, "levels_", None),
            model_file=None if model_file is None else str(model_file),
            predicts=hasattr(estimator, "predict"),
            random_state=random_state,
        )

    @cached_property
    def shown(self) -> Ints:
        """The samples in picture and table, rising."""
        return choose_rows(self.fit.labels, self.ambiguity, self.random_state)

    @property
    def sampling(self) -> str:
        """A sentence about the samples that are shown, if not all are."""
        shown_ambiguous = int(np.isin(self.ambiguous, self.shown).sum())
        return words.describe_sampling(self.shown.size, self.n_samples, shown_ambiguous, self.ambiguous.size)


def name_method(model: Any) -> str:
    """``StandardScaler → AFCM``."""
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    return " → ".join(type(step).__name__ for step in steps if step not in (None, "passthrough"))


def read_parameters(model: Any) -> dict[str, str]:
    """Return the clusterer's constructor parameters as text, without those that are None."""
    given = last_step(model).get_params(deep=False)
    return {name: _to_text(value) for name, value in given.items() if value is not None}


def list_versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"afcm": __version__, **packages, "Python": platform.python_version()}


def _read_table(model: Any, X: Any, features: Any, names: Sequence[str] | None) -> Features:
    if features is None and getattr(last_step(model), "affinity", None) == "precomputed":
        return Features((), np.empty((X.shape[0], 0)), 0)
    if names is None and features is None and not hasattr(X, "columns"):
        names = getattr(model, "feature_names_in_", None)
    return read_features(X if features is None else features, names)


def _make_views(fit: Fit, estimator: Any, seen: Any, table: Features, random_state: int) -> tuple[View, ...]:
    """Show the samples as the model saw them, and in its embedding if that tells clusters apart."""
    views = []
    if getattr(estimator, "affinity", None) != "precomputed":
        values, columns = to_dense(seen)
        same = len(columns) == len(table.names) and not table.kinds
        if len(columns) <= 2 and same:  # drawn as they are: in their own units
            values = fill_missing(table)
        names = table.names if same else tuple(f"x{j}" for j in columns)
        views.append(view_features(values, names, random_state))
    elif table.names:
        views.append(view_features(fill_missing(table), table.names, random_state))
    if fit.embedding is not None and (fit.memberships.shape[1] > 1 or not views):
        views.append(view_embedding(fit.embedding, random_state))
    return tuple(views)


def _to_list(name: str, values: Any, n_samples: int) -> list[Any]:
    method = next((each for each in ("tolist", "to_pylist", "to_list") if hasattr(values, each)), None)
    items = list(values) if method is None else getattr(values, method)()
    _check_length(name, len(items), n_samples)
    return items


def _check_length(name: str, length: int, n_samples: int) -> None:
    if length != n_samples:
        raise ValueError(f"{name} has {length} rows but the model was fitted on {n_samples}; give those of the fit")


def _to_text(value: Any) -> str:
    if isinstance(value, str | int | float | bool):
        return str(value)
    if hasattr(value, "shape"):
        return f"array of shape {tuple(value.shape)}"
    return getattr(value, "__name__", type(value).__name__)
