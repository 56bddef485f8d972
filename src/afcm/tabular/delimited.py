"""Read CSV and TSV files with pyarrow, and say in which row or column a broken one is broken."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv as arrow_csv

from afcm._util.text import is_number
from afcm.tabular.columns import TableError

UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# The first bytes are checked before a file is read. A line that is longer needs larger blocks than pyarrow's own.
HEAD_BYTES, LONG_LINES_BLOCK = 1 << 16, 1 << 26
# Words that stand for a missing value, besides an empty field.
MISSING = ["", "#N/A", "N/A", "n/a", "NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "?"]


@dataclass(frozen=True)
class Layout:
    """The layout of a text file. None: the default of the format, or as the first line shows."""

    delimiter: str | None = None
    encoding: str = "utf-8"
    header: bool | None = None
    long_lines: bool = False


@dataclass(frozen=True)
class TableFile:
    """A file or standard input, its name in messages, and the layout of the text in it."""

    content: BinaryIO | Path
    name: str
    layout: Layout

    def to_arrow_source(self) -> Any:
        """Return a path or a buffer, which pyarrow can read more than once. Standard input is read to its end."""
        return self.content if isinstance(self.content, Path) else pa.py_buffer(self.content.read())

    def open_seekable(self) -> BinaryIO:
        return open(self.content, "rb") if isinstance(self.content, Path) else io.BytesIO(self.content.read())


def read_delimited(file: TableFile, default_delimiter: str) -> pa.Table:
    """Read a text file; the types of the columns follow from their values."""
    name, delimiter = file.name, file.layout.delimiter or default_delimiter
    if len(delimiter) != 1:
        raise TableError(f"--delimiter {delimiter!r} must be one character")
    layout = replace(file.layout, delimiter=delimiter)
    source = file.to_arrow_source()  # a broken file is read twice: the second time for the number of the row
    with pa.input_stream(source) as stream:
        head = stream.read(HEAD_BYTES)
    check_first_line(head, file, delimiter)
    try:
        if not {*b"\r\n"} & {*head}:
            if len(head) < HEAD_BYTES:  # the whole file is one line; pyarrow sees it only with an end of line
                text = head.decode(layout.encoding, errors="surrogateescape")
                source = pa.py_buffer(f"{text}\n".encode(layout.encoding, "surrogateescape"))
            layout = replace(layout, long_lines=True)
        table = parse_with_early_types(source, layout)
    except pa.ArrowInvalid:
        check_rows(source, name, layout)
        raise
    except (LookupError, UnicodeError) as error:
        raise build_encoding_error(name, layout, str(error)) from error
    check_quotes_closed(table, source, name)
    check_encoding(table, name, layout)
    return table


def check_first_line(head: bytes, file: TableFile, delimiter: str) -> None:
    """Refuse a file whose first bytes contradict the encoding, the delimiter or the header."""
    name, layout = file.name, file.layout
    if head.startswith(UTF_16) and layout.encoding == "utf-8":
        raise TableError(f"{name} is UTF-16 text; use --encoding utf-16")
    if head.startswith(b"PAR1"):
        raise TableError(f"{name} is a Parquet file; use --format parquet")
    try:
        text = head.decode(layout.encoding, errors="replace").lstrip("\ufeff")
    except (LookupError, UnicodeError) as error:
        raise build_encoding_error(name, layout, str(error)) from error
    if not text.strip():
        raise TableError(f"{name} is empty; give a line of names and a line per sample")
    first = text.splitlines()[0]
    others = [other for other in (";", "\t", "|", ",") if other in first]
    if delimiter not in first and others and layout.delimiter is None:
        as_typed = "$'\\t'" if others[0] == "\t" else f"'{others[0]}'"
        raise TableError(f"{name} seems to be separated by {others[0]!r}; use --delimiter {as_typed}")
    fields = [field.strip().strip('"') for field in first.split(delimiter)]
    if layout.header is None and all(map(is_number, fields)):
        raise TableError(
            f"{name} begins with numbers ({first[:40]}) where names of columns should be; use --no-header (or --header "
            "if these are names)"
        )


def parse_with_early_types(source: Any, layout: Layout) -> pa.Table:
    """Parse with the columns of decimals known from the first rows, which spares memory.

    Left to itself the reader keeps all text until it knows every type. A column that turns out to hold something else
    later is read again without such haste.
    """
    with pa.input_stream(source) as stream, arrow_csv.open_csv(stream, **make_options(layout)) as first:
        kinds = first.schema
    if any(map(pa.types.is_binary, kinds.types)):  # text in another encoding: names may be broken too
        return parse(source, layout)
    decimals = {field.name: field.type for field in kinds if pa.types.is_floating(field.type)}
    try:
        table = parse(source, layout, types=decimals)
    except pa.ArrowInvalid:
        table = parse(source, layout)
    pa.default_memory_pool().release_unused()
    return table


def parse(source: Any, layout: Layout, *, on_broken_row: Any = None, types: dict[str, Any] | None = None) -> pa.Table:
    with pa.input_stream(source) as stream:
        return arrow_csv.read_csv(stream, **make_options(layout, on_broken_row, types))


def make_options(layout: Layout, on_broken_row: Any = None, types: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the options of `pyarrow.csv`. Rows are counted in one thread only."""
    return {
        "read_options": arrow_csv.ReadOptions(
            encoding=layout.encoding,
            autogenerate_column_names=layout.header is False,
            use_threads=on_broken_row is None,
            block_size=LONG_LINES_BLOCK if layout.long_lines else None,
        ),
        "parse_options": arrow_csv.ParseOptions(
            delimiter=layout.delimiter, newlines_in_values=True, invalid_row_handler=on_broken_row
        ),
        "convert_options": arrow_csv.ConvertOptions(null_values=MISSING, strings_can_be_null=True, column_types=types),
    }


