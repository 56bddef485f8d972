"""Background beside clusters that were learned without a graph, for new samples too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from array_api_compat import array_namespace

from afcm.arrays import from_host, map_rows, to_host
from afcm.graph.density import neighbor_log_distances
from afcm.models.background import NEIGHBORS, draw_distinct
from afcm.models.cluster_mixture import Share
from afcm.models.distance_background import DistanceBackground
from afcm.models.local_mixture import LocalMixture, fit_local_mixture, sample_limit

# Densities are learned from at least so many samples for each cluster, if there are as many.
SAMPLES_PER_CLUSTER = 400

# From samples to their clusters. For Dask's chunks it can travel to workers.
Assign = Callable[[Any], Any]


@dataclass(frozen=True)
class FittedBackground:
    """Densities of clusters and background; where distances tell them, also the samples to whom they are measured."""

    densities: LocalMixture | DistanceBackground
    points: Any = None  # on the host; None where Gaussians tell all
    k: int = NEIGHBORS

    def outlier_scores(self, X: Any, assign: Assign) -> Any:
        """Probabilities to be background, for samples on any device or in chunks."""
        return map_rows(partial(_score, background=self, assign=assign), X)

    def log_distances(self, points: Any) -> Any:
        """Logarithm of the distance to the k-th nearest sample of those that the densities were learned from."""
        return neighbor_log_distances(self.points, self.k, to_host(points))


def learn_background(X: Any, weights: Any, n_clusters: int, assign: Assign, share: Share) -> FittedBackground:
    """Learn the densities from some thousand samples; ``share`` as in `fit_local_mixture`."""
    most = max(sample_limit(n_clusters, X.shape[1]), SAMPLES_PER_CLUSTER * n_clusters)
    points, masses = draw_distinct(X, weights, most)
    if len(points) < 2:
        raise ValueError(
            f"noise={share!r}: fewer than two of the {most} samples that background is learned from have a positive "
            "weight; leave samples of weight 0 out of X, or use noise=None"
        )
    k = min(NEIGHBORS, len(points) - 1)
    logs = neighbor_log_distances(points, k)
    densities = fit_local_mixture(points, to_host(assign(points)), n_clusters, logs, masses, share=share)
    return FittedBackground(densities, None if isinstance(densities, LocalMixture) else points, k)


def score_samples(densities: LocalMixture | DistanceBackground, X: Any, assign: Assign, log_distances: Assign) -> Any:
    """Outlier scores where X is; clusters and distances are worked out only if the densities need them."""
    if isinstance(densities, LocalMixture):
        return densities.outlier_scores(X)
    return from_host(densities.outlier_scores(None, to_host(assign(X)), to_host(log_distances(X))), X)


def _score(X: Any, background: FittedBackground, assign: Assign) -> Any:
    scores = score_samples(background.densities, X, assign, background.log_distances)
    return array_namespace(scores).astype(scores, X.dtype)
