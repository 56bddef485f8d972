"""Steps after a fit: what they do to memberships and links."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from afcm import AFCM
from afcm.equations.sparse_memberships import keep_largest
from afcm.graph.affinity import cut_and_links, normalize_graph
from afcm.models.agreement import count_common, count_views, measure_group, measure_stability, overlap_matched
from afcm.models.regrouping import Merge, Split, count_clusters, merge_links, regroup_nodes, split_links
from afcm.models.subgraph import take_weights


def draw_memberships(n, c, seed=0):
    return np.random.RandomState(seed).dirichlet(np.ones(c), size=n)


def test_merging_adds_columns_and_splitting_divides_one():
    own = draw_memberships(20, 4)
    merge, split = Merge(np.array([0, 1, 0, 2])), Split(1, own[:, 1:2] * draw_memberships(20, 3, 1))
    merged = merge.apply(own)
    np.testing.assert_allclose(merged, np.column_stack([own[:, 0] + own[:, 2], own[:, 1], own[:, 3]]))
    found = split.apply(own, split.share_out(split.parts))
    np.testing.assert_array_equal(found[:, [0, 2, 3]], own[:, [0, 2, 3]])
    np.testing.assert_allclose(found[:, [1, 4, 5]], split.parts)
    assert count_clusters(4, (split,)) == found.shape[1]
    assert count_clusters(4, (split, Merge(np.array([0, 0, 0, 1, 1, 2])))) == 3


def test_sparse_memberships_are_joined_and_divided_as_dense_ones():
    own = np.random.RandomState(0).dirichlet(np.full(30, 0.1), size=20)
    few, groups = keep_largest(own), np.arange(30) // 3
    merge, split = Merge(groups), Split(4, own[:, [4]] * draw_memberships(20, 3, 1))
    shares = split.share_out(split.parts)
    for found, dense in (
        (merge.apply(few), merge.apply(few.toarray())),
        (split.apply(few, shares), split.apply(few.toarray(), shares)),
        (regroup_nodes(few, (split,)), regroup_nodes(few.toarray(), (split,))),
    ):
        assert found.shape == dense.shape
        assert (found != keep_largest(dense)).nnz == 0


def test_parts_joined_again_are_the_cluster():
    own = draw_memberships(20, 3)
    split = Split(2, own[:, 2:] * draw_memberships(20, 2, 1))
    np.testing.assert_allclose(regroup_nodes(own, (split, Merge(np.array([0, 1, 2, 2])))), own)


def test_a_node_outside_has_the_shares_of_all_together():
    split = Split(0, np.array([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
    np.testing.assert_allclose(split.share_out(split.parts), [[1, 0], [1, 0], [0, 1], [0.75, 0.25]])


def test_gaussians_with_one_owner_give_the_sum_of_their_posteriors():
    X = np.random.RandomState(0).standard_normal((300, 2)) + 3 * (np.arange(300) % 3)[:, None]
    mixture = AFCM(3, random_state=0).fit(X)._fitted.densities
    groups = np.array([0, 1, 0])
    owned = replace(mixture, owners=groups[mixture.owners], n_clusters=2)
    np.testing.assert_allclose(owned.posterior(X)[0], Merge(groups).apply(mixture.posterior(X)[0]), atol=1e-12)


@pytest.fixture
def graph():
    random = np.random.RandomState(0)
    weights = np.triu(random.uniform(size=(30, 30)), 1)
    return normalize_graph(sp.csr_array(weights + weights.T), random.uniform(0.5, 2, 30))


def test_links_follow_the_clusters(graph):
    labels, groups = np.arange(30) % 5, np.array([0, 1, 1, 2, 0])
    fine, coarse = (cut_and_links(graph, np.eye(c)[own])[1] for c, own in ((5, labels), (3, groups[labels])))
    np.testing.assert_allclose(merge_links(fine, Merge(groups)), coarse)
    parts = np.array([0, 1, 2, 1, 1])  # clusters 1, 3 and 4 are parts of the second of three
    three = cut_and_links(graph, np.eye(3)[parts[labels]])[1]
    np.testing.assert_allclose(split_links(three, fine, 1), fine)
    np.testing.assert_allclose(split_links(2 * three, fine, 1), 2 * fine)
    nothing = split_links(np.ones((2, 2)), np.diag([1.0, 1.0, 1.0]), 0)  # links that were not measured are not divided
    assert nothing[0, 1] == nothing[1, 2] == nothing[0, 2] == 0


def test_weights_of_some_nodes_are_those_before_they_were_normalized(graph):
    random = np.random.RandomState(0)
    weights = np.triu(random.uniform(size=(30, 30)), 1)
    nodes = np.array([3, 7, 8, 21])
    taken, masses = take_weights(graph, nodes)
    np.testing.assert_allclose(taken.toarray(), (weights + weights.T)[np.ix_(nodes, nodes)])
    np.testing.assert_array_equal(masses, graph.masses[nodes])


def test_stability_of_groups_is_what_counting_tells():
    random = np.random.RandomState(0)
    labels, views, masses = random.randint(4, size=50), random.randint(4, size=(50, 3)), random.uniform(size=50)
    groups = np.array([0, 1, 1, 2])
    expected = np.zeros(3)
    for view in views.T:
        for group in range(3):
            own, other = groups[labels] == group, groups[view] == group
            expected[group] += masses[own & other].sum() / masses[own | other].sum() / 3
    common = count_views(labels, views, 4, masses)
    np.testing.assert_allclose(measure_stability(common, groups), expected)
    assert measure_group(common, np.array([1, 2])) == pytest.approx(expected[1])
    one = overlap_matched(count_common(labels, views[:, 0], 4, masses), np.arange(4))
    np.testing.assert_allclose(measure_stability(common[:1], np.arange(4)), one)
