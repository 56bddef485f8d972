"""Check the arguments of every index, with messages that say how to pass them."""

from collections.abc import Hashable, Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from afcm._typing import Floats, Integers

Labels: TypeAlias = Iterable[Hashable] | ArrayLike

TOLERANCE = 1e-5  # memberships rounded to single precision pass, forgotten normalizations do not


def as_floats(value: ArrayLike, name: str, *, ndim: int) -> Floats:
    """Return `value` as a finite float64 array with `ndim` axes and at least one entry."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a dense array of numbers; got {type(value).__name__}: {error}") from error
    if array.ndim != ndim:
        way_out = "put samples in rows and features or clusters in columns" if ndim == 2 else "flatten it"
        raise ValueError(f"{name} must have {ndim} axes; got shape {array.shape}; {way_out}")
    if array.size == 0:
        raise ValueError(f"{name} must not be empty; got shape {array.shape}; pass at least one sample")
    _refuse(~np.isfinite(array), array, f"{name} must be finite", "drop or impute the missing values first")
    return array


def as_memberships(value: ArrayLike, name: str = "memberships") -> Floats:
    """Return `value` as an n × c matrix of nonnegative rows that sum to 1."""
    memberships = as_floats(value, name, ndim=2)
    _refuse(memberships < -TOLERANCE, memberships, f"{name} must be nonnegative", "pass memberships, not scores")
    sums = memberships.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1.0) > TOLERANCE)
    if wrong.size:
        raise ValueError(
            f"{name} must have rows that sum to 1; row {wrong[0]} sums to {sums[wrong[0]]:.6g}; "
            "normalise the rows first"
        )
    return np.maximum(memberships, 0.0)


def as_weights(value: ArrayLike | None, n_samples: int) -> Floats:
    """Return sample weights: ones when none are given, else nonnegative with a positive sum."""
    if value is None:
        return np.ones(n_samples)
    weights = as_floats(value, "sample_weight", ndim=1)
    check_same_length("sample_weight", len(weights), "memberships", n_samples)
    _refuse(weights < 0, weights, "sample_weight must be nonnegative", "set unwanted samples to 0")
    if not weights.any():
        raise ValueError("sample_weight must have a positive sum; all weights are 0; keep one sample at least")
    return weights


def as_codes(labels: Labels, name: str) -> Integers:
    """Return hashable labels as integers 0, 1, … in order of first appearance."""
    try:
        values = list(np.asarray(labels).tolist() if hasattr(labels, "__array__") else labels)  # type: ignore[arg-type]
        numbers: dict[Hashable, int] = {}
        codes = [numbers.setdefault(label, len(numbers)) for label in values]
    except TypeError as error:
        raise ValueError(f"{name} must be a flat sequence of labels, one per sample; {error}") from error
    if not codes:
        raise ValueError(f"{name} must not be empty; pass at least one label")
    missing = [label for label in numbers if _is_missing(label)]
    if missing:
        raise ValueError(
            f"{name} must not have missing labels; sample {codes.index(numbers[missing[0]])} is "
            f"{missing[0]!r}; drop it or give it a label of its own"
        )
    return np.array(codes, dtype=np.intp)


def as_code_pair(labels_true: Labels, labels_pred: Labels) -> tuple[Integers, Integers]:
    true, pred = as_codes(labels_true, "labels_true"), as_codes(labels_pred, "labels_pred")
    check_same_length("labels_pred", len(pred), "labels_true", len(true))
    return true, pred


def check_at_least(value: float, bound: float, name: str, way_out: str) -> None:
    """Refuse a parameter that is below its bound, infinite or NaN."""
    if not bound <= value < np.inf:
        raise ValueError(f"{name} must be finite and at least {bound:g}; got {value}; {way_out}")


def check_same_length(name: str, length: int, other: str, other_length: int) -> None:
    if length != other_length:
        raise ValueError(
            f"{name} must have one row per sample of {other}; got {length} against {other_length}; "
            "pass the same samples in the same order"
        )


def _refuse(bad: NDArray[np.bool_], array: Floats, rule: str, way_out: str) -> None:
    if bad.any():
        place = tuple(int(axis) for axis in np.argwhere(bad)[0])
        shown = place[0] if len(place) == 1 else place
        raise ValueError(f"{rule}; entry {shown} is {array[place]:.6g}; {way_out}")


def _is_missing(label: Hashable) -> bool:
    try:
        return label is None or bool(label != label)  # noqa: PLR0124  NaN is what differs from itself
    except TypeError:  # pandas.NA has no truth value
        return True
