"""What `AFCM` checks before it builds a graph: parameters, samples, how many clusters there are."""

from __future__ import annotations

import warnings
from typing import Any

from afcm import arrays
from afcm._util.optional import require
from afcm.estimators import validation
from afcm.estimators.inputs import entered
from afcm.estimators.placing import GraphClusterer
from afcm.exceptions import NoClustersWarning
from afcm.graph.anchors.prepared import AnchorSetting
from afcm.graph.duplicates import DistinctRows, merge_duplicates
from afcm.graph.kernels import KERNELS
from afcm.graph.prepared import PreparedGraph
from afcm.neighbors.search import SEARCHES


class GraphInputs(GraphClusterer):
    """The checks of `AFCM`."""

    def _check_parameters(self) -> None:
        if self.n_clusters != "auto":
            validation.check_integer("n_clusters", self.n_clusters)
        validation.check_integer("n_init", self.n_init)
        validation.check_integer("max_iter", self.max_iter)
        validation.check_real("tol", self.tol)
        validation.check_flag("warm_start", self.warm_start)
        validation.check_real("bandwidth", self.bandwidth, positive=True)
        validation.check_choice("kernel", self.kernel, ("sharpened", *KERNELS))
        validation.check_choice("neighbor_search", self.neighbor_search, SEARCHES)
        if self.neighbor_search == "approximate":
            require("numba", "fast", "neighbor_search='approximate' needs", "Numba")
        validation.check_choice("affinity", self.affinity, ("nearest_neighbors", "precomputed"))
        validation.check_choice("graph", self.graph, ("neighbors", "anchors"))
        if self.n_anchors != "auto":
            validation.check_integer("n_anchors", self.n_anchors)
        if self.graph == "anchors" and self.affinity == "precomputed":
            raise ValueError("graph='anchors' needs samples, not affinity='precomputed'; use graph='neighbors' there")
        if self.graph_weight != "auto":
            validation.check_real("graph_weight", self.graph_weight, positive=True)
        if self.n_neighbors != "auto":
            validation.check_integer("n_neighbors", self.n_neighbors)

    def _validated(self, X: Any) -> Any:
        if self.affinity == "precomputed" and (arrays.is_tensor(X) or self.device is not None):
            raise ValueError("affinity='precomputed' needs NumPy or SciPy similarities; use them, and device=None")
        self._refuse_tensors(X)
        if arrays.is_dask(X):
            raise ValueError("X is in Dask's chunks, of which no graph is kept; use fit with graph='anchors' for them")
        X = entered(self, X, device=self.device, accept_sparse="csr" if self.graph == "neighbors" else False)
        if self.affinity == "precomputed":
            return validation.check_affinity(X)
        n = X.shape[0]
        if self.graph == "neighbors" and self.n_neighbors != "auto" and self.n_neighbors >= n > 1:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be below n_samples={n}; use at most {n - 1}, or 'auto'"
            )
        validation.check_span(X)
        return X

    def _find_nodes(self, X: Any, weights: Any) -> DistinctRows:
        merge = self.merge_duplicates and self.affinity != "precomputed"
        nodes = merge_duplicates(X, weights, merge=merge)
        if self.n_clusters != "auto":
            validation.check_enough_samples(self.n_clusters, X.shape[0], nodes.rows.size)
        if nodes.rows.size < 2:
            raise ValueError(f"X has only one sample to learn from (n_samples={X.shape[0]}); a graph needs at least 2")
        return nodes

    def _chosen(self, prepared: PreparedGraph) -> int:
        """The number of clusters; a word if the data have none."""
        if self.n_clusters != "auto":
            return int(self.n_clusters)
        parts = prepared.parts
        if parts is None:
            raise ValueError("n_clusters='auto', but the graph was prepared for a given number; prepare it with 'auto'")
        if parts.count > 1:
            return parts.count
        warnings.warn(
            "AFCM: no clusters found, so all samples are one: the deepest valley in their graph has "
            f"{parts.deepest_within:.0%} of the depth that chance reaches; give n_clusters to split them all the same",
            NoClustersWarning,
            stacklevel=4,
        )
        return 1

    def _anchor_setting(self, n_clusters: int | None, n_neighbors: int | None) -> AnchorSetting:
        n_anchors = None if self.n_anchors == "auto" else int(self.n_anchors)
        kernel = "adaptive" if self.kernel == "sharpened" else self.kernel
        return AnchorSetting(n_clusters, n_anchors, n_neighbors, kernel, float(self.bandwidth))
