"""Where the samples lie in the picture, and which of them are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from afcm._typing import Floats
from afcm.metrics.ambiguity import is_ambiguous
from afcm.plots.layout import principal_components
from afcm.report.features import Ints
from afcm.report.words import number

# A page shows no more samples than this: it stays below 5 MB and quick to draw.
MAX_SHOWN = 10_000
# Of every cluster at least so many are shown, if it has them and there is room.
LEAST_OF_A_CLUSTER = 20

# Two features whose ranges differ by no more than this factor are drawn to the same scale.
MAX_STRETCH = 3


@dataclass(frozen=True, eq=False)
class View:
    """A picture of all samples: positions n×2 and what the axes mean.

    ``equal``: both axes have the same scale. ``ranges``: their numbers mean something to the reader. ``jitter``: the
    samples lie on top of each other, so spread them a little.
    """

    name: str
    axes: tuple[str, str]
    positions: Floats
    equal: bool = True
    ranges: bool = False
    jitter: bool = False

    @property
    def caption(self) -> str:
        """What the axes are, and from where to where where that means something."""
        said = list(self.axes)
        if self.ranges:
            low, high = self.positions.min(axis=0), self.positions.max(axis=0)
            said = [
                f"{name}, from {number(start)} to {number(end)}" if end > start else name
                for name, start, end in zip(said, low, high, strict=True)
            ]
        return f"→ {said[0]}   ↑ {said[1]}"


def principal_view(values: Any, names: tuple[str, ...], random_state: int) -> View:
    """Principal components of the features; two features are shown as they are."""
    if len(names) == 2:
        positions = np.asarray(values, dtype=np.float64)
        return View("Features", (names[0], names[1]), positions, equal=_alike(np.ptp(positions, axis=0)), ranges=True)
    if len(names) == 1:
        positions = np.column_stack([np.asarray(values, dtype=np.float64)[:, 0], np.zeros(len(values))])
        return View("Feature", (names[0], "jitter only"), positions, equal=False, ranges=True, jitter=True)
    positions, shares = principal_components(values, random_state)
    first, second = (
        f"component {j} ({share:.0%} of the variance)".replace("%", " %") for j, share in enumerate(shares, 1)
    )
    return View("Principal components", (first, second), positions)


def _alike(spans: Floats) -> bool:
    return bool(spans.max() <= MAX_STRETCH * spans.min())


def embedding_view(embedding: Any, random_state: int) -> View:
    """The model's embedding, in the two directions in which it spreads most."""
    axes = ("embedding, first direction", "embedding, second direction")
    return View("Model's embedding", axes, principal_components(embedding, random_state)[0], jitter=True)


def shown_rows(labels: Ints, ambiguity: Floats, random_state: int, most: int = MAX_SHOWN) -> Ints:
    """The rows to show, rising: all, or a random choice with the most ambiguous and some of every cluster."""
    n_samples = labels.size
    if n_samples <= most:
        return np.arange(n_samples)
    order = np.random.default_rng(random_state).permutation(n_samples)
    rank = _rank_in_cluster(labels[order])
    firsts = order[np.argsort(rank, kind="stable")][: min(most // 2, np.sum(rank < LEAST_OF_A_CLUSTER))]
    doubtful = np.argsort(-ambiguity, kind="stable")[: most // 2]
    doubtful = doubtful[is_ambiguous(ambiguity[doubtful])]
    _, at = np.unique(np.concatenate([firsts, doubtful, order]), return_index=True)
    first_seen = np.argsort(at, kind="stable")[:most]  # of the concatenation, each row once
    return np.sort(first_seen)


def _rank_in_cluster(labels: Ints) -> NDArray[np.intp]:
    """For each sample how many of its cluster come before it."""
    by_cluster = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[by_cluster], labels[by_cluster])
    rank = np.empty_like(by_cluster)
    rank[by_cluster] = np.arange(labels.size) - starts
    return rank


def middles(positions: Floats, labels: Ints, n_clusters: int) -> list[list[float] | None]:
    """Of each cluster its sample nearest to the median, so that it lies in a ring too; none of an empty one."""
    found: list[list[float] | None] = []
    for j in range(n_clusters):
        members = positions[labels == j]
        if not len(members):
            found.append(None)
            continue
        away = np.sum((members - np.median(members, axis=0)) ** 2, axis=1)
        found.append([float(value) for value in members[np.argmin(away)]])
    return found
