"""A picture of a graph's leading eigenvalues and the gaps between them, which speak for a number of clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from afcm._util.pipelines import last_step, transform_before_last_step
from afcm.estimators.validation import check_integer
from afcm.plots.colors import PALETTE
from afcm.plots.common import Display, set_title

# Eigenvalues to show at least, if there are as many.
FEWEST_VALUES = 12


@dataclass(eq=False, repr=False)
class EigengapDisplay(Display):
    """Leading eigenvalues of the normalized graph: c of them near 1 and a gap speak for c clusters.

    Round clusters show a clear gap. Long ones, such as rings, have eigenvalues near 1 of their own, and the largest gap
    may come much later: `select_n_clusters` does not rely on it. Masses by density (`AFCM.density_strength`) let later
    eigenvalues fall faster, which moves the largest gap too.

    Parameters
    ----------
    counts : array of int
        Numbers of clusters.
    gaps : array
        ``θ_c − θ_{c+1}`` for each of them.
    values : array, optional
        The eigenvalues θ_1 ≥ θ_2 ≥ …; without them the gaps are drawn as bars.
    n_clusters : int, optional
        Marked by a line.

    Attributes
    ----------
    best : int
        The number with the largest gap.
    ax_, figure_ : matplotlib axes and figure
        Of the last `plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import make_blobs
    >>> from afcm import AFCM
    >>> from afcm.plots import EigengapDisplay
    >>> X, _ = make_blobs(100, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> EigengapDisplay.from_estimator(AFCM(3, density_strength=0), X, ax=Figure().subplots()).best
    3
    """

    counts: Any
    gaps: Any
    values: Any = None
    n_clusters: int | None = None
    best: int = field(init=False)

    def __post_init__(self) -> None:
        self.best = int(np.asarray(self.counts)[np.argmax(self.gaps)])

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, ax: Any = None, n_values: int | None = None) -> Self:
        """Draw the eigenvalues of the graph that an `AFCM` would use for X; it need not be fitted.

        Parameters
        ----------
        estimator : AFCM, or a pipeline that ends in one and whose other steps are fitted
        X : array (n_samples, n_features)
        ax : matplotlib axes, optional
            Default: a new figure.
        n_values : int, optional
            Eigenvalues to show, at least 2. Default: 12, or twice the number of clusters if that is more.

        Returns
        -------
        EigengapDisplay
        """
        model = last_step(estimator)
        if not hasattr(model, "prepare"):
            raise ValueError(f"estimator={type(model).__name__} has no graph; give an AFCM")
        if X is None:
            raise ValueError("X=None, but the graph is made from the samples; give them as X")
        prepared = clone(model).prepare(transform_before_last_step(estimator, X))
        known = getattr(model, "n_clusters_", model.n_clusters)
        return cls.from_prepared(prepared, ax=ax, n_values=n_values, n_clusters=None if known == "auto" else known)

    @classmethod
    def from_prepared(
        cls, prepared: Any, *, ax: Any = None, n_values: int | None = None, n_clusters: int | None = None
    ) -> Self:
        """Draw the eigenvalues of a `PreparedGraph` (of `AFCM.prepare`).

        Parameters
        ----------
        prepared : PreparedGraph
        ax, n_values : as for `from_estimator`
        n_clusters : int, optional
            Marked by a line.

        Returns
        -------
        EigengapDisplay
        """
        default = max(FEWEST_VALUES, 2 * (n_clusters or 0))
        wanted = default if n_values is None else check_integer("n_values", n_values, least=2)
        values = prepared.eigenvectors(min(wanted, prepared.graph.degrees.size)).values
        return cls(np.arange(1, len(values)), -np.diff(values), values, n_clusters)._plot_on(ax)

    @classmethod
    def from_selection(cls, selection: Any, *, ax: Any = None) -> Self:
        """Draw the gaps in the table of `select_n_clusters`.

        Parameters
        ----------
        selection : Selection
            If its numbers are 1, 2, 3, … the eigenvalues follow from the gaps, for the first is 1.
        ax : matplotlib axes, optional
            Default: a new figure.

        Returns
        -------
        EigengapDisplay
        """
        counts = np.array([int(row["n_clusters"]) for row in selection.table])
        gaps = np.array([row["eigengap"] for row in selection.table])
        whole = np.array_equal(counts, np.arange(1, len(counts) + 1))
        values = 1 - np.append(0, np.cumsum(gaps)) if whole else None
        return cls(counts, gaps, values, selection.n_clusters)._plot_on(ax)

    def plot(self, ax: Any = None) -> Any:
        ax = self._use_axes(ax, (6.4, 4))
        if self.values is None:
            bars = ax.bar(self.counts, self.gaps, color=PALETTE[0])
            bars[int(np.argmax(self.gaps))].set(facecolor=PALETTE[1], hatch="//")
            ax.set(xlabel="number of clusters", ylabel="gap after this eigenvalue")
        else:
            ax.plot(np.arange(1, len(self.values) + 1), self.values, "o", color=PALETTE[0], markersize=5)
            above, below = self.values[self.best - 1 : self.best + 1]
            ax.axhspan(below, above, facecolor=PALETTE[1], alpha=0.25, linewidth=0)
            arrow = {"arrowstyle": "<->", "color": PALETTE[1], "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", (self.best + 0.5, below), (self.best + 0.5, above), arrowprops=arrow)
            ax.set(xlabel="eigenvalue, from the largest", ylabel="eigenvalue of the normalised graph")
        if self.n_clusters is not None:
            ax.axvline(self.n_clusters, color="black", linestyle=":", zorder=0, label=f"n_clusters = {self.n_clusters}")
            ax.legend(frameon=False)
        ax.xaxis.get_major_locator().set_params(integer=True)
        set_title(ax, f"Largest gap: {np.max(self.gaps):.3g}, after eigenvalue {self.best}")
        return ax
