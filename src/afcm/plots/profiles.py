"""A picture of how the features of each cluster deviate from the mean of all samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from afcm._typing import Floats
from afcm.equations.sparse_memberships import to_dense_rows
from afcm.estimators.validation import check_integer
from afcm.plots.common import Display, resolve_model, set_title

Names = Sequence[str] | None

# Columns of X that are looked at together.
BLOCK = 64
# A table with more cells than this gets signs instead of numbers.
MOST_NUMBERS = 240
# Standard deviations at which the colors end, and from which a cell is called high or low.
STRONG, NOTABLE = 2.0, 0.5


@dataclass(eq=False, repr=False)
class ProfilesDisplay(Display):
    """Means of the features in each cluster, in standard deviations from the overall mean.

    Parameters
    ----------
    deviations : array (n_clusters, n_features)
        Those shown, the most telling feature first.
    feature_names : sequence of str
        Of those shown.
    n_features : int
        How many there were.
    left_out : sequence of str
        Columns that hold no numbers.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Of the last `plot`.
    colorbar_ : matplotlib color bar

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from afcm import PlainAFCM
    >>> from afcm.plots import ProfilesDisplay
    >>> X = load_iris(as_frame=True).data
    >>> model = PlainAFCM(3, random_state=0).fit(X)
    >>> ProfilesDisplay.from_estimator(model, X, ax=Figure().subplots()).feature_names[0]
    'petal length (cm)'
    """

    deviations: Any
    feature_names: Sequence[str]
    n_features: int
    left_out: Sequence[str] = ()

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, ax: Any = None, feature_names: Names = None, max_features: int = 20
    ) -> Self:
        """Draw the clusters of a fitted clusterer on any features of its samples.

        Parameters
        ----------
        estimator : fitted clusterer, or a pipeline that ends in one
        X : array, sparse matrix or data frame (n_samples, n_features)
            Features of the samples of the fit, in the same order. They need not be those the model saw: give
            them in original units. NaN is passed over, columns of a data frame that hold no numbers are left out.
        ax : matplotlib axes, optional
            Default: a new figure.
        feature_names : sequence of str, optional
            Default: the columns of a data frame, or ``feature_names_in_``, or numbers.
        max_features : int, default=20
            The most telling ones are shown: those of whose variance the clusters explain most.

        Returns
        -------
        ProfilesDisplay
        """
        model, _ = resolve_model(estimator)
        if X is None:
            raise ValueError("X=None, but profiles are means of features; give those of the fitted samples as X")
        if feature_names is None and not hasattr(X, "columns"):
            known = getattr(model, "feature_names_in_", None)
            feature_names = known if known is not None and len(known) == X.shape[1] else None
        memberships = to_dense_rows(model.memberships_, slice(None))
        return cls.from_memberships(memberships, X, ax=ax, feature_names=feature_names, max_features=max_features)

    @classmethod
    def from_memberships(
        cls, memberships: Any, X: Any, *, ax: Any = None, feature_names: Names = None, max_features: int = 20
    ) -> Self:
        """Draw clusters that are given by memberships.

        Parameters
        ----------
        memberships : array (n_samples, n_clusters)
        X, ax, feature_names, max_features : as for `from_estimator`

        Returns
        -------
        ProfilesDisplay
        """
        memberships = np.asarray(memberships, dtype=np.float64)
        values, names, left_out = read_numbers(X, feature_names)
        if len(memberships) != values.shape[0]:
            raise ValueError(
                f"X has {values.shape[0]} rows, but there are memberships of {len(memberships)} samples; give the "
                "features of exactly these, in the same order"
            )
        found = deviations(values, memberships)
        shown = rank_features(found, memberships.sum(axis=0))[: check_integer("max_features", max_features)]
        return cls(found[:, shown], [names[i] for i in shown], len(names), left_out)._plot_on(ax)

    def plot(self, ax: Any = None) -> Any:
        n_clusters, n_shown = self.deviations.shape
        ax = self._use_axes(ax, (max(4.0, 2.6 + 0.55 * n_clusters), 1.6 + 0.3 * n_shown))
        image = ax.imshow(self.deviations.T, cmap="PuOr_r", vmin=-STRONG, vmax=STRONG, aspect="auto")
        write_cells(ax, self.deviations.T)
        ax.set_xticks(range(n_clusters))
        ax.set_yticks(range(n_shown), self.feature_names)
        ax.set_xlabel("cluster")
        ax.tick_params(length=0)
        self.colorbar_ = ax.figure.colorbar(image, ax=ax, label="standard deviations\nfrom the mean", extend="both")
        omitted = []
        if n_shown < self.n_features:
            omitted.append(f"the {n_shown} most telling of {self.n_features:,} features")
        if self.left_out:
            omitted.append(f"{len(self.left_out)} without numbers left out")
        set_title(ax, "Mean of each cluster", ", ".join(omitted))
        return ax


def read_numbers(X: Any, feature_names: Names) -> tuple[Any, list[str], list[str]]:
    """Return the columns that hold numbers, their names, and the names of the others."""
    names: list[str] = []
    left_out: list[str] = []
    if hasattr(X, "columns"):
        columns = [(str(name), to_numbers(X[name])) for name in X.columns]
        left_out = [name for name, column in columns if column is None]
        names = [name for name, column in columns if column is not None]
        if not names:
            raise ValueError(f"X has no column of numbers among {left_out}; give features that are numbers")
        X = np.column_stack([column for _, column in columns if column is not None])
    values = sp.csc_array(X) if sp.issparse(X) else np.asarray(X)
    names = names or [f"feature {i}" for i in range(values.shape[1])]
    if feature_names is not None:
        if len(feature_names) != len(names):
            raise ValueError(
                f"feature_names has {len(feature_names)} names for {len(names)} columns; give one for each"
            )
        names = [str(name) for name in feature_names]
    return values, names, left_out


def to_numbers(column: Any) -> Floats | None:
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def deviations(X: Any, memberships: Floats) -> Floats:
    """``(m_jf − m_f) / s_f``: membership-weighted means against mean and standard deviation over all, c×d.

    NaN is passed over, and a feature that does not vary gives 0.
    """
    parts = []
    for start in range(0, X.shape[1], BLOCK):
        columns = X[:, start : start + BLOCK]
        block = np.asarray(columns.toarray() if sp.issparse(columns) else columns, dtype=np.float64)
        known = np.isfinite(block)
        counts = np.maximum(known.sum(axis=0), 1)
        centered = np.where(known, block, 0.0)
        centered = np.where(known, block - centered.sum(axis=0) / counts, 0.0)
        spread = np.sqrt((centered**2).sum(axis=0) / counts)
        weights = memberships.T @ known
        means = np.divide(memberships.T @ centered, weights, out=np.zeros_like(weights), where=weights > 0)
        parts.append(np.divide(means, spread, out=np.zeros_like(means), where=spread > 0))
    return np.hstack(parts)


def rank_features(found: Floats, masses: Floats) -> NDArray[np.intp]:
    """Sort features by the share of their variance that lies between the clusters, the largest first."""
    return np.argsort(-(masses @ found**2), kind="stable")


def write_cells(ax: Any, table: Floats) -> None:
    """Write numbers into the cells or, if those would be too many, the signs of the notable ones."""
    numbers = table.size <= MOST_NUMBERS
    for (row, column), value in np.ndenumerate(table):
        sign = "" if abs(value) < (0.05 if numbers else NOTABLE) else "+" if value > 0 else "−"
        text = f"{sign}{abs(value):.1f}" if numbers else sign
        color = "black" if -0.5 * STRONG < value < 0.75 * STRONG else "white"  # purple is darker than orange
        ax.text(column, row, text, ha="center", va="center", fontsize="small", color=color)
