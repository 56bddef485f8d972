"""What a fitted model, or a pipeline that ends in one, says about itself."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np

from afcm._typing import Floats
from afcm._util.pipelines import last_step
from afcm.estimators.base import crispness, hard_labels, membership_state
from afcm.estimators.placing import GraphClusterer
from afcm.metrics.ambiguity import honest_memberships
from afcm.report.features import Ints


@dataclass(frozen=True, eq=False)
class Fit:
    """The clustering and how it came about. None where the model does not say.

    ``honest`` are the memberships that tell doubt best, ``calibrated`` says that they are not the model's own;
    ``joins``: the method joins pieces of the graph where there are more of them than clusters.
    """

    labels: Ints
    memberships: Floats
    honest: Floats
    calibrated: bool
    state: str
    crispness: float
    gamma: float | None = None
    gamma_cap: float | None = None
    auto: bool = False
    n_components: int | None = None
    joins: bool = False
    n_iter: int | None = None
    converged: bool | None = None
    history: dict[str, Floats] = field(default_factory=dict)
    embedding: Floats | None = None

    @classmethod
    def of(cls, estimator: Any, X: Any) -> Fit:
        """From the fitted attributes; ``X`` are the samples as the estimator saw them."""
        own = own_memberships(estimator)
        embedding = getattr(estimator, "embedding_", None)
        return cls(
            labels=np.asarray(estimator.labels_ if hasattr(estimator, "labels_") else hard_labels(own), dtype=np.intp),
            memberships=own,
            honest=_told_doubt(estimator, X, own),
            calibrated=hasattr(estimator, "calibrated_memberships"),
            state=estimator.membership_state_ if hasattr(estimator, "membership_state_") else membership_state(own),
            crispness=float(estimator.crispness_ if hasattr(estimator, "crispness_") else crispness(own)),
            gamma=_sharpness(estimator),
            gamma_cap=_number(estimator, "gamma_cap_"),
            auto=isinstance(getattr(estimator, "n_clusters", None), str),
            n_components=_count(estimator, "n_components_"),
            joins=isinstance(estimator, GraphClusterer),
            n_iter=_count(estimator, "n_iter_"),
            converged=getattr(estimator, "converged_", None),
            history=_history(estimator),
            embedding=None if embedding is None else np.asarray(embedding, dtype=np.float64),
        )


def own_memberships(estimator: Any) -> Floats:
    """As learned; of a model with labels only, 0 and 1."""
    if hasattr(estimator, "memberships_"):
        return np.asarray(estimator.memberships_, dtype=np.float64)
    if not hasattr(estimator, "labels_"):
        raise ValueError(f"{type(estimator).__name__} has no labels_ and no memberships_; fit it first")
    labels = np.asarray(estimator.labels_, dtype=np.intp)
    return np.eye(int(labels.max()) + 1)[labels]


def method_of(model: Any) -> str:
    """``StandardScaler → AFCM``."""
    steps = (
        [step for _, step in model.steps if step not in (None, "passthrough")] if hasattr(model, "steps") else [model]
    )
    return " → ".join(type(step).__name__ for step in steps)


def parameters_of(model: Any) -> dict[str, str]:
    """The clusterer's constructor parameters as text, those that are None left out."""
    given = last_step(model).get_params(deep=False)
    return {name: _as_text(value) for name, value in given.items() if value is not None}


def versions() -> dict[str, str]:
    """Of what computed the numbers."""
    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    from afcm._util.version import __version__

    return {"afcm": __version__, **packages, "Python": platform.python_version()}


def _told_doubt(estimator: Any, X: Any, own: Floats) -> Floats:
    if not hasattr(estimator, "calibrated_memberships"):
        return own
    try:
        honest = honest_memberships(estimator)
    except ValueError:  # samples of weight 0 are not in the graph and are placed as new ones
        honest = honest_memberships(estimator, X)
    return np.asarray(honest, dtype=np.float64)


def _sharpness(estimator: Any) -> float | None:
    """γ, where it says something: a mixture with scatter matrices has a fixed one."""
    if getattr(estimator, "covariance_type", "identity") != "identity":
        return None
    return _number(estimator, "gamma_")


def _number(estimator: Any, name: str) -> float | None:
    value = getattr(estimator, name, None)
    return None if value is None else float(value)


def _count(estimator: Any, name: str) -> int | None:
    value = getattr(estimator, name, None)
    return None if value is None else int(value)


def _history(estimator: Any) -> dict[str, Floats]:
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in getattr(estimator, "history_", {}).items()}
    return {name: values for name, values in arrays.items() if values.ndim == 1}


def _as_text(value: Any) -> str:
    if isinstance(value, str | int | float | bool):
        return str(value)
    if hasattr(value, "shape"):
        return f"array of shape {tuple(value.shape)}"
    return getattr(value, "__name__", type(value).__name__)
