"""Pictures of soft clusterings: one display a question, in scikit-learn's manner.

``SomeDisplay.from_estimator(model, X)`` computes what is shown, draws it and returns the display: its data are
attributes, the axes are ``ax_`` and the figure ``figure_``. ``display.plot(ax=...)`` draws again and returns the axes.

Needs matplotlib (``pip install 'afcm[plot]'``), which is loaded when something is drawn, not before.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from afcm.plots.ambiguity import AmbiguityDisplay
    from afcm.plots.bands import BandsDisplay
    from afcm.plots.convergence import ConvergenceDisplay
    from afcm.plots.eigengap import EigengapDisplay
    from afcm.plots.embedding import EmbeddingDisplay
    from afcm.plots.levels import LevelsDisplay
    from afcm.plots.membership import MembershipDisplay
    from afcm.plots.outliers import OutliersDisplay
    from afcm.plots.profiles import ProfilesDisplay
    from afcm.plots.selection import SelectionDisplay

__all__ = [
    "AmbiguityDisplay",
    "BandsDisplay",
    "ConvergenceDisplay",
    "EigengapDisplay",
    "EmbeddingDisplay",
    "LevelsDisplay",
    "MembershipDisplay",
    "OutliersDisplay",
    "ProfilesDisplay",
    "SelectionDisplay",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"{__name__}.{name.removesuffix('Display').lower()}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
