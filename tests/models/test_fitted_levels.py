"""A fitted graph after steps: new samples, own samples, and the tree over its clusters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from afcm import AFCM
from afcm.graph.affinity import cut_and_links
from afcm.graph.levels import pair_cuts
from afcm.models.distance_background import DistanceBackground
from afcm.models.fitted_graph import to_posterior
from afcm.models.graph_problem import make_problem, measure_clusters, measure_cut
from afcm.models.regrouping import Merge, Split

X, BLOBS = make_blobs(120, centers=[[0, 0], [4, 0], [2, 3.5]], random_state=0)
NEW = X[:20] + 0.05
GROUPS = np.array([0, 1, 0])
SHARES = np.random.RandomState(0).dirichlet(np.ones(2), size=len(X))


@pytest.fixture(scope="module")
def fitted():
    return AFCM(3, random_state=0).fit(X)._fitted


def split_step(fitted, densities=None):
    return Split(1, fitted.own_memberships[:, 1:2] * SHARES, densities)


def test_merged_clusters_have_the_sum_of_their_memberships(fitted):
    merged = replace(fitted, steps=(Merge(GROUPS),))
    own = fitted.memberships(NEW)
    np.testing.assert_allclose(merged.memberships(NEW), np.column_stack([own[:, 0] + own[:, 2], own[:, 1]]))
    np.testing.assert_array_equal(merged.outlier_scores(NEW), fitted.outlier_scores(NEW))
    np.testing.assert_array_equal(merged.node_labels, GROUPS[fitted.node_labels])
    assert merged.n_clusters == 2


def test_new_samples_have_the_shares_of_their_neighbors(fitted):
    step = split_step(fitted)
    divided, own = replace(fitted, steps=(step,)).memberships(NEW), fitted.memberships(NEW)
    placed = fitted.similarity.place(NEW)
    weights = placed.weights.toarray() * fitted.extension.masses
    near = weights @ step.parts
    expected = own[:, 1:2] * near / near.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(divided[:, [1, 3]], expected, atol=1e-12)
    np.testing.assert_array_equal(divided[:, [0, 2]], own[:, [0, 2]])


def test_new_samples_follow_densities_of_the_parts_and_fitted_ones_do_not(fitted):
    parts = AFCM(2, noise=None, random_state=0).fit(X)._fitted.densities
    step = split_step(fitted, parts)
    divided, plain = (replace(fitted, steps=(each,)) for each in (step, split_step(fitted)))
    own, walked = fitted.memberships(NEW), plain.memberships(NEW)[:, [1, 3]]
    posterior = to_posterior(parts, NEW, step.share_out(walked))
    np.testing.assert_allclose(divided.memberships(NEW)[:, [1, 3]], own[:, 1:2] * posterior, atol=1e-9)
    np.testing.assert_array_equal(divided.memberships(X), plain.memberships(X))
    np.testing.assert_allclose(divided.share_samples(step, None), SHARES)


def test_samples_outside_the_graph_have_the_shares_of_new_ones():
    fitted = AFCM(3, random_state=0).fit(X, sample_weight=(np.arange(len(X)) % 3).astype(float))._fitted
    own = fitted.own_memberships[:, 1:2]
    step = Split(1, own * np.random.RandomState(0).dirichlet(np.ones(2), size=len(own)))
    shares = fitted.share_samples(step, X)
    assert fitted.absent.tolist() == list(range(0, len(X), 3))
    parts = replace(fitted, steps=(step,)).memberships(X)[:, [1, 3]]
    np.testing.assert_allclose(shares * fitted.memberships(X)[:, 1:2], parts, atol=1e-12)


def test_links_are_those_of_the_graph_and_of_anchors():
    for options in ({}, {"graph": "anchors", "n_anchors": 30}):
        estimator = AFCM(3, random_state=0, **options)
        prepared = estimator.prepare(X)
        fitted = estimator.fit(prepared)._fitted
        problem = make_problem(prepared, 1.0)
        cut, links = measure_clusters(problem, prepared.graph, fitted.own_memberships)
        expected = cut_and_links(prepared.graph, np.eye(3)[fitted.node_labels])[1]
        np.testing.assert_allclose(links, expected, atol=1e-12)
        np.testing.assert_allclose(fitted.links, expected, atol=1e-12)
        assert cut == pytest.approx(measure_cut(problem, prepared.graph, fitted.own_memberships))


def test_the_tree_is_by_the_graph_before_sharpening(fitted):
    first = fitted.tree[0]
    assert first.cut == pytest.approx(pair_cuts(fitted.measure_links())[first.first, first.second])
    assert first.cut != pytest.approx(pair_cuts(fitted.links)[first.first, first.second], rel=1e-3)


def test_outlier_scores_by_distances_do_not_follow_the_groups():
    points = np.random.RandomState(0).standard_normal((90, 9)) * (1 + np.arange(90) % 3)[:, None]
    points += 30 * (np.arange(90) % 3)[:, None]
    fitted = AFCM(3, noise=0.1, random_state=0).fit(points)._fitted
    assert isinstance(fitted.densities, DistanceBackground)
    merged = replace(fitted, steps=(Merge(np.array([0, 0, 0])),))
    np.testing.assert_array_equal(merged.outlier_scores(points + 0.1), fitted.outlier_scores(points + 0.1))


FAR = [[0, 0], [20, 0], [100, 0], [130, 0]]


@pytest.mark.parametrize("options", [{}, {"graph": "anchors", "n_anchors": 30, "n_neighbors": 3}])
def test_clusters_without_edges_are_joined_by_their_distance(options):
    points, blobs = make_blobs(160, centers=FAR, random_state=0)
    model = AFCM(4, random_state=0, **options).fit(points)
    number = [int(model.labels_[blobs == j][0]) for j in range(4)]
    pairs = [{join.first, join.second} for join in model._fitted.tree]
    assert pairs[:2] == [{number[0], number[1]}, {number[2], number[3]}]
    assert [join.cut for join in model._fitted.tree] == [0, 0, 0]


def test_given_similarities_without_edges_join_the_smallest_clusters():
    sizes = [30, 10, 20, 5]
    labels = np.repeat(np.arange(4), sizes)
    model = AFCM(4, affinity="precomputed", random_state=0).fit((labels[:, None] == labels).astype(float))
    number = [int(model.labels_[labels == j][0]) for j in range(4)]
    pairs = [{join.first, join.second} for join in model._fitted.tree]
    assert pairs[0] == {number[1], number[3]}
    weights = np.where(labels == 0, 0.1, 1.0)  # 30 samples that count as 3
    model.fit((labels[:, None] == labels).astype(float), sample_weight=weights)
    number = [int(model.labels_[labels == j][0]) for j in range(4)]
    assert {model._fitted.tree[0].first, model._fitted.tree[0].second} == {number[0], number[3]}
