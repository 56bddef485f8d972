"""The tree over clusters: cuts against dense formulas, joins against brute force and SciPy's trees."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import cut_tree

from afcm.graph.affinity import cut_and_links, normalize_graph, normalized_cut
from afcm.graph.anchors.affinity import CoarseGraph, sample_graph
from afcm.graph.anchors.weights import anchor_weights
from afcm.graph.components import agglomerate
from afcm.graph.levels import count_pieces, cut_of_links, group_clusters, join_clusters, measure_gaps, pair_cuts


def draw_weights(random, n, share=0.2):
    upper = np.triu(random.uniform(size=(n, n)) * (random.uniform(size=(n, n)) < share), 1)
    return upper + upper.T


def slow_cut(weights, masses, side, union):
    """Shi and Malik's normalized cut of ``side`` and the rest of ``union``, all other nodes removed; sums in loops."""
    rest = [i for i in union if i not in side]
    between = sum(masses[i] * weights[i, j] * masses[j] for i in side for j in rest)
    volumes = [sum(masses[i] * weights[i, j] * masses[j] for i in part for j in union) for part in (side, rest)]
    return sum(between / volume if volume else 0.0 for volume in volumes)


@pytest.mark.parametrize("weighted", [False, True])
def test_links_are_sums_over_pairs_of_nodes(weighted):
    random = np.random.RandomState(0)
    weights, labels = draw_weights(random, 30), random.randint(4, size=30)
    masses = random.uniform(0.5, 2, 30) if weighted else np.ones(30)
    graph = normalize_graph(sp.csr_array(weights), masses if weighted else None)
    cut, links = cut_and_links(graph, np.eye(4)[labels])
    expected = np.zeros((4, 4))
    for i in range(30):
        for j in range(30):
            expected[labels[i], labels[j]] += masses[i] * weights[i, j] * masses[j]
    np.testing.assert_allclose(links, expected, atol=1e-12)
    assert cut == pytest.approx(normalized_cut(graph, np.eye(4)[labels]))
    assert cut_of_links(links) == pytest.approx(cut)


def test_links_of_an_anchor_graph_are_those_of_its_dense_matrix():
    random = np.random.RandomState(0)
    points, labels, masses = random.standard_normal((40, 2)), random.randint(3, size=40), random.uniform(1, 2, 40)
    weights = anchor_weights(points, points[:8], 3)
    graph = sample_graph(weights, CoarseGraph.from_rows(weights, masses), masses)
    roots, hard = np.sqrt(masses), np.eye(3)[labels]
    dense = hard.T @ (roots[:, None] * graph.affinity.toarray() * roots) @ hard
    np.testing.assert_allclose(cut_and_links(graph, hard)[1], dense, atol=1e-12)


def test_the_cut_of_a_pair_is_that_of_the_graph_of_both_alone():
    random = np.random.RandomState(1)
    weights, labels, masses = draw_weights(random, 30), random.randint(4, size=30), random.uniform(0.5, 2, 30)
    _, links = cut_and_links(normalize_graph(sp.csr_array(weights), masses), np.eye(4)[labels])
    cuts, nodes = pair_cuts(links), [np.flatnonzero(labels == j).tolist() for j in range(4)]
    for a in range(4):
        for b in set(range(4)) - {a}:
            assert cuts[a, b] == pytest.approx(slow_cut(weights, masses, nodes[a], nodes[a] + nodes[b]))


def test_random_halves_of_a_cluster_have_a_cut_of_one_and_separate_ones_of_zero():
    weights = np.ones((400, 400)) - np.eye(400)
    labels = np.random.RandomState(0).permutation(np.arange(400) % 2)
    _, links = cut_and_links(normalize_graph(sp.csr_array(weights)), np.eye(2)[labels])
    assert pair_cuts(links)[0, 1] == pytest.approx(1, abs=0.01)
    assert pair_cuts(np.diag([3.0, 2.0]))[0, 1] == 0
    assert pair_cuts(np.zeros((2, 2)))[0, 1] == 0


