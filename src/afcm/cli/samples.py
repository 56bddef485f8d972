"""Read a table, choose its columns and rows, and scale them: from a file and options to samples that can be fitted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console

from afcm.cli.console import say
from afcm.cli.options import Missing, Scale, split_names
from afcm.tabular import TableError, choose_columns, read_table
from afcm.tabular.columns import count_missing, find_missing, join_names, to_matrix
from afcm.tabular.delimited import Layout

if TYPE_CHECKING:
    from afcm.tables import TableScaler

UNREAD = np.empty((0, 0))
# Remarks on columns that are printed.
MOST_REMARKS = 8


@dataclass(frozen=True)
class Source:
    """The path of a table and how it is written, as the options give them."""

    path: str
    format: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    header: bool | None = None

    def read(self) -> pa.Table:
        return read_table(self.path, format=self.format, layout=Layout(self.delimiter, self.encoding, self.header))


@dataclass
class Samples:
    """A table, the columns to cluster by, and their values ``X`` in the rows that are clustered.

    ``X`` is in the table's units until `fit_steps` scales it in place; of ``mixed`` columns it is empty until then.
    """

    table: pa.Table
    columns: list[str]
    X: NDArray[np.float64]
    rows: NDArray[np.intp] | None = None  # None: all
    id: str | None = None
    label: str | None = None
    known: str | None = None
    mixed: bool = False
    remarks: list[str] = field(default_factory=list)  # about the columns, for the user

    @classmethod
    def read(
        cls,
        table: pa.Table,
        columns: list[str],
        *,
        mixed: bool,
        id: str | None = None,
        label: str | None = None,
        known: str | None = None,
    ) -> Samples:
        """Read the columns as numbers, or leave them as they are if they are ``mixed``."""
        X = UNREAD if mixed else to_matrix(table, columns)
        return cls(table, columns, X, None, id, label, known, mixed)

    def handle_missing(self, missing: Missing, console: Console) -> Samples:
        """Refuse, drop or leave to be filled the rows with missing values; refuse a label without any value."""
        if self.mixed:
            rows = choose_mixed_rows(self.table, self.columns, missing, console)
            found = self if rows is None else replace(self, rows=rows)
        else:
            rows = choose_rows(self.X, self.columns, missing, console)
            found = self if rows is None else replace(self, X=self.X[rows], rows=rows)
        if self.label is not None and not found.n_classes:
            raise TableError(f"--label {self.label}: the column has no value; leave the option out")
        return found

    def get_column(self, name: str | None) -> list[Any] | None:
        """Return a column of the table for the rows that are clustered."""
        if name is None:
            return None
        column = self.table[name]
        return (column if self.rows is None else column.take(pa.array(self.rows))).to_pylist()

    def read_known(self, method: str) -> Any:
        """Return the labels of ``--known``, None where they are unknown, or None without the option."""
        if self.known is None:
            return None
        if method.lower() != "afcm":
            raise TableError(f"--known: {method} does not follow known labels; use --method AFCM, or leave it out")
        labels = [None if value == "" else value for value in self.get_column(self.known) or []]
        n_known = len(labels) - labels.count(None) - labels.count(-1)
        if n_known in (0, len(labels)):
            fault = "no row has a label" if not n_known else "every row has a label, and nothing is left to find"
            raise TableError(f"--known {self.known}: {fault}; leave the option out, or compare with --label")
        return np.array(labels, dtype=object)

    @property
    def features(self) -> Any:
        """The columns in their own units and categories, for the rows that are clustered."""
        if self.mixed:
            chosen = self.table.select(self.columns)
            return chosen if self.rows is None else chosen.take(pa.array(self.rows))
        features = to_matrix(self.table, self.columns)
        return features if self.rows is None else features[self.rows]

    @property
    def n_classes(self) -> int:
        """Number of different values of ``label``; 0 without one."""
        from afcm.report.verdict import name_classes

        return len(set(name_classes(self.get_column(self.label) or [])) - {None})


def load_samples(
    source: Source,
    missing: Missing,
    console: Console,
    *,
    mixed: bool = False,
    columns: list[str] | None = None,
    drop: list[str] | None = None,
    id: str | None = None,
    label: str | None = None,
    known: str | None = None,
) -> Samples:
    """Read a table and choose its columns and rows; print which columns were chosen, unless they were named.

    ``columns`` and ``drop`` may hold several names with commas; ``mixed``: columns of text and dates are read, too.
    """
    named, dropped = split_names(columns), split_names(drop)
    table = source.read()
    kept: dict[str, Any] = {"id": id, "label": label, "known": known}
    chosen = choose_columns(table, named, **kept, drop=dropped, constant=mixed, mixed=mixed)
    if not named:
        left = f"; left out: {chosen.explain_left_out()}" if chosen.left_out else ""
        names = join_names(chosen.names)
        say(console, f"clustering {table.num_rows} rows by {len(chosen.names)} columns: {names}{left}")
    return Samples.read(table, chosen.names, mixed=mixed, **kept).handle_missing(missing, console)


def choose_rows(X: Any, names: list[str], missing: Missing, console: Console) -> NDArray[np.intp] | None:
    """Return the rows to cluster, None for all of them; missing values are treated as the option says."""
    place = find_missing(X)
    if place is None:
        return None
    if missing is Missing.error:
        raise TableError(
            f"column {names[place[1]]!r} has no value in row {place[0] + 1}; use --missing drop (rows without a label) "
            "or --missing impute (the column's median)"
        )
    if missing is Missing.impute:
        say(console, f"note: {int(np.isnan(X).sum())} missing values become their column's median")
        return None
    return keep_complete(np.isnan(X).any(axis=1), console)


def choose_mixed_rows(table: pa.Table, names: list[str], missing: Missing, console: Console) -> NDArray[np.intp] | None:
    """Return the rows to cluster by columns of any kind, None for all of them."""
    counts = count_missing(table, names)
    if not counts.any():
        return None
    if missing is Missing.error:
        row = int(np.argmax(counts > 0))
        name = next(name for name in names if count_missing(table.slice(row, 1), [name])[0])
        raise TableError(
            f"column {name!r} has no value in row {row + 1}; use --missing drop (rows without a label) or "
            "--missing fill (what the other columns say)"
        )
    if missing is Missing.drop:
        return keep_complete(counts > 0, console)
    say(console, f"note: {int(counts.sum())} missing values are filled in by what the other columns of their rows say")
    return None


def keep_complete(incomplete: NDArray[np.bool_], console: Console) -> NDArray[np.intp]:
    rows = np.flatnonzero(~incomplete)
    if rows.size == 0:
        raise TableError("--missing drop leaves no row: every row has a missing value; use --missing impute")
    say(console, f"note: {incomplete.size - rows.size} rows with missing values are not clustered; they get no label")
    return rows


def fit_scaler(samples: Samples, console: Console, weights: dict[str, float] | None) -> TableScaler:
    """Fit the scaler of tables, set the samples' X, and print what a user should know about the columns."""
    from afcm.tables import TableScaler

    scaler = TableScaler(weights=weights or None)
    samples.X = np.asarray(scaler.fit_transform(samples.features), dtype=np.float64)
    samples.remarks = scaler.remarks_
    for remark in samples.remarks[:MOST_REMARKS]:
        say(console, f"note: {remark}")
    if len(samples.remarks) > MOST_REMARKS:
        say(console, f"note: and {len(samples.remarks) - MOST_REMARKS} more remarks on columns (--json has them all)")
    return scaler


def fit_steps(
    samples: Samples, scale: Scale, missing: Missing, console: Console, weights: dict[str, float] | None = None
) -> list[tuple[str, Any]]:
    """Fit the steps that come before the clustering, and change the samples' X in place, to be spared a copy."""
    if scale is Scale.table:
        return [("scale", fit_scaler(samples, console, weights))]
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    steps: list[tuple[str, Any]] = []
    if missing is Missing.impute:
        steps.append(("impute", SimpleImputer(strategy="median", copy=False)))
    if scale is not Scale.none:
        steps.append(("scale", (MinMaxScaler if scale is Scale.minmax else StandardScaler)(copy=False)))
    for _, step in steps:
        samples.X[:] = step.fit_transform(samples.X)
        step.set_params(copy=True)  # whoever loads the model keeps their samples as they are
    if steps:  # named, so that a data frame with other columns is refused
        steps[0][1].feature_names_in_ = np.array(samples.columns, dtype=object)
    return steps
