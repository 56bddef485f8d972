"""The one list of our clusterers; the front door, the command line, model files, trust and tests read it.

Nothing is imported before a class is asked for.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Entry:
    """A clusterer: its name, the module it lives in, and facts that its class tells."""

    name: str
    module: str
    is_baseline: bool = False

    @cached_property
    def cls(self) -> Any:
        return getattr(import_module(self.module), self.name)

    @property
    def parameters(self) -> frozenset[str]:
        """Names of the constructor's parameters."""
        return frozenset(inspect.signature(self.cls).parameters)

    @property
    def takes_weights(self) -> bool:
        return "sample_weight" in inspect.signature(self.cls.fit).parameters

    @property
    def predicts(self) -> bool:
        """Whether it places new samples."""
        return hasattr(self.cls, "predict_proba")


CATALOGUE = (
    Entry("AFCM", "afcm.estimators.afcm"),
    Entry("PlainAFCM", "afcm.estimators.plain"),
    Entry("FCM", "afcm.estimators.fuzzy"),
    Entry("EntropyFCM", "afcm.estimators.fuzzy"),
    Entry("GeneralizedGaussianMixture", "afcm.estimators.mixture"),
    Entry("RSFKM", "afcm.baselines.rsfkm", is_baseline=True),
    Entry("CDKM", "afcm.baselines.cdkm", is_baseline=True),
    Entry("FKPS", "afcm.baselines.fkps", is_baseline=True),
    Entry("FCAG", "afcm.baselines.fcag", is_baseline=True),
    Entry("SpectralBaseline", "afcm.baselines.spectral", is_baseline=True),
)
BY_NAME = {entry.name: entry for entry in CATALOGUE}
