"""`TableScaler`: a table of numbers, dates, yes/no and categories as coordinates for a clusterer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from afcm._typing import Floats
from afcm._util.messages import warn_user
from afcm.exceptions import UnknownCategoryWarning
from afcm.tables.coding import ColumnCode, code_column, equalize_codes
from afcm.tables.columns import Column, read_columns
from afcm.tables.filling import estimate_covariance, fill_missing
from afcm.tables.weighing import MOST_COORDINATES, weigh_codes


class TableScaler(TransformerMixin, BaseEstimator):
    """Coordinates in which every column of a table has its say: what to do before clustering rows.

    Numbers and dates are divided by their range without outliers (Tukey's fences at three interquartile ranges), so
    that a column of two well separated halves keeps its gap. Yes/no, text with few different values and numbers with
    up to five of them are categories: their mean squared distance is that of a column of numbers, times the square of
    how far neighbors in the other columns agree on them. Columns that say the same (squared correlation above 0.98)
    count as one. Columns of one value, and text that is nearly all different, are left out. A missing value becomes
    its expectation given the other columns of its row. ``docs/tables.md`` has the formulas and the reasons.

    Parameters
    ----------
    weights : dict of str to float, optional
        Factors of the squared distances by column: ``{"income": 2}`` lets income count like two columns, 0 leaves a
        column out. A category with a weight counts like a number, whatever the other columns say.
    categories : {"related", "equal"}, default="related"
        ``"equal"``: categories count like numbers, even if they go with no other column.
    max_categories : int, default=20
        Rarer texts of a column share one category.

    Attributes
    ----------
    codes_ : list of ColumnCode
        How each column is coded.
    column_weights_ : dict of str to float
        Factor of the squared distance of each column; 0 for those left out.
    remarks_ : list of str
        What is left out or counts less, and why, in words.
    covariance_ : array or None
        Of the coordinates, for missing values; None if there are more than 500.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from afcm.tables import TableScaler
    >>> table = {"age": [31, 42, 55, None], "plan": ["free", "free", "paid", "paid"], "country": ["FR"] * 4}
    >>> scaler = TableScaler().fit(table)
    >>> scaler.transform(table).round(2)
    array([[-0.49, -0.41],
           [-0.03, -0.41],
           [ 0.51,  0.41],
           [ 0.34,  0.41]])
    >>> scaler.get_feature_names_out()
    array(['age', 'plan=paid'], dtype=object)
    >>> scaler.remarks_
    ["column 'country' has one value only ('FR') and cannot tell samples apart; left out"]
    """

    def __init__(
        self, *, weights: Mapping[str, float] | None = None, categories: str = "related", max_categories: int = 20
    ) -> None:
        self.weights = weights
        self.categories = categories
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn units, categories, weights and how columns go together.

        Parameters
        ----------
        X : data frame (pandas, polars), Arrow table, dict of columns, or array (n_samples, n_features)
        y : ignored

        Raises
        ------
        ValueError
            If a column mixes numbers and text or holds infinities, if no column is left, or a weight is of no column.
        """
        self._fit(self._read(X, reset=True))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Fit, and return the coordinates of X."""
        return self._fit(self._read(X, reset=True))

    def transform(self, X: Any) -> Floats:
        """Return the coordinates of the rows of X, n×p.

        A category that the fit has not seen counts as missing, with a warning.
        """
        check_is_fitted(self)
        kept = [(code, column) for code, column in self._pair(self._read(X, reset=False)) if code.weight]
        for code, column in kept:
            unknown = code.find_unknown(column.values)
            if unknown:
                warn_user(
                    f"TableScaler: column {code.name!r} holds {unknown[0][:40]!r}, which fit did not see; it counts"
                    " as a missing value: fit again with such rows",
                    UnknownCategoryWarning,
                )
        base = np.hstack([code.encode(column.values) for code, column in kept])
        return self._finish(base)

    def inverse_transform(self, X: Any) -> Any:
        """Return columns from coordinates: an array if the fit was on one, else a dict by name.

        Numbers and dates come back to rounding, categories as the nearest one, columns of one value as it. Missing
        values come back as they were filled, and columns left out for another reason not at all (NaN in an array).
        """
        check_is_fitted(self)
        X = np.asarray(X, dtype=np.float64)
        n_coordinates = sum(len(code.means) for code in self.codes_ if code.weight)
        if X.ndim != 2 or X.shape[1] != n_coordinates:
            raise ValueError(f"X has shape {X.shape}; give coordinates of shape (n, {n_coordinates})")
        columns, start = {}, 0
        for code in self.codes_:
            width = len(code.means) if code.weight else 0
            values = code.decode(X[:, start : start + width]) if width else code.repeat(X.shape[0])
            columns[code.name] = values
            start += width
        if not hasattr(self, "feature_names_in_"):
            return np.column_stack(list(columns.values()))
        return columns

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return names of the coordinates: ``age``, and ``plan=paid`` for a category."""
        check_is_fitted(self)
        return np.array([name for code in self.codes_ if code.weight for name in code.names], dtype=object)

    @property
    def column_weights_(self) -> dict[str, float]:
        """Factor of the squared distance of each column."""
        return {code.name: code.weight for code in self.codes_}

    @property
    def remarks_(self) -> list[str]:
        """Sentences about columns that are left out or count less than others."""
        return [code.remark for code in self.codes_ if code.remark]

    def _fit(self, columns: list[Column]) -> Floats:
        self._check_parameters()
        given = self._check_weights(columns)
        codes = equalize_codes([code_column(column, self.max_categories) for column in columns], columns)
        kept = [j for j, code in enumerate(codes) if code.weight]
        if not kept:
            raise ValueError(f"no column is left to tell samples apart: {'; '.join(code.remark for code in codes)}")
        base = np.hstack([codes[j].encode(columns[j].values) for j in kept])
        limits = spread_over_coordinates([codes[j].limit for j in kept], [codes[j] for j in kept])
        narrow = base.shape[1] <= MOST_COORDINATES
        covariance = estimate_covariance(np.clip(base, -limits, limits)) if narrow else None
        ends = np.cumsum([len(codes[j].means) for j in kept])[:-1]
        blocks = np.split(fill_missing(base, covariance, limits), ends, axis=1)
        weighed = weigh_codes([codes[j] for j in kept], blocks, given, related=self.categories == "related")
        for j, code in zip(kept, weighed, strict=True):
            codes[j] = code
        stays = spread_over_coordinates([code.weight for code in weighed], weighed) > 0
        self.codes_ = codes
        self.covariance_ = None if covariance is None else covariance[np.ix_(stays, stays)]
        return self._finish(base[:, stays])

    def _finish(self, base: Floats) -> Floats:
        """Fill missing coordinates and apply the weights."""
        kept = [code for code in self.codes_ if code.weight]
        filled = fill_missing(base, self.covariance_, spread_over_coordinates([code.limit for code in kept], kept))
        return filled * np.sqrt(spread_over_coordinates([code.weight for code in kept], kept))

    def _read(self, X: Any, *, reset: bool) -> list[Column]:
        """Read the columns, and note or compare their names."""
        if (isinstance(X, dict) and not sp.issparse(X)) or hasattr(X, "column_names"):
            columns = read_columns(X)
            columns = self._note_names(columns) if reset else self._find_names(columns)
        elif hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            columns = read_columns(X)
        else:
            options: dict[str, Any] = {"dtype": None, "ensure_all_finite": False, "ensure_min_samples": 1 + reset}
            columns = read_columns(validate_data(self, X, reset=reset, **options))
        if not columns:
            raise ValueError("X has no columns; give at least one")
        least, rows = 1 + reset, len(columns[0].values)
        if rows < least:
            raise ValueError(f"X has n_samples={rows}; TableScaler needs at least {least}")
        return columns

    def _note_names(self, columns: list[Column]) -> list[Column]:
        self.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
        self.n_features_in_ = len(columns)
        return columns

    def _find_names(self, columns: list[Column]) -> list[Column]:
        found = {column.name: column for column in columns}
        absent = [code.name for code in self.codes_ if code.name not in found and code.weight]
        if absent:
            raise ValueError(f"X lacks the column {absent[0]!r} of the fit; it has {', '.join(found)[:200]}")
        return [found.get(code.name) or Column(code.name, code.kind, np.zeros(0)) for code in self.codes_]

    def _pair(self, columns: list[Column]) -> list[tuple[ColumnCode, Column]]:
        """Pair codes and columns, of the same kind both."""
        for code, column in zip(self.codes_, columns, strict=True):
            empty = column.kind == "number" and np.isnan(column.values).all()
            if code.weight and (code.kind == "text") != (column.kind == "text") and not empty:
                raise ValueError(
                    f"column {code.name!r} was {code.kind} in fit and is {column.kind} now; convert it, or fit again"
                )
        return [
            (code, Column(column.name, code.kind, np.full(len(column.values), None, dtype=object)))
            if code.kind == "text" != column.kind
            else (code, column)
            for code, column in zip(self.codes_, columns, strict=True)
        ]

    def _check_parameters(self) -> None:
        if self.categories not in ("related", "equal"):
            raise ValueError(f"categories={self.categories!r} is not known; use 'related' or 'equal'")
        whole = isinstance(self.max_categories, (int, np.integer)) and not isinstance(self.max_categories, bool)
        if not whole or self.max_categories < 2:
            raise ValueError(f"max_categories={self.max_categories!r} must be a whole number of at least 2")
        if self.weights is not None and not isinstance(self.weights, Mapping):
            raise ValueError(f"weights={self.weights!r} must be a dict, such as {{'income': 2}}")
        for name, weight in (self.weights or {}).items():
            if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight < math.inf:
                raise ValueError(f"weights[{name!r}]={weight!r} must be a finite number of at least 0")

    def _check_weights(self, columns: list[Column]) -> dict[str, float]:
        names = [column.name for column in columns]
        unknown = [name for name in self.weights or {} if name not in names]
        if unknown:
            raise ValueError(f"weights names {unknown[0]!r}, which is no column; X has {', '.join(names)[:200]}")
        return dict(self.weights or {})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def spread_over_coordinates(values: list[float], codes: list[ColumnCode]) -> Floats:
    """Repeat one number a column for each of its coordinates."""
    return np.repeat(np.asarray(values, dtype=np.float64), [len(code.means) for code in codes])
