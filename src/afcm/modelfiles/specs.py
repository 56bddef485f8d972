"""Specs of stored attributes: one small function per kind of value.

A spec takes the value and the sizes known so far (``n`` samples, ``c`` clusters, ``d`` features, ``v`` nodes, …), adds
the sizes it learns, and returns a description of what it expected, or "" where the value is right.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

Sizes = dict[str, int]
Spec = Callable[[Any, Sizes], str]


def match_shape(shape: tuple[int, ...], axes: tuple[str, ...], sizes: Sizes) -> bool:
    """Whether a shape agrees with the sizes known so far, which then include it; no axis is empty."""
    if len(shape) != len(axes) or 0 in shape:
        return False
    learned = dict(sizes)
    if any(learned.setdefault(axis, size) != size for axis, size in zip(axes, shape, strict=True)):
        return False
    sizes.update(learned)
    return True


def describe_shape(axes: tuple[str, ...], sizes: Sizes) -> str:
    """``n×c`` with the numbers that are known."""
    return "×".join(str(sizes.get(axis, axis)) for axis in axes)


def floats(*axes: str, finite: bool = True, least: float = -math.inf) -> Spec:
    """A float array of this shape (any shape if no axes are given)."""

    def check(value: Any, sizes: Sizes) -> str:
        right = isinstance(value, np.ndarray) and value.dtype.kind == "f"
        right = right and (not axes or match_shape(value.shape, axes, sizes))
        if right and (not finite or (np.isfinite(value).all() and not (value < least).any())):
            return ""
        bound = "" if least == -math.inf else f" of at least {least:g}"
        return f"{'finite ' * finite}floats{bound}" + (f" of shape {describe_shape(axes, sizes)}" if axes else "")

    return check


def sparse(*axes: str, least: float = -math.inf) -> Spec:
    """A CSR matrix of finite floats."""

    def check(value: Any, sizes: Sizes) -> str:
        right = sp.issparse(value) and value.format == "csr" and match_shape(value.shape, axes, sizes)
        if right and value.dtype.kind == "f" and np.isfinite(value.data).all() and not (value.data < least).any():
            return ""
        return f"a sparse matrix of finite floats of shape {describe_shape(axes, sizes)}"

    return check


def integers(*axes: str, least: int = 0, below: str = "") -> Spec:
    """An integer array, each entry at least ``least`` and below the size named ``below``."""

    def check(value: Any, sizes: Sizes) -> str:
        end = sizes.get(below, np.iinfo(np.int64).max)
        right = isinstance(value, np.ndarray) and value.dtype.kind == "i" and match_shape(value.shape, axes, sizes)
        if right and value.min() >= least and value.max() < end:
            return ""
        return f"{describe_shape(axes, sizes)} integers from {least}" + (f" to {end - 1}" if below else "")

    return check


def size(axis: str) -> Spec:
    """An integer that is a size."""

    def check(value: Any, sizes: Sizes) -> str:
        right = is_integer(value) and value >= 1 and match_shape((int(value),), (axis,), sizes)
        return "" if right else f"the integer {sizes.get(axis, 'of at least 1')}"

    return check


def index(axis: str) -> Spec:
    """An integer from 0 to one below a size."""

    def check(value: Any, sizes: Sizes) -> str:
        right = is_integer(value) and 0 <= value < sizes[axis]
        return "" if right else f"an integer from 0 to {sizes[axis] - 1}"

    return check


def names(axis: str) -> Spec:
    """An object array of strings, as scikit-learn keeps the names of columns."""

    def check(value: Any, sizes: Sizes) -> str:
        right = isinstance(value, np.ndarray) and value.dtype == object and match_shape(value.shape, (axis,), sizes)
        right = right and all(isinstance(name, str) for name in value)
        return "" if right else f"{describe_shape((axis,), sizes)} names"

    return check


def everything(axis: str, other: str) -> Spec:
    """``slice(None)``: the samples are the nodes, one to one."""

    def check(value: Any, sizes: Sizes) -> str:
        right = isinstance(value, slice) and match_shape((sizes.get(other, 0),), (axis,), sizes)
        return "" if right else f"all of {describe_shape((axis,), sizes)}"

    return check


def plain(is_right: Callable[[Any], bool], expected: str) -> Spec:
    """A value for which the sizes do not matter."""
    return lambda value, _sizes: "" if is_right(value) else expected


def is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_integer(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_history(value: Any) -> bool:
    columns = value.values() if isinstance(value, dict) else [None]
    return all(isinstance(column, np.ndarray) and column.dtype.kind == "f" for column in columns)


def is_strings(value: Any) -> bool:
    right = isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 1
    return right and all(isinstance(item, str) for item in value)


def is_output_config(value: Any) -> bool:
    right = isinstance(value, dict) and set(value) <= {"transform"}
    return right and value.get("transform", "default") in ("default", "pandas", "polars")


number = plain(is_number, "a number")  # NaN and infinity, too
real = plain(lambda value: is_number(value) and math.isfinite(value), "a finite number")
positive = plain(lambda value: is_number(value) and 0 < value < math.inf, "a finite number above 0")
boolean = plain(lambda value: isinstance(value, (bool, np.bool_)), "true or false")
text = plain(lambda value: isinstance(value, str), "text")
strings = plain(is_strings, "an array of text")
nothing = plain(lambda value: value is None, "none")
dtype = plain(lambda value: isinstance(value, np.dtype) and value.kind in "biuf", "a dtype of numbers")
counts = plain(
    lambda value: isinstance(value, tuple) and len(value) == 2 and all(is_integer(item) and item > 0 for item in value),
    "two integers of at least 1",
)
series = plain(lambda value: isinstance(value, tuple), "a tuple")
history = plain(is_history, "a dict of float arrays")
output_config = plain(is_output_config, "the setting of set_output")


def whole(least: int) -> Spec:
    return plain(lambda value: is_integer(value) and value >= least, f"an integer of at least {least}")


def word(*choices: str) -> Spec:
    return plain(lambda value: isinstance(value, str) and value in choices, f"one of {', '.join(choices)}")


def optional(spec: Spec) -> Spec:
    return lambda value, sizes: "" if value is None else spec(value, sizes)


def either(*specs: Spec) -> Spec:
    """The first spec that fits."""

    def check(value: Any, sizes: Sizes) -> str:
        expected = []
        for spec in specs:
            expected.append(spec(value, sizes))
            if not expected[-1]:
                return ""
        return " or ".join(expected)

    return check
