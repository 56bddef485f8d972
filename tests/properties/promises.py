"""Changes of the data that each estimator promises to follow (order, labels, place, rotation, unit), and exceptions.

A clusterer of the catalogue promises everything unless `SPECIAL` says why not. Starts are given where an estimator
takes them, so that a start can be changed too: drawn ones depend on the order of the samples by design.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from afcm.catalogue import BY_NAME, CATALOGUE

CHANGES = ("permute", "relabel", "translate", "rotate", "scale")

UNIT = "its parameter has the unit of squared distances"
DRAWN = "its anchors are drawn from the samples in their order"
COVARIANCE = "reg_covar has the unit of a variance"
K_MEANS = "k-means on the embedding draws its own starts"


@dataclass(frozen=True)
class Promise:
    """A clusterer of the catalogue with settings, how to start it from memberships, and changes it does not follow.

    ``but`` gives the reasons. ``sizes`` are the numbers of samples it is tried with, and ``repeats`` whether some come
    twice.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    start: Callable[[Any], Any] | None = lambda memberships: memberships
    but: dict[str, str] = field(default_factory=dict)
    tol: float = 1e-6
    sizes: tuple[int, int] = (15, 45)
    repeats: bool = True

    def make(self, n_clusters: int, **settings: Any) -> Any:
        return BY_NAME[self.name].cls(n_clusters, **(self.settings | settings))

    @property
    def predicts(self) -> bool:
        return BY_NAME[self.name].predicts

    def keeps(self, change: str) -> bool:
        return change not in self.but


def memberships_as_labels(memberships: Any) -> Any:
    """Start of estimators that begin with hard labels."""
    return memberships.argmax(axis=1)


def mixture(covariance_type: str, **more: Any) -> Promise:
    but = {"scale": COVARIANCE} | more.pop("but", {})
    return Promise("GeneralizedGaussianMixture", {"covariance_type": covariance_type}, but=but, **more)


# Name in the catalogue → name of each variant and its promise.
SPECIAL = {
    "AFCM": {
        "AFCM": Promise("AFCM", but={"rotate": "the boxes of its background have the axes of the columns"}),
        "AFCM(noise=None, memberships='paper')": Promise("AFCM", {"noise": None, "memberships": "paper"}),
    },
    "EntropyFCM": {
        "EntropyFCM": Promise("EntropyFCM", {"gamma": 1.0}, but={"scale": "gamma has a unit ('auto' follows it)"}),
        "EntropyFCM(gamma='auto')": Promise(  # repeated samples are put in an order of their bits before any is drawn
            "EntropyFCM", but={"permute": "the centres that its gamma comes from are drawn in order"}, repeats=False
        ),
    },
    "GeneralizedGaussianMixture": {
        "GeneralizedGaussianMixture(tied)": mixture("tied", tol=1e-4),
        # A scatter of its own for three samples is decided by rounding.
        "GeneralizedGaussianMixture(full)": mixture("full", sizes=(80, 160)),
        "GeneralizedGaussianMixture(diag)": mixture(
            "diag", but={"rotate": "the axes of its scatters are the columns"}, sizes=(80, 160)
        ),
    },
    "RSFKM": {"RSFKM": Promise("RSFKM", but={"scale": UNIT})},
    "CDKM": {
        "CDKM": Promise("CDKM", start=memberships_as_labels, but={"permute": "samples are visited in their order"})
    },
    "FKPS": {"FKPS": Promise("FKPS", but={"scale": UNIT})},
    "FCAG": {
        "FCAG": Promise(
            "FCAG", start=None, but={"permute": DRAWN, "relabel": DRAWN, "rotate": "anchors split along single columns"}
        )
    },
    "SpectralBaseline": {
        "SpectralBaseline": Promise(
            "SpectralBaseline",
            start=None,
            but={"permute": K_MEANS, "relabel": K_MEANS, "scale": "bandwidth has the unit of a distance"},
        )
    },
}
PROMISES = {
    variant: promise
    for entry in CATALOGUE
    for variant, promise in SPECIAL.get(entry.name, {entry.name: Promise(entry.name)}).items()
}
