"""From a file, or standard input, to a pyarrow table."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from afcm._util.messages import one_line
from afcm.tabular.delimited import Layout, Opened, read_delimited
from afcm.tabular.errors import TableError

__all__ = ["FORMATS", "Layout", "TableError", "read_table"]

STANDARD_INPUT = "-"
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
# An archive that says it holds more than this many times its own size is not read.
MOST_INFLATED = 1000
# How a zip file begins, with and without entries.
ZIP = (b"PK\x03\x04", b"PK\x05\x06")


def read_table(source: str | Path, *, format: str | None = None, layout: Layout | None = None) -> pa.Table:
    """Read a table.

    Parameters
    ----------
    source : path, or ``"-"`` for standard input
    format : {"csv", "tsv", "parquet", "npy", "npz"}, optional
        Default: by the ending; CSV for standard input.
    layout : Layout, optional
        Delimiter, encoding and header of a CSV or TSV file.
    """
    name = "standard input" if str(source) == STANDARD_INPUT else str(source)
    content, read = opened(source), reader(source, format)
    try:
        table = read(Opened(content, name, layout or Layout()))
        check_names(table, name)
    except TableError:
        raise
    except Exception as error:  # NumPy, zipfile, zlib and pyarrow have a dozen kinds for a damaged file
        raise unreadable(name, format_of(source, format), error) from error
    if table.num_rows == 0:
        raise TableError(f"{name} has no rows (columns: {listed(table.column_names)}); give at least two samples")
    return table


def format_of(source: str | Path, format: str | None) -> str:
    """The format as given, or by the ending."""
    if format is not None:
        return format
    if str(source) == STANDARD_INPUT:
        return "csv"
    suffixes = [suffix.lower() for suffix in Path(source).suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1][1:] if suffixes else ""


def reader(source: str | Path, format: str | None) -> Callable[[Opened], pa.Table]:
    """What reads this format."""
    ending = format_of(source, format)
    if ending not in FORMATS:
        raise TableError(
            f"{source}: cannot tell the format from the ending {ending!r}; use --format with one of "
            f"{', '.join(FORMATS)}"
        )
    return FORMATS[ending]


def opened(source: str | Path) -> BinaryIO | Path:
    """Standard input as bytes, or a path that is there."""
    if str(source) == STANDARD_INPUT:
        return sys.stdin.buffer
    path = Path(source)
    if path.is_dir():
        raise TableError(f"{path} is a folder; give a file")
    if not path.exists():
        raise TableError(f"{path} does not exist")
    return path


def check_names(table: pa.Table, name: str) -> None:
    """Every column has one name of its own."""
    twice = [column for column, times in Counter(table.column_names).items() if times > 1]
    if twice:
        places = [str(i + 1) for i, column in enumerate(table.column_names) if column == twice[0]]
        raise TableError(
            f"{name}: the name {twice[0]!r} is used by columns {', '.join(places)}; rename all but one of them"
        )


def read_csv(file: Opened) -> pa.Table:
    """Comma-separated, unless the layout says otherwise."""
    return read_delimited(file, ",")


def read_tsv(file: Opened) -> pa.Table:
    """Tab-separated, unless the layout says otherwise."""
    return read_delimited(file, "\t")


def read_parquet(file: Opened) -> pa.Table:
    """Parquet; the file's own names and types."""
    import pyarrow.parquet as pq

    table = pq.read_table(file.again())
    table.validate(full=True)  # text that is none would fail wherever it is first shown
    return table


def read_npy(file: Opened) -> pa.Table:
    """One array of samples as rows; columns are called x0, x1, …"""
    with file.stream() as stream:
        if stream.read(4) in ZIP:  # NumPy would leave it open
            raise TableError(f"{file.name} is an archive of arrays, not one array; name it .npz")
        stream.seek(0)
        mapped = isinstance(file.content, Path)
        array = np.load(file.content if mapped else stream, allow_pickle=False, mmap_mode="r" if mapped else None)
    return from_array(array, file.name)


def read_npz(file: Opened) -> pa.Table:
    """The array ``X`` of an archive, or its only one."""
    with file.stream() as stream, np.load(stream, allow_pickle=False) as arrays:
        check_inflation(arrays.zip, file.name)
        array = arrays[chosen_array(arrays.files, file.name)]
    if not isinstance(array, np.ndarray):
        raise TableError(f"{file.name} holds something that is no array; save it again with numpy.savez")
    return from_array(array, file.name)


def chosen_array(names: list[str], file_name: str) -> str:
    """X, or the only one."""
    if "X" in names:
        return "X"
    if len(names) != 1:
        raise TableError(f"{file_name} holds the arrays {listed(names)}; call the samples X")
    return names[0]


def check_inflation(archive: Any, name: str) -> None:
    """No archive bombs."""
    packed = sum(entry.compress_size for entry in archive.infolist())
    inflated = sum(entry.file_size for entry in archive.infolist())
    if inflated > MOST_INFLATED * max(packed, 1):
        raise TableError(
            f"{name} would grow from {packed} to {inflated} bytes; save it again with numpy.savez if it is yours"
        )


def from_array(array: Any, name: str) -> pa.Table:
    """Columns x0, x1, … of a two-dimensional array of numbers."""
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise TableError(
            f"{name} holds an array of shape {array.shape} and type {array.dtype}; give a matrix of numbers with a row "
            "per sample"
        )
    columns = [np.ascontiguousarray(array[:, j]) for j in range(array.shape[1])]
    return pa.table({f"x{j}": pa.array(column) for j, column in enumerate(columns)})


FORMATS: dict[str, Callable[[Opened], pa.Table]] = {
    "csv": read_csv,
    "tsv": read_tsv,
    "parquet": read_parquet,
    "npy": read_npy,
    "npz": read_npz,
}


def unreadable(name: str, format: str, error: BaseException) -> TableError:
    """One sentence for all that a library may say."""
    said = "it holds Python objects" if "pickle" in str(error) else one_line(error, 200)
    return TableError(f"{name} cannot be read as {format}: {said}; is it complete, and the right --format?")


def listed(names: list[str], most: int = 8) -> str:
    """Names with commas, not more than a few of them."""
    rest = len(names) - most
    return ", ".join(map(str, names[:most])) + (f" and {rest} more" if rest > 0 else "")
