"""A picture of the samples that a clustering is unsure of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from afcm._util.messages import count_noun
from afcm.metrics.ambiguity import AMBIGUOUS, ambiguity, is_ambiguous
from afcm.plots.common import MANY_POINTS, Display, resolve_model, set_title, take_memberships
from afcm.plots.layout import jitter_points, marker_size, number_clusters, place_samples


@dataclass(eq=False, repr=False)
class AmbiguityDisplay(Display):
    """Samples in the plane, colored by doubt; the ambiguous ones are larger and ringed.

    Parameters
    ----------
    positions : array (n_samples, 2)
        Any will do, those of UMAP for example.
    memberships : array (n_samples, n_clusters)
    axis_names : pair of str, optional
    jitter : float, default=0.0
        Points are moved by about this share of the spread when they are drawn. ``positions`` stay as they are.
    note : str, optional
        A second line for the title.

    Attributes
    ----------
    ambiguity : array (n_samples,)
        0 for a certain sample, 1 for a tie of its two best clusters (`afcm.metrics.ambiguity.ambiguity`).
    ambiguous : array of bool (n_samples,)
        At least `afcm.metrics.ambiguity.AMBIGUOUS`.
    ax_, figure_ : matplotlib axes and figure
        Of the last `plot`.
    colorbar_ : matplotlib color bar

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from afcm import AFCM
    >>> from afcm.plots import AmbiguityDisplay
    >>> model = AFCM(3, random_state=0).fit(load_iris().data)
    >>> display = AmbiguityDisplay.from_estimator(model, ax=Figure().subplots())
    >>> display.ambiguity.shape
    (150,)
    """

    positions: Any
    memberships: Any
    axis_names: tuple[str, str] = ("", "")
    jitter: float = 0.0
    note: str = ""
    ambiguity: Any = field(init=False)
    ambiguous: Any = field(init=False)

    def __post_init__(self) -> None:
        self.positions, self.memberships = np.asarray(self.positions), np.asarray(self.memberships)
        self.ambiguity = ambiguity(self.memberships)
        self.ambiguous = is_ambiguous(self.ambiguity)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, ax: Any = None, jitter: float | None = None) -> Self:
        """Draw the doubt of a fitted clusterer about its samples.

        Parameters
        ----------
        estimator : fitted clusterer, or a pipeline that ends in one
        X : array (n_samples, n_features), optional
            Samples to show. Default: those of the fit; a model without an embedding needs them.
        ax : matplotlib axes, optional
            Default: a new figure.
        jitter : float, optional
            Default: 0.02 in an embedding, whose clusters are often single points, else 0.

        Returns
        -------
        AmbiguityDisplay
        """
        model, X = resolve_model(estimator, X)
        memberships, note = take_memberships(model, X)
        points, names, jitter = place_samples(model, X, jitter)
        return cls(points, memberships, names, jitter, note)._plot_on(ax)

    def plot(self, ax: Any = None) -> Any:
        ax = self._use_axes(ax, (6.8, 5))
        points = jitter_points(self.positions, self.jitter)
        size, raster = marker_size(len(points)), len(points) > MANY_POINTS
        shared = {"cmap": "cividis", "vmin": 0, "vmax": 1, "rasterized": raster}
        for chosen, style in (
            (~self.ambiguous, {"s": size, "linewidths": 0}),
            (self.ambiguous, {"s": 2 * size, "edgecolors": "black", "linewidths": min(0.8, size / 15)}),
        ):
            dots = ax.scatter(*points[chosen].T, c=self.ambiguity[chosen], **shared, **style)
        number_clusters(ax, points, self.memberships.argmax(axis=1))
        self.colorbar_ = ax.figure.colorbar(dots, ax=ax, label="ambiguity (0: certain, 1: tie of two clusters)")
        self.colorbar_.ax.axhline(AMBIGUOUS, color="white", linewidth=1)
        ax.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        count = f"{int(self.ambiguous.sum()):,} of {count_noun(len(points), 'sample')}"
        ringed = f"ringed: from {AMBIGUOUS:g} on{'; jittered' if self.jitter else ''}"
        set_title(ax, f"{count} ambiguous ({ringed})", self.note)
        return ax
