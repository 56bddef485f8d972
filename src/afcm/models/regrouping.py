"""Clusters that were joined or split after a fit: steps from the memberships of the fit to those of its groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from scipy import sparse

from afcm._typing import Floats, Integers
from afcm.arrays import from_host
from afcm.equations.sparse_memberships import map_dense_rows
from afcm.linalg.ratios import ratio


@dataclass(frozen=True)
class Merge:
    """Clusters that are joined: ``u'_ik = Σ_j u_ij`` over the clusters j of group k."""

    groups: Integers  # the group of each cluster; none is empty

    @property
    def n_clusters(self) -> int:
        """How many clusters are left."""
        return int(self.groups.max()) + 1

    @property
    def origins(self) -> Floats:
        """1 where a cluster (row) is in a group (column)."""
        return np.eye(self.n_clusters)[self.groups]

    def apply(self, memberships: Any) -> Any:
        """Memberships in the groups; of sparse ones the largest few."""
        if sparse.issparse(memberships):
            return map_dense_rows(self.apply, memberships)
        origins = from_host(self.origins, memberships)
        return memberships @ array_namespace(memberships).astype(origins, memberships.dtype)


@dataclass(frozen=True)
class Split:
    """A cluster in parts: ``u'_ip = u_ij s_ip`` with shares s that sum to 1.

    The first part has the number of the cluster, the others follow after all clusters.
    """

    cluster: int
    parts: Floats  # v×m, on the host: of each node, its membership in the cluster times its shares
    densities: Any = None  # LocalMixture of the parts, for new samples; None: they have the shares of their neighbors

    def share_out(self, parts: Any) -> Any:
        """Rows that sum to 1; a row of zeros has the shares of all nodes together."""
        xp = array_namespace(parts)
        total = self.parts.sum(axis=0)
        return ratio(parts, xp.sum(parts, axis=1, keepdims=True), from_host(total / total.sum(), parts))

    def apply(self, memberships: Any, shares: Any) -> Any:
        """Memberships in the other clusters and the parts, given the shares of the parts; of sparse ones a few."""
        if sparse.issparse(memberships):
            return map_dense_rows(self.apply, memberships, shares)
        xp = array_namespace(memberships)
        parts = xp.astype(shares, memberships.dtype) * memberships[:, self.cluster : self.cluster + 1]
        before, after = memberships[:, : self.cluster], memberships[:, self.cluster + 1 :]
        return xp.concat([before, parts[:, :1], after, parts[:, 1:]], axis=1)


def regroup_nodes(memberships: Any, steps: tuple[Merge | Split, ...]) -> Any:
    """Memberships of the nodes after these steps."""
    for step in steps:
        if isinstance(step, Merge):
            memberships = step.apply(memberships)
        else:
            memberships = step.apply(memberships, step.share_out(from_host(step.parts, memberships)))
    return memberships


def count_clusters(n_clusters: int, steps: tuple[Merge | Split, ...]) -> int:
    """How many clusters there are after these steps."""
    for step in steps:
        n_clusters = step.n_clusters if isinstance(step, Merge) else n_clusters + step.parts.shape[1] - 1
    return n_clusters


def merge_links(links: Floats, step: Merge) -> Floats:
    """Links between the groups: sums over their clusters."""
    return step.origins.T @ links @ step.origins


def split_links(links: Floats, measured: Floats, cluster: int) -> Floats:
    """Links after a split: those of the fit, divided among the parts as ``measured`` ones are.

    The parts' own links are not known in the graph of the fit, which is not kept, but in the one before sharpening.
    """
    origin = np.concatenate([np.arange(len(links)), np.full(len(measured) - len(links), cluster)])
    groups = np.eye(len(links))[origin]
    known = groups.T @ measured @ groups
    spread = np.ix_(origin, origin)
    return links[spread] * ratio(measured, known[spread], np.zeros_like(measured))
