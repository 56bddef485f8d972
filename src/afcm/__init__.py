"""Fuzzy clustering that tunes itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from afcm._util.lazy import load_name
from afcm._util.version import __version__
from afcm.catalogue import CATALOGUE

if TYPE_CHECKING:
    from afcm.estimators.afcm import AFCM
    from afcm.estimators.alignment import align
    from afcm.estimators.fuzzy import FCM, EntropyFCM
    from afcm.estimators.mixture import GeneralizedGaussianMixture
    from afcm.estimators.plain import PlainAFCM
    from afcm.modelfiles import load_model, read_info, save_model
    from afcm.selection import select_n_clusters

__all__ = [
    "AFCM",
    "FCM",
    "EntropyFCM",
    "GeneralizedGaussianMixture",
    "PlainAFCM",
    "__version__",
    "align",
    "load_model",
    "read_info",
    "save_model",
    "select_n_clusters",
]

# Public name → where it lives; loaded on first use, so that `import afcm` costs next to nothing.
_HOMES = {entry.name: entry.module for entry in CATALOGUE if not entry.is_baseline} | {
    "align": "afcm.estimators.alignment",
    "load_model": "afcm.modelfiles",
    "read_info": "afcm.modelfiles",
    "save_model": "afcm.modelfiles",
    "select_n_clusters": "afcm.selection",
}


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted(__all__)
