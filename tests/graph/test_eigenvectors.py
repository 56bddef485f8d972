"""Leading eigenvectors equal those of a dense solve; the first search space holds what is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from afcm import AFCM
from afcm.graph import eigenvectors
from afcm.graph.affinity import normalize_graph
from afcm.graph.similarity import agreement_weights, search_neighbors
from afcm.linalg import eigensolver, filtered_subspace
from afcm.linalg.search_space import n_guards
from tests.graph.graphs import dense_leading, dense_normalized, random_weights


def three_components():
    """Two components, an isolated node, and masses."""
    weights = sp.block_diag([sp.coo_array(np.ones((3, 3)) - np.eye(3)), [[0]], [[0, 2], [2, 0]]]).toarray()
    return weights, np.array([1.0, 2.0, 3.0, 1.0, 2.0, 1.0])


@pytest.mark.parametrize("searched", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_leading_eigenvectors_are_those_of_a_dense_solve(weighted, searched):
    rng = np.random.default_rng(0)
    weights = random_weights(rng, 30).toarray() + 0.01
    masses = rng.integers(1, 4, size=30).astype(float) if weighted else None
    values, vectors = dense_leading(dense_normalized(weights, masses)[0], 3)
    with pytest.MonkeyPatch.context() as patch:
        for limit in ("DENSE_LIMIT", "DENSE_PER_VECTOR", "DENSE_MOST") if searched else ():
            patch.setattr(eigensolver, limit, 0)
        found = eigenvectors.solve_leading(normalize_graph(sp.csr_array(weights), masses), 3, 1e-10)
    np.testing.assert_allclose(found.values, values, atol=1e-9)
    np.testing.assert_allclose(found.vectors @ found.vectors.T, vectors @ vectors.T, atol=1e-6)


def test_a_solve_is_told_how_accurate_and_how_long(monkeypatch):
    asked = []

    def watch(operator, block, n_wanted, **how):
        asked.append((operator.graph, operator.weight, operator.factor, block, n_wanted, how))

    monkeypatch.setattr(eigenvectors.eigensolver, "leading_eigenvectors", watch)
    graph = normalize_graph(random_weights(np.random.default_rng(0), 12))
    hint = np.random.default_rng(1).standard_normal((12, 2))
    solver = eigensolver.DenseSolver()
    eigenvectors.solve_leading(graph, 2)
    eigenvectors.solve_leading(graph, 2, 1e-5, dense=solver, hint=hint, max_steps=7)
    for (operator, weight, factor, block, n_wanted, how), given_hint, expected in zip(
        asked,
        (None, hint),
        ({"angle_tol": 1e-2, "max_steps": 2000, "dense": None}, {"angle_tol": 1e-5, "max_steps": 7, "dense": solver}),
        strict=True,
    ):
        assert operator is graph.operator
        assert (weight, factor, n_wanted, how) == (1.0, None, 2, expected)
        np.testing.assert_array_equal(block, eigenvectors.search_block(graph, 2, given_hint))


@pytest.mark.parametrize("n_hints", [None, 1, 20])
@pytest.mark.parametrize("n_clusters", [1, 2, 3])
def test_the_first_search_space_is_known_vectors_then_hints_then_draws(n_clusters, n_hints):
    weights, masses = three_components()
    graph = normalize_graph(sp.csr_array(weights), masses)
    hint = None if n_hints is None else np.random.default_rng(1).standard_normal((6, n_hints))
    width = n_clusters + n_guards(n_clusters)
    known = np.zeros((6, 2))
    for column, members in enumerate(([0, 1, 2], [4, 5])):
        known[members, column] = np.sqrt(masses[members] * (weights @ masses)[members])
    known = (known / np.linalg.norm(known, axis=0))[:, :n_clusters]
    if hint is not None:
        known = np.hstack([known, hint - known @ (known.T @ hint)])[:, :width]
    drawn = np.random.RandomState(0).standard_normal((6, width - known.shape[1]))
    found = eigenvectors.search_block(graph, n_clusters, hint)
    np.testing.assert_allclose(found, np.hstack([known, drawn]), rtol=1e-12)


def test_columns_of_a_hint_that_are_known_leave_room_for_the_others():
    random = np.random.default_rng(0)
    known = np.linalg.qr(random.standard_normal((40, 3)))[0]
    new = random.standard_normal((40, 2))
    new -= known @ (known.T @ new)
    hint = np.column_stack([known @ [1.0, 2, 3], new[:, 0], known @ [0, 1.0, 1] + 0.01 * new[:, 1], new[:, 1]])
    np.testing.assert_allclose(eigenvectors.drop_known(hint, known), new, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_no_vector_is_missed_where_a_graph_has_pieces_and_a_hint_knows_them(seed):
    """Blobs in three far groups, near each other within a group: a block of known vectors alone would miss some."""
    centers = np.array([[0, 0, 0], [5, 0, 0], [0, 5, 0], [40, 0, 0], [45, 0, 5], [0, 40, 0], [5, 40, 0.0]])
    X, _ = make_blobs(490, centers=centers, random_state=seed)
    prepared = AFCM(7, random_state=0).prepare(X)
    assert 1 < prepared.graph.components[0] < 7
    exact, _ = dense_leading(prepared.graph.affinity.toarray(), 7)
    np.testing.assert_allclose(prepared.start_eigenvectors(7).values, exact, atol=1e-4)


def test_null_vectors_of_groups_of_components_are_eigenvectors():
    weights, masses = three_components()
    graph = normalize_graph(sp.csr_array(weights), masses)
    labels = np.array([1, 1, 1, -1, 0, 0])
    found = eigenvectors.null_space(graph, labels, 2)
    roots = np.sqrt(masses * (weights @ masses))
    for group in range(2):
        expected = np.where(labels == group, roots, 0)
        np.testing.assert_allclose(found.vectors[:, group], expected / np.linalg.norm(expected), rtol=1e-12)
    np.testing.assert_allclose(graph.operator @ found.vectors, found.vectors, atol=1e-12)
    np.testing.assert_array_equal(found.values, [1.0, 1.0])
    assert found.graph_image is found.vectors
    assert (found.residual, found.trace_error, found.n_products, found.converged) == (0.0, 0.0, 0, True)


def test_an_indicator_has_a_one_at_each_label():
    found = eigenvectors.indicator(np.array([2, 0, -1]), 3)
    np.testing.assert_array_equal(found, [[0, 0, 1], [1, 0, 0], [0, 0, 1]])
    assert found.dtype == np.float64


def grouped_graph(n=600, n_groups=5):
    """Groups with a few edges between them."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % n_groups
    dense = (rng.random((n, n)) < np.where(labels[:, None] == labels, 0.1, 0.004)) * rng.random((n, n))
    return normalize_graph(sp.csr_array(np.triu(dense, 1) + np.triu(dense, 1).T))


