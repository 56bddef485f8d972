"""`levels_`, `at`, `merge` and `split` of `AFCM`: coarser and finer clusters from one fit."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from afcm import arrays
from afcm._typing import Floats, Integers
from afcm.equations import paper
from afcm.equations.sparse_memberships import to_dense_rows
from afcm.estimators.base import crispness, hard_labels, summarize
from afcm.estimators.inputs import forget
from afcm.estimators.stability import ATTRIBUTES
from afcm.estimators.validation import check_integer
from afcm.graph.levels import cut_of_links, group_clusters
from afcm.models.agreement import count_views, measure_group, measure_stability
from afcm.models.fitted_graph import FittedGraph
from afcm.models.regrouping import Merge, Split, merge_links, regroup_nodes, split_links
from afcm.models.subgraph import split_cluster, take_nodes


class Level(NamedTuple):
    """A row of `levels_`: two groups of clusters that become one."""

    n_clusters: int  # that are left
    joined: tuple[tuple[int, ...], tuple[int, ...]]  # both groups, by the numbers of the model
    cut: float  # between them: 0 where no edge leads from one to the other, 1 for two random halves of a cluster
    stability: float | None  # of the new cluster, as in ``stability_``; None where no graphs were compared

    @property
    def first(self) -> int:
        """The first cluster of the first group, which gives the new one its place."""
        return self.joined[0][0]

    @property
    def second(self) -> int:
        """The first cluster of the second group."""
        return self.joined[1][0]

    @property
    def words(self) -> str:
        """``2, 5 with 7``."""
        return " with ".join(", ".join(map(str, group)) for group in self.joined)


class Levels(tuple[Level, ...]):
    """The rows of `levels_`, finest first; printed as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        lines = ["clusters  cut       stability  joined"]
        for level in self:
            stable = "" if level.stability is None else f"{level.stability:.2f}"
            lines.append(f"{level.n_clusters:<8}  {level.cut:<8.3g}  {stable:<9}  {level.words}")
        return "\n".join(lines)

    @property
    def order(self) -> list[int]:
        """The clusters so that no lines of the tree cross."""
        rows = {number: [number] for number in range(len(self) + 1)}
        for level in self:
            rows[level.first] = rows[level.first] + rows.pop(level.second)
        return [number for row in rows.values() for number in row]

    @property
    def brackets(self) -> list[list[tuple[float, float]]]:
        """The tree as lines of four points, one a level: how many clusters are left, and a place among `order`."""
        ends = {number: (float(len(self) + 1), float(row)) for row, number in enumerate(self.order)}
        lines = []
        for level in self:
            (left, top), (other, bottom), right = ends[level.first], ends.pop(level.second), float(level.n_clusters)
            lines.append([(left, top), (right, top), (right, bottom), (other, bottom)])
            ends[level.first] = right, (top + bottom) / 2
        return lines


