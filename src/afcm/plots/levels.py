"""A picture of the tree over the clusters of an `AFCM`: which are joined when fewer are wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from afcm.estimators.levels import Levels
from afcm.estimators.validation import check_integer
from afcm.plots.colors import cluster_colors, marker
from afcm.plots.common import Display, resolve_model, set_title

# Cuts are written beside the joins of at most so many clusters.
MOST_CUTS = 30


@dataclass(eq=False, repr=False)
class LevelsDisplay(Display):
    """A dendrogram: clusters at the left, joined one after the other until one is left at the right.

    The axis counts the clusters that are left; the number beside a join is the cut between the two, 0 where no edge of
    the graph leads from one to the other.

    Parameters
    ----------
    levels : Levels
        ``levels_`` of an `AFCM`.
    sizes : array of int
        Samples of each cluster.
    n_clusters : int, optional
        A level to mark by a line: ``model.at(n_clusters)``.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Of the last `plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import make_blobs
    >>> from afcm import AFCM
    >>> from afcm.plots import LevelsDisplay
    >>> X, _ = make_blobs(200, centers=[[0, 0], [4, 0], [30, 0], [34, 0]], random_state=0)
    >>> model = AFCM(4, random_state=0).fit(X)
    >>> len(LevelsDisplay.from_estimator(model, ax=Figure().subplots()).order)
    4
    """

    levels: Levels
    sizes: Any
    n_clusters: int | None = None

    @property
    def order(self) -> list[int]:
        """The clusters from top to bottom."""
        return self.levels.order

    @classmethod
    def from_estimator(cls, estimator: Any, *, n_clusters: int | None = None, ax: Any = None) -> Self:
        """Draw the levels of a fitted `AFCM`.

        Parameters
        ----------
        estimator : fitted AFCM, or a pipeline that ends in one
        n_clusters : int, optional
            A level to mark by a line.
        ax : matplotlib axes, optional
            Default: a new figure.

        Returns
        -------
        LevelsDisplay
        """
        model, _ = resolve_model(estimator)
        if not hasattr(model, "levels_"):
            raise ValueError(f"estimator={type(model).__name__} has no levels_; give a fitted AFCM")
        if n_clusters is not None and check_integer("n_clusters", n_clusters) > model.n_clusters_:
            raise ValueError(f"n_clusters={n_clusters} is not a level; use a number from 1 to {model.n_clusters_}")
        sizes = np.bincount(np.asarray(model.labels_), minlength=model.n_clusters_)
        return cls(model.levels_, sizes, n_clusters)._plot_on(ax)

    def plot(self, ax: Any = None) -> Any:
        n_clusters = len(self.sizes)
        ax = self._use_axes(ax, (7, min(2 + 0.32 * n_clusters, 14)))
        self._draw_leaves(ax)
        self._draw_joins(ax)
        if self.n_clusters is not None:
            ax.axvline(self.n_clusters - 0.5, color="black", linestyle=":")
        ax.set(xlim=(n_clusters + 0.5, 0.5), ylim=(n_clusters - 0.5, -0.5), xlabel="clusters that are left")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
        marked = "" if self.n_clusters is None else f"; dotted line: at({self.n_clusters})"
        note = f"numbers: the cut between the two joined{marked}"
        set_title(ax, "Which clusters are joined when fewer are wanted", note)
        return ax

    def _draw_leaves(self, ax: Any) -> None:
        n_clusters, colors = len(self.sizes), cluster_colors(len(self.sizes))
        for row, number in enumerate(self.order):
            ax.plot(n_clusters, row, marker(number), color=colors[number], markersize=8, clip_on=False, zorder=3)
        names = [f"{number}  ({self.sizes[number]:,} samples)" for number in self.order]
        ax.set_yticks(range(n_clusters), names)

    def _draw_joins(self, ax: Any) -> None:
        place = {"xytext": (4, 0), "textcoords": "offset points", "va": "center", "fontsize": "x-small"}
        for level, line in zip(self.levels, self.levels.brackets, strict=True):
            ax.plot(*zip(*line, strict=True), color="0.35", linewidth=1.3)
            if len(self.sizes) <= MOST_CUTS:
                middle = (line[1][0], (line[1][1] + line[2][1]) / 2)
                ax.annotate(f"{level.cut:.2g}", middle, **place, bbox={"facecolor": "white", "pad": 0.5, "lw": 0})
