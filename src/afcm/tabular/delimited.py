"""CSV and TSV files by pyarrow's reader, and in which row they are broken."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv as arrow_csv

from afcm.tabular.errors import TableError

UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# So much is looked at before a file is read. A line that is longer needs larger blocks than pyarrow's own.
HEAD_BYTES, LONG_LINES_BLOCK = 1 << 16, 1 << 26
# Words that stand for a missing value, besides an empty field.
MISSING = ["", "#N/A", "N/A", "n/a", "NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "?"]


@dataclass(frozen=True)
class Layout:
    """How a text file is written; None: found out."""

    delimiter: str | None = None
    encoding: str = "utf-8"
    header: bool | None = None
    long_lines: bool | None = None


@dataclass(frozen=True)
class Opened:
    """A file or standard input, under the name that messages use, and how text in it is written."""

    content: BinaryIO | Path
    name: str
    layout: Layout

    def again(self) -> Any:
        """Something that can be read more than once: the path, or all that came from standard input."""
        return self.content if isinstance(self.content, Path) else pa.py_buffer(self.content.read())

    def stream(self) -> BinaryIO:
        """For readers that jump about."""
        return open(self.content, "rb") if isinstance(self.content, Path) else io.BytesIO(self.content.read())


def read_delimited(file: Opened, delimiter: str) -> pa.Table:
    """The table of a text file; types of the columns by their values."""
    name, layout = file.name, file.layout
    delimiter = layout.delimiter or delimiter
    if len(delimiter) != 1:
        raise TableError(f"--delimiter {delimiter!r} must be one character")
    source = file.again()  # a broken file is read twice: the second time for the number of the row
    head = head_of(source)
    check_start(head, name, layout, delimiter)
    try:
        if not {*b"\r\n"} & {*head}:
            source = source if len(head) == HEAD_BYTES else pa.py_buffer(with_line_end(head, layout))
            layout = replace(layout, long_lines=True)
        table = typed_early(source, layout, delimiter)
    except pa.ArrowInvalid:
        check_rows(source, name, layout, delimiter)
        raise
    except (LookupError, UnicodeError) as error:
        raise encoding_error(name, layout, str(error)) from error
    check_end(table, source, name)
    return checked_text(table, name, layout)


def with_line_end(text: bytes, layout: Layout) -> bytes:
    """A file of one line that does not end, so that pyarrow sees the line."""
    return f"{text.decode(layout.encoding, errors='surrogateescape')}\n".encode(layout.encoding, "surrogateescape")


def check_end(table: pa.Table, source: Any, name: str) -> None:
    """A quote that is never closed swallows all that follows: a last field of several lines, and no quote after it."""
    if not table.num_rows or not table.num_columns or not pa.types.is_string(table.schema.types[-1]):
        return
    last = table.column(table.num_columns - 1)[-1].as_py() or ""
    if "\n" in last and not tail_of(source).rstrip(b"\r\n\0 ").endswith(b'"'):
        start = " ".join(last.split())[:40]
        raise TableError(f"{name}: a quote is opened before {start!r} and never closed; close or remove it")


def tail_of(source: Any) -> bytes:
    """The last bytes, decompressed."""
    tail = b""
    with pa.input_stream(source) as stream:
        while part := stream.read(HEAD_BYTES):
            tail = (tail + part)[-HEAD_BYTES:]
    return tail


def head_of(source: Any) -> bytes:
    """The first bytes, decompressed."""
    with pa.input_stream(source) as stream:
        return stream.read(HEAD_BYTES)


def check_start(head: bytes, name: str, layout: Layout, delimiter: str) -> None:
    """Encoding, delimiter and header, as far as the first line tells."""
    if head.startswith(UTF_16) and layout.encoding == "utf-8":
        raise TableError(f"{name} is UTF-16 text; use --encoding utf-16")
    if head.startswith(b"PAR1"):
        raise TableError(f"{name} is a Parquet file; use --format parquet")
    try:
        text = head.decode(layout.encoding, errors="replace").lstrip("\ufeff")
    except (LookupError, UnicodeError) as error:
        raise encoding_error(name, layout, str(error)) from error
    if not text.strip():
        raise TableError(f"{name} is empty; give a line of names and a line per sample")
    first = text.splitlines()[0]
    others = [other for other in (";", "\t", "|", ",") if other in first]
    if delimiter not in first and others and layout.delimiter is None:
        raise TableError(f"{name} seems to be separated by {others[0]!r}; use --delimiter {shown(others[0])}")
    fields = [field.strip().strip('"') for field in first.split(delimiter)]
    if layout.header is None and all(map(is_number, fields)):
        raise TableError(
            f"{name} begins with numbers ({first[:40]}) where names of columns should be; use --no-header (or --header "
            "if these are names)"
        )


def shown(character: str) -> str:
    """A delimiter as one would type it."""
    return "$'\\t'" if character == "\t" else f"'{character}'"


def is_number(text: str) -> bool:
    """Would a float be read from this?"""
    try:
        float(text)
    except ValueError:
        return False
    return True


def typed_early(source: Any, layout: Layout, delimiter: str) -> pa.Table:
    """The table, its columns of decimals known from the first rows.

    Left to itself the reader keeps all text until it knows every type. A column that turns out to hold something else
    later is read again without such haste.
    """
    with pa.input_stream(source) as stream, Options(layout, delimiter).opened(stream) as first:
        kinds = first.schema
    if any(map(pa.types.is_binary, kinds.types)):  # text in another encoding: names may be broken too
        return parsed(source, layout, delimiter)
    decimals = {field.name: field.type for field in kinds if pa.types.is_floating(field.type)}
    try:
        table = parsed(source, layout, delimiter, types=decimals)
    except pa.ArrowInvalid:
        table = parsed(source, layout, delimiter)
    pa.default_memory_pool().release_unused()
    return table


def parsed(
    source: Any, layout: Layout, delimiter: str, *, on_broken_row: Any = None, types: dict[str, Any] | None = None
) -> pa.Table:
    """pyarrow's reader; one thread if rows are to be counted."""
    options = Options(layout, delimiter, on_broken_row, types)
    with pa.input_stream(source) as stream:
        return arrow_csv.read_csv(stream, **options.all())


