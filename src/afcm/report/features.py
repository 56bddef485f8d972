"""Reads the samples' features in their own units, and finds what is typical of each cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from afcm._typing import Floats
from afcm.tables.coding import code_column
from afcm.tables.columns import Column, read_columns

Ints = NDArray[np.intp]

# Of a sparse matrix only the columns that vary most are made dense.
MAX_DENSE_COLUMNS = 200
# Categories of a column that are shown.
MAX_CATEGORIES = 20


@dataclass(frozen=True, eq=False)
class Features:
    """Numbers, n×d, with names; NaN is a missing value. ``n_given``: columns before the choice of some.

    Of a table with other columns than numbers ``kinds`` are those of the features (a category is a feature
    ``plan = paid`` of 0 and 1, of kind ``"share"``), ``columns`` the columns themselves, and ``sources`` tells which of
    them each feature comes from.
    """

    names: tuple[str, ...]
    values: Floats
    n_given: int
    kinds: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    sources: Ints = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def kind(self, j: int) -> str:
        return self.kinds[j] if self.kinds else "number"


@dataclass(frozen=True, eq=False)
class Profile:
    """Size and means c×d of each cluster."""

    sizes: Ints
    means: Floats
    deviations: Floats  # in standard deviations from the mean of all
    telling: Ints  # the features, those first by which clusters differ most (share of variance between clusters)


def read_features(table: Any, names: Sequence[str] | None) -> Features:
    """Read an array, a sparse matrix, or a table with columns of any kind."""
    if (isinstance(table, dict) and not sp.issparse(table)) or hasattr(table, "column_names") or has_words(table):
        read = read_columns(table)
        if any(column.kind != "number" for column in read):
            return read_mixed(read)
        names = [column.name for column in read] if names is None else names
        table = np.column_stack([column.values for column in read])
    values, columns = to_dense(table)
    n_given = table.shape[1] if hasattr(table, "shape") else values.shape[1]
    given = getattr(table, "columns", None) if names is None else names
    names = [f"x{j}" for j in range(n_given)] if given is None else [str(name) for name in given]
    if len(names) != n_given:
        raise ValueError(f"feature_names has {len(names)} names for {n_given} features; give one for each")
    return Features(tuple(names[j] for j in columns), values, n_given)


def has_words(table: Any) -> bool:
    """Tell data frames with columns that are no numbers."""
    if not hasattr(table, "columns"):
        return False
    try:
        np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        return True
    return False


def read_mixed(columns: list[Column]) -> Features:
    """Make features of columns: numbers and dates as they are, a share for yes and for each category.

    Text that is nearly all different is left out, of two categories the rarer one is shown.
    """
    names, kinds, sources, blocks = [], [], [], []
    kept: list[Column] = []
    for column in columns:
        code = code_column(column, MAX_CATEGORIES)
        if column.kind == "text" and not code.weight:
            continue
        block = code.indicate(column.values)
        share = column.kind in ("text", "yes/no")
        levels = code.levels[-block.shape[1] :] if column.kind == "text" else ["yes"]
        names += [f"{column.name} = {level}" for level in levels] if share else [column.name]
        kinds += ["share" if share else column.kind] * block.shape[1]
        sources += [len(kept)] * block.shape[1]
        blocks.append(block)
        kept.append(column)
    values = np.hstack(blocks) if blocks else np.empty((len(columns[0].values), 0))
    return Features(tuple(names), values, len(names), tuple(kinds), tuple(kept), np.array(sources, dtype=np.intp))


def to_dense(table: Any) -> tuple[Floats, Ints]:
    """Return numbers n×d and the columns they are; of a sparse matrix only those that vary most."""
    if sp.issparse(table):
        matrix = sp.csc_array(table, dtype=np.float64)
        spread = np.asarray((matrix**2).mean(axis=0)) - np.asarray(matrix.mean(axis=0)) ** 2
        columns = np.sort(np.argsort(-spread.ravel(), kind="stable")[:MAX_DENSE_COLUMNS])
        return matrix[:, columns].toarray(), columns
    try:
        values = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"features must be numbers ({error}); leave out or encode the other columns") from error
    if values.ndim != 2:
        raise ValueError(f"features must have samples as rows and features as columns; got shape {values.shape}")
    return values, np.arange(values.shape[1])


def profile_clusters(features: Features, labels: Ints, n_clusters: int) -> Profile:
    """Compute means by label; a missing value is left out, an empty cluster has NaN."""
    values = np.where(np.isfinite(features.values), features.values, np.nan)
    member = sp.csr_array((np.ones(labels.size), (labels, np.arange(labels.size))), shape=(n_clusters, labels.size))
    known = np.isfinite(values)
    center, scale = compute_moments(values, known)
    shares = member @ known.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviations = (member @ np.where(known, (values - center) / scale, 0)) / shares
    means = center + deviations * scale
    between = np.nansum(shares * deviations**2, axis=0) / np.maximum(known.sum(axis=0), 1)
    telling = np.argsort(-between.round(9), kind="stable")
    return Profile(np.bincount(labels, minlength=n_clusters), means, deviations, telling)


def fill_missing(features: Features) -> Floats:
    """Replace missing values by the means of their columns."""
    known = np.isfinite(features.values)
    return np.where(known, features.values, compute_moments(features.values, known)[0])


def compute_moments(values: Floats, known: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Compute the mean of each column (0 if empty) and its standard deviation (1 if it does not vary)."""
    counts = np.maximum(known.sum(axis=0), 1)
    values = np.where(known, values, 0)
    largest = np.max(np.abs(values), axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1)  # squares of huge numbers stay finite
    center = (values / unit).sum(axis=0) / counts * unit
    scale = np.sqrt((np.where(known, (values - center) / unit, 0) ** 2).sum(axis=0) / counts) * unit
    return center, np.where(scale > 1e-12 * unit, scale, 1)
