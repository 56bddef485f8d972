"""Is this a model that works? Asked before a file is written and after one is read."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from afcm._util.messages import to_one_line
from afcm.estimators.mixture import GeneralizedGaussianMixture
from afcm.modelfiles.errors import ModelFileError
from afcm.modelfiles.registry import KINDS, NAMES, complaint
from afcm.modelfiles.specs import Sizes, fits, shown

# The shape of the scatters by their kind.
SCATTERS = {"full": "cdd", "tied": "dd", "diag": "cd", "spherical": "c", "identity": "c"}
WAY_OUT = "fit the model again and save it"


def check_model(model: Any) -> None:
    """Every estimator in it is complete and consistent, and the whole places a sample."""
    if type(model) not in NAMES or not KINDS[NAMES[type(model)]].is_estimator:
        raise ModelFileError(f"holds a {type(model).__name__} where an estimator should be; {WAY_OUT}")
    if isinstance(model, Pipeline):
        check_pipeline(model)
    elif is_fitted(model):
        check_estimator(model)
    if is_fitted(model):
        check_by_trial(model)


def is_fitted(model: Any) -> bool:
    """Any fitted attribute (of the last step of a pipeline)."""
    if isinstance(model, Pipeline):
        return type(model.steps[-1][1]) in NAMES and is_fitted(model.steps[-1][1])
    return bool(set(vars(model)) & set(KINDS[NAMES[type(model)]].state))


def check_pipeline(model: Pipeline) -> None:
    """Named steps, each an estimator of the registry or nothing."""
    steps = model.steps
    right = isinstance(steps, list) and steps and all(isinstance(step, tuple) and len(step) == 2 for step in steps)
    if not right:
        raise ModelFileError(f"holds a Pipeline without proper steps; {WAY_OUT}")
    for name, step in steps:
        if not isinstance(name, str) or isinstance(step, Pipeline):
            raise ModelFileError(f"holds a Pipeline with a step that is a Pipeline or has no name; {WAY_OUT}")
        if step is not None and step != "passthrough":
            check_step(step)


def check_step(step: Any) -> None:
    """An estimator, fitted or not."""
    if type(step) not in NAMES or not KINDS[NAMES[type(step)]].is_estimator:
        raise ModelFileError(f"holds a Pipeline with the step {type(step).__name__}; {WAY_OUT}")
    if is_fitted(step):
        check_estimator(step)


def check_estimator(model: Any) -> None:
    """Parameters that `fit` would take, all fitted attributes there, and each what it should be."""
    name, kind = type(model).__name__, KINDS[NAMES[type(model)]]
    check_parameters(model)
    missing = sorted(set(kind.state) - set(vars(model)))
    if missing:
        raise ModelFileError(f"lacks {missing[0]!r} of {name}, so that it is not fitted to the end; {WAY_OUT}")
    sizes: Sizes = {}
    present = {key: spec for key, spec in kind.known.items() if key in vars(model)}
    wrong = complaint(model, present, sizes)
    if wrong:
        raise ModelFileError(f"holds a {name} with {wrong}; {WAY_OUT}")
    check_clusters(model, sizes)


def check_parameters(model: Any) -> None:
    """The estimator's own checks, on a copy: they may note things for a fit."""
    fresh = type(model)(**model.get_params(deep=False))
    check = getattr(fresh, "_check_parameters", None) or fresh._validate_params
    try:
        check()
    except Exception as error:  # whatever a parameter of the wrong type leads to
        raise ModelFileError(
            f"holds a {type(model).__name__} with wrong parameters ({to_one_line(error, 200)}); {WAY_OUT}"
        ) from error


def check_clusters(model: Any, sizes: Sizes) -> None:
    """As many clusters as the parameters say, and scatters of their kind."""
    wanted = getattr(model, "n_clusters", "auto")
    if "c" in sizes and not (isinstance(wanted, str) or wanted == sizes["c"]):
        raise ModelFileError(f"has n_clusters={wanted!r} but {sizes['c']} fitted clusters; {WAY_OUT}")
    if isinstance(model, GeneralizedGaussianMixture):
        axes = tuple(SCATTERS[model.covariance_type])
        if not fits(model.scatters_.shape, axes, sizes):
            raise ModelFileError(f"has scatters_ that are not of shape {shown(axes, sizes)}; {WAY_OUT}")


def check_by_trial(model: Any) -> None:
    """Place two samples, whatever comes out: what the checks above overlooked shows here and not with the user."""
    samples = trial_samples(model)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for method in ("predict_proba" if hasattr(model, "predict_proba") else "predict", "transform"):
                if hasattr(model, method):
                    getattr(model, method)(samples)
    except Exception as error:  # any at all means the same
        raise ModelFileError(f"holds a model that does not work here ({to_one_line(error, 200)}); {WAY_OUT}") from error


def trial_samples(model: Any) -> Any:
    """Zeros, as many columns as the fit had."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    width = next(step.n_features_in_ for step in steps if hasattr(step, "n_features_in_"))
    similarity = getattr(steps[-1], "_similarity", None)
    zeros = sp.csr_array if sp.issparse(getattr(similarity, "points", None)) else np.zeros
    return zeros((2, int(width)))
