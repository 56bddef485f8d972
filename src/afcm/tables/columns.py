"""Reads the columns of data frames, Arrow tables, dicts and arrays, and finds what kind each of them is."""

from __future__ import annotations

import datetime
import numbers
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from afcm._typing import Floats

DAY = np.timedelta64(1, "D")
# A text column with at least this share of numbers is taken for a broken column of numbers.
MOSTLY_NUMBERS = 0.5
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
# What the missing values of pandas are called; they answer no comparison.
MISSING_TYPES = ("NAType", "NaTType")


@dataclass(frozen=True, eq=False)
class Column:
    """A column and its kind.

    ``values`` are floats with NaN where a value is missing (of ``"yes/no"`` 0 and 1, of ``"date"`` days since 1970),
    or for ``"text"`` an object array of str and None.
    """

    name: str
    kind: str
    values: Any


def read_columns(X: Any) -> list[Column]:
    """Return the columns of a data frame, an Arrow table, a dict of columns, or an array (named x0, x1, …).

    Raises
    ------
    ValueError
        If a column mixes kinds, holds infinities, or the columns have different lengths.
    """
    return [read_column(name, values) for name, values in split_columns(X)]


def split_columns(X: Any) -> list[tuple[str, Any]]:
    if isinstance(X, dict):
        found = [(str(name), to_array(values)) for name, values in X.items()]
        lengths = {len(values) for _, values in found}
        if len(lengths) > 1:
            raise ValueError(f"X has columns of {min(lengths)} to {max(lengths)} rows; give each the same number")
        return found
    if hasattr(X, "column_names"):  # an Arrow table
        return [(name, to_array(X[name].combine_chunks())) for name in X.column_names]
    if hasattr(X, "iloc"):
        return [(str(name), to_array(X.iloc[:, j])) for j, name in enumerate(X.columns)]
    if hasattr(X, "columns"):
        return [(str(name), to_array(X[name])) for name in X.columns]
    return [(f"x{j}", X[:, j]) for j in range(X.shape[1])]


def to_array(values: Any) -> Any:
    """Return one column as a NumPy array; a list keeps its values as they are."""
    if hasattr(values, "to_numpy"):
        arrow = hasattr(values, "null_count") and hasattr(values, "dictionary_encode")
        return values.to_numpy(zero_copy_only=False) if arrow else values.to_numpy()
    return values if isinstance(values, np.ndarray) else np.fromiter(values, dtype=object)


def read_column(name: str, values: Any) -> Column:
    kind = values.dtype.kind
    if kind in "iuf":
        return Column(name, "number", check_finite(name, values.astype(np.float64)))
    if kind == "b":
        return Column(name, "yes/no", values.astype(np.float64))
    if kind in "Mm":
        return Column(name, "date" if kind == "M" else "number", to_days(values))
    if kind in "OUST":
        return read_objects(name, values.astype(object))
    raise ValueError(f"column {name!r} has values of type {values.dtype}; give numbers, dates, yes/no or text")


def read_objects(name: str, values: Any) -> Column:
    """Find the one kind that all values of a column of Python objects have."""
    known = np.array([not is_missing(value) for value in values], dtype=bool)
    present = values[known]
    for kind, is_kind, convert in OBJECTS:
        if present.size and all(is_kind(value) for value in present):
            if kind == "text":
                check_not_mixed(name, values, known)
            return Column(name, kind, spread(convert(present), known))
    if not present.size:
        return Column(name, "number", np.full(values.size, np.nan))
    refuse_mixture(name, values, known)
    raise AssertionError


def spread(present: Any, known: Any) -> Any:
    """Put the present values back between the missing ones."""
    empty: Any = np.full(known.size, None if present.dtype == object else np.nan, dtype=present.dtype)
    empty[known] = present
    return empty


def refuse_mixture(name: str, values: Any, known: Any) -> None:
    odd = [value for value in values[known] if not any(is_kind(value) for _, is_kind, _ in OBJECTS)]
    if odd:
        raise TypeError(
            f"column {name!r} holds a {type(odd[0]).__name__}; argument must be a string or a number, a date or a bool"
        )
    first = values[known][0]
    row = next(i for i in np.flatnonzero(known) if type(values[i]) is not type(first))
    raise ValueError(
        f"column {name!r} mixes {type(first).__name__} and {type(values[row]).__name__}: row {row + 1} holds "
        f"{str(values[row])[:40]!r}; correct or empty the field, or leave the column out"
    )


def check_not_mixed(name: str, values: Any, known: Any) -> None:
    """Refuse text that is mostly numbers: a few words between them are a mistake, not categories."""
    numeric = np.array([NUMBER.fullmatch(value) is not None for value in values[known]])
    if MOSTLY_NUMBERS <= numeric.mean() < 1:
        row = np.flatnonzero(known)[np.argmin(numeric)]
        raise ValueError(
            f"column {name!r} mixes numbers and text: row {row + 1} holds {values[row][:40]!r}; correct or empty the "
            "field, or leave the column out"
        )


def check_finite(name: str, values: Floats) -> Floats:
    infinite = np.isinf(values)
    if infinite.any():
        raise ValueError(
            f"column {name!r} holds infinity in row {int(np.argmax(infinite)) + 1}; replace it, with NaN if it is not "
            "known"
        )
    return values


def is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in MISSING_TYPES:
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def is_yes_no(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def is_number(value: Any) -> bool:
    return isinstance(value, (numbers.Real, Decimal)) and not is_yes_no(value)


def is_date(value: Any) -> bool:
    return isinstance(value, (datetime.date, np.datetime64))


def to_days(values: Any) -> Floats:
    """Return dates as days since 1970, lengths of time as days, NaN where there is none."""
    missing = np.isnat(values)
    start = np.datetime64(0, "D") if values.dtype.kind == "M" else np.timedelta64(0, "D")
    days = (values - start.astype(values.dtype)) / DAY
    return np.where(missing, np.nan, days)


def parse_days(values: Any) -> Floats:
    plain = [drop_zone(value) for value in values]
    return to_days(np.array(plain, dtype="datetime64[us]"))


def drop_zone(value: Any) -> Any:
    """Return a time with a zone as the same instant in UTC, without a zone."""
    if getattr(value, "tzinfo", None) is None:
        return value
    return value.astimezone(datetime.UTC).replace(tzinfo=None)


def parse_numbers(values: Any) -> Floats:
    return np.array([float(value) for value in values])


def parse_text(values: Any) -> Any:
    return np.array([str(value) for value in values], dtype=object)


OBJECTS: tuple[tuple[str, Callable[[Any], bool], Callable[[Any], Any]], ...] = (
    ("yes/no", is_yes_no, parse_numbers),
    ("number", is_number, parse_numbers),
    ("date", is_date, parse_days),
    ("text", lambda value: isinstance(value, str), parse_text),
)
