"""Checks of parameters and arrays: each error names the parameter, its value and the way out."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace

from afcm._typing import Floats
from afcm.arrays import dask_backend, is_chunked, is_tensor, to_host
from afcm.equations import paper

# Rows of given memberships may miss 1 by this much (they are divided by their sum).
ROW_SUM_TOL = 1e-3
# The largest weight lies between these: below, clusters count as empty (`paper.MIN_MASS`); above, sums overflow.
LEAST_WEIGHT, MOST_WEIGHT = 1e-8, 1e30
# Relative asymmetry of a precomputed affinity that counts as rounding.
ASYMMETRY_TOL = 1e-8


def check_integer(name: str, value: object, *, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ValueError(f"{name}={value!r} must be an integer; use an int of at least {least}")
    if value < least:
        raise ValueError(f"{name}={value!r} must be at least {least}")
    return int(value)


def check_share(name: str, value: object) -> float:
    if isinstance(value, str) or not 0 < check_real(name, value) < 1:
        raise ValueError(f"{name}={value!r} must be a number above 0 and below 1")
    return float(value)  # type: ignore[arg-type]


def check_real(name: str, value: object, *, positive: bool = False) -> float:
    bound = "positive" if positive else "at least 0"
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise ValueError(f"{name}={value!r} must be a finite number, {bound}")
    if value < 0 or (positive and value == 0):
        raise ValueError(f"{name}={value!r} must be {bound}")
    return float(value)


def check_choice(name: str, value: object, choices: Collection[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={value!r} is not known; use one of {sorted(choices)}")
    return value


def check_flag(name: str, value: object) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}={value!r} must be True or False")
    return bool(value)


def check_warm_start(fitted: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """The shape of the fit before must be the one that this fit needs."""
    if tuple(fitted) != tuple(wanted):
        raise ValueError(
            f"warm_start=True, but the fit before has shape {tuple(fitted)} where this one needs {tuple(wanted)} "
            "(clusters first); fit with warm_start=False, or give init"
        )


def check_enough_samples(n_clusters: int, n_samples: int, n_distinct: int) -> None:
    """At least one sample, and one different sample, per cluster."""
    if n_clusters > n_samples:
        raise ValueError(
            f"n_clusters={n_clusters} must be at most n_samples={n_samples}; use fewer clusters or more samples"
        )
    if n_clusters > n_distinct:
        raise ValueError(
            f"n_clusters={n_clusters} must be at most {n_distinct}, the number of different samples in X (with "
            f"positive weight); use fewer clusters"
        )


def check_sample_weight(sample_weight: Any, n_samples: int) -> Floats | None:
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold numbers, one per sample ({error})") from None
    if weights.ndim == 0:
        weights = np.full(n_samples, weights)
    if weights.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected ({n_samples},): one weight per sample")
    fine = bool(np.isfinite(weights).all() and (weights >= 0).all())
    smallest = np.min(weights, where=weights > 0, initial=math.inf)
    judge_weights(fine, float(weights.sum()), float(smallest), float(weights.max()))
    return weights


def judge_weights(fine: bool, total: float, smallest: float, largest: float) -> None:
    """Refuse weights by a few numbers: ``fine`` if all are finite and not negative, the smallest one above 0."""
    if not fine:
        raise ValueError("sample_weight must be finite and not negative; give weight 0 to leave a sample out")
    if not total > 0:
        raise ValueError("sample_weight is zero for every sample; give at least n_clusters samples a positive weight")
    if not (LEAST_WEIGHT <= largest <= MOST_WEIGHT and smallest >= largest / MOST_WEIGHT):
        raise ValueError(
            f"sample_weight goes from {smallest:.3g} to {largest:.3g}: sums of such weights overflow or vanish; divide "
            "them by their mean, and give weight 0 to leave a sample out"
        )


def judge_memberships(fine: bool, worst: str, total: float) -> None:
    """Refuse memberships: ``fine`` if all are finite and not negative, the name and the sum of the worst row."""
    if not fine:
        raise ValueError("init holds memberships that are negative, NaN or infinite; give numbers from 0 to 1")
    if abs(total - 1) > ROW_SUM_TOL:
        raise ValueError(f"init must have rows that sum to 1; {worst} sums to {total:.6g}: divide each row by its sum")


def check_init_array(init: Any, n_samples: int, n_clusters: int, n_features: int) -> tuple[str, Floats]:
    """Tell given memberships (n×c) from given centers (c×d)."""
    array = number_array("init", init).astype(np.float64)
    if array.shape == (n_samples, n_clusters):
        sums = array.sum(axis=1)
        worst = int(np.argmax(np.abs(sums - 1)))
        judge_memberships(bool(np.isfinite(array).all() and (array >= 0).all()), f"row {worst}", float(sums[worst]))
        return "memberships", array / sums[:, None]
    if array.shape == (n_clusters, n_features):
        if not np.isfinite(array).all():
            raise ValueError("init holds centres that are NaN or infinite; give finite numbers")
        return "centers", array
    return refuse_init(array.shape, n_samples, n_clusters, n_features)


def number_array(name: str, value: Any) -> Any:
    try:
        array = np.asarray(value)
        array = array.astype(np.float64) if array.dtype == object else array
    except (TypeError, ValueError):  # rows of different lengths, or anything else
        array = np.empty(0, dtype=str)
    if array.dtype.kind not in "biuf":
        shown = " ".join(repr(value).split())[:60]
        raise ValueError(f"{name}={shown} is no array of numbers; give rows of equal length, or a name")
    return array


def refuse_init(shape: tuple[int, ...], n_samples: int, n_clusters: int, n_features: int) -> NoReturn:
    raise ValueError(
        f"init has shape {shape}; give memberships of shape ({n_samples}, {n_clusters}) or centres of shape "
        f"({n_clusters}, {n_features})"
    )


def check_affinity(affinity: Any) -> Any:
    """A precomputed similarity matrix: square, symmetric, not negative; its diagonal is not used."""
    matrix = sp.csr_array(affinity, dtype=np.float64, copy=True)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"X has shape {matrix.shape}; with affinity='precomputed' it must be the square matrix of similarities"
        )
    if matrix.nnz and matrix.data.min() < 0:
        raise ValueError(
            f"X holds a negative similarity ({matrix.data.min():.6g}); with affinity='precomputed' use numbers of at "
            "least 0, for distances D for example exp(-D**2 / (2 * D.std()**2))"
        )
    difference = abs(matrix - matrix.T)
    if difference.nnz and difference.max() > ASYMMETRY_TOL * matrix.data.max():
        raise ValueError(
            f"X is not symmetric (entries differ by up to {difference.max():.6g}); with affinity='precomputed' use "
            "(W + W.T) / 2"
        )
    matrix.setdiag(0)
    matrix.eliminate_zeros()
    if not matrix.nnz:
        raise ValueError(
            "X has no similarity above 0 between two samples; with affinity='precomputed' give at least one"
        )
    return matrix


def check_scale(X: Any, total_scatter: float) -> None:
    """Squares of distances must neither overflow nor vanish, so that γ at its cap is a number too."""
    least = math.prod(X.shape) / (paper.MIN_RELATIVE_SCATTER * largest_number(X))
    if not least < total_scatter < math.inf:
        size = float(abs(X).max())
        fault = "overflow" if size > 1 else "vanish"
        raise ValueError(
            f"X has values up to {size:.3g} in size: squared distances {fault} in {X.dtype}; rescale X, for example "
            "with sklearn.preprocessing.StandardScaler"
        )


def count_distinct(X: Any, weights: Floats | None, enough: int) -> int:
    """Different samples of positive weight, counted no further than ``enough``."""
    if is_chunked(X):  # as many chunks as it takes
        return len(dask_backend().collect_rows(X, weights, enough, few_distinct))
    return len(few_distinct(X, weights, enough))


def few_distinct(X: Any, weights: Floats | None, enough: int) -> Floats:
    """Different samples of positive weight, no more than ``enough``: a few rows tell."""
    seen, step = to_host(X[:0]), max(enough, 1024)
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        block = to_host(X[rows])
        block = block if weights is None else block[weights[rows] > 0]
        seen = np.ascontiguousarray(np.concatenate([seen, block]) + 0.0)
        # By their bytes (no −0, no NaN): `numpy.unique` over rows takes minutes for a hundred thousand columns.
        as_one = seen.view(np.dtype((np.void, seen.itemsize * seen.shape[1]))).ravel()
        seen = seen[np.unique(as_one, return_index=True)[1]]
        if seen.shape[0] >= enough:
            return np.asarray(seen[:enough])
    return np.asarray(seen)


def check_exponent(name: str, value: object) -> float:
    """Bezdek's m: a finite number above 1."""
    exponent = check_real(name, value, positive=True)
    if exponent <= 1:
        raise ValueError(
            f"{name}={value!r} must be above 1; use for example 1.1, or sklearn.cluster.KMeans for hard labels"
        )
    return exponent


def check_span(X: Any, ranges: Any) -> None:
    """`check_scale` from the ranges of the columns, before any distance is taken (sparse X: largest entries)."""
    with np.errstate(over="ignore"):
        reach = float(np.sum(np.asarray(ranges, dtype=np.float64) ** 2))
    if np.any(ranges):
        check_scale(X, reach)


def largest_number(X: Any) -> float:
    return float((array_namespace(X).finfo if is_tensor(X) else np.finfo)(X.dtype).max)
