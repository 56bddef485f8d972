"""The graph of some nodes of a fit, and a cluster that is split by it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from afcm import AFCM
from afcm.graph.affinity import normalize_graph
from afcm.graph.sharpening import sharpen
from afcm.models.regrouping import regroup_nodes
from afcm.models.subgraph import split_cluster, take_nodes, take_weights

X, BLOBS = make_blobs(160, centers=[[0, 0], [4, 0], [2, 4], [9, 9]], random_state=0)
SIMILAR = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
NODES = np.flatnonzero(BLOBS < 2)


def test_neighbors_of_some_nodes_keep_their_similarities_and_points():
    estimator = AFCM(3, kernel="adaptive", random_state=0)
    prepared = estimator.prepare(X)
    fitted = estimator.fit(prepared)._fitted
    inner = take_nodes(fitted, NODES, 2, sharpened=False, balanced=False)
    degrees = prepared.graph.degrees
    weights = np.sqrt(degrees)[:, None] * prepared.graph.affinity.toarray() * np.sqrt(degrees)
    inside = weights[np.ix_(NODES, NODES)]
    roots = np.sqrt(inside.sum(axis=1))
    np.testing.assert_allclose(inner.graph.affinity.toarray(), inside / roots[:, None] / roots, atol=1e-12)
    np.testing.assert_array_equal(inner.points, X[NODES])
    np.testing.assert_array_equal(inner.similarity.scales, fitted.similarity.scales[NODES])
    assert inner.density is None


def test_the_default_graph_is_sharpened_again_for_the_parts():
    fitted = AFCM(2, random_state=0).fit(X)._fitted
    plain, sharp = (take_nodes(fitted, NODES, 2, sharpened=on, balanced=True) for on in (False, True))
    np.testing.assert_allclose(sharp.density, fitted.walk_graph.masses[NODES])
    np.testing.assert_array_equal(sharp.base.affinity.toarray(), plain.graph.affinity.toarray())
    weights, masses = take_weights(fitted.walk_graph, NODES)
    expected = sharpen(normalize_graph(weights, masses), weights, 2, fitted.similarity.k, balanced=True).graph
    np.testing.assert_allclose(sharp.graph.affinity.toarray(), expected.affinity.toarray(), atol=1e-12)
    assert abs(sharp.graph.affinity - plain.graph.affinity).max() > 1e-3


def test_rows_of_anchors_make_the_graph_of_their_samples():
    weights = 1.0 + np.arange(len(X)) % 3
    fitted = AFCM(3, graph="anchors", n_anchors=20, noise=None, random_state=0).fit(X, sample_weight=weights)._fitted
    inner = take_nodes(fitted, NODES, 2, sharpened=True, balanced=True)
    affinity = fitted.walk_graph.affinity
    rows, masses = affinity.weights.toarray()[NODES], affinity.masses[NODES]
    sizes = masses @ rows
    inverse = np.where(sizes > 0, 1 / np.where(sizes > 0, sizes, 1), 0)
    dense = np.sqrt(masses)[:, None] * ((rows * inverse) @ rows.T) * np.sqrt(masses)
    np.testing.assert_allclose(inner.graph.affinity.toarray(), dense, atol=1e-12)
    assert inner.n_samples == pytest.approx(masses.sum())


def test_other_nodes_have_shares_by_the_next_step_of_a_walk():
    model = AFCM(3, affinity="precomputed", random_state=0).fit(SIMILAR)
    fitted = model._fitted
    nodes = np.flatnonzero(fitted.node_labels == 1)
    inside = model._fit_inside(fitted, nodes, 2)
    split = split_cluster(fitted, 1, nodes, inside)
    walk = SIMILAR - np.diag(np.diag(SIMILAR))  # the diagonal does not count
    known = np.zeros((len(X), 2))
    known[nodes] = inside.own_memberships
    near = walk @ known
    shares = near / near.sum(axis=1, keepdims=True)
    shares[nodes] = inside.own_memberships
    own = regroup_nodes(fitted.own_memberships, ())[:, 1]
    np.testing.assert_allclose(split.parts, own[:, None] * shares, atol=1e-12)
    assert split.densities is None


def test_where_the_parts_have_densities_these_speak():
    model = AFCM(2, random_state=0).fit(X)
    cluster = int(model.labels_[BLOBS == 0][0])
    split = model.split(cluster)._fitted.steps[-1]
    assert split.densities is not None
    assert split.densities.n_clusters == 2
    others = np.flatnonzero(model.labels_ != cluster)
    posterior = split.densities.posterior(X[others])[0]
    shares = split.share_out(split.parts)[others]
    sure = split.parts[others].sum(axis=1) > 1e-6
    assert (shares[sure].argmax(axis=1) == posterior[sure].argmax(axis=1)).all()
