"""Where arrays come in: NumPy's, tables, tensors, Dask's, each checked. What goes out is of the kind that came in."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from afcm import arrays
from afcm._util.optional import require
from afcm.estimators.tables import check_reach, validated

DTYPES = (np.float64, np.float32)


def entered(
    estimator: Any, X: Any, *, device: Any = None, accept_sparse: str | bool = False, reset: bool = True
) -> Any:
    """X, checked and where it is to be worked on: on ``device``, else where a tensor is, else on the host."""
    if arrays.is_tensor(X):
        X = checked_tensor(estimator, X, reset=reset)
        return X if device is None else X.to(device)
    if arrays.is_dask(X):
        X = arrays.dask_backend().validate_samples(estimator, X, device=device, reset=reset, dtypes=DTYPES)
        if reset:
            check_reach(X)
        return X
    X = validated(estimator, X, accept_sparse=accept_sparse, dtype=DTYPES, reset=reset)
    return X if device is None else on_device(X, device)


def on_device(X: Any, device: Any) -> Any:
    """A NumPy array as a tensor on a device."""
    if sp.issparse(X):
        raise ValueError(f"X is sparse; device={device!r} needs dense X: use X.toarray(), or device=None")
    try:
        torch = require("torch", "gpu", f"device={device!r} needs", "PyTorch")
    except ImportError as error:
        raise ValueError(f"{error}, or use device=None") from None
    try:
        return torch.as_tensor(X, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device={device!r} cannot be used ({error}); use device=None") from None


def checked_tensor(estimator: Any, X: Any, *, reset: bool) -> Any:
    """A tensor with rows and columns, finite, float32 or float64; integers become float64."""
    name = type(estimator).__name__
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; {name} needs 2: one row per sample, one column per feature")
    if not X.shape[0] or not X.shape[1]:
        raise ValueError(f"X has shape {tuple(X.shape)}; {name} needs at least 1 sample and 1 feature")
    X = X.detach()
    if str(X.dtype) not in {"torch.float32", "torch.float64"}:
        X = X.float() if X.is_floating_point() else X.double()
    if not bool(X.isfinite().all()):
        raise ValueError("Input X contains NaN or infinity; remove or replace such values")
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
        vars(estimator).pop("feature_names_in_", None)
    elif X.shape[1] != estimator.n_features_in_:
        expected = estimator.n_features_in_
        raise ValueError(f"X has {X.shape[1]} features, but {name} is expecting {expected} features as input")
    check_reach(X)
    return X


def cast(array: Any, reference: Any) -> Any:
    """An array in the library, on the device and in the dtype of ``reference``."""
    if arrays.is_tensor(reference):
        return arrays.to_device_of(array, reference).to(reference.dtype)
    if arrays.is_chunked(array):
        return array.astype(reference.dtype)
    return arrays.to_host(array).astype(reference.dtype, copy=False)