@pytest.fixture
def _filtered(monkeypatch):
    """Every graph is large enough for a filter."""
    monkeypatch.setattr(eigenvectors, "FILTERED", 0)


@pytest.mark.usefixtures("_filtered")
@pytest.mark.parametrize("with_hint", [False, True])
def test_a_filtered_solve_is_as_good_as_it_was_asked_to_be(with_hint):
    graph = grouped_graph()
    values, vectors = dense_leading(graph.affinity.toarray(), 5)
    hint = vectors + 0.01 * np.random.default_rng(1).standard_normal((600, 5)) if with_hint else None
    found = eigenvectors.solve_leading(graph, 5, hint=hint)
    assert found.n_products == 0  # it was not searched
    assert found.converged
    np.testing.assert_allclose(found.values, values, atol=1e-4)  # errors of values are squares of angles
    assert np.linalg.svd(vectors.T @ found.vectors)[1].min() > np.cos(1e-2)


@pytest.mark.usefixtures("_filtered")
def test_a_search_goes_on_where_single_precision_ends():
    graph = grouped_graph()
    values, vectors = dense_leading(graph.affinity.toarray(), 5)
    found = eigenvectors.solve_leading(graph, 5, 1e-9)
    np.testing.assert_allclose(found.values, values, atol=1e-12)
    np.testing.assert_allclose(found.vectors @ found.vectors.T, vectors @ vectors.T, atol=1e-6)


@pytest.mark.usefixtures("_filtered")
def test_rough_vectors_span_nearly_the_right_space():
    graph = grouped_graph()
    found = eigenvectors.solve_roughly(graph, 5, 12)
    assert found.shape == (600, 18)  # with six guards
    _, vectors = dense_leading(graph.affinity.toarray(), 5)
    assert np.linalg.svd(vectors.T @ found[:, :5])[1].min() > np.cos(0.1)
    np.testing.assert_allclose(found.T @ found, np.eye(18), atol=1e-4)


@pytest.mark.usefixtures("_filtered")
def test_first_vectors_with_a_narrow_gap_are_placed_well_too():
    """Two long strips: their second eigenvectors have eigenvalues near 1."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.uniform(size=(600, 2)) * [60, 1] + [0, 1.4 * strip] for strip in range(2)])
    graph = normalize_graph(agreement_weights(*search_neighbors(X, 10)))
    _, vectors = dense_leading(graph.affinity.toarray(), 4)
    found = eigenvectors.solve_roughly(graph, 4, 8)
    assert np.linalg.svd(vectors.T @ found[:, :4])[1].min() > np.cos(0.1)


@pytest.mark.usefixtures("_filtered")
def test_a_hint_as_wide_as_the_block_is_not_probed_for(monkeypatch):
    graph = grouped_graph()
    values, vectors = dense_leading(graph.affinity.toarray(), 11)
    hint = vectors + 0.002 * np.random.default_rng(1).standard_normal((600, 11))
    monkeypatch.setattr(filtered_subspace, "estimate_eigenvalue", lambda *_: pytest.fail("the hint tells"))
    found = eigenvectors.solve_leading(graph, 5, hint=hint)
    np.testing.assert_allclose(found.values, values[:5], atol=1e-5)
    assert np.linalg.svd(vectors[:, :5].T @ found.vectors)[1].min() > np.cos(1e-2)


@pytest.mark.usefixtures("_filtered")
def test_a_hint_that_is_good_enough_is_not_filtered(monkeypatch):
    graph = grouped_graph()
    values, vectors = dense_leading(graph.affinity.toarray(), 11)
    monkeypatch.setattr(filtered_subspace, "apply_filter", lambda *_: pytest.fail("nothing is missing"))
    found = eigenvectors.solve_leading(graph, 5, hint=vectors)
    np.testing.assert_allclose(found.values, values[:5], atol=1e-5)


def test_small_graphs_and_wide_blocks_are_not_filtered(monkeypatch):
    graph = grouped_graph()
    assert not eigenvectors.is_worth_filtering(graph, 5)
    monkeypatch.setattr(eigenvectors, "FILTERED", 600)
    assert eigenvectors.is_worth_filtering(graph, 5)
    assert eigenvectors.is_worth_filtering(graph, 60)
    assert not eigenvectors.is_worth_filtering(graph, 61)  # with their guards 76 vectors, and 600 < 8 · 76
    assert not eigenvectors.is_worth_filtering(replace(graph, affinity=graph.affinity.toarray()), 5)
