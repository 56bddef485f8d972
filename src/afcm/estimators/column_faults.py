"""Columns that a clusterer cannot use or should not get as they are: text, missing values, one unit above all."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from afcm import arrays
from afcm._typing import Floats
from afcm._util.messages import format_share, warn_user
from afcm._util.text import is_number
from afcm.exceptions import ScaleWarning

ENCODE = "leave the column out, or make coordinates of such columns with afcm.tables.TableScaler"
FILL = "fill them with afcm.tables.TableScaler or sklearn.impute.SimpleImputer, or leave the rows out"
# A column that holds more than this share of the squared distances leaves the others no say.
NO_SAY = 0.9
# Rows by which the share is estimated, and the fewest that say anything about columns.
SCALE_ROWS, NEIGHBOR_ROWS, FEWEST_ROWS = 10_000, 1000, 20
N_NEIGHBORS = 5


@contextmanager
def explain_text(X: Any) -> Iterator[None]:
    """Turn an error of the conversion to numbers into one that names the first column with text or dates."""
    try:
        yield
    except (TypeError, ValueError) as error:
        found = next((words for words in map(describe_text, list_columns(X)) if words), "")
        if not found:
            raise
        raise ValueError(f"could not convert X to numbers: {found}; {ENCODE}") from error


def list_columns(X: Any) -> Iterator[tuple[str, Any]]:
    """Give names and values of the columns of a data frame or of an array of objects; nothing for all else."""
    if hasattr(X, "columns") and hasattr(X, "shape"):
        for j, name in enumerate(X.columns):
            yield f"column {str(name)!r}", np.asarray(X.iloc[:, j] if hasattr(X, "iloc") else X[name])
        return
    array = None if sp.issparse(X) or arrays.is_tensor(X) else np.asarray(X, dtype=object)
    if array is not None and array.ndim == 2:
        for j in range(array.shape[1]):
            yield f"column {j}", array[:, j]


def describe_text(column: tuple[str, Any]) -> str:
    """Say which value of a column is text or a date; empty if none is."""
    name, values = column
    if values.dtype.kind in "Mm":
        return f"{name} holds dates or times"
    if values.dtype.kind not in "OUT":
        return ""
    for row, value in enumerate(values):
        if isinstance(value, (datetime.date, np.datetime64)):
            return f"{name} holds a date in row {row}"
        if isinstance(value, str) and not is_number(value):
            return f"{name} holds text, {value[:40]!r} in row {row}"
    return ""


def refuse_missing(X: Any, names: Any = None) -> None:
    """Raise for the first column of X with NaN or infinity; nothing happens if all values are finite."""
    if sp.issparse(X):
        entries = X.tocoo()
        bad = ~np.isfinite(entries.data)
        columns, rows, values = entries.col[bad], entries.row[bad], entries.data[bad]
    else:
        rows, columns = np.nonzero(~np.isfinite(arrays.to_host(X)))
        values = arrays.to_host(X)[rows, columns]
    if not rows.size:
        return
    j = int(columns.min())
    row = int(rows[columns == j].min())
    known = names is not None and len(names) == X.shape[1]
    name = f"column {str(names[j])!r}" if known else f"column {j}"
    n_missing = int(np.isnan(values[columns == j]).sum())
    if n_missing:
        lacks = f"{name} lacks {n_missing} of {X.shape[0]} values, the first in row {row}"
        raise ValueError(f"Input X contains NaN: {lacks}; {FILL}")
    raise ValueError(f"Input X contains infinity: {name} in row {row}; correct the value, or leave the row out")


def warn_of_scale(model: str, X: Any, names: Any = None) -> None:
    """Warn if one of several columns that vary holds nearly all of the squared distances between samples."""
    if sp.issparse(X) or arrays.is_chunked(X) or X.shape[1] < 2 or X.shape[0] < FEWEST_ROWS:
        return
    sample = np.asarray(arrays.to_host(X[:: max(X.shape[0] // SCALE_ROWS, 1)]), dtype=np.float64)
    sample = sample / max(float(np.abs(sample).max()), np.finfo(float).tiny)  # squares neither overflow nor vanish
    variances = np.var(sample, axis=0)
    j = int(np.argmax(variances))
    share = variances[j] / max(float(variances.sum()), np.finfo(float).tiny)
    if not NO_SAY < share < 1 or not decides_neighbors(sample, j):
        return
    name = f"column {str(names[j])!r}" if names is not None else f"column {j}"
    have = "other one has" if X.shape[1] == 2 else f"other {X.shape[1] - 1} have"
    warn_user(
        f"{model}: {name} holds {format_share(float(share))} of the squared distances, so that the {have} no say; "
        "scale X with afcm.tables.TableScaler or sklearn.preprocessing.StandardScaler if the columns have different "
        "units",
        ScaleWarning,
    )


def decides_neighbors(sample: Floats, j: int) -> bool:
    """Whether most nearest neighbors are those by column j alone.

    A column along which clusters lie far apart holds much of the squared distances, too. The others then still tell
    who is near whom within a cluster.
    """
    rows = sample[:: max(sample.shape[0] // NEIGHBOR_ROWS, 1)]
    count = max(1, min(N_NEIGHBORS, len(rows) // N_NEIGHBORS))
    by_all, by_one = (
        NearestNeighbors(n_neighbors=count).fit(columns).kneighbors(return_distance=False)
        for columns in (rows, rows[:, [j]])
    )
    shared = [np.intersect1d(first, second).size for first, second in zip(by_all, by_one, strict=True)]
    return bool(np.mean(shared) > 0.5 * count)
