"""Eigenvectors where the low-rank part outweighs the graph, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from afcm.linalg import dominant_factor
from afcm.linalg.dominant_factor import choose_degree, solve_outweighed
from afcm.linalg.operator import GraphPlusLowRank

N, Q = 120, 5


def operator_of(ratio, *, soft=0.0, seed=0, weight=2.0):
    """A graph with eigenvalues from −1 to 1, and memberships that are hard but for ``soft``."""
    rng = np.random.default_rng(seed)
    graph = rng.standard_normal((N, N))
    graph += graph.T
    graph /= np.linalg.norm(graph, 2)
    memberships = np.eye(Q)[rng.integers(Q, size=N)] * (1 - soft) + soft / Q
    factor = memberships / np.sqrt(memberships.sum(axis=0))
    return GraphPlusLowRank(sp.csr_array(graph), weight, factor, ratio * weight)


@pytest.mark.parametrize("weight", [2.0, -2.0, 1e5])
@pytest.mark.parametrize(("ratio", "soft"), [(5.0, 0.0), (30.0, 0.0), (1e4, 0.0), (1e9, 0.0), (200.0, 0.3)])
def test_the_leading_eigenvectors_to_rounding(ratio, soft, weight):
    operator = operator_of(ratio, soft=soft, weight=weight)
    operator = GraphPlusLowRank(operator.graph, weight, operator.factor, abs(operator.factor_weight))
    found = solve_outweighed(operator, Q)
    values, vectors = np.linalg.eigh(operator.to_dense())
    np.testing.assert_allclose(found.values, values[: -Q - 1 : -1], rtol=1e-12)
    cosines = np.linalg.svd(vectors[:, -Q:].T @ found.vectors, compute_uv=False)
    np.testing.assert_allclose(cosines, 1, atol=1e-13)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(Q), atol=1e-13)
    np.testing.assert_allclose(found.graph_image, operator.graph @ found.vectors, atol=1e-12)
    residuals = np.linalg.norm(operator @ found.vectors - found.vectors * found.values, axis=0)
    assert found.residual == pytest.approx(residuals.max() / found.values[0], rel=1e-3, abs=1e-14)
    assert found.converged
    assert found.n_products <= 40


def test_scatter_inside_clusters_is_right_where_it_is_tiny():
    """γ is learned from the distances between rows of one cluster, which shrink as 1/γ."""
    operator = operator_of(1e4)
    labels = operator.factor.argmax(axis=1)
    exact = np.linalg.eigh(operator.to_dense())[1][:, -Q:]

    def scatter(vectors):
        means = np.stack([vectors[labels == j].mean(axis=0) for j in range(Q)])
        return float(np.sum((vectors - means[labels]) ** 2))

    assert scatter(exact) < 1e-6
    assert scatter(solve_outweighed(operator, Q).vectors) == pytest.approx(scatter(exact), rel=1e-6)


@pytest.mark.parametrize(
    ("ratio", "soft", "n_wanted"),
    [(3.9, 0.0, Q), (30.0, 0.9, Q), (30.0, 0.0, Q - 1), (30.0, 0.0, Q + 1)],
    ids=["too weak", "too soft", "fewer wanted", "more wanted"],
)
def test_where_it_does_not_outweigh_there_is_no_answer(ratio, soft, n_wanted):
    assert solve_outweighed(operator_of(ratio, soft=soft), n_wanted) is None


def test_a_graph_alone_or_an_empty_cluster_has_no_answer():
    operator = operator_of(50.0)
    assert solve_outweighed(GraphPlusLowRank(operator.graph), Q) is None
    empty = np.hstack([operator.factor[:, :-1], np.zeros((N, 1))])
    assert solve_outweighed(GraphPlusLowRank(operator.graph, 2.0, empty, 100.0), Q) is None


def test_no_answer_after_too_many_rounds(monkeypatch):
    monkeypatch.setattr(dominant_factor, "MOST_ROUNDS", 1)
    assert solve_outweighed(operator_of(5.0), Q) is None


@pytest.mark.parametrize(
    ("values", "gain", "degree"),
    [
        ([10.0, 10.0], 3.0, 2),  # arccosh(10) = 2.99
        ([10.0, 10.0], 2.9, 1),
        ([10.0, 10.0], 0.0, 1),
        ([100.0, 2.0], 50.0, 4),  # log 1e6 / (arccosh 100 − arccosh 2) = 3.46
        ([1.01, 1.01], 1e3, 24),
    ],
)
def test_the_degree_that_is_needed(values, gain, degree):
    assert choose_degree(np.array(values), 1.0, gain) == degree
