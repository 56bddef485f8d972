"""Background before there are clusters: which samples are clear background, so that nothing is learned from them.

`afcm.models.local_mixture` tells clusters and background apart once clusters are known. Counting clusters and learning
anchors come first; there a few cells of k-means, each with several Gaussians, stand for the clusters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from afcm.arrays import is_chunked, map_rows, take_rows, to_host
from afcm.arrays.sampling import draw_rows
from afcm.graph.density import log_distances
from afcm.models.cluster_gaussians import split
from afcm.models.cluster_mixture import Share
from afcm.models.local_mixture import LocalMixture, fit_local_mixture
from afcm.neighbors import find_neighbors

# Samples with at least this probability to be background are clear background.
CLEAR = 0.5
# The background is learned from at most so many samples; their density is told by the distance to so many neighbors.
LEARNED_FROM, NEIGHBORS = 4000, 10
# With one cell the Gaussians are too few for rings; with eight some cells hold nothing but background.
CELLS = 4


def find_clear_background(points: Any, masses: Any = None, share: Share = "auto") -> Any:
    """Which samples are clear background (a mask, in chunks where X is), or None if there is no background."""
    n = points.shape[0]
    rows = np.arange(n) if n <= LEARNED_FROM else draw_rows(n, LEARNED_FROM, np.random.RandomState(0))
    sample = to_host(points if n <= LEARNED_FROM else take_rows(points, rows))
    if sample.shape[0] < 3 or not isinstance(sample, np.ndarray):
        return None
    logs = log_distances(find_neighbors(sample, min(NEIGHBORS, sample.shape[0] - 1)).squared[:, -1])
    own = None if masses is None else np.asarray(to_host(take_rows(masses, rows)), dtype=np.float64)
    labels = make_cells(sample, np.ones(sample.shape[0]) if own is None else own)
    mixture = fit_local_mixture(sample, labels, CELLS, logs, own, share=share)
    if mixture.share == 0 or not isinstance(mixture, LocalMixture):
        return None
    if is_chunked(points):
        return map_rows(_Judge(mixture), points)
    return _Judge(mixture)(to_host(points))


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
