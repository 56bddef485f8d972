"""Tables with results: what is added, and that a file is whole or not there."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("pyarrow")
import pyarrow as pa

from afcm.tabular import TableError, append_results, iterate_results, name_result_columns, read_table, write_table
from tests.tabular.files import iris

MEMBERSHIPS = np.array([[0.25, 0.75], [1.0, 0.0]])


@pytest.fixture
def table():
    return pa.table({"id": ["a", "b"], "x": [1.0, 2.0]})


def test_columns_are_added(table):
    result, names = append_results(table, [1, 0], MEMBERSHIPS, np.array([0.5, 0.0]))
    assert names == ["label", "membership_0", "membership_1", "ambiguity"]
    assert result.to_pylist()[0] == {
        "id": "a",
        "x": 1.0,
        "label": 1,
        "membership_0": 0.25,
        "membership_1": 0.75,
        "ambiguity": 0.5,
    }


def test_taken_names_are_avoided_together(table):
    table = table.rename_columns(["label", "x"])
    result, names = append_results(table, [1, 0], MEMBERSHIPS, np.zeros(2))
    assert names == ["afcm_label", "afcm_membership_0", "afcm_membership_1", "afcm_ambiguity"]
    again, names = append_results(result, [1, 0], MEMBERSHIPS, np.zeros(2))
    assert names[0] == "afcm_afcm_label"
    assert again.num_columns == 10


def test_rows_that_were_not_clustered_have_no_values(table):
    result, _ = append_results(table, [1], MEMBERSHIPS[:1], np.zeros(1), rows=np.array([1]))
    assert result["label"].to_pylist() == [None, 1]
    assert result["membership_1"].to_pylist() == [None, 0.75]


def test_outlier_scores_are_a_column_of_their_own(table):
    result, names = append_results(
        table, [1], MEMBERSHIPS[:1], np.zeros(1), rows=np.array([1]), outlier_scores=np.array([0.75])
    )
    assert result["outlier_score"].to_pylist() == [None, 0.75]
    assert (
        names
        == name_result_columns(table, np.zeros((0, 2)), scored=True)
        == [*name_result_columns(table, np.zeros((0, 2))), "outlier_score"]
    )


@pytest.mark.parametrize("dropped", [[], [0, 3, 4, 5, 9], list(range(4, 10))])
def test_pieces_make_the_whole(monkeypatch, tmp_path, dropped):
    monkeypatch.setattr("afcm.tabular.writing.PIECE_ROWS", 4)
    table, rows = pa.table({"x": range(10)}), np.setdiff1d(np.arange(10), dropped)
    memberships = np.random.default_rng(0).dirichlet([1, 1, 1], rows.size)
    found = memberships.argmax(axis=1), memberships, memberships.min(axis=1)
    rows, scores = rows if dropped else None, memberships.max(axis=1)
    whole, names = append_results(table, *found, rows, outlier_scores=scores)
    for ending in ("csv", "parquet", "jsonl"):
        for name, pieces in (("whole", whole), ("pieces", iterate_results(table, *found, rows, outlier_scores=scores))):
            write_table(pieces, tmp_path / f"{name}.{ending}")
    assert (tmp_path / "whole.csv").read_bytes() == (tmp_path / "pieces.csv").read_bytes()
    assert (tmp_path / "whole.jsonl").read_bytes() == (tmp_path / "pieces.jsonl").read_bytes()
    assert read_table(tmp_path / "pieces.parquet").equals(whole)
    assert name_result_columns(table, np.zeros((0, 3)), scored=True) == names


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_what_is_written_is_read_again(tmp_path, ending):
    path = tmp_path / f"iris.{ending}"
    write_table(iris(), path)
    assert read_table(path).equals(iris())
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_json_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    write_table(pa.table({"x": [1.5, float("nan")], "é": ["ü", None]}), path)
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == [
        {"x": 1.5, "é": "ü"},
        {"x": None, "é": None},
    ]


def test_nested_columns_become_text_in_csv(tmp_path):
    write_table(pa.table({"a": [[1, 2], None]}), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().splitlines() == ['"a"', '"[1, 2]"', ""]


def test_unknown_endings(table, tmp_path):
    with pytest.raises(TableError, match=r"cannot write the ending '.xlsx'; use one of .csv"):
        write_table(table, tmp_path / "a.xlsx")


def test_an_interrupt_leaves_the_old_file_and_nothing_else(table, tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("old")

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("pyarrow.csv.CSVWriter", stop)
    with pytest.raises(KeyboardInterrupt):
        write_table(table, path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]