@dataclass(frozen=True)
class Options:
    """What pyarrow is told."""

    layout: Layout
    delimiter: str
    on_broken_row: Any = None
    types: dict[str, Any] | None = None

    def all(self) -> dict[str, Any]:
        """For `pyarrow.csv`."""
        return {
            "read_options": arrow_csv.ReadOptions(
                encoding=self.layout.encoding,
                autogenerate_column_names=self.layout.header is False,
                use_threads=self.on_broken_row is None,
                block_size=LONG_LINES_BLOCK if self.layout.long_lines else None,
            ),
            "parse_options": arrow_csv.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=self.on_broken_row
            ),
            "convert_options": arrow_csv.ConvertOptions(
                null_values=MISSING, strings_can_be_null=True, column_types=self.types
            ),
        }

    def opened(self, stream: Any) -> Any:
        """A reader that has seen the first rows."""
        return arrow_csv.open_csv(stream, **self.all())


def check_rows(source: Any, name: str, layout: Layout, delimiter: str) -> None:
    """Find the first row with too many or too few fields, and say so."""
    broken: list[Any] = []

    def note(row: Any) -> str:
        broken.append(row)
        return "skip"

    # pyarrow gives the row as text, which fails, on the terminal, for bytes that are none; as Latin-1 all are.
    safe = replace(layout, encoding="latin-1") if layout.encoding == "utf-8" else layout
    parsed(source, safe, delimiter, on_broken_row=note)
    if broken:
        row, before = broken[0], 0 if layout.header is False else 1
        raise TableError(
            f"{name}: row {row.number - before} has {row.actual_columns} fields where the "
            f"{'first row' if layout.header is False else 'header'} has {row.expected_columns} "
            f"({as_given(row.text, safe, layout)[:60]!r}); repair the row, or give the right --delimiter"
        )


def as_given(text: str, read: Layout, layout: Layout) -> str:
    """Text that was read in one encoding, in that of the file."""
    return text.encode(read.encoding).decode(layout.encoding, errors="replace")


def checked_text(table: pa.Table, name: str, layout: Layout) -> pa.Table:
    """Text that is not in the encoding shows as bytes, or in the names."""
    try:
        names = table.column_names
    except UnicodeError as error:
        raise encoding_error(name, layout, "the names of the columns") from error
    for place, kind in enumerate(table.schema.types):
        if pa.types.is_binary(kind):
            raise encoding_error(name, layout, f"column {place + 1} ({names[place]!r})")
    return table


def encoding_error(name: str, layout: Layout, where: str) -> TableError:
    """One sentence for all of them."""
    return TableError(f"{name} is not {layout.encoding} text: {where}; use --encoding, for example latin-1 or cp1252")
