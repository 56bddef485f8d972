"""What the displays share: axes to draw on, the model in a pipeline, the memberships to show."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from afcm._util.optional import needed
from afcm._util.pipelines import last_step, seen_by_last_step
from afcm.estimators.base import SoftClusterer, membership_state
from afcm.metrics.ambiguity import honest_memberships

# From here on points are stored as an image in PDF and SVG files, which would be too large otherwise.
MANY_POINTS = 5000


class Display:
    """Axes and figure of what was drawn last."""

    ax_: Any
    figure_: Any

    def _on(self, ax: Any, size: tuple[float, float]) -> Any:
        """The axes to draw on: those given, or those of a new figure (inches)."""
        self.ax_ = new_axes(size) if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


class OfMemberships(Display):
    """A display that is made of memberships and a note alone."""

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, ax: Any = None, calibrated: bool = False) -> Self:
        """Draw the memberships of a fitted clusterer.

        Parameters
        ----------
        estimator : fitted clusterer, or a pipeline that ends in one
        X : array (n_samples, n_features), optional
            Samples to show. Default: those of the fit.
        ax : matplotlib axes, optional
            Default: a new figure.
        calibrated : bool, default=False
            Show the memberships that tell doubt best (`afcm.metrics.ambiguity.honest_memberships`) instead of the model's.

        Returns
        -------
        the display
        """
        display = cls(*shown_memberships(*fitted_model(estimator, X), calibrated))
        display.plot(ax)
        return display

    def __init__(self, memberships: Any, note: str = "") -> None:  # a data class makes its own
        raise NotImplementedError

    def plot(self, ax: Any = None) -> Any:
        """Draw, on ``ax`` or in a new figure; returns the axes."""
        raise NotImplementedError


def new_axes(size: tuple[float, float]) -> Any:
    """Axes of a pyplot figure, which notebooks show by themselves."""
    return pyplot().subplots(figsize=size, layout="constrained")[1]


def pyplot() -> Any:
    """`matplotlib.pyplot`, or an error that says what to install."""
    return needed("matplotlib.pyplot", "plot", "plotting needs")


def fitted_model(estimator: Any, X: Any = None, needed: str = "memberships_") -> tuple[Any, Any]:
    """The clusterer, taken out of its pipeline, and X as it sees it.

    Parameters
    ----------
    estimator : fitted clusterer, or a pipeline that ends in one
    X : samples as ``estimator`` takes them, or None
    needed : str
        The attribute without which there is nothing to draw.
    """
    model = last_step(estimator)
    check_is_fitted(model, needed if isinstance(model, SoftClusterer) else None)
    name = type(model).__name__
    if not hasattr(model, needed):
        raise ValueError(f"estimator={name} has no {needed}; give a fitted clusterer of this package, such as AFCM")
    if X is not None and not hasattr(model, "predict_proba"):
        raise ValueError(f"X was given, but {name} has no predict_proba for new samples; leave X out")
    return model, seen_by_last_step(estimator, X)


class Shown(NamedTuple):
    """Memberships to show, and what to say about them."""

    memberships: Any
    note: str


def shown_memberships(model: Any, X: Any, calibrated: bool) -> Shown:
    """Those of the model, or those that tell doubt."""
    if calibrated:
        note = "calibrated memberships" if hasattr(model, "calibrated_memberships") else ""
        return Shown(np.asarray(honest_memberships(model, X)), note)
    memberships = np.asarray(model.memberships_ if X is None else model.predict_proba(X))
    hides_doubt = hasattr(model, "calibrated_memberships") and membership_state(memberships) == "hard"
    return Shown(memberships, "memberships are 0 or 1; calibrated=True shows doubt" if hides_doubt else "")


def title(ax: Any, text: str, note: str = "") -> None:
    """A title, with a note under it."""
    ax.set_title(f"{text}\n{note}" if note else text, fontsize="medium")
