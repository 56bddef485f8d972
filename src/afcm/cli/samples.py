"""Read a table, choose its columns and rows, and scale them: from a file and options to samples that can be fitted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console

from afcm.cli.console import say
from afcm.cli.options import Missing, Scale, split_names
from afcm.tabular import TableError, choose_columns, read_table
from afcm.tabular.columns import find_missing, join_names, to_matrix
from afcm.tabular.delimited import Layout


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

    ``X`` is in the table's units until `fit_steps` scales it in place.
    """

    table: pa.Table
    columns: list[str]
    X: NDArray[np.float64]
    rows: NDArray[np.intp] | None = None  # None: all
    id: str | None = None
    label: str | None = None

    def handle_missing(self, missing: Missing, console: Console) -> Samples:
        """Refuse, drop or leave to be imputed the rows with missing values; refuse a label without any value."""
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
    columns: list[str] | None = None,
    drop: list[str] | None = None,
    id: str | None = None,
    label: str | None = None,
) -> Samples:
    """Read a table and choose its columns and rows; print which columns were chosen, unless they were named.

    ``columns`` and ``drop`` may hold several names with commas.
    """
    named, dropped = split_names(columns), split_names(drop)
    table = source.read()
    chosen = choose_columns(table, named, id=id, label=label, drop=dropped)
    if not named:
        left = f"; left out: {chosen.explain_left_out()}" if chosen.left_out else ""
        names = join_names(chosen.names)
        say(console, f"clustering {table.num_rows} rows by {len(chosen.names)} columns: {names}{left}")
    samples = Samples(table, chosen.names, to_matrix(table, chosen.names), None, id, label)
    return samples.handle_missing(missing, console)


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
    rows = np.flatnonzero(~np.isnan(X).any(axis=1))
    if rows.size == 0:
        raise TableError("--missing drop leaves no row: every row has a missing value; use --missing impute")
    say(console, f"note: {X.shape[0] - rows.size} rows with missing values are not clustered; they get no label")
    return rows


def fit_steps(samples: Samples, scale: Scale, missing: Missing) -> list[tuple[str, Any]]:
    """Fit the steps that come before the clustering, and change the samples' X in place, to be spared a copy."""
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
