"""From a file and options to samples that can be fitted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console

from afcm.cli.console import say
from afcm.cli.options import Missing, Scale
from afcm.report.verdict import known_classes
from afcm.tabular import TableError, choose_columns, read_table
from afcm.tabular.columns import find_missing, to_matrix
from afcm.tabular.delimited import Layout
from afcm.tabular.errors import join_names


@dataclass(frozen=True)
class Source:
    """Where a table is and how it is written."""

    path: str
    format: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    header: bool | None = None

    def read(self) -> pa.Table:
        """The table."""
        return read_table(self.path, format=self.format, layout=Layout(self.delimiter, self.encoding, self.header))


@dataclass
class Samples:
    """A table, the columns to cluster by, and the rows that can be."""

    table: pa.Table
    columns: list[str]
    X: NDArray[np.float64]  # of `rows`, in the table's units, until `Preparation.fit` scales it in place
    rows: NDArray[np.intp] | None = None  # None: all
    id: str | None = None
    label: str | None = None

    def complete(self, missing: Missing, console: Console) -> Samples:
        """Missing values as the option says."""
        rows = complete_rows(self.X, self.columns, missing, console)
        found = self if rows is None else replace(self, X=self.X[rows], rows=rows)
        if self.label is not None and not found.n_classes:
            raise TableError(f"--label {self.label}: the column has no value; leave the option out")
        return found

    def release(self) -> None:
        """X is not needed any more: its memory is, for the result."""
        self.X = np.empty((0, len(self.columns)))

    def column(self, name: str | None) -> list[Any] | None:
        """A column of the table, for the rows that are clustered."""
        if name is None:
            return None
        column = self.table[name]
        return (column if self.rows is None else column.take(pa.array(self.rows))).to_pylist()

    @property
    def n_classes(self) -> int:
        """How many different values ``label`` has; 0 where there is none."""
        return len(set(known_classes(self.column(self.label) or [])) - {None})

    def features(self) -> NDArray[np.float64]:
        """The samples in the table's units."""
        values = to_matrix(self.table, self.columns)
        return values if self.rows is None else values[self.rows]


@dataclass(frozen=True)
class Wanted:
    """Columns by their names."""

    columns: list[str]
    drop: list[str]
    id: str | None
    label: str | None


def load(source: Source, wanted: Wanted, missing: Missing, console: Console) -> Samples:
    """Read, choose columns, look at missing values; say what was chosen."""
    table = source.read()
    chosen = choose_columns(table, wanted.columns, id=wanted.id, label=wanted.label, drop=wanted.drop)
    left = f"; left out: {chosen.explain_left_out()}" if chosen.left_out else ""
    if not wanted.columns:
        say(
            console,
            f"clustering {table.num_rows} rows by {len(chosen.names)} columns: {join_names(chosen.names)}{left}",
        )
    samples = Samples(table, chosen.names, to_matrix(table, chosen.names), None, wanted.id, wanted.label)
    return samples.complete(missing, console)


def complete_rows(X: Any, names: list[str], missing: Missing, console: Console) -> NDArray[np.intp] | None:
    """The rows to cluster, None for all of them; missing values as the option says."""
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
    rows = np.flatnonzero(~np.isnan(X).any(axis=1))
    if rows.size == 0:
        raise TableError("--missing drop leaves no row: every row has a missing value; use --missing impute")
    say(console, f"note: {X.shape[0] - rows.size} rows with missing values are not clustered; they get no label")
    return rows


def prepared(samples: Samples, scale: Scale, missing: Missing) -> list[tuple[str, Any]]:
    """Fitted steps that come before the clustering; the samples' X is changed in place, to be spared a copy."""
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
