"""How many neighbors a node gets where clusters are small.

The neighbors that connect a cluster grow with the logarithm of its size, and a graph of so few is sharpened. A cluster
of fewer than 4k samples is too small for that: sharpening looks for halves of clusters, and k neighbors cannot tell
groups of 2k apart. Then more neighbors average chance away, unless they leave the surface that the nearest ones lie on:
pictures of one face lie on a curve, and farther neighbors are other faces. The dimension tells. In D dimensions the
distances of a node to its first k neighbors have

    mean_j log(d_k / d_j) = 1 / D    (j < k),

and on a curve among other curves D is larger for 2k neighbors than for k. In a cloud it is not, because clouds end.
"""

from __future__ import annotations

from typing import Any

from afcm._typing import Floats
from afcm.graph.density import log_distances
from afcm.graph.similarity import default_n_neighbors
from afcm.neighbors import find_neighbors

# A cluster of fewer than so many times k samples is small.
SMALL = 4
# Neighbors in small clusters, as a share of their mean size: settled on blobs and sets of faces (docs/label-free.md).
SHARE = 0.7
# Fewer nodes do not tell a dimension well enough.
LEAST_NODES = 200


def choose_n_neighbors(points: Any, n_clusters: int, search: str = "exact") -> int:
    """`default_n_neighbors`, or more of them where clusters are small clouds."""
    n = points.shape[0]
    k, size = default_n_neighbors(n, n_clusters), n / n_clusters
    wide = round(SHARE * size)
    if size >= SMALL * k or wide <= k or n < LEAST_NODES:
        return k
    squared = find_neighbors(points, 2 * k, search=search).squared
    near, far = inverse_dimension(squared[:, :k]), inverse_dimension(squared)
    return wide if far >= near else k


def inverse_dimension(squared: Floats) -> float:
    """Mean of ``log(d_k / d_j)`` over j < k and over the nodes: 1 / D (Levina and Bickel; averaged as MacKay does).

    ``squared`` are squared distances in ascending order; a distance of 0 counts as the smallest above 0.
    """
    logs = log_distances(squared)
    return float((logs[:, -1:] - logs[:, :-1]).mean())
