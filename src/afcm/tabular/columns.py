"""Choose the columns of a table to cluster by, check them, and turn them into a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

# Beyond this size squares of distances overflow.
LARGEST = 1e150
# A text column with at least this share of numbers is taken for a broken column of numbers.
MOSTLY_NUMBERS = 0.5
NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
NUMERIC = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
TEXT = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)
DATES = (pa.types.is_date, pa.types.is_timestamp)
# Usual names of a column of row numbers.
ID_NAMES = ("id", "index", "idx", "key", "uuid", "row", "rowid", "row_id", "nr", "no", "number", "unnamed: 0", "")
BLOCK_ROWS = 1 << 16


class TableError(ValueError):
    """A file or a column cannot be used; the message names it and the way out."""


def join_names(names: Sequence[object], most: int = 8) -> str:
    """``a, b, c and 4 more``: at most ``most`` names are shown."""
    rest = len(names) - most
    return ", ".join(map(str, names[:most])) + (f" and {rest} more" if rest > 0 else "")


@dataclass(frozen=True)
class ColumnChoice:
    """Names of the columns to cluster by, and the reason for each column that is left out."""

    names: list[str]
    left_out: dict[str, str] = field(default_factory=dict)

    def explain_left_out(self) -> str:
        return join_names([f"{name} ({why})" for name, why in self.left_out.items()])


def choose_columns(
    table: pa.Table,
    columns: Sequence[str] = (),
    *,
    id: str | None = None,
    label: str | None = None,
    known: str | None = None,
    drop: Sequence[str] = (),
    constant: bool = False,
    mixed: bool = False,
) -> ColumnChoice:
    """Choose the columns that are named, or all columns of numbers (``mixed``: of text and dates, too).

    ``id``, ``label``, ``known`` and ``drop`` are never among them. A column that is named and cannot be used is an
    error; so is one that mixes numbers and text, or (unless ``constant``) has one value only.
    """
    named = (("--columns", columns), ("--id", [id]), ("--label", [label]), ("--known", [known]), ("--drop", drop))
    for option, names in named:
        check_columns_exist(table, option, [name for name in names if name is not None])
    reasons = ((id, "id"), (known, "known labels"), (label, "label"))
    kept_out = {name: why for name, why in reasons if name is not None}
    kept_out |= dict.fromkeys(drop, "dropped")
    both = [name for name in columns if name in kept_out]
    if both:
        raise TableError(f"--columns names {both[0]!r}, which is also the {kept_out[both[0]]} column; name it once")
    choice = ColumnChoice([], kept_out)
    for name in columns or [name for name in table.column_names if name not in kept_out]:
        fault = explain_unusable(table, name, mixed)
        if fault is None and not columns and is_identifier(table, name):
            choice.left_out[name] = "an identifier, it seems"
        elif fault is None:
            check_values(table, name, constant)
            choice.names.append(name)
        elif columns:
            raise TableError(f"column {name!r} is {fault} and cannot be clustered by; leave it out of --columns")
        else:
            choice.left_out[name] = fault
    if not choice.names:
        left_out = choice.explain_left_out()
        kind = "column" if mixed else "column of numbers"
        raise TableError(f"no {kind} is left to cluster by: {left_out}; name others with --columns")
    return choice


def check_columns_exist(table: pa.Table, option: str, names: Sequence[str]) -> None:
    for name in names:
        if name not in table.column_names:
            known = join_names(table.column_names)
            raise TableError(f"{option} {name}: there is no such column; the table has {known}")
    if len(set(names)) < len(names):
        raise TableError(f"{option} names a column twice: {join_names(names)}")


def is_any(kind: pa.DataType, tests: Sequence[Callable[[pa.DataType], bool]]) -> bool:
    return any(test(kind) for test in tests)


def explain_unusable(table: pa.Table, name: str, mixed: bool) -> str | None:
    """Say why a column cannot be used, or None if it can. One that mixes numbers and text is an error."""
    kind = table.schema.field(name).type
    if pa.types.is_null(kind):
        return "empty"
    if is_any(kind, NUMERIC) or (mixed and is_any(kind, DATES)):
        return None
    if is_any(kind, TEXT):
        text = table[name].cast(pa.string()) if pa.types.is_dictionary(kind) else table[name]
        check_not_mixed(text, name)
        return None if mixed else "text"
    return str(kind)


def check_not_mixed(column: Any, name: str) -> None:
    """Refuse numbers with a few words between them: a mistake, not text."""
    numbers = pc.match_substring_regex(column, NUMBER)
    share = pc.mean(numbers).as_py() or 0.0
    if MOSTLY_NUMBERS <= share < 1:
        row = pc.index(numbers, False).as_py()
        raise TableError(
            f"column {name!r} mixes numbers and text: row {row + 1} holds {column[row].as_py()[:40]!r}; correct or "
            f"empty the field, or leave the column out with --drop {name}"
        )


def check_values(table: pa.Table, name: str, constant: bool) -> None:
    """Refuse values that are not finite or too large, and (unless ``constant``) columns of one value or none."""
    column = table[name]
    if not is_any(column.type, NUMERIC):
        return
    if not pa.types.is_floating(column.type):
        column = column.cast(pa.float64(), safe=False)  # integers beyond 2^53 are rounded
    low, high = pc.min_max(column).as_py().values()
    if low is None and constant:
        return
    if low is None:
        raise TableError(f"column {name!r} has no value at all; leave it out with --drop {name}")
    if not (abs(low) <= LARGEST and abs(high) <= LARGEST):
        worst = low if not abs(low) <= LARGEST else high
        row = pc.index(column, pa.scalar(worst, column.type)).as_py()
        raise TableError(
            f"column {name!r} holds {worst:.6g} in row {row + 1}: squared distances overflow; correct the field, "
            f"change the unit, or leave the column out with --drop {name}"
        )
    if low == high and not constant:
        raise TableError(
            f"column {name!r} has one value only ({low:.6g}) and cannot tell samples apart; leave it out with "
            f"--drop {name}"
        )


def is_identifier(table: pa.Table, name: str) -> bool:
    """Tell columns of row numbers: a usual name, and different whole numbers."""
    column = table[name]
    usual = name.strip().lower() in ID_NAMES or name.lower().endswith("_id")
    return bool(usual and pa.types.is_integer(column.type) and pc.count_distinct(column).as_py() == table.num_rows)


def to_matrix(table: pa.Table, names: Sequence[str]) -> NDArray[np.float64]:
    """Return the columns as a matrix of floats with a row per sample; missing values are NaN."""
    X = np.empty((table.num_rows, len(names)))
    for j, name in enumerate(names):
        start = 0
        for chunk in table[name].chunks:
            X[start : start + len(chunk), j] = chunk.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            start += len(chunk)
    return X


def count_missing(table: pa.Table, names: Sequence[str]) -> NDArray[np.intp]:
    """Count the missing values of each row; NaN is one."""
    counts = np.zeros(table.num_rows, dtype=np.intp)
    for name in names:
        counts += pc.is_null(table[name], nan_is_null=True).combine_chunks().to_numpy(zero_copy_only=False)
    return counts


def find_missing(X: NDArray[np.float64]) -> tuple[int, int] | None:
    """Return row and column of the first missing value, or None."""
    for start in range(0, X.shape[0], BLOCK_ROWS):
        block = np.isnan(X[start : start + BLOCK_ROWS])
        if block.any():
            row, column = np.argwhere(block)[0]
            return start + int(row), int(column)
    return None
