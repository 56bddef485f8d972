"""A table with what was found in it, to a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from afcm._util.atomic_files import replacing
from afcm.tabular.errors import TableError

PREFIX = "afcm_"
# Rows of a result put together at a time, and lines of JSON held as Python objects.
PIECE_ROWS, LINES = 131_072, 10_000


def with_results(
    table: pa.Table, labels: Any, memberships: Any, ambiguity: Any, rows: Any = None
) -> tuple[pa.Table, list[str]]:
    """The table with ``label``, one ``membership_j`` a cluster and ``ambiguity``; and the names of these columns.

    If one of the names is taken, all of them begin with ``afcm_``. ``rows``: which rows were clustered (the others get
    no values).
    """
    found = {"label": np.asarray(labels, dtype=np.int64)}
    found |= {f"membership_{j}": column for j, column in enumerate(np.asarray(memberships).T)}
    found["ambiguity"] = ambiguity
    prefix = ""
    while any(prefix + name in table.column_names for name in found):
        prefix += PREFIX
    for name, values in found.items():
        table = table.append_column(prefix + name, spread(values, rows, table.num_rows))
    return table, [prefix + name for name in found]


def added_names(table: pa.Table, n_clusters: int) -> list[str]:
    """What the columns of a result will be called beside those of the table."""
    return with_results(table.slice(0, 0), [], np.empty((0, n_clusters)), np.empty(0))[1]


def result_pieces(
    table: pa.Table, labels: Any, memberships: Any, ambiguity: Any, rows: Any = None
) -> Iterator[pa.Table]:
    """`with_results`, some rows at a time: large tables need not be held twice. ``rows`` rise."""
    for start in range(0, max(table.num_rows, 1), PIECE_ROWS):
        end, mine, local = start + PIECE_ROWS, slice(start, start + PIECE_ROWS), None
        if rows is not None:
            mine = slice(*np.searchsorted(rows, [start, end]))
            local = rows[mine] - start
        piece = table.slice(start, PIECE_ROWS)
        yield with_results(piece, labels[mine], memberships[mine], ambiguity[mine], local)[0]


def spread(values: Any, rows: Any, n_rows: int) -> pa.Array:
    """Values of some rows as a column, null in the others."""
    values = np.ascontiguousarray(values)
    if rows is None:
        return pa.array(values)
    whole = np.zeros(n_rows, dtype=values.dtype)
    whole[rows] = values
    absent = np.ones(n_rows, dtype=bool)
    absent[rows] = False
    return pa.array(whole, mask=absent)


def write_table(table: pa.Table | Iterator[pa.Table], path: str | Path) -> None:
    """Write a table, or pieces of one, as CSV, TSV, Parquet or JSON lines by the ending, or CSV to standard output.

    The file appears when it is finished.
    """
    pieces = iter([table]) if isinstance(table, pa.Table) else table
    if str(path) == "-":
        write_csv(pieces, sys.stdout.buffer)
        sys.stdout.flush()
        return
    write = writer(path)
    with replacing(path) as draft:
        write(pieces, draft)


def writer(path: str | Path) -> Callable[[Iterator[pa.Table], Any], None]:
    """What writes this ending."""
    ending = Path(path).suffix.lower()
    if str(path) != "-" and ending not in WRITERS:
        raise TableError(f"--out {path}: cannot write the ending {ending!r}; use one of {', '.join(WRITERS)}")
    return WRITERS.get(ending, write_csv)


def write_csv(pieces: Iterator[pa.Table], target: Any, delimiter: str = ",") -> None:
    """Text with quotes where they are needed."""
    import pyarrow.csv as arrow_csv

    options = arrow_csv.WriteOptions(delimiter=delimiter, quoting_style="needed")
    first = flattened(next(pieces))
    with arrow_csv.CSVWriter(target, first.schema, write_options=options) as out:
        out.write_table(first)
        for piece in pieces:
            out.write_table(flattened(piece))


def write_tsv(pieces: Iterator[pa.Table], target: Any) -> None:
    """The same with tabs."""
    write_csv(pieces, target, "\t")


def write_parquet(pieces: Iterator[pa.Table], target: Any) -> None:
    """Types are kept."""
    import pyarrow.parquet as pq

    first = next(pieces)
    with pq.ParquetWriter(target, first.schema) as out:
        out.write_table(first)
        for piece in pieces:
            out.write_table(piece)


def write_json_lines(pieces: Iterator[pa.Table], target: Path) -> None:
    """One object a line; NaN and infinity, which JSON lacks, are null."""
    with open(target, "w", encoding="utf-8") as lines:
        for batch in (batch for piece in pieces for batch in piece.to_batches(max_chunksize=LINES)):
            for row in batch.to_pylist():
                finite = {name: None if is_nan(value) else value for name, value in row.items()}
                lines.write(json.dumps(finite, ensure_ascii=False, default=str, allow_nan=False) + "\n")


def is_nan(value: Any) -> bool:
    """A float that JSON cannot hold?"""
    return isinstance(value, float) and not np.isfinite(value)


def flattened(table: pa.Table) -> pa.Table:
    """Nested columns as text: CSV has none."""
    for place, column in enumerate(table.schema):
        if pa.types.is_nested(column.type):
            texts = [None if value is None else json.dumps(value, default=str) for value in table[place].to_pylist()]
            table = table.set_column(place, column.name, pa.array(texts, pa.string()))
    return table


WRITERS: dict[str, Callable[[Iterator[pa.Table], Any], None]] = {
    ".csv": write_csv,
    ".tsv": write_tsv,
    ".parquet": write_parquet,
    ".jsonl": write_json_lines,
    ".ndjson": write_json_lines,
}
