"""Append labels, memberships and scores to a table, and write it as CSV, TSV, Parquet or JSON lines."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from afcm._util.atomic_files import replace_file
from afcm.tabular.columns import TableError

PREFIX = "afcm_"
# Rows of a result put together at a time, and lines of JSON held as Python objects.
PIECE_ROWS, LINES = 131_072, 10_000
# Clusters of a sample that are written of sparse memberships.
RANKS = 5


def append_results(
    table: pa.Table, labels: Any, memberships: Any, ambiguity: Any, rows: Any = None, *, outlier_scores: Any = None
) -> tuple[pa.Table, list[str]]:
    """Append ``label``, one ``membership_j`` a cluster and ``ambiguity``; also return the names of these columns.

    Of sparse memberships the largest few are appended: ``cluster_1`` and ``membership_1`` are the first choice of a
    sample, ``cluster_2`` and ``membership_2`` the second, null where it has none.
    With ``outlier_scores`` a column ``outlier_score`` follows. If one of the names is taken, all of them begin with
    ``afcm_``. ``rows``: which rows were clustered (the others get no values).
    """
    found = {"label": np.asarray(labels, dtype=np.int64)}
    found |= name_memberships(memberships)
    found["ambiguity"] = ambiguity
    if outlier_scores is not None:
        found["outlier_score"] = outlier_scores
    prefix = ""
    while any(prefix + name in table.column_names for name in found):
        prefix += PREFIX
    for name, values in found.items():
        table = table.append_column(prefix + name, spread_rows(values, rows, table.num_rows))
    return table, [prefix + name for name in found]


def name_memberships(memberships: Any) -> dict[str, Any]:
    """Return the columns of memberships by name."""
    if not hasattr(memberships, "tocsr"):
        return {f"membership_{j}": column for j, column in enumerate(np.asarray(memberships).T)}
    from afcm.equations.sparse_memberships import rank_memberships

    ranked = [np.pad(part, ((0, 0), (0, RANKS)), constant_values=-1) for part in rank_memberships(memberships)]
    found: dict[str, Any] = {}
    for place in range(RANKS):
        for name, part in zip(("cluster", "membership"), ranked, strict=True):
            found[f"{name}_{place + 1}"] = np.ma.masked_array(part[:, place], ranked[0][:, place] < 0)
    return found


def name_result_columns(table: pa.Table, memberships: Any, *, scored: bool = False) -> list[str]:
    """Return the names that `append_results` will give its columns; ``scored``: outlier scores are among them."""
    none = np.empty(0)
    return append_results(table.slice(0, 0), [], memberships[:0], none, outlier_scores=none if scored else None)[1]


def iterate_results(
    table: pa.Table, labels: Any, memberships: Any, ambiguity: Any, rows: Any = None, *, outlier_scores: Any = None
) -> Iterator[pa.Table]:
    """Yield `append_results` some rows at a time: large tables need not be held twice. ``rows`` rise."""
    for start in range(0, max(table.num_rows, 1), PIECE_ROWS):
        mine, local = slice(start, start + PIECE_ROWS), None
        if rows is not None:
            mine = slice(*np.searchsorted(rows, [start, start + PIECE_ROWS]))
            local = rows[mine] - start
        piece = table.slice(start, PIECE_ROWS)
        scores = None if outlier_scores is None else outlier_scores[mine]
        yield append_results(piece, labels[mine], memberships[mine], ambiguity[mine], local, outlier_scores=scores)[0]


def spread_rows(values: Any, rows: Any, n_rows: int) -> pa.Array:
    """Return a column of length ``n_rows`` that has values in ``rows`` and is null elsewhere, and where masked."""
    masked, values = np.ma.getmaskarray(values), np.ascontiguousarray(np.ma.getdata(values))
    if rows is None:
        return pa.array(values, mask=masked)
    whole, absent = np.zeros(n_rows, dtype=values.dtype), np.ones(n_rows, dtype=bool)
    whole[rows], absent[rows] = values, masked
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
    write = find_writer(path)
    with replace_file(path) as draft:
        write(pieces, draft)


def find_writer(path: str | Path) -> Callable[[Iterator[pa.Table], Any], None]:
    ending = Path(path).suffix.lower()
    if str(path) != "-" and ending not in WRITERS:
        raise TableError(f"--out {path}: cannot write the ending {ending!r}; use one of {', '.join(WRITERS)}")
    return WRITERS.get(ending, write_csv)


def write_csv(pieces: Iterator[pa.Table], target: Any, delimiter: str = ",") -> None:
    import pyarrow.csv as arrow_csv

    options = arrow_csv.WriteOptions(delimiter=delimiter, quoting_style="needed")
    write_pieces(map(flatten, pieces), lambda schema: arrow_csv.CSVWriter(target, schema, write_options=options))


def write_parquet(pieces: Iterator[pa.Table], target: Any) -> None:
    import pyarrow.parquet as pq

    write_pieces(pieces, lambda schema: pq.ParquetWriter(target, schema))


def write_pieces(pieces: Iterator[pa.Table], open_writer: Callable[[pa.Schema], Any]) -> None:
    first = next(pieces)
    with open_writer(first.schema) as out:
        for piece in chain([first], pieces):
            out.write_table(piece)


def write_json_lines(pieces: Iterator[pa.Table], target: Path) -> None:
    """Write one object a line; NaN and infinity, which JSON lacks, are null."""
    with open(target, "w", encoding="utf-8") as lines:
        for batch in (batch for piece in pieces for batch in piece.to_batches(max_chunksize=LINES)):
            for row in batch.to_pylist():
                finite = {
                    name: None if isinstance(value, float) and not math.isfinite(value) else value
                    for name, value in row.items()
                }
                lines.write(json.dumps(finite, ensure_ascii=False, default=str, allow_nan=False) + "\n")


def flatten(table: pa.Table) -> pa.Table:
    """Turn nested columns into text: CSV has none."""
    for place, column in enumerate(table.schema):
        if pa.types.is_nested(column.type):
            texts = [None if value is None else json.dumps(value, default=str) for value in table[place].to_pylist()]
            table = table.set_column(place, column.name, pa.array(texts, pa.string()))
    return table


WRITERS: dict[str, Callable[[Iterator[pa.Table], Any], None]] = {
    ".csv": write_csv,
    ".tsv": partial(write_csv, delimiter="\t"),
    ".parquet": write_parquet,
    ".jsonl": write_json_lines,
    ".ndjson": write_json_lines,
}