def check_rows(source: Any, name: str, layout: Layout) -> None:
    """Name the first row with too many or too few fields, if there is one."""
    broken: list[Any] = []

    def note(row: Any) -> str:
        broken.append(row)
        return "skip"

    # pyarrow gives the row as text, which fails, on the terminal, for bytes that are none; as Latin-1 all are.
    safe = replace(layout, encoding="latin-1") if layout.encoding == "utf-8" else layout
    parse(source, safe, on_broken_row=note)
    if broken:
        row, before = broken[0], 0 if layout.header is False else 1
        text = row.text.encode(safe.encoding).decode(layout.encoding, errors="replace")
        raise TableError(
            f"{name}: row {row.number - before} has {row.actual_columns} fields where the "
            f"{'first row' if layout.header is False else 'header'} has {row.expected_columns} "
            f"({text[:60]!r}); repair the row, or give the right --delimiter"
        )


def check_quotes_closed(table: pa.Table, source: Any, name: str) -> None:
    """Refuse a quote that is never closed: it swallows all rows that follow.

    It shows in a last field of several lines with no quote after it.
    """
    if not table.num_rows or not table.num_columns or not pa.types.is_string(table.schema.types[-1]):
        return
    last, tail = table.column(table.num_columns - 1)[-1].as_py() or "", b""
    if "\n" not in last:
        return
    with pa.input_stream(source) as stream:
        while part := stream.read(HEAD_BYTES):
            tail = (tail + part)[-HEAD_BYTES:]
    if not tail.rstrip(b"\r\n\0 ").endswith(b'"'):
        start = " ".join(last.split())[:40]
        raise TableError(f"{name}: a quote is opened before {start!r} and never closed; close or remove it")


def check_encoding(table: pa.Table, name: str, layout: Layout) -> None:
    """Refuse text in another encoding, which pyarrow gives as bytes, or breaks the names."""
    try:
        names = table.column_names
    except UnicodeError as error:
        raise build_encoding_error(name, layout, "the names of the columns") from error
    for place, kind in enumerate(table.schema.types):
        if pa.types.is_binary(kind):
            raise build_encoding_error(name, layout, f"column {place + 1} ({names[place]!r})")


def build_encoding_error(name: str, layout: Layout, where: str) -> TableError:
    return TableError(f"{name} is not {layout.encoding} text: {where}; use --encoding, for example latin-1 or cp1252")
