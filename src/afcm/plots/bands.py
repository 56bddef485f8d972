"""A picture of all memberships: every sample is a thin stacked bar."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from afcm._util.messages import count_noun
from afcm.plots.colors import cluster_colors, hatch
from afcm.plots.common import MembershipsBase, set_title

# About as many bars as a screen has columns.
MOST_BARS = 2000
# A block below this share of the width has no room for its number beside the next.
NARROW = 0.03


@dataclass(eq=False, repr=False)
class BandsDisplay(MembershipsBase):
    """Memberships as stacked bars, samples sorted by cluster and from certain to doubtful.

    Parameters
    ----------
    memberships : array (n_samples, n_clusters)
    note : str, optional
        A second line for the title.

    Attributes
    ----------
    order : array
        The samples that are shown, from left to right: all up to 2000, else evenly chosen ones, at least one of each
        cluster.
    labels : array
        Their clusters.
    ax_, figure_ : matplotlib axes and figure
        Of the last `plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from afcm.plots import BandsDisplay
    >>> display = BandsDisplay([[0.4, 0.6], [0.7, 0.3], [1.0, 0.0]])
    >>> display.order.tolist()
    [2, 1, 0]
    >>> display.plot(Figure().subplots()).get_ylabel()
    'membership'
    """

    order: NDArray[np.intp] = field(init=False)
    labels: NDArray[np.intp] = field(init=False)

    def __post_init__(self) -> None:
        self.memberships = np.asarray(self.memberships)
        self.order = choose_order(self.memberships)
        self.labels = self.memberships[self.order].argmax(axis=1)

    def plot(self, ax: Any = None) -> Any:
        ax = self._use_axes(ax, (8, 3.4))
        draw_bands(ax, self.memberships[self.order])
        ax.set(xlim=(0, len(self.order)), ylim=(0, 1), xlabel="cluster", ylabel="membership")
        number_blocks(ax, self.labels)
        total = count_noun(len(self.memberships), "sample")
        shown = f"{len(self.order):,} of {total}" if len(self.order) < len(self.memberships) else total
        set_title(ax, f"{shown}, sorted by cluster and membership", self.note)
        return ax


def choose_order(memberships: Any) -> NDArray[np.intp]:
    """Sort samples by cluster and falling membership; of many keep evenly spaced ones and the first of each cluster."""
    labels = memberships.argmax(axis=1)
    order = np.lexsort((-memberships.max(axis=1), labels))
    if order.size <= MOST_BARS:
        return order
    spaced = np.linspace(0, order.size - 1, MOST_BARS).round().astype(np.intp)
    firsts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    return order[np.union1d(spaced, firsts)]


def number_blocks(ax: Any, labels: Any) -> None:
    """Draw white lines between the clusters and numbers below them; neighboring narrow ones on different lines."""
    starts = np.flatnonzero(np.diff(labels, prepend=-1))
    ends = np.append(starts[1:], len(labels))
    ax.vlines(starts[1:], 0, 1, color="white", linewidth=2)
    names, line = [], 0
    for start, end in zip(starts, ends, strict=True):
        line = (line + 1) % 3 if end - start < NARROW * len(labels) else 0
        names.append("\n" * line + str(labels[start]))
    ax.set_xticks((starts + ends) / 2, names)
    ax.tick_params(axis="x", length=0)


def draw_bands(ax: Any, memberships: Any) -> None:
    """Draw one area a cluster on top of the one before, in its color and hatching."""
    edges = np.arange(len(memberships) + 1)
    tops = np.cumsum(memberships, axis=1)
    bottoms = np.column_stack([np.zeros(len(memberships)), tops[:, :-1]])
    for cluster, color in enumerate(cluster_colors(memberships.shape[1])):
        style = {"facecolor": color, "edgecolor": (1, 1, 1, 0.6), "linewidth": 0, "hatch": hatch(cluster)}
        heights = {"baseline": bottoms[:, cluster], "fill": True}
        ax.stairs(tops[:, cluster], edges, label=f"cluster {cluster}", **heights, **style)
