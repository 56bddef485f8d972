"""A picture of how a fit went, sweep by sweep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from afcm._util.messages import count_noun
from afcm.plots.colors import PALETTE
from afcm.plots.common import Display, annotate_beside, load_pyplot, resolve_model, set_title

# γ counts as capped from this share of the cap on.
AT_CAP = 1 - 1e-6

# Label of each panel, and whether it may be logarithmic.
PANELS = {
    "objective": ("objective J", False),
    "gamma": ("precision γ", True),
    "membership_change": ("largest change\nof a membership", True),
}


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """J, γ and the change of the memberships over the sweeps, one below the other.

    Parameters
    ----------
    history : dict of arrays
        ``history_`` of a fitted model; what is missing or never finite is left out.
    converged : bool, default=True
    gamma_cap : float, optional
        The largest γ there can be.
    tol : float, optional
        The change of memberships at which the run may stop.

    Attributes
    ----------
    capped_at : int or None
        The first sweep with γ at its cap.
    axes_ : array of matplotlib axes
    ax_, figure_ : matplotlib axes and figure
        Of the last `plot`; ``ax_`` is the uppermost, or the one that was given to be divided.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from afcm import PlainAFCM
    >>> from afcm.plots import ConvergenceDisplay
    >>> model = PlainAFCM(3, random_state=0).fit(load_iris().data)
    >>> display = ConvergenceDisplay.from_estimator(model, ax=Figure().subplots())
    >>> len(display.axes_)
    3
    """

    history: dict[str, Any]
    converged: bool = True
    gamma_cap: float | None = None
    tol: float | None = None
    capped_at: int | None = field(init=False)

    def __post_init__(self) -> None:
        gammas = np.asarray(self.history.get("gamma", []), dtype=np.float64)
        capped = np.flatnonzero(gammas >= AT_CAP * (np.inf if self.gamma_cap is None else self.gamma_cap))
        self.capped_at = int(capped[0]) + 1 if capped.size else None

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, ax: Any = None) -> Self:  # noqa: ARG003
        """Draw the history of a fitted clusterer.

        Parameters
        ----------
        estimator : fitted clusterer, or a pipeline that ends in one
        X : ignored
        ax : matplotlib axes or several of them, optional
            One is divided into panels. Default: a new figure.

        Returns
        -------
        ConvergenceDisplay
        """
        model, _ = resolve_model(estimator, attribute="history_")
        cap, tol = getattr(model, "gamma_cap_", None), getattr(model, "tol", None)
        return cls(model.history_, getattr(model, "converged_", True), cap, tol)._plot_on(ax)

    def plot(self, ax: Any = None) -> Any:
        """Draw on ``ax`` (one to divide, or one for each panel) or in a new figure, and return the array of axes."""
        names = [name for name in PANELS if np.isfinite(self.history.get(name, np.nan)).any()]
        if not names:
            raise ValueError(f"history has nothing to draw; it needs at least one of {list(PANELS)} with finite values")
        self.axes_ = np.atleast_1d(stack_axes(ax, len(names)))
        self.ax_ = self.axes_[0] if ax is None or np.ndim(ax) else ax
        self.figure_ = self.ax_.figure
        for axes, name in zip(self.axes_, names, strict=True):
            draw_trace(axes, np.asarray(self.history[name], dtype=np.float64), *PANELS[name])
            if name == "gamma" and self.capped_at is not None:
                mark_cap(axes, self.capped_at, self.gamma_cap)
            if name == "membership_change" and self.tol:
                axes.axhline(self.tol, color="black", linestyle=":", linewidth=1)
                style = {"ha": "left", "va": "bottom", "fontsize": "small", "transform": axes.get_yaxis_transform()}
                axes.text(0.01, self.tol, f"tol = {self.tol:g}", **style)
        for axes in self.axes_[:-1]:
            axes.tick_params(labelbottom=False)
        self.axes_[-1].set_xlabel("sweep")
        self.axes_[-1].xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        state = "converged" if self.converged else "NOT converged"
        set_title(self.axes_[0], f"{state} after {count_noun(len(self.history[names[0]]), 'sweep')}")
        return self.axes_


def stack_axes(ax: Any, n_panels: int) -> Any:
    """Return axes one below the other: new ones, parts of the one given, or those given."""
    if ax is None:
        return load_pyplot().subplots(n_panels, figsize=(6.4, 1 + 1.7 * n_panels), layout="constrained", sharex=True)[1]
    if np.ndim(ax):
        if len(ax) != n_panels:
            raise ValueError(f"ax holds {len(ax)} axes, but there are {n_panels} panels; give {n_panels}, or one")
        return ax
    ax.set_axis_off()
    height = 1 / n_panels
    first = ax.inset_axes((0, 1 - 0.9 * height, 1, 0.9 * height))
    others = [ax.inset_axes((0, 1 - (i + 0.9) * height, 1, 0.9 * height), sharex=first) for i in range(1, n_panels)]
    return [first, *others]


def draw_trace(axes: Any, values: Any, label: str, logarithmic: bool) -> None:
    """Draw a line with a dot for each sweep; zeros, which a logarithmic scale lacks, are triangles on the bottom."""
    sweeps, positive = np.arange(1, len(values) + 1), values[values > 0]
    logarithmic = logarithmic and positive.size > 0 and positive.max() > 10 * positive.min()
    axes.plot(sweeps, np.where(values > 0, values, np.nan) if logarithmic else values, ".-", color=PALETTE[0])
    if logarithmic:
        axes.set_yscale("log")
        zeros = sweeps[values == 0]
        if zeros.size:  # an empty line would upset the layout
            bottom = {"transform": axes.get_xaxis_transform(), "clip_on": False}
            axes.plot(zeros, np.zeros(zeros.size), "v", color=PALETTE[0], **bottom)
    axes.set_xlim(0.5, len(values) + 0.5)
    axes.set_ylabel(label)
    axes.grid(color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)


def mark_cap(axes: Any, sweep: int, cap: float | None) -> None:
    """Draw a line at the cap, and one at the sweep in which γ meets it."""
    axes.axhline(cap, color="black", linestyle=":", linewidth=1)
    axes.axvline(sweep, color="black", linestyle=":", linewidth=1)
    right = bool(sweep <= np.mean(axes.get_xlim()))
    annotate_beside(axes, f"γ at its cap from sweep {sweep} on", (sweep, 0.5), right=right, fontsize="small")
