"""Walks that end at known nodes, against the linear system node by node."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from afcm.graph.absorption import absorb
from afcm.graph.affinity import normalize_graph


def make_graph(seed, masses=None):
    random = np.random.default_rng(seed)
    weights = random.random((9, 9)) * (random.random((9, 9)) < 0.5)
    weights = np.triu(weights, 1)
    weights[:, 8] = 0  # a node without neighbors
    weights = weights + weights.T
    return weights, normalize_graph(sp.csr_array(weights), masses)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("stop", [0.03, 1 / 3])
def test_a_walk_ends_where_the_linear_system_says(stop, weighted):
    random = np.random.default_rng(5)
    masses = random.random(9) + 0.5 if weighted else None
    weights, graph = make_graph(2, masses)
    held, values = np.arange(9) < 3, random.dirichlet(np.ones(4), 9)
    walk = weights * (1.0 if masses is None else masses)
    walk = walk / np.maximum(walk.sum(axis=1, keepdims=True), 1e-300)
    matrix, right = np.eye(9), values.copy()
    for i in range(3, 8):
        matrix[i] -= (1 - stop) * walk[i]
        right[i] *= stop
    found = absorb(graph, held, values, stop)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right), atol=1e-6)
    assert np.array_equal(found[:3], values[:3])
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_walks_end_at_the_only_known_node_of_their_piece():
    weights = np.kron(np.eye(2), np.ones((4, 4)) - np.eye(4))
    graph = normalize_graph(sp.csr_array(weights))
    held, values = np.isin(np.arange(8), [0, 4]), np.full((8, 2), 0.5)
    values[0], values[4] = (1, 0), (0, 1)
    found = absorb(graph, held, values, 1e-6)
    np.testing.assert_allclose(found, np.repeat(np.eye(2), 4, axis=0), atol=1e-4)
