"""How one column becomes coordinates and back: its center and unit, or its categories."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from afcm._typing import Floats
from afcm.tables.columns import DAY, Column
from afcm.tables.relations import find_inliers, mean_squared_distance

# Numbers with at most this many different values are as discrete as categories, if each has at least TIMES rows.
FEW_VALUES, TIMES = 5, 10
# The category of texts that are too rare to have one of their own.
OTHER = "(other)"
# Squared distance of two numbers drawn evenly from a range of 1: that of categories in a table without numbers.
EVEN = 1 / 6


@dataclass(frozen=True, eq=False)
class ColumnCode:
    """How a column is coded: coordinates are ``(x − means) · unit · √weight``, with x its number or its indicators.

    Attributes
    ----------
    kind : {"number", "yes/no", "date", "text"}
    levels : object array of str
        The categories of text, by frequency; empty for others. Two categories share one coordinate.
    means : array (n_coordinates,)
    unit : float
        NaN for discrete columns until `equalize` sets it.
    limit : float
        Coordinates of inliers lie within ``±limit`` before the weight.
    weight : float
        Factor of the squared distance; 0 if the column is left out.
    remark : str
        What a user should know about the column, or nothing.
    """

    name: str
    kind: str
    levels: Any
    means: Floats
    unit: float
    limit: float
    weight: float
    remark: str

    @property
    def is_discrete(self) -> bool:
        return math.isinf(self.limit)

    @property
    def names(self) -> list[str]:
        """Names of the coordinates."""
        if self.kind != "text":
            return [self.name]
        return [f"{self.name}={level}" for level in self.levels[-len(self.means) :]]

    def leave_out(self, remark: str) -> ColumnCode:
        return replace(self, weight=0.0, remark=remark)

    def equalize(self, values: Any, wanted: float) -> ColumnCode:
        """Choose the unit of a discrete column by the mean squared distance it shall have."""
        return replace(self, unit=math.sqrt(wanted / mean_squared_distance(self.indicate(values))))

    def indicate(self, values: Any) -> Floats:
        """Return the numbers, or an indicator for each category, n×p; NaN where the value is missing or unknown."""
        if self.kind != "text":
            return np.asarray(values, dtype=np.float64)[:, None]
        places = {level: j for j, level in enumerate(self.levels)}
        other = places.get(OTHER, -1)
        codes = np.array([-1 if value is None else places.get(value, other) for value in values], dtype=np.intp)
        indicators = np.where(codes[:, None] < 0, np.nan, codes[:, None] == np.arange(len(places)))
        return indicators[:, -len(self.means) :]

    def encode(self, values: Any) -> Floats:
        """Return the coordinates before the weight, n×p."""
        return (self.indicate(values) - self.means) * self.unit

    def find_unknown(self, values: Any) -> list[str]:
        """Return the texts that the fit has not seen and that have no category to go to."""
        if self.kind != "text" or OTHER in self.levels:
            return []
        return sorted({value for value in values if value is not None} - set(self.levels))

    def decode(self, coordinates: Floats) -> Any:
        """Return values from coordinates after the weight; a category is that of the largest indicator."""
        values = coordinates / (self.unit * math.sqrt(self.weight)) + self.means
        if self.kind != "text":
            return restore(self.kind, values[:, 0])
        if len(self.means) == 1:
            values = np.column_stack([1 - values, values])
        return self.levels[np.argmax(values, axis=1)]

    def repeat(self, n_rows: int) -> Any:
        """Return the one value of a column that was left out because it has no other, n times."""
        if self.kind == "text":
            return np.full(n_rows, self.levels[0] if len(self.levels) == 1 else None, dtype=object)
        return restore(self.kind, np.full(n_rows, self.means[0]))


def restore(kind: str, values: Floats) -> Any:
    if kind == "yes/no":
        return values >= 0.5
    if kind == "date":
        return np.datetime64(0, "us") + (values * (DAY / np.timedelta64(1, "us"))).round().astype("timedelta64[us]")
    return values


def code_column(column: Column, max_categories: int) -> ColumnCode:
    return (code_text if column.kind == "text" else code_numbers)(column, max_categories)


def code_numbers(column: Column, _max_categories: int = 0) -> ColumnCode:
    """Center and range of a column of numbers without its outliers; a discrete one gets its unit later."""
    known = column.values[~np.isnan(column.values)]
    distinct = np.unique(known[: 1 << 16])
    distinct = distinct if distinct.size > FEW_VALUES else np.unique(known)
    no_levels = np.empty(0, dtype=object)
    if distinct.size < 2:
        said = f"has one value only ({describe_value(column.kind, distinct[0])})" if distinct.size else "has no value"
        means = distinct if distinct.size else np.array([np.nan])
        remark = f"column {column.name!r} {said} and cannot tell samples apart; left out"
        return ColumnCode(column.name, column.kind, no_levels, means, 1.0, math.inf, 0.0, remark)
    if distinct.size <= max(2, min(FEW_VALUES, known.size // TIMES)):
        return ColumnCode(column.name, column.kind, no_levels, np.array([known.mean()]), math.nan, math.inf, 1.0, "")
    inliers = find_inliers(known)
    center, unit = np.array([inliers.mean()]), 1 / float(np.ptp(inliers))
    return ColumnCode(column.name, column.kind, no_levels, center, unit, 1.0, 1.0, "")


def describe_value(kind: str, value: float) -> str:
    if kind == "number":
        return f"{value:.6g}"
    restored = restore(kind, np.array([value]))[0]
    return ("no", "yes")[int(restored)] if kind == "yes/no" else str(restored)[:10]


def code_text(column: Column, max_categories: int) -> ColumnCode:
    """Categories by frequency; texts that are nearly all different are no categories."""
    counts = Counter(value for value in column.values if value is not None)
    known, distinct = sum(counts.values()), len(counts)
    levels = [level for level, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    remark = ""
    if distinct > max_categories:
        levels = [*levels[: max_categories - 1], OTHER]
        remark = f"column {column.name!r}: the {distinct - max_categories + 1} rarest of its texts are one category"
    code = ColumnCode(column.name, "text", np.array(levels, dtype=object), np.zeros(0), math.nan, math.inf, 1.0, remark)
    if distinct == 1:
        return code.leave_out(
            f"column {column.name!r} has one value only ({levels[0][:40]!r}) and cannot tell samples apart; left out"
        )
    if distinct > max(2, known / 2):
        different = f"{distinct} different texts in {known} rows"
        return code.leave_out(f"column {column.name!r} has {different}, as names and numbers of samples do; left out")
    code = replace(code, means=np.zeros(1 if len(levels) == 2 else len(levels)))
    return replace(code, means=np.nanmean(code.indicate(column.values), axis=0))


def equalize_codes(codes: list[ColumnCode], columns: list[Column]) -> list[ColumnCode]:
    """Give discrete columns the mean squared distance that the other columns have on average, outliers apart."""
    found = [
        mean_squared_distance(np.clip(code.encode(column.values), -code.limit, code.limit))
        for code, column in zip(codes, columns, strict=True)
        if code.weight and not code.is_discrete
    ]
    wanted = float(np.mean(found)) if found else EVEN
    return [
        code.equalize(column.values, wanted) if code.weight and code.is_discrete else code
        for code, column in zip(codes, columns, strict=True)
    ]
