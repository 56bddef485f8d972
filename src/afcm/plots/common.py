"""Shared by all displays: axes to draw on, the model inside a pipeline, and the memberships to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from afcm._util.optional import require
from afcm._util.pipelines import last_step, transform_before_last_step
from afcm.equations.sparse_memberships import to_dense_rows
from afcm.estimators.base import SoftClusterer, membership_state
from afcm.models.fitted_graph import METHOD_WORDS

# From here on points are stored as an image in PDF and SVG files, which would be too large otherwise.
MANY_POINTS = 5000


class Display:
    """A picture that remembers the axes and the figure it was last drawn on."""

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Any:
        """Draw on ``ax`` or in a new figure, and return the axes."""
        raise NotImplementedError

    def _plot_on(self, ax: Any) -> Self:
        self.plot(ax)
        return self

    def _use_axes(self, ax: Any, size: tuple[float, float]) -> Any:
        """Remember the given axes, or those of a new pyplot figure (inches), which notebooks show by themselves."""
        self.ax_ = load_pyplot().subplots(figsize=size, layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


@dataclass(eq=False, repr=False)
class MembershipsBase(Display):
    """A display that needs nothing but memberships and a note for its title."""

    memberships: Any
    note: str = ""

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, ax: Any = None) -> Self:
        """Draw the memberships of a fitted clusterer.

        Parameters
        ----------
        estimator : fitted clusterer, or a pipeline that ends in one
        X : array (n_samples, n_features), optional
            Samples to show. Default: those of the fit.
        ax : matplotlib axes, optional
            Default: a new figure.

        Returns
        -------
        the display
        """
        return cls(*take_memberships(*resolve_model(estimator, X)))._plot_on(ax)


def load_pyplot() -> Any:
    """Import `matplotlib.pyplot`, or fail with an error that says what to install."""
    return require("matplotlib.pyplot", "plot", "plotting needs")


def resolve_model(estimator: Any, X: Any = None, attribute: str = "memberships_") -> tuple[Any, Any]:
    """Take the fitted clusterer out of its pipeline, and prepare X as the pipeline does for it.

    Without the fitted ``attribute`` there is nothing to draw.
    """
    model = last_step(estimator)
    check_is_fitted(model, attribute if isinstance(model, SoftClusterer) else None)
    name = type(model).__name__
    if not hasattr(model, attribute):
        raise ValueError(f"estimator={name} has no {attribute}; give a fitted clusterer of this package, such as AFCM")
    if X is not None and not hasattr(model, "predict_proba"):
        raise ValueError(f"X was given, but {name} has no predict_proba for new samples; leave X out")
    return model, transform_before_last_step(estimator, X)


def take_memberships(model: Any, X: Any) -> tuple[Any, str]:
    """Return the memberships of the fitted samples or of X, and a note for the title that says what they are."""
    memberships = model.memberships_ if X is None else model.predict_proba(X)
    memberships = np.asarray(to_dense_rows(memberships, slice(None)))
    if not hasattr(model, "membership_method_"):
        return memberships, ""
    hard = ", all 0 or 1" if membership_state(memberships) == "hard" else ""
    return memberships, f"memberships: {METHOD_WORDS[model.membership_method_]}{hard}"


def annotate_beside(axes: Any, text: str, place: tuple[float, float], *, right: bool, **style: Any) -> None:
    """Write text to the right or left of a vertical line; ``place``: the line's x, and a share of the axes' height."""
    side, shift = ("left", 4) if right else ("right", -4)
    offset = {"xycoords": ("data", "axes fraction"), "xytext": (shift, 0), "textcoords": "offset points"}
    axes.annotate(text, place, ha=side, **offset, **style)


def set_title(ax: Any, text: str, note: str = "") -> None:
    ax.set_title(f"{text}\n{note}" if note else text, fontsize="medium")
