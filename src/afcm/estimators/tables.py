"""X at the door: a table of finite numbers whose squares are numbers too, or an error that says what to do."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace
from sklearn.utils.validation import validate_data

from afcm.arrays import dask_backend, is_chunked, is_dask, is_tensor, to_host

# Squared distances of two samples, and sums of a few, stay below the largest number.
ROOM = 16


def validated(estimator: Any, X: Any, **options: Any) -> Any:
    """scikit-learn's `validate_data`, without the conversions and overflows that it lets pass."""
    refuse_what_is_no_table(X)
    X = validate_data(estimator, X, **options)
    check_reach(X)
    return X


def refuse_what_is_no_table(X: Any) -> None:
    """Refuse what NumPy would turn into numbers, or fail on, without a useful word."""
    if X is None or (isinstance(X, (str, bytes, dict, set)) and not sp.issparse(X)):
        what = "None" if X is None else f"a {type(X).__name__}"
        raise ValueError(f"X is {what}; give a table of numbers: one row per sample, one column per feature")
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        n_masked = int(np.ma.getmaskarray(X).sum())
        raise ValueError(
            f"X is a masked array with {n_masked} masked values, which count as missing (NaN); replace them, for "
            "example with sklearn.impute.SimpleImputer, or drop their rows"
        )
    if is_dask(X):
        raise ValueError(
            "X is in Dask's chunks, and this model needs all of X in memory: use X.compute() if that fits, or a model "
            "that takes chunks: PlainAFCM, FCM, EntropyFCM"
        )
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in ("M", "m"):
        raise ValueError(
            f"X holds dates or times (dtype {X.dtype}), whose unit would be taken for a scale; give numbers, for "
            "example (X - X.min()) / numpy.timedelta64(1, 'D')"
        )


def check_reach(X: Any) -> None:
    """Squares of the values must not overflow."""
    size = largest_size(X)
    if size <= math.sqrt(largest_number(X) / ROOM / X.shape[1]):
        return
    raise ValueError(
        f"X has values up to {size:.3g} in size: squared distances overflow in {X.dtype}; rescale X, for example with "
        "sklearn.preprocessing.StandardScaler, or remove such samples"
    )


def largest_size(X: Any) -> float:
    """``max |x|``, without a copy of X."""
    if is_chunked(X):
        return float(dask_backend().find_largest_magnitude(X))
    if sp.issparse(X):
        X = X.data
    if not math.prod(X.shape):
        return 0.0
    xp = array_namespace(X)
    return max(float(to_host(xp.max(X))), -float(to_host(xp.min(X))))


def check_memory(n_bytes: int, what: str, way_out: str) -> None:
    """Refuse what the machine cannot hold: the system would end the process without a word."""
    if n_bytes > total_memory():
        raise ValueError(f"{what} needs {n_bytes / 2**30:.0f} GiB of memory, more than there is; {way_out}")


def total_memory() -> float:
    """Bytes, where the system tells."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return math.inf


def largest_number(X: Any) -> float:
    """Of X's own dtype."""
    if is_tensor(X):
        return float(array_namespace(X).finfo(X.dtype).max)
    return float(np.finfo(X.dtype).max)