class ClusterLevels:
    """Coarser and finer clusters of a fitted graph, for an estimator that keeps a `FittedGraph`."""

    n_clusters: Any
    n_clusters_: int
    memberships_: Any
    paper_memberships_: Any
    cluster_centers_: Any
    cluster_names_: Any
    labels_: Any
    crispness_: float
    membership_state_: str
    normalized_cut_: float
    _fitted: FittedGraph

    def __getattr__(self, name: str) -> Any:
        """Say why there are no levels."""
        if name == "levels_":
            check_is_fitted(self)
        return super().__getattr__(name)  # type: ignore[misc]

    @property
    def levels_(self) -> Levels:
        """A tree over the clusters: those that the graph holds apart least are joined first.

        A tuple of ``n_clusters_ − 1`` rows, from fine to coarse, which prints as a table. Each row has ``n_clusters``,
        how many clusters are left; ``joined``, the two groups of clusters that become one; ``cut``, the normalized cut
        between both in a graph of theirs alone (before sharpening); and ``stability`` of the new cluster, None where
        no graphs were compared. It is worked out when it is asked for.
        """
        check_is_fitted(self)
        fitted, rows = self._fitted, []
        common = None if fitted.views is None else count_own_views(fitted)
        groups: dict[int, tuple[int, ...]] = {number: (number,) for number in range(self.n_clusters_)}
        for join in fitted.tree:
            joined = groups[join.first], groups.pop(join.second)
            groups[join.first] = members = tuple(sorted(joined[0] + joined[1]))
            stability = None if common is None else measure_group(common, np.array(members))
            rows.append(Level(len(groups), joined, join.cut, stability))
        return Levels(rows)

    def at(self, n_clusters: int) -> Self:
        """The model with fewer clusters, joined as `levels_` says; no neighbors are searched for again.

        Parameters
        ----------
        n_clusters : int
            From 1 to ``n_clusters_``.

        Returns
        -------
        AFCM
            A new fitted model, as of `merge`. Groups are numbered in the order of their first clusters.
        """
        self._check_regroupable("at")
        wanted = check_integer("n_clusters", n_clusters)
        if wanted > self.n_clusters_:
            raise ValueError(
                f"n_clusters={wanted} is more than the {self.n_clusters_} of this model; use split to divide one, "
                f"or fit again with n_clusters={wanted}"
            )
        return self._regroup(Merge(group_clusters(self._fitted.tree, self.n_clusters_, wanted)))

    def merge(self, clusters: Any) -> Self:
        """Join clusters to one.

        Parameters
        ----------
        clusters : sequence of int
            Two or more different numbers of clusters.

        Returns
        -------
        AFCM
            A new fitted model; this one is not changed. Memberships of joined clusters are added up, for new samples
            too, and labels follow them: a sample between the joined clusters and another may change to them. The new
            cluster has the smallest of the numbers, and those after a number that is gone move up. Embedding, γ,
            history and outlier scores stay those of the fit.
        """
        self._check_regroupable("merge")
        chosen = [self._check_cluster("clusters", cluster) for cluster in np.atleast_1d(clusters).ravel().tolist()]
        if len(set(chosen)) < len(chosen) or len(chosen) < 2:
            raise ValueError(f"clusters={chosen} must hold two or more different numbers, such as [0, 1]")
        groups = np.arange(self.n_clusters_)
        groups[chosen] = min(chosen)
        return self._regroup(Merge(np.unique(groups, return_inverse=True)[1]))

    def split(self, cluster: int, into: int = 2, X: Any = None) -> Self:
        """Divide a cluster, by the graph of its own samples; no neighbors are searched for again.

        Parameters
        ----------
        cluster : int
        into : int, default=2
            The number of parts.
        X : array, optional
            The samples of the fit. Needed only if some of them are not in the graph: those of weight 0, and with
            anchors clear background.

        Returns
        -------
        AFCM
            A new fitted model; this one is not changed. The memberships in the cluster are divided among its parts,
            those in other clusters stay. The first part has the cluster's number, the others follow after all clusters.
            It has no ``stability_``: other graphs were asked about other clusters.
        """
        self._check_regroupable("split")
        cluster, into = self._check_cluster("cluster", cluster), check_integer("into", into, least=2)
        fitted = self._fitted.to_host()
        nodes = np.flatnonzero(fitted.node_labels == cluster)
        if len(nodes) < 2 * into:
            raise ValueError(
                f"cluster {cluster} has {len(nodes)} different samples, too few for into={into} parts of two or more"
            )
        if fitted.absent.size and X is None:
            raise ValueError(
                f"{fitted.absent.size} samples of the fit are not in its graph (weight 0, or clear background beside "
                "anchors), so that nobody knows their parts; give the samples of the fit as X"
            )
        split = split_cluster(fitted, cluster, nodes, self._fit_inside(fitted, nodes, into))
        if len(np.unique(split.parts[nodes].argmax(axis=1))) < into:
            raise ValueError(f"cluster {cluster} does not fall into {into} parts: one stays empty; use a smaller into")
        return self._regroup(split, X)

    @property
    def _n_features_out(self) -> int:
        """Columns of the embedding: as many as clusters were fitted, however many there are now."""
        return int(self.cluster_centers_.shape[1])

    def _check_regroupable(self, name: str) -> None:
        check_is_fitted(self)
        if self._fitted.node_of_sample is None:
            raise ValueError(
                f"{name} needs the memberships in memory, and this model was fitted on Dask's chunks; levels_ tells "
                "which clusters to join: add up their columns of memberships_, or fit a part of X in memory"
            )

    def _check_cluster(self, name: str, cluster: Any) -> int:
        number = check_integer(name, cluster, least=0)
        if number >= self.n_clusters_:
            raise ValueError(
                f"{name}={number} is not a cluster of this model; use numbers from 0 to {self.n_clusters_ - 1}"
            )
        return number

    def _fit_inside(self, fitted: FittedGraph, nodes: Integers, into: int) -> FittedGraph:
        """A fit of the same kind on some nodes alone."""
        given = self.get_params(deep=False)
        sharpened = given["kernel"] == "sharpened"
        balanced = sharpened if given["density_strength"] == "auto" else given["density_strength"] > 0
        inner = take_nodes(fitted, nodes, into, sharpened=sharpened, balanced=balanced)
        changes = {"n_clusters": into, "n_neighbors": "auto", "n_anchors": "auto", "n_views": 0, "noise": None}
        changes |= {"init": "spectral", "n_init": 1, "callback": None, "device": None, "warm_start": False}
        changes["memberships_format"] = "dense"
        model = type(self)(**(given | changes))
        return model.fit(replace(inner, metric=given["metric"]))._fitted

    def _regroup(self, step: Merge | Split, X: Any = None) -> Self:
        """A copy of this model after one more step."""
        fitted = regroup_fit(self._fitted, step)
        model, shares = copy.copy(self), None if isinstance(step, Merge) else self._share_samples(fitted, step, X)
        model._fitted, model.n_clusters, model.n_clusters_ = fitted, fitted.n_clusters, fitted.n_clusters
        for name in ("memberships_", "paper_memberships_"):
            if hasattr(self, name):
                setattr(model, name, apply_step(step, getattr(self, name), shares))
        model.labels_ = hard_labels(model.memberships_)
        known = summarize(model.memberships_)
        model.crispness_, model.membership_state_ = crispness(known), self._judge(known)
        model.normalized_cut_ = cut_of_links(fitted.links)
        model.cluster_centers_ = arrays.to_device_of(place_centers(fitted), self.cluster_centers_)
        forget(model, "n_clusters_range_")
        if hasattr(self, "cluster_names_"):
            model.cluster_names_ = regroup_names(self.cluster_names_, step)
        model._tell_stability()
        return model

    def _share_samples(self, fitted: FittedGraph, step: Split, X: Any) -> Any:
        if X is not None:
            X = self._validate_queries(X)
            n_given, n_samples = X.shape[0], self.memberships_.shape[0]
            if n_given != n_samples:
                raise ValueError(
                    f"X has {n_given} rows, but the model was fitted on {n_samples}; give those of the fit"
                )
        return fitted.share_samples(step, X)

    def _tell_stability(self) -> None:
        """Set the stability of the groups of a regrouped fit, or delete that of the fit before."""
        fitted = self._fitted
        old = getattr(self, "sample_stability_", None)
        forget(self, *ATTRIBUTES)
        if fitted.views is None:
            return
        common, own = count_own_views(fitted), np.arange(self.n_clusters_)
        shares = (fitted.views == fitted.node_labels[:, None]).mean(axis=1)[fitted.node_of_sample]
        # A sample that is not in the graph keeps what it had: graphs agree on groups at least as often.
        shares[fitted.absent] = arrays.to_host(old)[fitted.absent]
        of_clusters = measure_stability(common, own)
        self.stability_, self.sample_stability_ = (
            arrays.from_host(part.astype(fitted.dtype), old) for part in (of_clusters, shares)
        )


