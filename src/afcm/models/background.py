"""Background before there are clusters: which samples are clear background, so that nothing is learned from them.

`afcm.models.local_mixture` tells clusters and background apart once clusters are known. Counting clusters and learning
anchors come first; there a few cells of k-means, each with several Gaussians, stand for the clusters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from afcm._typing import Floats
from afcm.arrays import is_chunked, map_rows, take_rows, to_host
from afcm.arrays.sampling import draw_rows
from afcm.graph.density import neighbor_log_distances
from afcm.graph.duplicates import merge_duplicates
from afcm.models.cluster_gaussians import split
from afcm.models.cluster_mixture import Share
from afcm.models.local_mixture import LocalMixture, fit_local_mixture

# Samples with at least this probability to be background are clear background.
CLEAR = 0.5
# The background is learned from at most so many samples; their density is told by the distance to so many neighbors.
LEARNED_FROM, NEIGHBORS = 4000, 10
# With one cell the Gaussians are too few for rings; with eight some cells hold nothing but background.
CELLS = 4


def find_clear_background(points: Any, masses: Any = None, share: Share = "auto") -> Any:
    """Which samples are clear background (a mask, in chunks where X is), or None if there is no background."""
    if sparse.issparse(points):
        return None
    sample, own = draw_distinct(points, masses, LEARNED_FROM)
    if sample.shape[0] < 3:
        return None
    logs = neighbor_log_distances(sample, min(NEIGHBORS, sample.shape[0] - 1))
    labels = make_cells(sample, np.ones(sample.shape[0]) if own is None else own)
    mixture = fit_local_mixture(sample, labels, CELLS, logs, own, share=share)
    if mixture.share == 0 or not isinstance(mixture, LocalMixture):
        return None
    if is_chunked(points):
        return map_rows(_Judge(mixture), points)
    return _Judge(mixture)(to_host(points))


def draw_distinct(points: Any, masses: Any, most: int) -> tuple[Floats, Floats | None]:
    """At most so many samples, on the host, and their masses (None: all 1).

    Identical ones are one sample with their total mass, so that a copy is no neighbor; those of mass 0 are left out.
    """
    n = points.shape[0]
    if n > most:
        there = np.arange(n) if masses is None or is_chunked(masses) else np.flatnonzero(to_host(masses) > 0)
        rows = there[draw_rows(len(there), min(most, len(there)), np.random.RandomState(0))]
        points, masses = take_rows(points, rows), None if masses is None else take_rows(masses, rows)
    sample = to_host(points)
    distinct = merge_duplicates(sample, None if masses is None else np.asarray(to_host(masses), dtype=np.float64))
    return sample[distinct.rows], distinct.masses


def make_cells(points: Any, masses: Any) -> Any:
    """A cell for each sample, by k-means with a seed of its own."""
    spread = float(np.ptp(points, axis=0).max())
    scaled = (points - points.mean(axis=0)) / (spread if spread > 0 else 1.0)
    return split(scaled.astype(np.float64), masses, CELLS, np.random.RandomState(0))


class _Judge:
    """A function that can travel to Dask's workers."""

    def __init__(self, mixture: LocalMixture) -> None:
        self.mixture = mixture

    def __call__(self, points: Any) -> Any:
        return self.mixture.outlier_scores(points) >= CLEAR
