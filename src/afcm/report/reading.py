"""Reads from a fitted model, or a pipeline that ends in one, what the report tells about it."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, TypeVar

import numpy as np

from afcm._typing import Floats
from afcm._util.pipelines import last_step
from afcm._util.version import __version__
from afcm.estimators.afcm import AFCM
from afcm.estimators.base import crispness, hard_labels, membership_state
from afcm.metrics.ambiguity import honest_memberships
from afcm.report.features import Ints

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Fit:
    """The clustering and how it came about; None if the model does not say.

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
        """Read the fitted attributes; ``X`` are the samples as the estimator saw them."""
        own = read_memberships(estimator)
        traces = {name: _to_floats(values) for name, values in getattr(estimator, "history_", {}).items()}
        # A mixture with scatter matrices has a fixed γ, which says nothing.
        has_gamma = getattr(estimator, "covariance_type", "identity") == "identity"
        return cls(
            labels=np.asarray(estimator.labels_ if hasattr(estimator, "labels_") else hard_labels(own), dtype=np.intp),
            memberships=own,
            honest=calibrate(estimator, X, own),
            calibrated=hasattr(estimator, "calibrated_memberships"),
            state=estimator.membership_state_ if hasattr(estimator, "membership_state_") else membership_state(own),
            crispness=float(estimator.crispness_ if hasattr(estimator, "crispness_") else crispness(own)),
            gamma=_read(estimator, "gamma_", float) if has_gamma else None,
            gamma_cap=_read(estimator, "gamma_cap_", float),
            auto=isinstance(getattr(estimator, "n_clusters", None), str),
            n_components=_read(estimator, "n_components_", int),
            joins=isinstance(estimator, AFCM),
            n_iter=_read(estimator, "n_iter_", int),
            converged=getattr(estimator, "converged_", None),
            history={name: values for name, values in traces.items() if values.ndim == 1},
            embedding=_read(estimator, "embedding_", _to_floats),
        )


def read_memberships(estimator: Any) -> Floats:
    """Return the learned memberships; 0 and 1 for a model with labels only."""
    if hasattr(estimator, "memberships_"):
        return np.asarray(estimator.memberships_, dtype=np.float64)
    if not hasattr(estimator, "labels_"):
        raise ValueError(f"{type(estimator).__name__} has no labels_ and no memberships_; fit it first")
    labels = np.asarray(estimator.labels_, dtype=np.intp)
    return np.eye(int(labels.max()) + 1)[labels]


def calibrate(estimator: Any, X: Any, own: Floats) -> Floats:
    """Return the memberships that tell doubt best, by one random walk over the graph if the model has one."""
    if not hasattr(estimator, "calibrated_memberships"):
        return own
    try:
        return _to_floats(honest_memberships(estimator))
    except ValueError:  # samples of weight 0 are not in the graph and are placed as new ones
        return _to_floats(honest_memberships(estimator, X))


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


def _read(estimator: Any, name: str, convert: Callable[[Any], T]) -> T | None:
    value = getattr(estimator, name, None)
    return None if value is None else convert(value)


def _to_floats(values: Any) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _to_text(value: Any) -> str:
    if isinstance(value, str | int | float | bool):
        return str(value)
    if hasattr(value, "shape"):
        return f"array of shape {tuple(value.shape)}"
    return getattr(value, "__name__", type(value).__name__)