def brute_force_tree(weights, labels, n_clusters):
    """Partitions after each join, every cut worked out from the nodes."""
    masses, groups, found = (
        np.ones(len(labels)),
        {j: np.flatnonzero(labels == j).tolist() for j in range(n_clusters)},
        [],
    )
    while len(groups) > 1:
        pairs = [(a, b) for a in groups for b in groups if a < b]
        cuts = {pair: slow_cut(weights, masses, groups[pair[0]], groups[pair[0]] + groups[pair[1]]) for pair in pairs}
        first, second = max(cuts, key=cuts.get)
        found.append((first, second, cuts[first, second]))
        groups[first] += groups.pop(second)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_joins_are_those_of_brute_force(seed):
    random = np.random.RandomState(seed)
    weights, labels = draw_weights(random, 24, 0.5), np.arange(24) % 6
    _, links = cut_and_links(normalize_graph(sp.csr_array(weights)), np.eye(6)[labels])
    joins = join_clusters(links, np.ones((6, 6)), np.bincount(labels).astype(float))
    expected = brute_force_tree(weights, labels, 6)
    assert [join[:2] for join in joins] == [join[:2] for join in expected]
    np.testing.assert_allclose([join.cut for join in joins], [join[2] for join in expected])


@pytest.mark.parametrize("seed", range(5))
def test_groups_of_a_level_are_those_that_scipy_cuts_from_the_same_tree(seed):
    random = np.random.RandomState(seed)
    links = random.uniform(size=(7, 7)) + 3 * np.eye(7)
    joins = join_clusters(links + links.T, np.ones((7, 7)), np.ones(7))
    node, rows, sizes = dict(enumerate(range(7))), [], dict.fromkeys(range(7), 1)
    for height, join in enumerate(joins):
        sizes[join.first] += sizes[join.second]
        rows.append([node[join.first], node[join.second], height, sizes[join.first]])
        node[join.first] = 7 + height
    for n_groups in range(1, 8):
        expected = cut_tree(np.array(rows, dtype=float), n_clusters=n_groups).ravel()
        groups = group_clusters(joins, 7, n_groups)
        assert len(np.unique(groups)) == n_groups
        np.testing.assert_array_equal(groups[:, None] == groups, expected[:, None] == expected)
        firsts = [np.flatnonzero(groups == group)[0] for group in range(n_groups)]
        assert firsts == sorted(firsts)


@pytest.mark.parametrize("seed", range(6))
def test_clusters_without_edges_are_joined_as_components_are(seed):
    random = np.random.RandomState(seed)
    gaps, sizes = random.uniform(1, 5, size=(6, 6)), random.randint(5, 50, size=6).astype(float)
    gaps = np.minimum(gaps, gaps.T)
    joins = join_clusters(np.diag(sizes), gaps, sizes)
    assert [join.cut for join in joins] == [0.0] * 5
    for n_groups in range(1, 7):
        np.testing.assert_array_equal(group_clusters(joins, 6, n_groups), agglomerate(gaps, sizes, n_groups))


def test_an_edge_counts_more_than_any_gap():
    links = np.diag([9.0, 9.0, 9.0])
    links[0, 2] = links[2, 0] = 1e-9
    gaps = np.array([[0, 1.0, 50.0], [1.0, 0, 50.0], [50.0, 50.0, 0]])
    assert join_clusters(links, gaps, np.full(3, 9.0))[0][:2] == (0, 2)
    assert count_pieces(links) == 2


def test_an_empty_cluster_goes_first():
    links = np.array([[4.0, 1.0, 0.0], [1.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
    gaps = measure_gaps(np.array([0, 0, 1, 1]), 3, np.arange(4.0)[:, None])
    assert join_clusters(links, gaps, np.array([2.0, 2.0, 0.0]))[0].second == 2
    assert gaps[0, 1] == 1
    assert gaps[2].tolist() == [0, 0, 0]


def test_one_cluster_has_no_tree():
    assert join_clusters(np.ones((1, 1)), np.ones((1, 1)), np.ones(1)) == []
    assert group_clusters([], 1, 1).tolist() == [0]
