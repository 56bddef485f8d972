"""The parameter ``n_views``: clusters of other graphs, compared with those of the fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from afcm import arrays
from afcm.estimators.base import membership_state
from afcm.estimators.inputs import forget
from afcm.fitting.graph_views import label_views
from afcm.graph.anchors.prepared import PreparedAnchors
from afcm.graph.prepared import PreparedGraph
from afcm.models.agreement import Agreement, keep_labels, measure_agreement, spread_votes
from afcm.models.fitted_graph import FittedGraph

# Views by default, where memberships come from them, and the most nodes of a graph that gets them unasked.
DEFAULT_VIEWS, MOST_NODES = 12, 2000
# More nodes times clusters than this would make views cost much more than the fit.
MOST_ENTRIES = 150_000
# With fewer nodes graphs of many neighbors are nearly complete, and chance decides their clusters.
FEWEST_NODES = 50
ATTRIBUTES = ("stability_", "sample_stability_")


class ViewStability:
    """`stability_` and `sample_stability_`, for an estimator of a graph with the parameter ``n_views``."""

    n_views: Any
    n_clusters_: int
    neighbor_search: str

    def __getattr__(self, name: str) -> Any:
        """Say why a stability is not there."""
        if name in ATTRIBUTES:
            raise AttributeError(
                f"this {type(self).__name__} has no {name}: it is not fitted, its fit compared no graphs (use "
                "n_views=12 to have some compared), or a cluster was split since"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _choose_n_views(self, prepared: PreparedGraph, fitted: FittedGraph) -> int:
        """How many graphs this fit compares: unasked, only if memberships come from them."""
        if not isinstance(self.n_views, str):
            return int(self.n_views)
        possible = prepared.points is not None and not isinstance(prepared, PreparedAnchors)
        affordable = self.n_clusters_ > 1 and FEWEST_NODES <= prepared.n_nodes <= MOST_NODES
        affordable &= prepared.n_nodes * self.n_clusters_ <= MOST_ENTRIES
        return DEFAULT_VIEWS if possible and affordable and has_doubtful_memberships(fitted) else 0

    def _compare_views(self, prepared: PreparedGraph, fitted: FittedGraph) -> tuple[FittedGraph, Agreement | None]:
        """The fit, with memberships from the views where a walk alone would make them, and what the views say."""
        n_views = self._choose_n_views(prepared, fitted)
        if not n_views:
            return fitted, None
        own, counts = fitted.extension.memberships, prepared.nodes.masses
        labels = arrays.to_host(own if fitted.of_nodes is None else fitted.of_nodes).argmax(axis=1)
        views = label_views(prepared, labels, self.n_clusters_, n_views, self.neighbor_search)
        found = measure_agreement(labels, views, self.n_clusters_, arrays.to_host(counts))
        fitted = replace(fitted, views=found.views)
        if has_doubtful_memberships(fitted):
            votes, labels = (arrays.from_host(part, own) for part in (found.votes, labels))
            of_nodes = keep_labels(spread_votes(prepared.base, labels, votes, counts), own)
            fitted = replace(fitted, method="views", walked=of_nodes, of_nodes=of_nodes)
        return fitted, found

    def _store_stability(self, fitted: FittedGraph, found: Agreement | None, X: Any, home: Any) -> None:
        """Set the attributes where ``home`` is; those of an earlier fit go."""
        forget(self, *ATTRIBUTES)
        if found is None:
            return
        of_samples = expand_agreement(fitted, found, X, arrays.to_host(self.labels_))
        self.stability_, self.sample_stability_ = (
            arrays.from_host(part.astype(fitted.dtype), home) for part in (found.of_clusters, of_samples)
        )


def has_doubtful_memberships(fitted: FittedGraph) -> bool:
    """Whether memberships come from a walk alone, and from labels that mean something."""
    return fitted.method == "walk" and membership_state(fitted.of_nodes) != "merged"


def expand_agreement(fitted: FittedGraph, found: Agreement, X: Any, labels: Any) -> Any:
    """The votes of the fitted samples X for their own clusters, on the host.

    A sample that is not in the graph (weight 0) has the mean votes of its neighbors.
    """
    shares, absent = found.of_nodes[fitted.node_of_sample], fitted.absent
    if absent.size:
        votes = arrays.from_host(found.votes, fitted.extension.memberships)
        placed = fitted.similarity.place(arrays.take_rows(X, absent))
        near = arrays.to_host(fitted.extension.averaged(placed, votes))
        shares[absent] = near[np.arange(absent.size), labels[absent]]
    return shares
