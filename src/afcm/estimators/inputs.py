"""Samples, their weights and given starts: checked once, and put where they are to be worked on."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace
from sklearn.utils.validation import validate_data

from afcm import arrays
from afcm._util.optional import require
from afcm.estimators import validation
from afcm.estimators.column_faults import explain_text, refuse_missing
from afcm.fitting import starts

DTYPES = (np.float64, np.float32)
# Squared distances of two samples, and sums of a few, stay below the largest number.
ROOM = 16


def validate_samples(
    estimator: Any,
    X: Any,
    *,
    device: Any = None,
    accept_sparse: str | bool = False,
    reset: bool = True,
    spread: bool = False,
    **options: Any,
) -> Any:
    """Check X and put it where it is to be worked on: on ``device``, else where a tensor is, else on the host.

    ``spread``: squared distances between the samples must be numbers, too (models without a graph look at their
    scatter instead). ``options`` go to scikit-learn's `validate_data`.
    """
    if arrays.is_tensor(X):
        X = _validate_tensor(estimator, X, reset=reset, spread=spread)
        return X if device is None else X.to(device)
    if arrays.is_dask(X):
        X = arrays.dask_backend().validate_samples(estimator, X, device=device, reset=reset, dtypes=DTYPES)
        if reset:
            _check_size(X, float(arrays.dask_backend().find_largest_magnitude(X)))
        return X
    X = validate_table(estimator, X, accept_sparse=accept_sparse, reset=reset, spread=spread, **options)
    return X if device is None else _to_device(X, device)


def validate_table(estimator: Any, X: Any, *, spread: bool = False, dtype: Any = DTYPES, **options: Any) -> Any:
    """scikit-learn's `validate_data`, without the conversions and overflows that it lets pass."""
    _refuse_non_tables(X)
    with explain_text(X):
        X = validate_data(estimator, X, dtype=dtype, ensure_all_finite=False, **options)
    _check_values(estimator, X, spread)
    return X


def _check_values(estimator: Any, X: Any, spread: bool) -> None:
    """One pass over X: all values finite, their squares numbers, and with ``spread`` squared distances, too."""
    if sp.issparse(X):
        size = max(float(X.data.max()), -float(X.data.min())) if X.nnz else 0.0
    else:
        xp = array_namespace(X)
        lowest, highest = arrays.to_host(xp.min(X, axis=0)), arrays.to_host(xp.max(X, axis=0))
        size = max(float(np.max(highest)), -float(np.min(lowest)))
    if not math.isfinite(size):
        refuse_missing(X, getattr(estimator, "feature_names_in_", None))
    _check_size(X, size)
    if spread:
        validation.check_span(X, abs(X).max(axis=0).todense() if sp.issparse(X) else highest - lowest)


def _check_size(X: Any, size: float) -> None:
    if size > math.sqrt(validation.largest_number(X) / ROOM / X.shape[1]):
        raise ValueError(
            f"X has values up to {size:.3g} in size: squared distances overflow in {X.dtype}; rescale X, for example "
            "with sklearn.preprocessing.StandardScaler, or remove such samples"
        )


def _refuse_non_tables(X: Any) -> None:
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
    if arrays.is_dask(X):
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


def check_on_host(X: Any, device: Any = None) -> None:
    """Refuse samples for which there are no sparse memberships."""
    if arrays.is_tensor(X) or arrays.is_dask(X) or device is not None:
        raise ValueError(
            "memberships_format='sparse' needs samples in NumPy arrays; use them, with device=None, or 'dense'"
        )


def _to_device(X: Any, device: Any) -> Any:
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


def _validate_tensor(estimator: Any, X: Any, *, reset: bool, spread: bool) -> Any:
    """A tensor with rows and columns, finite, float32 or float64; integers become float64."""
    name = type(estimator).__name__
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; {name} needs 2: one row per sample, one column per feature")
    if not X.shape[0] or not X.shape[1]:
        raise ValueError(f"X has shape {tuple(X.shape)}; {name} needs at least 1 sample and 1 feature")
    X = X.detach()
    if str(X.dtype) not in {"torch.float32", "torch.float64"}:
        X = X.float() if X.is_floating_point() else X.double()
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
        forget(estimator, "feature_names_in_")
    elif X.shape[1] != estimator.n_features_in_:
        expected = estimator.n_features_in_
        raise ValueError(f"X has {X.shape[1]} features, but {name} is expecting {expected} features as input")
    _check_values(estimator, X, spread)
    return X


def forget(estimator: Any, *names: str) -> None:
    """Delete fitted attributes that a new fit may not set again."""
    for name in names:
        if hasattr(estimator, name):
            delattr(estimator, name)


