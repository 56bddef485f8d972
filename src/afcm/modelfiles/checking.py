"""Check that a model is complete and works, before it is written to a file and after it is read from one."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from afcm._util.messages import to_one_line
from afcm.estimators.mixture import GeneralizedGaussianMixture
from afcm.modelfiles.registry import ESTIMATORS, NAMES, find_mismatch
from afcm.modelfiles.specs import Sizes, describe_shape, match_shape
from afcm.storage.errors import FormatError
from afcm.tables import TableScaler

# The shape of the scatters by their kind.
SCATTERS = {"full": "cdd", "tied": "dd", "diag": "cd", "spherical": "c", "identity": "c"}
WAY_OUT = "fit the model again and save it"


def check_model(model: Any) -> None:
    """Raise `FormatError` unless every estimator in a model is complete and consistent, and the whole works."""
    if not is_estimator(model):
        raise FormatError(f"holds a {type(model).__name__} where an estimator should be", WAY_OUT)
    if isinstance(model, Pipeline):
        check_pipeline(model)
    elif is_fitted(model):
        check_estimator(model)
    if is_fitted(model):
        try_samples(model)


def is_estimator(model: Any) -> bool:
    return NAMES.get(type(model)) in ESTIMATORS


def is_fitted(model: Any) -> bool:
    """Whether there is any fitted attribute (in a pipeline: of the last step)."""
    if isinstance(model, Pipeline):
        return is_estimator(model.steps[-1][1]) and is_fitted(model.steps[-1][1])
    return bool(set(vars(model)) & set(ESTIMATORS[NAMES[type(model)]].state))


def check_pipeline(model: Pipeline) -> None:
    steps = model.steps
    if not (isinstance(steps, list) and steps and all(isinstance(step, tuple) and len(step) == 2 for step in steps)):
        raise FormatError("holds a Pipeline without proper steps", WAY_OUT)
    for name, step in steps:
        if not isinstance(name, str) or isinstance(step, Pipeline):
            raise FormatError("holds a Pipeline with a step that is a Pipeline or has no name", WAY_OUT)
        if step is None or step == "passthrough":
            continue
        if not is_estimator(step):
            raise FormatError(f"holds a Pipeline with the step {type(step).__name__}", WAY_OUT)
        if is_fitted(step):
            check_estimator(step)


def check_estimator(model: Any) -> None:
    """Parameters that `fit` would take, all fitted attributes there, and each what it should be."""
    name, kind = type(model).__name__, ESTIMATORS[NAMES[type(model)]]
    check_parameters(model)
    missing = sorted(set(kind.state) - set(vars(model)))
    if missing:
        raise FormatError(f"lacks {missing[0]!r} of {name}, so that it is not fitted to the end", WAY_OUT)
    sizes: Sizes = {}
    wrong = find_mismatch(model, {key: spec for key, spec in kind.known.items() if key in vars(model)}, sizes)
    if wrong:
        raise FormatError(f"holds a {name} with {wrong}", WAY_OUT)
    n_clusters = getattr(model, "n_clusters", "auto")
    if "c" in sizes and not (isinstance(n_clusters, str) or n_clusters == sizes["c"]):
        raise FormatError(f"has n_clusters={n_clusters!r} but {sizes['c']} fitted clusters", WAY_OUT)
    if isinstance(model, GeneralizedGaussianMixture):
        axes = tuple(SCATTERS[model.covariance_type])
        if not match_shape(model.scatters_.shape, axes, sizes):
            raise FormatError(f"has scatters_ that are not of shape {describe_shape(axes, sizes)}", WAY_OUT)


def check_parameters(model: Any) -> None:
    """The estimator's own checks, on a copy: they may note things for a fit."""
    fresh = type(model)(**model.get_params(deep=False))
    check = getattr(fresh, "_check_parameters", None) or fresh._validate_params
    try:
        check()
    except Exception as error:  # whatever a parameter of the wrong type leads to
        fault = f"holds a {type(model).__name__} with wrong parameters ({to_one_line(error, 200)})"
        raise FormatError(fault, WAY_OUT) from error


def try_samples(model: Any) -> None:
    """Place two samples, whatever comes out: what the checks above overlooked shows here and not with the user."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    width = next(step.n_features_in_ for step in steps if hasattr(step, "n_features_in_"))
    similarity = getattr(getattr(steps[-1], "_fitted", None), "similarity", None)
    zeros = sp.csr_array if sp.issparse(getattr(similarity, "points", None)) else np.zeros
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            samples = make_rows(steps[0]) if isinstance(steps[0], TableScaler) else zeros((2, int(width)))
            if getattr(steps[-1], "metric", "") == "cosine":  # zeros have no direction
                model, samples = steps[-1], to_ones(steps[:-1], samples)
            scores = ("outlier_scores",) * hasattr(model, "outlier_scores_")
            for method in ("predict_proba" if hasattr(model, "predict_proba") else "predict", "transform", *scores):
                if hasattr(model, method):
                    getattr(model, method)(samples)
    except Exception as error:  # any at all means the same
        raise FormatError(f"holds a model that does not work here ({to_one_line(error, 200)})", WAY_OUT) from error


def to_ones(steps: list[Any], samples: Any) -> Any:
    """Ones in place of the samples that come out of these steps."""
    for step in steps:
        samples = step.transform(samples)
    return type(samples)(np.ones(samples.shape)) if sp.issparse(samples) else np.ones(samples.shape)


def make_rows(scaler: TableScaler) -> Any:
    """Two rows with the kinds of columns that a scaler knows."""
    return scaler.inverse_transform(np.zeros((2, len(scaler.get_feature_names_out()))))
