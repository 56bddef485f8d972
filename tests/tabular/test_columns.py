"""The choice of the columns to cluster by, and the matrix they make."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pytest

pytest.importorskip("pyarrow")
import pyarrow as pa

from afcm.tabular import TableError, choose_columns
from afcm.tabular.columns import find_missing, to_matrix
from tests.tabular.files import NAMES, iris


def test_numbers_are_chosen_and_the_rest_explained():
    day = datetime.date(2020, 1, 1)
    table = pa.table(
        {
            "float": [1.5, 2.5, None],
            "whole": [3, 1, 2],
            "truth": [True, False, True],
            "money": [Decimal("1.50"), Decimal("2.50"), Decimal("3.50")],
            "word": ["x", "y", "1"],
            "day": [day] * 3,
            "nothing": pa.nulls(3),
            "class": [1, 2, 3],
            "noise": [1.0, 2.0, 3.0],
        }
    )
    chosen = choose_columns(table, label="class", drop=["noise"])
    assert chosen.names == ["float", "whole", "truth", "money"]
    assert chosen.left_out == {
        "class": "label",
        "noise": "dropped",
        "word": "text",
        "day": "date32[day]",
        "nothing": "empty",
    }
    expected = [[1.5, 3, 1, 1.5], [2.5, 1, 0, 2.5], [np.nan, 2, 1, 3.5]]
    assert np.array_equal(to_matrix(table, chosen.names), expected, equal_nan=True)
    assert find_missing(to_matrix(table, chosen.names)) == (2, 0)
    assert find_missing(to_matrix(table, ["whole"])) is None


def test_row_numbers_are_not_clustered_by_unless_they_are_named():
    assert choose_columns(iris()).names == list(NAMES)
    assert choose_columns(iris()).left_out["id"] == "an identifier, it seems"
    assert choose_columns(iris(), ["id", NAMES[0]]).names == ["id", NAMES[0]]
    repeated = pa.table({"id": [1, 1, 2], "a": [1, 2, 3]})
    assert choose_columns(repeated).names == ["id", "a"]


def test_the_order_of_named_columns_is_kept():
    assert choose_columns(iris(), [NAMES[2], NAMES[0]]).names == [NAMES[2], NAMES[0]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["petal"]}, "--columns petal: there is no such column; the table has id"),
        ({"id": "nr"}, "--id nr: there is no such column"),
        ({"label": "y"}, "--label y"),
        ({"drop": ["z"]}, "--drop z"),
        ({"columns": ["species"]}, "column 'species' is text and cannot be clustered by"),
        ({"columns": ["id"], "id": "id"}, "names 'id', which is also the id column"),
        ({"columns": [NAMES[0], NAMES[0]]}, "names a column twice"),
        ({"drop": list(NAMES)}, "no column of numbers"),
    ],
)
def test_names_that_cannot_be(options, message):
    with pytest.raises(TableError, match=message):
        choose_columns(iris(), **options)


def test_mostly_text_is_text():
    table = pa.table({"code": ["a", "b", "1"], "x": [1, 2, 3]})
    assert choose_columns(table).left_out == {"code": "text"}


def test_columns_of_one_value_may_be_predicted():
    table = pa.table({"a": [1.0, 1.0], "b": pa.array([None, None], pa.float64())})
    assert choose_columns(table, ["a", "b"], constant=True).names == ["a", "b"]
    with pytest.raises(TableError, match="column 'b' has no value at all"):
        choose_columns(table, ["b"])


def test_integers_beyond_what_a_float_holds_are_rounded():
    table = pa.table({"a": [2**53 + 1, 5, 2**62 + 3], "b": [1.0, 2.0, 4.0]})
    assert choose_columns(table).names == ["a", "b"]
    np.testing.assert_array_equal(to_matrix(table, ["a"])[:, 0], [2.0**53, 5.0, 2.0**62])