def cast(array: Any, reference: Any) -> Any:
    """An array in the library, on the device and in the dtype of ``reference``."""
    if arrays.is_tensor(reference):
        return arrays.to_device_of(array, reference).to(reference.dtype)
    if arrays.is_chunked(array):
        return array.astype(reference.dtype)
    return arrays.to_host(array).astype(reference.dtype, copy=False)


def check_memory(n_bytes: int, what: str, way_out: str) -> None:
    """Refuse what the machine cannot hold: the system would end the process without a word."""
    try:
        there = float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # a system that does not tell
        return
    if n_bytes > there:
        raise ValueError(f"{what} needs {n_bytes / 2**30:.0f} GiB of memory, more than there is; {way_out}")


def to_unit_rows(X: Any) -> Any:
    """Rows scaled to length one, so that squared distances are twice ``1 − cosine``; sparse X stays sparse.

    Rows are divided by their largest entry first: samples that differ by a factor become the same to the last bit.
    Raises ValueError if a row is 0 and has no direction; of chunks a pass looks for one.
    """
    if arrays.is_chunked(X):
        _refuse_zero_rows(arrays.map_rows(_largest_entries, X).compute())
        return arrays.map_rows(_scale_rows, X, X.shape[1])
    _refuse_zero_rows(arrays.to_host(_largest_entries(X)))
    return _scale_rows(X)


def _refuse_zero_rows(largest: Any) -> None:
    empty = np.flatnonzero(largest == 0)
    if empty.size:
        raise ValueError(
            f"X has {empty.size} rows of zeros (the first is row {empty[0]}), and metric='cosine' compares directions, "
            "which these have not; drop them, or use metric='euclidean'"
        )


def _largest_entries(X: Any) -> Any:
    if sp.issparse(X):
        return abs(X).max(axis=1).toarray().ravel()
    xp = array_namespace(X)
    return xp.max(xp.abs(X), axis=1)


def _scale_rows(X: Any) -> Any:
    largest = _largest_entries(X)
    if sp.issparse(X):
        X = sp.csr_array(X, copy=True)
        counts = np.diff(X.indptr)
        X.data /= np.repeat(largest, counts)
        X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1)), counts)
        return X
    xp = array_namespace(X)
    X = np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X  # a row's sum must not depend on the order of X
    rows = X / largest[:, None]
    return rows / xp.linalg.vector_norm(rows, axis=1, keepdims=True)


# --- what comes with X, one row per sample, chunked where X is ---


def validate_weights(X: Any, sample_weight: Any) -> Any:
    """Checked weights for the rows of X (chunked as X is), or None."""
    n_samples = X.shape[0]
    if not arrays.is_dask(sample_weight) or not arrays.is_chunked(X):
        return _chunk_like(X, validation.check_sample_weight(arrays.to_host(sample_weight), n_samples))
    side = arrays.dask_backend()
    weights = side.to_row_array(sample_weight)
    if weights.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected ({n_samples},): one weight per sample")
    validation.judge_weights(*side.summarize_weights(weights))
    return side.chunk_like(weights, X)


def validate_init(X: Any, init: Any, n_clusters: int) -> tuple[str, Any]:
    """``"memberships"`` (n×c, chunked as X is) or ``"centers"`` (c×d), and the checked array."""
    if not arrays.is_dask(init) or not arrays.is_chunked(X) or init.shape == (n_clusters, X.shape[1]):
        kind, array = validation.check_init_array(arrays.to_host(init), X.shape[0], n_clusters, X.shape[1])
        return kind, _chunk_like(X, array) if kind == "memberships" else array
    side = arrays.dask_backend()
    memberships = side.to_row_array(init)
    if memberships.shape != (X.shape[0], n_clusters):
        validation.refuse_init(memberships.shape, X.shape[0], n_clusters, X.shape[1])
    fine, worst = side.summarize_row_sums(memberships)
    validation.judge_memberships(fine, "the worst row", worst)
    return "memberships", side.chunk_like(memberships / memberships.sum(axis=1, keepdims=True), X)


def draw_memberships(X: Any, n_clusters: int, random: np.random.RandomState) -> Any:
    """Random memberships of the rows of X; of chunks, drawn where they are, the same however X is chunked."""
    if not arrays.is_chunked(X):
        return starts.draw_memberships(X.shape[0], n_clusters, random)
    return starts.to_memberships(arrays.dask_backend().draw_uniform_rows(n_clusters, int(random.randint(2**31 - 1)), X))


def _chunk_like(X: Any, array: Any) -> Any:
    return arrays.dask_backend().chunk_like(array, X) if array is not None and arrays.is_chunked(X) else array
