"""A picture of all memberships at once: a line, a triangle (ternary plot) or a polygon."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from afcm._util.messages import count_noun
from afcm.plots.common import MembershipsBase, set_title
from afcm.plots.layout import draw_samples

# Height of the strip in which samples between two clusters are spread, so that they are seen.
STRIP = 0.06


@dataclass(eq=False, repr=False)
class MembershipDisplay(MembershipsBase):
    """Each sample between the corners of a polygon, the nearer to a cluster's corner the more it belongs to it.

    With three clusters this is the ternary plot, and a place tells all memberships. With two it is a line. With more
    than three different memberships may share a place, so read it as a picture of which clusters meet.

    Parameters
    ----------
    memberships : array (n_samples, n_clusters)
    note : str, optional
        A second line for the title.

    Attributes
    ----------
    coordinates : array (n_samples, 2)
        Means of the corners, weighted by the memberships.
    corners : array (n_clusters, 2)
    ax_, figure_ : matplotlib axes and figure
        Of the last `plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from afcm.plots import MembershipDisplay
    >>> display = MembershipDisplay([[1, 0, 0], [0, 0.5, 0.5]])
    >>> display.coordinates.round(2).tolist()
    [[0.0, 1.0], [0.0, -0.5]]
    >>> len(display.plot(Figure().subplots()).collections)
    2
    """

    corners: NDArray[np.float64] = field(init=False)
    coordinates: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.memberships = np.asarray(self.memberships)
        self.corners = corners(self.memberships.shape[1])
        self.coordinates = self.memberships @ self.corners

    def plot(self, ax: Any = None) -> Any:
        n_clusters = len(self.corners)
        low = self.corners[:, 1].min() - 0.4
        ax = self._use_axes(ax, (6.0, 1 + 2 * (1.4 - low)) if n_clusters > 2 else (6.4, 2.2))
        ax.fill(*self.corners.T, facecolor="none", edgecolor="0.6", linewidth=1)
        if n_clusters == 3:
            draw_grid(ax, self.corners)
        points = self.coordinates
        if n_clusters < 3:
            points = points + np.random.default_rng(0).uniform(-STRIP, STRIP, len(points))[:, None] * [0, 1]
        draw_samples(ax, points, self.memberships, alpha=0.7, zorder=3)
        label_corners(ax, self.corners, np.bincount(self.memberships.argmax(axis=1), minlength=n_clusters))
        ax.set(aspect="equal", xlim=(-1.5, 1.5), ylim=(low, 1.4) if n_clusters > 2 else (-0.3, 0.3))
        ax.set_axis_off()
        set_title(ax, f"Memberships of {count_noun(len(self.memberships), 'sample')}", self.note)
        return ax


def corners(n_clusters: int) -> NDArray[np.float64]:
    """A point, the ends of a line, or a regular polygon around 0 that begins at its top and runs clockwise."""
    if n_clusters < 3:
        return np.array([[-1.0, 0.0], [1.0, 0.0]]) if n_clusters == 2 else np.zeros((1, 2))
    angles = 2 * np.pi * np.arange(n_clusters) / n_clusters
    return np.column_stack([np.sin(angles), np.cos(angles)])


def draw_grid(ax: Any, triangle: Any) -> None:
    """Draw the lines on which a membership is 1/4, 1/2 or 3/4."""
    for j in range(3):
        top, left, right = triangle[[j, j - 1, j - 2]]
        for share in (0.25, 0.5, 0.75):
            ends = np.array([share * top + (1 - share) * left, share * top + (1 - share) * right])
            ax.plot(*ends.T, color="0.85", linewidth=0.8, zorder=1)
            if j == 0:
                offset = {"xytext": (4, 0), "textcoords": "offset points", "fontsize": "x-small"}
                ax.annotate(f"{share:g} in cluster 0", ends[1], **offset)


def label_corners(ax: Any, places: Any, counts: Any) -> None:
    """Write each cluster's number, and how many samples are nearest to it, outside its corner."""
    pattern = "cluster {}\n({})" if len(places) < 9 else "{} ({})"
    for cluster, ((x, y), count) in enumerate(zip(places, counts, strict=True)):
        text = pattern.format(cluster, count_noun(int(count), "sample"))
        offset = (12 * x, 12 * y) if len(places) > 1 else (0, 12)
        across = "center" if abs(x) < 0.3 else ("left" if x > 0 else "right")
        upright = "center" if abs(y) < 0.3 and len(places) > 1 else ("bottom" if y >= 0 else "top")
        style = {"textcoords": "offset points", "ha": across, "va": upright, "fontsize": "small"}
        ax.annotate(text, (x, y), xytext=offset, **style)
