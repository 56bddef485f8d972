"""Columns from data frames, Arrow tables, dicts and arrays: kinds, missing values and what is refused."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from afcm.tables.columns import read_columns

DAYS = [datetime.date(1970, 1, 3), None, datetime.date(1971, 1, 1)]
COLUMNS = {"age": [31, 42, None], "member": [True, None, False], "since": DAYS, "plan": ["free", None, "paid"]}


def tables():
    yield "dict", COLUMNS
    yield "arrow", pa.table(COLUMNS)
    yield "polars", pl.DataFrame(COLUMNS)
    yield "pandas", pd.DataFrame({**COLUMNS, "since": pd.to_datetime(pd.Series(DAYS))})
    yield "nullable", pd.DataFrame(COLUMNS).convert_dtypes()
    yield "objects", np.array(list(COLUMNS.values()), dtype=object).T


@pytest.mark.parametrize("table", [pytest.param(table, id=name) for name, table in tables()])
def test_every_library_gives_the_same_columns(table):
    age, member, since, plan = read_columns(table)
    assert [column.kind for column in (age, member, since, plan)] == ["number", "yes/no", "date", "text"]
    np.testing.assert_array_equal(age.values, [31, 42, np.nan])
    np.testing.assert_array_equal(member.values, [1, np.nan, 0])
    np.testing.assert_array_equal(since.values, [2, np.nan, 365])
    assert plan.values.tolist() == ["free", None, "paid"]


def test_arrays_have_numbered_columns():
    first, second = read_columns(np.array([[1, 2.5], [3, np.nan]]))
    assert (first.name, second.name) == ("x0", "x1")
    np.testing.assert_array_equal(second.values, [2.5, np.nan])


def test_less_usual_kinds():
    noon = datetime.datetime(1970, 1, 1, 14, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    found = read_columns(
        {
            "decimal": [Decimal("1.5"), 2],
            "noon in Athens": [noon, noon],
            "wait": np.array([36, 48], dtype="timedelta64[h]"),
            "dictionary": pd.Series(["a", "b"], dtype="category"),
            "empty": [None, float("nan")],
        }
    )
    assert [column.kind for column in found] == ["number", "date", "number", "text", "number"]
    assert found[0].values.tolist() == [1.5, 2]
    assert found[1].values.tolist() == [0.5, 0.5]
    assert found[2].values.tolist() == [1.5, 2]
    assert np.isnan(found[4].values).all()


@pytest.mark.parametrize(
    ("columns", "error", "words"),
    [
        ({"a": [1, "two", 3]}, ValueError, "column 'a' mixes int and str: row 2 holds 'two'"),
        ({"a": ["1", "2", "n/a"]}, ValueError, "column 'a' mixes numbers and text: row 3 holds 'n/a'"),
        ({"a": [1.0, float("inf")]}, ValueError, "column 'a' holds infinity in row 2"),
        ({"a": [{}, {}]}, TypeError, "column 'a' holds a dict"),
        ({"a": np.array([1j])}, ValueError, "column 'a' has values of type complex128"),
        ({"a": [1, 2], "b": [1]}, ValueError, "columns of 1 to 2 rows"),
    ],
)
def test_bad_columns_are_named(columns, error, words):
    columns = {name: np.array(values, dtype=float) if np.inf in values else values for name, values in columns.items()}
    with pytest.raises(error, match=words):
        read_columns(columns)
