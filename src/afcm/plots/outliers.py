"""A picture of the samples that look like background."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from afcm._util.messages import count_noun, format_about
from afcm.models.background import CLEAR
from afcm.plots.common import MANY_POINTS, Display, annotate_beside, load_pyplot, resolve_model, set_title
from afcm.plots.layout import marker_size

BINS = 20
# Bars that differ by more than this factor are drawn to a logarithmic scale.
MAX_CONTRAST = 50


@dataclass(eq=False, repr=False)
class OutliersDisplay(Display):
    """How many samples have which outlier score, and for samples of two columns where these lie.

    Outliers, with a score of at least 0.5, are hatched bars and crosses.

    Parameters
    ----------
    scores : array (n_samples,)
        Probabilities to be background, ``outlier_scores_`` of a fitted model.
    share : float, optional
        Estimated share of background, ``noise_share_``, for the title.
    positions : array (n_samples, 2), optional
        Any will do. Default: none, and no second picture.
    axis_names : pair of str, optional

    Attributes
    ----------
    outliers : array of bool (n_samples,)
        At least `afcm.models.background.CLEAR`.
    axes_ : array of matplotlib axes
        Bars, and samples if they have positions.
    ax_, figure_ : matplotlib axes and figure
        Of the last `plot`; ``ax_`` is the leftmost, or the one that was given to be divided.
    colorbar_ : matplotlib color bar
        Of the second picture.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from afcm.plots import OutliersDisplay
    >>> display = OutliersDisplay([0.0, 0.1, 0.9], share=0.3)
    >>> display.outliers.tolist()
    [False, False, True]
    >>> len(display.plot(Figure().subplots()))
    1
    """

    scores: Any
    share: float | None = None
    positions: Any = None
    axis_names: tuple[str, str] = ("", "")
    outliers: Any = field(init=False)

    def __post_init__(self) -> None:
        self.scores = np.asarray(self.scores, dtype=np.float64)
        self.positions = None if self.positions is None else np.asarray(self.positions)
        self.outliers = self.scores >= CLEAR

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, ax: Any = None) -> Self:
        """Draw the outlier scores of a fitted AFCM.

        Parameters
        ----------
        estimator : fitted AFCM, or a pipeline that ends in one
        X : array (n_samples, 2) or with more columns, optional
            Samples to show, those with two columns also in the plane. Default: the scores of the samples of the fit.
        ax : matplotlib axes or several of them, optional
            One is divided if there are two pictures. Default: a new figure.

        Returns
        -------
        OutliersDisplay

        Raises
        ------
        ValueError
            If the model has no outlier scores: ``noise=None``, similarities, or another method than AFCM.
        """
        model, seen = resolve_model(estimator, X)
        if not hasattr(model, "outlier_scores_"):
            name = type(model).__name__
            raise ValueError(
                f"{name} has no outlier_scores_; give an AFCM that was fitted with noise='auto' on samples"
            )
        scores = model.outlier_scores_ if X is None else model.outlier_scores(seen)
        if X is None or np.shape(X)[1] != 2:
            return cls(scores, model.noise_share_)._plot_on(ax)
        names = [str(name) for name in getattr(X, "columns", ("x0", "x1"))]
        return cls(scores, model.noise_share_, X, (names[0], names[1]))._plot_on(ax)

    def plot(self, ax: Any = None) -> Any:
        """Draw on ``ax`` (one to divide, or one for each picture) or in a new figure, and return the array of axes."""
        self.axes_ = place_side_by_side(ax, 1 if self.positions is None else 2)
        self.ax_ = self.axes_[0] if ax is None or np.ndim(ax) else ax
        self.figure_ = self.ax_.figure
        draw_bars(self.axes_[0], self.scores)
        if self.positions is not None:
            self.colorbar_ = self._scatter(self.axes_[1])
        count = f"{int(self.outliers.sum()):,} of {count_noun(len(self.scores), 'sample')}"
        said = f"{format_about(self.share)} background" if self.share else "no background found"
        set_title(self.axes_[0], f"{count} outliers (from {CLEAR:g} on)", "" if self.share is None else said)
        return self.axes_

    def _scatter(self, axes: Any) -> Any:
        size, raster = marker_size(len(self.scores)), len(self.scores) > MANY_POINTS
        shared = {"cmap": "cividis", "vmin": 0, "vmax": 1, "rasterized": raster}
        cross = {"marker": "X", "s": 2 * size, "edgecolors": "black", "linewidths": min(0.6, size / 15)}
        for chosen, style in ((~self.outliers, {"s": size, "linewidths": 0}), (self.outliers, cross)):
            dots = axes.scatter(*self.positions[chosen].T, c=self.scores[chosen], **shared, **style)
        axes.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        set_title(axes, "crosses: outliers")
        return axes.figure.colorbar(dots, ax=axes, label="outlier score (probability of background)")


def place_side_by_side(ax: Any, n_panels: int) -> Any:
    """Return axes from left to right: new ones, parts of the one given, or those given."""
    if ax is None:
        width = 5.6 if n_panels == 1 else 10.5
        made = load_pyplot().subplots(1, n_panels, figsize=(width, 4.2), layout="constrained", squeeze=False)[1]
        return made[0]
    if np.ndim(ax):
        if len(ax) != n_panels:
            raise ValueError(f"ax holds {len(ax)} axes, but there are {n_panels} pictures; give {n_panels}, or one")
        return np.asarray(ax)
    if n_panels == 1:
        return np.array([ax])
    ax.set_axis_off()
    return np.array([ax.inset_axes((0, 0, 0.42, 1)), ax.inset_axes((0.55, 0, 0.45, 1))])


def draw_bars(axes: Any, scores: Any) -> None:
    """Count the scores in bins; those of outliers are hatched."""
    counts, edges = np.histogram(scores, bins=BINS, range=(0, 1))
    middles = (edges[:-1] + edges[1:]) / 2
    colors = load_pyplot().get_cmap("cividis")(middles)
    bars = axes.bar(middles, counts, width=1 / BINS, color=colors, edgecolor="white", linewidth=0.8)
    for bar, middle in zip(bars, middles, strict=True):
        if middle >= CLEAR:
            bar.set(hatch="xx")
    some = counts[counts > 0]
    if some.size and some.max() > MAX_CONTRAST * some.min():
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.7)
    axes.axvline(CLEAR, color="black", linestyle=":", linewidth=1)
    annotate_beside(axes, "outliers →", (CLEAR, 0.95), right=True, fontsize="small")
    axes.set(xlim=(0, 1), xlabel="outlier score (probability of background)", ylabel="samples")
