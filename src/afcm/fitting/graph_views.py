"""Views: clusters of the same samples in other graphs that would have been as good a choice.

The neighbors are searched for once, as many as the largest graph needs. A view differs from the others in its number of
neighbors and its kernel. Its clusters are those of a spectral start, with the better of two runs of k-means: one from
pivots, which know nothing of the fit, and one from the clusters of the fit. Neither is drawn by chance.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from afcm._typing import Integers
from afcm._util import progress
from afcm.arrays import to_host
from afcm.fitting.starts import label_by_best, one_hot, start_prepared
from afcm.graph.density import STRENGTH
from afcm.graph.prepared import GraphSetting, PreparedGraph
from afcm.graph.similarity import FEWEST, search_neighbors
from afcm.linalg.pivoting import find_pivots
from afcm.linalg.ratios import normalize_rows

# Kernels of the views, in turn, and by how much their number of neighbors may differ from the fit's.
VIEW_KERNELS = ("sharpened", "adaptive", "binary")
LEAST_FACTOR, MOST_FACTOR = 0.5, 4.0
# Eigenvectors of a view are this accurate (radians): labels near a border must not depend on where the search began.
VIEW_ANGLE = 1e-7


def list_views(n_views: int, n_neighbors: int, n_nodes: int) -> list[tuple[str, int]]:
    """Kernel and number of neighbors of each view: every kernel from half to four times those of the fit."""
    n_factors = -(-n_views // len(VIEW_KERNELS))
    factors = np.geomspace(LEAST_FACTOR, MOST_FACTOR, n_factors) if n_factors > 1 else np.ones(1)
    counts = np.clip(np.rint(factors * n_neighbors), FEWEST, None).clip(None, n_nodes - 1).astype(int)
    return [(kernel, int(k)) for k in counts for kernel in VIEW_KERNELS][:n_views]


def label_views(
    prepared: PreparedGraph, own: Integers, n_clusters: int, n_views: int, search: str = "exact"
) -> list[Integers]:
    """Labels of the nodes in each view, on the host; ``own``: those of the fit."""
    views = list_views(n_views, prepared.similarity.k, prepared.n_nodes)
    progress.start_stage(f"comparing {n_views} graphs")
    found, _ = search_neighbors(prepared.points, max(k for _, k in views), search)
    labels = []
    for kernel, k in views:
        setting = GraphSetting(n_clusters, k, kernel, 1.0, density=STRENGTH if kernel == "sharpened" else 0.0)
        graph = setting.from_points(prepared.samples, prepared.nodes, found)
        labels.append(label_view(graph, own, n_clusters))
    return labels


def label_view(prepared: PreparedGraph, own: Integers, n_clusters: int) -> Integers:
    """Clusters of the nodes in this graph; they do not depend on the order of the samples."""
    n_components, _ = prepared.graph.components
    if n_components >= n_clusters:
        _, memberships = start_prepared(prepared, n_clusters, np.random.RandomState(0), n_runs=1)
        return to_host(memberships).argmax(axis=1)
    vectors = to_host(prepared.start_eigenvectors(n_clusters, VIEW_ANGLE).vectors[:, :n_clusters])
    rows, hard = normalize_rows(vectors), one_hot(own, n_clusters)
    means = hard.T @ rows / np.maximum(hard.sum(axis=0), 1)[:, None]
    starts = (rows[find_pivots(vectors, n_clusters)], means)
    runs = [KMeans(n_clusters, init=centers, n_init=1, tol=0, random_state=0) for centers in starts]
    return label_by_best(runs, rows, to_host(prepared.graph.masses))
