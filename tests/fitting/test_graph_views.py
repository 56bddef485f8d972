"""Views: the graphs that are compared, and that each is made as if it were the only one."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import minmax_scale

from afcm import AFCM
from afcm.fitting import graph_views
from afcm.graph.density import STRENGTH
from afcm.graph.prepared import GraphSetting
from afcm.linalg.pivoting import find_pivots
from afcm.metrics import adjusted_rand

WINE = minmax_scale(load_wine().data)


def test_every_kernel_has_half_to_four_times_the_neighbors():
    kernels = ("sharpened", "adaptive", "binary")
    expected = [(kernel, k) for k in (5, 10, 20, 40) for kernel in kernels]
    assert graph_views.list_views(12, 10, 1000) == expected
    assert graph_views.list_views(10, 10, 1000) == expected[:10]
    assert graph_views.list_views(2, 10, 1000) == [("sharpened", 10), ("adaptive", 10)]
    assert len(set(graph_views.list_views(30, 50, 1000))) == 30


def test_a_view_has_at_least_three_neighbors_and_at_most_all():
    assert {k for _, k in graph_views.list_views(12, 4, 10)} == {3, 4, 8, 9}
    assert {k for _, k in graph_views.list_views(3, 4, 3)} == {2}


def lloyd(rows, weights, centers):
    """Labels that k-means from these centers ends with, and their scatter."""
    labels, old = ((rows[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1), None
    while old is None or (labels != old).any():
        groups = [labels == j for j in range(len(centers))]
        centers = np.stack([np.average(rows[group], axis=0, weights=weights[group]) for group in groups])
        labels, old = ((rows[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1), labels
    return labels, weights @ ((rows - centers[labels]) ** 2).sum(axis=1)


def slow_labels(graph, own, n_clusters):
    """The better of k-means from pivots and from the given labels, in dense eigenvectors; or enough components."""
    n_components, pieces = graph.components
    weights = np.ones(len(pieces)) if graph.masses is None else graph.masses
    if n_components >= n_clusters:
        return pieces
    vectors = np.linalg.eigh(graph.affinity.toarray())[1][:, : -n_clusters - 1 : -1]
    rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    means = np.stack([rows[own == j].mean(axis=0) for j in range(n_clusters)])
    starts = (rows[find_pivots(vectors, n_clusters)], means)
    return min((lloyd(rows, weights, centers) for centers in starts), key=lambda run: run[1])[0]


@pytest.mark.parametrize("doubled", [False, True])
def test_views_are_spectral_clusters_of_their_own_graphs(doubled):
    X = np.vstack([WINE, WINE[:40]]) if doubled else WINE
    prepared = AFCM(3, n_neighbors=8).prepare(X)
    own = AFCM(3, n_neighbors=8, random_state=0).fit(X).labels_[prepared.nodes.rows]
    found = graph_views.label_views(prepared, own, 3, 12)
    for number, (kernel, k) in enumerate(graph_views.list_views(12, 8, prepared.n_nodes)):
        density = STRENGTH if kernel == "sharpened" else 0.0
        alone = GraphSetting(3, k, kernel, 1.0, density=density).from_points(X, prepared.nodes)
        assert adjusted_rand(found[number], slow_labels(alone.graph, own, 3)) == 1, f"{kernel} {k}"
    assert len({labels.tobytes() for labels in found}) > 4


def test_a_start_from_the_fit_is_kept_where_it_is_better(monkeypatch):
    """Pivots that lie in one cluster end in a worse minimum."""
    random = np.random.default_rng(0)
    X = np.concatenate([center + random.standard_normal((40, 2)) for center in ((0, 0), (6, 0), (12, 0), (18, 0))])
    own = np.repeat(np.arange(4), 40)
    prepared = AFCM(4, n_neighbors=15).prepare(X)
    assert prepared.graph.components[0] < 4
    monkeypatch.setattr(graph_views, "find_pivots", lambda vectors, n_pivots: np.arange(n_pivots))
    assert adjusted_rand(own, graph_views.label_view(prepared, own, 4)) > 0.95


def test_neighbors_are_searched_for_once(monkeypatch):
    prepared, asked = AFCM(3, n_neighbors=8).prepare(WINE), []
    search = graph_views.search_neighbors
    monkeypatch.setattr(graph_views, "search_neighbors", lambda *how: asked.append(how[1]) or search(*how))
    graph_views.label_views(prepared, np.arange(len(WINE)) % 3, 3, 6)
    assert asked == [32]


def test_views_do_not_depend_on_the_order_of_the_samples():
    order = np.random.default_rng(0).permutation(len(WINE))
    here, there = (AFCM(3, random_state=0).fit(X) for X in (WINE, WINE[order]))
    ours, theirs = (np.sort(rows, axis=1) for rows in (here.memberships_[order], there.memberships_))
    np.testing.assert_allclose(theirs, ours, atol=1e-6)
