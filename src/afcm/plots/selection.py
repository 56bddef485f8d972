"""A picture of what each criterion says about the number of clusters, as found by `select_n_clusters`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from afcm.plots.colors import PALETTE, marker
from afcm.plots.common import Display, set_title

LINES = ("-", "--", "-.", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)))


@dataclass(eq=False, repr=False)
class SelectionDisplay(Display):
    """Every criterion over the number of clusters, from its worst to its best; a large mark above its own choice.

    Parameters
    ----------
    counts : array of int
        Numbers of clusters.
    curves : dict of arrays
        For each criterion 0 at its worst number, 1 at its best, NaN where it says nothing.
    votes : dict of int
        The number each criterion would choose.
    n_clusters : int
        The recommendation.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Of the last `plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from afcm import select_n_clusters
    >>> from afcm.plots import SelectionDisplay
    >>> selection = select_n_clusters(load_iris().data, range(1, 5), random_state=0)
    >>> display = SelectionDisplay.from_selection(selection, ax=Figure().subplots())
    >>> sorted(display.curves)[:2]
    ['eigengap', 'fuzzy_silhouette']
    """

    counts: Any
    curves: dict[str, Any]
    votes: dict[str, int]
    n_clusters: int

    @classmethod
    def from_selection(cls, selection: Any, *, ax: Any = None) -> Self:
        """Draw what `select_n_clusters` found.

        Parameters
        ----------
        selection : Selection
        ax : matplotlib axes, optional
            Default: a new figure.

        Returns
        -------
        SelectionDisplay
        """
        counts = np.array([row["n_clusters"] for row in selection.table])
        return cls(counts, selection.curves, selection.votes, selection.n_clusters)._plot_on(ax)

    def plot(self, ax: Any = None) -> Any:
        ax = self._use_axes(ax, (8, 4.5))
        taken: Counter[int] = Counter()
        for i, (name, curve) in enumerate(self.curves.items()):
            vote = self.votes[name]
            style = {"color": PALETTE[i % len(PALETTE)], "linestyle": LINES[i % len(LINES)], "marker": marker(i)}
            ax.plot(self.counts, curve, markersize=4, label=f"{name} → {vote}", **style)
            height = 1.06 + 0.06 * taken[vote]
            ax.plot(vote, height, markersize=9, markeredgecolor="black", **(style | {"linestyle": "none"}))
            taken[vote] += 1
        ax.axvline(self.n_clusters, color="black", linestyle=":", label=f"recommended: {self.n_clusters}")
        ax.set(xlabel="number of clusters", ylabel="criterion, from its worst to its best")
        ax.set(xticks=self.counts, yticks=(0, 0.5, 1))
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
        set_title(ax, "How many clusters? The large marks are the choices of the criteria")
        return ax
