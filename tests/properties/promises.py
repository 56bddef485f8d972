"""What each estimator promises to keep when the data are turned, moved, scaled or reordered, and why not if not.

Starts are given where an estimator takes them, so that a start can be turned, moved and reordered too: drawn ones
depend on the order of the samples by design.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from afcm import AFCM, FCM, EntropyFCM, GeneralizedGaussianMixture, PlainAFCM
from afcm.baselines import CDKM, FCAG, FKPS, RSFKM, SpectralBaseline

CHANGES = ("permute", "relabel", "translate", "rotate", "scale")

UNIT = "its parameter has the unit of squared distances"
DRAWN = "its anchors are drawn from the samples in their order"
COVARIANCE = "reg_covar has the unit of a variance"
K_MEANS = "k-means on the embedding draws its own starts"


@dataclass(frozen=True)
class Promise:
    """How to make the estimator, how to start it from memberships, and which changes it does not keep (and why).

    ``sizes`` are the numbers of samples it is tried with, and ``repeats`` whether some come twice.
    """

    make: Callable[..., Any]
    start: Callable[[Any], Any] | None = lambda memberships: memberships
    but: dict[str, str] = field(default_factory=dict)
    predicts: bool = True
    tol: float = 1e-6
    sizes: tuple[int, int] = (15, 45)
    repeats: bool = True

    def keeps(self, change: str) -> bool:
        """Whether the change changes nothing else."""
        return change not in self.but


def memberships_as_labels(memberships: Any) -> Any:
    """For estimators that start from hard labels."""
    return memberships.argmax(axis=1)


PROMISES = {
    "AFCM": Promise(AFCM),
    "PlainAFCM": Promise(PlainAFCM),
    "FCM": Promise(FCM),
    "EntropyFCM": Promise(partial(EntropyFCM, gamma=1.0), but={"scale": "gamma has a unit ('auto' follows it)"}),
    "EntropyFCM(gamma='auto')": Promise(  # repeated samples are put in an order of their bits before any is drawn
        EntropyFCM, but={"permute": "the centres that its gamma comes from are drawn in order"}, repeats=False
    ),
    "GeneralizedGaussianMixture(tied)": Promise(
        partial(GeneralizedGaussianMixture, covariance_type="tied"), but={"scale": COVARIANCE}, tol=1e-4
    ),
    "GeneralizedGaussianMixture(full)": Promise(  # a scatter of its own for three samples is decided by rounding
        partial(GeneralizedGaussianMixture, covariance_type="full"), but={"scale": COVARIANCE}, sizes=(80, 160)
    ),
    "GeneralizedGaussianMixture(diag)": Promise(
        partial(GeneralizedGaussianMixture, covariance_type="diag"),
        but={"scale": COVARIANCE, "rotate": "the axes of its scatters are the columns"},
        sizes=(80, 160),
    ),
    "RSFKM": Promise(RSFKM, but={"scale": UNIT}),
    "CDKM": Promise(CDKM, start=memberships_as_labels, but={"permute": "samples are visited in their order"}),
    "FKPS": Promise(FKPS, but={"scale": UNIT}),
    "FCAG": Promise(
        FCAG, start=None, but={"permute": DRAWN, "relabel": DRAWN, "rotate": "anchors split along single columns"}
    ),
    "SpectralBaseline": Promise(
        SpectralBaseline,
        start=None,
        but={"permute": K_MEANS, "relabel": K_MEANS, "scale": "bandwidth has the unit of a distance"},
        predicts=False,
    ),
}
