"""Read a table from a file or standard input, in any of the formats `FORMATS`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from afcm._util.messages import to_one_line
from afcm.storage.archives import open_archive, read_array
from afcm.tabular.columns import TableError, join_names
from afcm.tabular.delimited import Layout, TableFile, read_delimited

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

    Raises
    ------
    TableError
        If the file is not there, is damaged, has no rows, or uses a name for two columns.
    """
    name = "standard input" if str(source) == STANDARD_INPUT else str(source)
    content, format = open_source(source), find_format(source) if format is None else format
    if format not in FORMATS:
        raise TableError(
            f"{source}: cannot tell the format from the ending {format!r}; use --format with one of "
            f"{', '.join(FORMATS)}"
        )
    try:
        table = FORMATS[format](TableFile(content, name, layout or Layout()))
        check_names(table, name)
    except TableError:
        raise
    except Exception as error:  # NumPy, zipfile, zlib and pyarrow have a dozen kinds for a damaged file
        said = "it holds Python objects" if "pickle" in str(error) else to_one_line(error, 200)
        raise TableError(
            f"{name} cannot be read as {format}: {said}; is it complete, and the right --format?"
        ) from error
    if table.num_rows == 0:
        raise TableError(f"{name} has no rows (columns: {join_names(table.column_names)}); give at least two samples")
    return table


def find_format(source: str | Path) -> str:
    """Return the ending of a file, that of its compression apart."""
    if str(source) == STANDARD_INPUT:
        return "csv"
    suffixes = [suffix.lower() for suffix in Path(source).suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1][1:] if suffixes else ""


def open_source(source: str | Path) -> BinaryIO | Path:
    """Return standard input as bytes, or a path that is there."""
    if str(source) == STANDARD_INPUT:
        return sys.stdin.buffer
    path = Path(source)
    if path.is_dir():
        raise TableError(f"{path} is a folder; give a file")
    if not path.exists():
        raise TableError(f"{path} does not exist")
    return path


def check_names(table: pa.Table, name: str) -> None:
    twice = [column for column, times in Counter(table.column_names).items() if times > 1]
    if twice:
        places = [str(i + 1) for i, column in enumerate(table.column_names) if column == twice[0]]
        raise TableError(
            f"{name}: the name {twice[0]!r} is used by columns {', '.join(places)}; rename all but one of them"
        )


def read_parquet(file: TableFile) -> pa.Table:
    import pyarrow.parquet as pq

    table = pq.read_table(file.to_arrow_source())
    table.validate(full=True)  # text that is none would fail wherever it is first shown
    return table


def read_npy(file: TableFile) -> pa.Table:
    """Read one array with samples as rows."""
    with file.open_seekable() as stream:
        if stream.read(4) in ZIP:  # NumPy would leave it open
            raise TableError(f"{file.name} is an archive of arrays, not one array; name it .npz")
        stream.seek(0)
        mapped = isinstance(file.content, Path)
        array = np.load(file.content if mapped else stream, allow_pickle=False, mmap_mode="r" if mapped else None)
    return build_table(array, file.name)


def read_npz(file: TableFile) -> pa.Table:
    """Read the array ``X`` of an archive, or its only one."""
    with file.open_seekable() as stream, open_archive(stream) as archive:
        packed = sum(entry.compress_size for entry in archive.infolist())
        inflated = sum(entry.file_size for entry in archive.infolist())
        if inflated > MOST_INFLATED * max(packed, 1):
            raise TableError(
                f"{file.name} would grow from {packed} to {inflated} bytes; save it again with numpy.savez if it is "
                "yours"
            )
        names = archive.namelist()
        if "X.npy" not in names and len(names) != 1:
            arrays = join_names([name.removesuffix(".npy") for name in names])
            raise TableError(f"{file.name} holds the arrays {arrays}; call the samples X")
        chosen = "X.npy" if "X.npy" in names else names[0]
        return build_table(read_array(archive, chosen, partial(check_matrix, name=file.name)), file.name)


def check_matrix(array: Any, name: str) -> None:
    """Refuse an array, or the header of one, that is no matrix of numbers."""
    if len(array.shape) != 2 or array.dtype.kind not in "fiub":
        raise TableError(
            f"{name} holds an array of shape {array.shape} and type {array.dtype}; give a matrix of numbers with a row "
            "per sample"
        )


def build_table(array: Any, name: str) -> pa.Table:
    """Return a table with columns x0, x1, … from a matrix of numbers."""
    check_matrix(array, name)
    return pa.table({f"x{j}": pa.array(np.ascontiguousarray(array[:, j])) for j in range(array.shape[1])})


FORMATS: dict[str, Callable[[TableFile], pa.Table]] = {
    "csv": partial(read_delimited, default_delimiter=","),
    "tsv": partial(read_delimited, default_delimiter="\t"),
    "parquet": read_parquet,
    "npy": read_npy,
    "npz": read_npz,
}
