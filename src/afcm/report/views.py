"""Places the samples in the pictures of the report, and chooses those to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from afcm._typing import Floats
from afcm.metrics.ambiguity import is_ambiguous
from afcm.plots.layout import principal_components
from afcm.report.features import Ints
from afcm.report.words import format_number

# A page shows no more samples than this: it stays below 5 MB and quick to draw.
MAX_SHOWN = 10_000
# Of every cluster at least so many are shown, if it has them and there is room.
LEAST_OF_A_CLUSTER = 20
# Two features whose ranges differ by no more than this factor are drawn to the same scale.
MAX_STRETCH = 3


@dataclass(frozen=True, eq=False)
class View:
    """A picture of all samples: positions n×2 and what the axes mean."""

    name: str
    axes: tuple[str, str]
    positions: Floats
    equal: bool = True  # both axes have the same scale
    ranges: bool = False  # the numbers on the axes mean something to the reader
    jitter: bool = False  # the samples lie on top of each other, so spread them a little

    @property
    def caption(self) -> str:
        """Names of the axes, with their ranges if those mean something."""
        said = list(self.axes)
        if self.ranges:
            low, high = self.positions.min(axis=0), self.positions.max(axis=0)
            said = [
                f"{name}, from {format_number(start)} to {format_number(end)}" if end > start else name
                for name, start, end in zip(said, low, high, strict=True)
            ]
        return f"→ {said[0]}   ↑ {said[1]}"


def view_features(values: Any, names: tuple[str, ...], random_state: int) -> View:
    """Show principal components of the features; one or two features are shown as they are."""
    if len(names) == 2:
        positions = np.asarray(values, dtype=np.float64)
        spans = np.ptp(positions, axis=0)
        equal = bool(spans.max() <= MAX_STRETCH * spans.min())
        return View("Features", (names[0], names[1]), positions, equal=equal, ranges=True)
    if len(names) == 1:
        positions = np.column_stack([np.asarray(values, dtype=np.float64)[:, 0], np.zeros(len(values))])
        return View("Feature", (names[0], "jitter only"), positions, equal=False, ranges=True, jitter=True)
    positions, shares = principal_components(values, random_state)
    first, second = (
        f"component {j} ({share:.0%} of the variance)".replace("%", " %") for j, share in enumerate(shares, 1)
    )
    return View("Principal components", (first, second), positions)


def view_embedding(embedding: Any, random_state: int) -> View:
    """Show the model's embedding in the two directions in which it spreads most."""
    axes = ("embedding, first direction", "embedding, second direction")
    return View("Model's embedding", axes, principal_components(embedding, random_state)[0], jitter=True)


def choose_rows(labels: Ints, ambiguity: Floats, random_state: int, most: int = MAX_SHOWN) -> Ints:
    """Choose the rows to show, rising: all, or a random choice with the most ambiguous and some of every cluster."""
    n_samples = labels.size
    if n_samples <= most:
        return np.arange(n_samples)
    order = np.random.default_rng(random_state).permutation(n_samples)
    rank = rank_in_clusters(labels[order])
    firsts = order[np.argsort(rank, kind="stable")][: min(most // 2, np.sum(rank < LEAST_OF_A_CLUSTER))]
    doubtful = np.argsort(-ambiguity, kind="stable")[: most // 2]
    doubtful = doubtful[is_ambiguous(ambiguity[doubtful])]
    _, at = np.unique(np.concatenate([firsts, doubtful, order]), return_index=True)
    first_seen = np.argsort(at, kind="stable")[:most]  # of the concatenation, each row once
    return np.sort(first_seen)


def rank_in_clusters(labels: Ints) -> Ints:
    """Count for each sample how many of its cluster come before it."""
    by_cluster = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[by_cluster], labels[by_cluster])
    rank = np.empty_like(by_cluster)
    rank[by_cluster] = np.arange(labels.size) - starts
    return rank


def find_middles(positions: Floats, labels: Ints, n_clusters: int) -> list[list[float] | None]:
    """Find each cluster's sample nearest to its median, which lies on a ring too; None for an empty cluster."""
    found: list[list[float] | None] = [None] * n_clusters
    for j in np.unique(labels):
        members = positions[labels == j]
        away = np.sum((members - np.median(members, axis=0)) ** 2, axis=1)
        found[j] = members[np.argmin(away)].astype(float).tolist()
    return found
