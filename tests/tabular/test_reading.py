"""Tables from files: every format gives the same table; what is broken is said in one line with the way out."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")
from rich.console import Console

from afcm.cli.options import Missing
from afcm.cli.samples import Source, load_samples
from afcm.tabular import TableError, choose_columns, read_table
from afcm.tabular.columns import to_matrix
from afcm.tabular.delimited import Layout
from tests.tabular.files import BROKEN, NAMES, csv_bytes, iris, npy_bytes, npz_bytes, parquet_bytes


@pytest.fixture
def written(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def features(table):
    return to_matrix(table, list(NAMES))


FULL = {
    "a.csv": csv_bytes(),
    "a.tsv": csv_bytes("\t"),
    "a.csv.gz": gzip.compress(csv_bytes()),
    "a.parquet": parquet_bytes(),
    "bom.csv": b"\xef\xbb\xbf" + csv_bytes(),
    "dos.csv": csv_bytes().replace(b"\n", b"\r\n"),
    "gaps.csv": csv_bytes().replace(b"\n", b"\n\n"),
}


@pytest.mark.parametrize("name", FULL)
def test_every_format_gives_the_same_table(written, name):
    table = read_table(written(name, FULL[name]))
    assert table.column_names == iris().column_names
    assert np.array_equal(features(table), features(iris()))
    assert table["species"].to_pylist() == iris()["species"].to_pylist()


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "one.npz"])
def test_arrays(written, name):
    X = features(iris())
    content = {"a.npy": npy_bytes(X), "a.npz": npz_bytes(X=X, y=np.arange(150)), "one.npz": npz_bytes(data=X)}[name]
    table = read_table(written(name, content))
    assert table.column_names == ["x0", "x1", "x2", "x3"]
    assert np.array_equal(to_matrix(table, table.column_names), X)


@pytest.mark.parametrize("dtype", [">f8", "<f4", "i2", ">u4", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_of_an_archive_in_any_order_of_bytes_and_memory(written, dtype, order):
    X = np.asarray(np.arange(12).reshape(4, 3) % 5, dtype=dtype, order=order)
    table = read_table(written("a.npz", npz_bytes(X=X)))
    assert np.array_equal(np.column_stack([column.to_numpy() for column in table.columns]), X)


@pytest.mark.parametrize(("format", "content"), [("csv", csv_bytes()), ("parquet", parquet_bytes())])
def test_standard_input(monkeypatch, format, content):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert np.array_equal(features(read_table("-", format=format)), features(iris()))


def test_a_broken_row_of_standard_input_is_named_too(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n3\n")))
    with pytest.raises(TableError, match="standard input: row 2 has 1 fields"):
        read_table("-")


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_said_with_its_place_and_the_way_out(written, name):
    content, expected = BROKEN[name]
    with pytest.raises(TableError) as caught:
        load_samples(Source(str(written(name, content))), Missing.error, Console(quiet=True))
    assert "\n" not in str(caught.value)
    for words in expected:
        assert words in str(caught.value)


def test_a_layout_can_be_given(written):
    odd = written("odd.txt", "1|ö\n2|ü\n".encode("latin-1"))
    table = read_table(odd, format="csv", layout=Layout("|", "latin-1", header=False))
    assert table.column_names == ["f0", "f1"]
    assert table["f1"].to_pylist() == ["ö", "ü"]
    numbered = read_table(written("years.csv", b"2019,2020\n1,2\n3,4\n"), layout=Layout(header=True))
    assert numbered.column_names == ["2019", "2020"]
    with pytest.raises(TableError, match="--delimiter ', ' must be one character"):
        read_table(odd, format="csv", layout=Layout(", "))
    with pytest.raises(TableError, match="not klingon text"):
        read_table(odd, format="csv", layout=Layout(encoding="klingon"))


def test_text_that_is_not_in_the_encoding_that_was_given(written):
    path = written("umlaut.csv", "a,b\n1,ö\n".encode())
    with pytest.raises(TableError, match=r"umlaut\.csv is not ascii text: .* byte 0xc3 .*; use --encoding"):
        read_table(path, layout=Layout(encoding="ascii"))
    assert read_table(path)["b"].to_pylist() == ["ö"]


def test_integers_that_turn_into_decimals_late_are_numbers(written):
    table = read_table(written("late.csv", b"a\n" + b"1\n" * 600_000 + b"1.5\n"))
    assert to_matrix(table, ["a"])[-1, 0] == 1.5


def test_lines_longer_than_a_block_of_the_reader(written):
    names = [f"{number:02d}" + "x" * 70_000 for number in range(20)]  # 1.4 MB
    text = "\n".join([",".join(names), *[",".join(["0.5"] * 20)] * 2])
    table = read_table(written("wide.csv", text.encode()))
    assert table.column_names == names
    assert table.column(19).to_pylist() == [0.5, 0.5]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_names_without_rows(encoding, end, written):
    with pytest.raises(TableError, match=r"has no rows \(columns: ä, b\)"):
        read_table(written("names.csv", f"ä,b{end}".encode(encoding)), layout=Layout(encoding=encoding))


def test_names_that_end_in_the_middle_of_a_character(written):
    with pytest.raises(TableError, match=r"is not utf-16 text: .*use --encoding"):
        read_table(written("cut.csv", "a,b".encode("utf-16")[:-1]), layout=Layout(encoding="utf-16"))


def test_a_quote_that_is_never_closed_swallows_no_rows(written):
    with pytest.raises(TableError, match=r"a quote is opened before '2 3,4 5,6' and never closed"):
        read_table(written("open.csv", b'a,b\n1,"2\n3,4\n5,6\n'))
    packed = gzip.compress(b'a,b\n1,"2\n3,4\n5,6')
    with pytest.raises(TableError, match="never closed"):
        read_table(written("open.csv.gz", packed))
    closed = read_table(written("closed.csv", b'a,b\n1,"2\n3,4\n5,6"\n'))
    assert closed["b"].to_pylist() == ["2\n3,4\n5,6"]


def test_decimals_that_turn_into_text_late_are_named(written):
    row = b"1." + b"5" * 50 + b",2\n"
    table = read_table(written("late.csv", b"a,b\n" + row * 25_000 + b"oops,3\n"))
    assert table["a"][-1].as_py() == "oops"
    with pytest.raises(TableError, match=r"'a' mixes numbers and text: row 25001 holds 'oops'; .* --drop a"):
        choose_columns(table)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(TableError, match="does not exist"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)


def test_ten_thousand_columns(written):
    X = np.arange(30_000).reshape(3, 10_000)
    lines = [",".join(f"g{j}" for j in range(10_000))] + [",".join(map(str, row)) for row in X]
    table = read_table(written("wide.csv", "\n".join(lines).encode()))
    assert np.array_equal(to_matrix(table, choose_columns(table).names), X)
