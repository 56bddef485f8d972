"""The facts of a fit (its estimator, parameters and data) as text, by which two fits are compared."""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from afcm.arrays import to_host

# Rows that are hashed together.
BLOCK_ROWS = 8192
# Parameters that the result of a fit does not depend on (beyond rounding).
FREE = frozenset({"callback", "device", "memory", "n_jobs", "verbose"})

Facts = dict[str, str]


def describe_fit(estimator: Any, X: Any, masses: Any, data: Mapping[str, Any] | None = None) -> Facts:
    """The facts of a fit; ``data`` stands for the description of X and the masses where they are not to be read."""
    found = {"estimator": type(estimator).__name__}
    for name, value in estimator.get_params(deep=False).items():
        if name not in FREE and (name != "random_state" or isinstance(value, numbers.Integral)):
            found[name] = describe_parameter(value)
    continues = getattr(estimator, "warm_start", False) and hasattr(estimator, "cluster_centers_")
    found["the fit before (warm_start)"] = hash_array(estimator.cluster_centers_ if continues else None)
    if data is None:
        data = {"shape": tuple(int(size) for size in X.shape), "dtype": to_host(X[:0]).dtype}
        for name, array in (("content", X), ("weights", masses)):
            if not hasattr(array, "__dask_graph__"):  # a lazy one would be computed
                data[name] = hash_array(array)
    return found | {f"X {name}": str(value) for name, value in data.items()}


def hash_array(array: Any) -> str:
    """A hash of the values, whatever the order of memory and the device; sparse matrices by their three arrays."""
    if array is None:
        return "none"
    found = hashlib.blake2b(digest_size=16)
    parts = [array.data, array.indices, array.indptr] if sp.issparse(array) else [array]
    for part in parts:
        for start in range(0, len(part), BLOCK_ROWS):
            found.update(np.asarray(to_host(part[start : start + BLOCK_ROWS])).tobytes())
    return found.hexdigest()


def describe_parameter(value: Any) -> str:
    """A parameter as text: the same for the same value."""
    if value is None or isinstance(value, (bool, str)):
        return repr(value)
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    try:
        array = np.asarray(to_host(value), dtype=np.float64)
    except (TypeError, ValueError):  # the fit itself says what is wrong with it
        return type(value).__qualname__
    return f"an array of shape {array.shape} ({hash_array(np.atleast_1d(array))[:8]})"


def find_differences(there: Mapping[str, Any], here: Facts) -> list[str]:
    """Facts that differ between the checkpoint (there) and this fit (here); of another estimator, that alone."""
    if there.get("estimator") != here["estimator"]:
        return [f"estimator is {there.get('estimator')} there and {here['estimator']} here"]
    pairs = [(name, there[name], here[name]) for name in here if name in there]
    return [f"{name} is {old} there and {new} here" for name, old, new in pairs if old != new]