def count_own_views(fitted: FittedGraph) -> Floats:
    return count_views(fitted.node_labels, fitted.views, fitted.n_clusters, fitted.counts)


def regroup_fit(fitted: FittedGraph, step: Merge | Split) -> FittedGraph:
    """A fit after one more step, its links and views with it."""
    after = replace(fitted, steps=(*fitted.steps, step), views=None)
    links = fitted.measure_links() if fitted.links is None else fitted.links
    if isinstance(step, Split):
        return replace(after, links=split_links(links, after.measure_links(), step.cluster))
    views = None if fitted.views is None else step.groups.astype(np.int32)[fitted.views]
    return replace(after, links=merge_links(links, step), views=views)


def apply_step(step: Merge | Split, memberships: Any, shares: Any) -> Any:
    """Memberships of the samples after one more step."""
    if isinstance(step, Merge):
        return step.apply(memberships)
    return step.apply(memberships, arrays.from_host(shares, memberships))


def place_centers(fitted: FittedGraph) -> Any:
    """op5: the centers in the embedding of the paper's memberships after all steps."""
    memberships = regroup_nodes(to_dense_rows(fitted.extension.memberships, slice(None)), fitted.steps)
    return paper.centers(fitted.extension.embedding, memberships, fitted.walk_graph.masses)


def regroup_names(names: Any, step: Merge | Split) -> Any:
    """The known labels of joined clusters with a plus between them; parts have the label of their cluster."""
    if isinstance(step, Split):
        return np.concatenate([names, np.repeat(names[step.cluster : step.cluster + 1], step.parts.shape[1] - 1)])
    members = [dict.fromkeys(name for name in names[step.groups == group] if name) for group in range(step.n_clusters)]
    return np.array([" + ".join(group) for group in members], dtype=object)
