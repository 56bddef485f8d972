"""The normalized cut of clusters that labels give, and the weights between them, in one pass over the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from afcm._typing import Floats
from afcm._util.optional import is_usable
from afcm.graph.affinity import WORTH_COMPILING, Graph, cut_and_links, normalized_cut_of_volumes
from afcm.graph.eigenvectors import indicator
from afcm.linalg.products import map_row_blocks

# With more clusters their table of links costs more than the edges do.
MOST_CLUSTERS = 256


def cut_labels(graph: Graph, labels: Any, n_clusters: int) -> tuple[float, Floats]:
    """`cut_and_links` of hard clusters by their labels from 0 to c − 1."""
    fits = sp.issparse(graph.affinity) and graph.affinity.nnz >= WORTH_COMPILING and n_clusters <= MOST_CLUSTERS
    if not (fits and is_usable("numba", "fast")):
        return cut_and_links(graph, indicator(labels, n_clusters))
    links = _sum_links(graph, np.asarray(labels), n_clusters)
    return normalized_cut_of_volumes(np.diag(links), links.sum(axis=1)), links


def _sum_links(graph: Graph, labels: Any, n_clusters: int) -> Floats:
    from afcm.compiled.sparse import sum_links

    matrix, roots = graph.affinity, np.sqrt(graph.volumes)
    parts = matrix.indptr, matrix.indices, matrix.data

    def add(rows: slice) -> Floats:
        links = np.zeros((n_clusters, n_clusters))
        sum_links(parts, roots, labels, rows.start, rows.stop, links)
        return links

    return np.add.reduce(map_row_blocks(add, labels.size))
