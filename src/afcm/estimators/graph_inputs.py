"""The parameters and samples of `AFCM` are checked here, and become the setting of a graph."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from afcm import arrays
from afcm._util.messages import warn_user
from afcm._util.optional import require
from afcm.estimators import validation
from afcm.estimators.base import SoftClusterer
from afcm.estimators.column_faults import warn_of_scale
from afcm.estimators.inputs import check_on_host, forget, to_unit_rows, validate_samples, validate_weights
from afcm.estimators.noise import set_aside
from afcm.exceptions import NoClustersWarning
from afcm.graph.anchors.prepared import AnchorSetting
from afcm.graph.density import STRENGTH
from afcm.graph.duplicates import DistinctRows, merge_duplicates
from afcm.graph.prepared import GraphSetting, PreparedGraph
from afcm.models.background import find_clear_background
from afcm.models.cluster_mixture import Share
from afcm.neighbors import order_nearby


class GraphInputs(SoftClusterer):
    """Parameters and samples of an estimator that makes a graph of the samples."""

    n_clusters: Any
    n_neighbors: Any
    neighbor_search: str
    metric: str
    kernel: str
    bandwidth: float
    density_strength: Any
    noise: Share
    memberships: str
    n_views: Any
    affinity: str
    graph: str
    n_anchors: Any
    init: Any
    merge_duplicates: bool
    warm_start: bool
    memberships_format: str
    device: Any

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.neighbor_search == "approximate":
            require("numba", "fast", "neighbor_search='approximate' needs", "Numba")
        if self.n_views not in ("auto", 0) and (self.graph == "anchors" or self.affinity == "precomputed"):
            raise ValueError(
                f"n_views={self.n_views}: other graphs need the neighbors of samples, which graph={self.graph!r} with "
                f"affinity={self.affinity!r} has not; use n_views='auto', or graph='neighbors' and samples"
            )
        if self.affinity == "precomputed":
            if self.metric != "euclidean":
                raise ValueError(
                    f"metric={self.metric!r} compares samples, and affinity='precomputed' gives their similarities; "
                    "use one of them"
                )
            if self.graph == "anchors":
                raise ValueError(
                    "graph='anchors' needs samples, not affinity='precomputed'; use graph='neighbors' there"
                )
            if isinstance(self.init, str):
                validation.check_choice("init", self.init, ("spectral", "random"))

    def _prepare(self, X: Any, sample_weight: Any) -> PreparedGraph:
        self._refuse_for_sparse(X)
        given, X = X, self._validate_training(X)
        weights = validate_weights(X, sample_weight)
        nodes = self._find_nodes(X, weights)
        n_clusters, n_neighbors, n_anchors = (
            None if isinstance(value, str) else int(value)
            for value in (self.n_clusters, self.n_neighbors, self.n_anchors)
        )
        if self.graph == "anchors":
            kernel = "adaptive" if self.kernel == "sharpened" else self.kernel
            build: Any = AnchorSetting(n_clusters, n_anchors, n_neighbors, kernel, float(self.bandwidth)).from_points
        else:
            density = self.density_strength
            if isinstance(density, str):
                density = STRENGTH if self.kernel == "sharpened" else 0.0
            find_stray = None if self.noise is None else partial(find_clear_background, share=self.noise)
            how = (self.kernel, float(self.bandwidth), self.neighbor_search, float(density), find_stray)
            setting = GraphSetting(n_clusters, n_neighbors, *how)
            build = setting.from_similarities if self.affinity == "precomputed" else setting.from_points
        names = getattr(self, "feature_names_in_", None)
        to_host = arrays.is_tensor(X) and not arrays.is_tensor(given)
        about = {"sample_weight": weights, "feature_names": names, "to_host": to_host, "metric": self.metric}
        return replace(build(X, nodes), **about)

    def _check_prepared(self, prepared: PreparedGraph) -> PreparedGraph:
        self._refuse_for_sparse(prepared.samples)
        if prepared.metric != self.metric:
            raise ValueError(
                f"metric={self.metric!r}, but the graph was prepared with metric={prepared.metric!r}; use the same"
            )
        return prepared

    def _validate_training(self, X: Any) -> Any:
        if self.affinity == "precomputed" and (arrays.is_tensor(X) or self.device is not None):
            raise ValueError("affinity='precomputed' needs NumPy or SciPy similarities; use them, and device=None")
        if arrays.is_dask(X):
            self._refuse_for_chunks()
        else:
            self._refuse_tensors(X)
        sparse, given = "csr" if self.graph == "neighbors" else False, self.affinity == "precomputed"
        X = validate_samples(self, X, device=self.device, accept_sparse=sparse, spread=not given)
        if given:
            return validation.check_affinity(X)
        if self.metric == "cosine":
            X = to_unit_rows(X)
        if self.memberships != "paper":  # the paper's X is scaled by whoever repeats it
            warn_of_scale("AFCM", X, getattr(self, "feature_names_in_", None))
        n = X.shape[0]
        if self.graph == "neighbors" and self.n_neighbors != "auto" and self.n_neighbors >= n > 1:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be below n_samples={n}; use at most {n - 1}, or 'auto'"
            )
        return X

    def _refuse_for_chunks(self) -> None:
        if self.graph != "anchors":
            raise ValueError(
                f"X is in Dask's chunks, and graph={self.graph!r} needs all of X in memory: use graph='anchors', "
                "PlainAFCM, or X.compute() if that fits"
            )
        if not (isinstance(self.init, str) and self.init == "spectral") or self.warm_start:
            raise ValueError("X is in Dask's chunks, which start from anchors; use init='spectral', warm_start=False")

    def _refuse_tensors(self, X: Any) -> None:
        if self.graph == "anchors" and (arrays.is_tensor(X) or self.device is not None):
            raise ValueError(
                "graph='anchors' works on NumPy arrays; give X as one (X.cpu().numpy(), say) with device=None, or use "
                "graph='neighbors'"
            )

    def _refuse_for_sparse(self, X: Any) -> None:
        if self.memberships_format == "sparse":
            check_on_host(X, self.device)

    def _find_nodes(self, X: Any, weights: Any) -> DistinctRows:
        least = 2 if self.n_clusters == "auto" else int(self.n_clusters)
        if self.graph == "anchors":  # they are not learned from background
            weights = set_aside(X, weights, self.noise, least)
        if arrays.is_chunked(X):
            n_distinct = validation.count_distinct(X, weights, max(least, 2))
            validation.check_enough_samples(least, X.shape[0], n_distinct)
            return DistinctRows(None, weights, None)  # type: ignore[arg-type]
        nodes = merge_duplicates(X, weights, merge=self.merge_duplicates and self.affinity != "precomputed")
        if self.n_clusters != "auto":
            validation.check_enough_samples(self.n_clusters, X.shape[0], nodes.rows.size)
        if nodes.rows.size < 2:
            raise ValueError(f"X has only one sample to learn from (n_samples={X.shape[0]}); a graph needs at least 2")
        order = order_nearby(nodes.take(X)) if self._may_rearrange() else None
        return nodes if order is None else nodes.arrange(order)

    def _may_rearrange(self) -> bool:
        """Whether the nodes of the graph may be in another order than the samples; in paper mode they are not."""
        return self.graph == "neighbors" and self.affinity != "precomputed" and self.merge_duplicates

    def _name_features(self, prepared: PreparedGraph) -> None:
        self.n_features_in_ = int(prepared.samples.shape[1])
        if prepared.feature_names is None:
            forget(self, "feature_names_in_")
        else:
            self.feature_names_in_ = prepared.feature_names

    def _choose_n_clusters(self, prepared: PreparedGraph) -> int:
        """The number of clusters, given or counted, with a warning if the data have none."""
        if self.n_clusters != "auto":
            return int(self.n_clusters)
        parts = prepared.parts
        if parts is None:
            raise ValueError("n_clusters='auto', but the graph was prepared for a given number; prepare it with 'auto'")
        if parts.count > 1:
            return parts.count
        warn_user(
            "AFCM: no clusters found, so all samples are one: the deepest valley in their graph has "
            f"{parts.deepest_within:.0%} of the depth that chance reaches; give n_clusters to split them all the same",
            NoClustersWarning,
        )
        return 1

    def _validate_queries(self, X: Any) -> Any:
        self._refuse_for_sparse(X)
        self._refuse_tensors(X)
        X = self._validate_new(X, accept_sparse=self.graph == "neighbors")
        if self.affinity == "precomputed" and X.min() < 0:
            raise ValueError(f"X holds a negative similarity ({X.min():.6g}); use numbers of at least 0")
        return to_unit_rows(X) if self.metric == "cosine" else X
