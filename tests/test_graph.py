"""The graph: symmetric, positive semi-definite Laplacian with the right null vector, kernels as their formulas."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from afcm import graph, neighbors

from .strategies import affinities, quick


def build(points, k, kernel, bandwidth=2.0, masses=None):
    found = neighbors.nearest(points, min(k + 1, len(points) - 1))
    lists = graph.neighbor_lists(found, k, bandwidth)
    weights = graph.directed(graph.KERNELS[kernel](lists), found.indices, len(points))
    return graph.normalised(graph.symmetrised(weights), masses), weights


@quick
@given(st.integers(0, 10**6), st.sampled_from(sorted(graph.KERNELS)), st.integers(1, 6), st.booleans())
def test_affinity_is_symmetric_and_its_laplacian_psd_with_the_right_null_vector(seed, kernel, k, weighted):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((15, 3))
    masses = rng.integers(1, 5, size=15).astype(float) if weighted else None
    built, weights = build(points, k, kernel, masses=masses)
    affinity = built.affinity.toarray()
    np.testing.assert_allclose(affinity, affinity.T, atol=1e-14)
    assert (affinity >= 0).all()
    assert (np.diag(affinity) == 0).all()
    assert np.linalg.eigvalsh(np.eye(15) - affinity).min() > -1e-12
    null = np.sqrt(built.volumes)
    np.testing.assert_allclose(affinity @ null, null, atol=1e-12)
    assert (np.diff(weights.indptr) <= k).all()


def test_kernels_are_their_formulas():
    points = np.random.default_rng(0).standard_normal((20, 2))
    k = 4
    found = neighbors.nearest(points, k + 1)
    lists = graph.neighbor_lists(found, k, bandwidth=0.7)
    scale = np.sqrt(found.squared[:, k - 1])
    for i in range(20):
        e = found.squared[i]
        for j in range(k):
            other = found.indices[i, j]
            assert graph.gaussian(lists)[i, j] == pytest.approx(np.exp(-e[j] / (2 * 0.7**2)))
            assert graph.local(lists)[i, j] == pytest.approx(np.exp(-e[j] / (scale[i] * scale[other])))
            assert graph.adaptive(lists)[i, j] == pytest.approx((e[k] - e[j]) / (k * e[k] - e[:k].sum()))
    np.testing.assert_allclose(graph.adaptive(lists).sum(axis=1), 1)
    assert (graph.binary(lists) == 1).all()


def test_local_kernel_of_copies_is_one_and_of_others_zero():
    points = np.array([[0.0], [0.0], [0.0], [5.0], [6.0], [8.0]])
    _, weights = build(points, 2, "local")
    dense = weights.toarray()
    np.testing.assert_array_equal(dense[:3, :3], 1 - np.eye(3))
    assert np.isfinite(dense).all()
    assert (dense[3:, :3] == 0).all()


def test_adaptive_kernel_of_equidistant_neighbors_is_flat():
    corners = np.eye(5) * 3.0
    built, weights = build(corners, 3, "adaptive")
    np.testing.assert_allclose(weights.toarray().sum(axis=1), 1)
    assert np.isfinite(built.affinity.data).all()


@quick
@given(affinities(), st.integers(0, 10**6))
def test_a_mass_of_two_is_a_node_twice(case, seed):
    """The graph of repeated samples, seen on vectors that agree on copies, is the graph of masses."""
    weights, rng = case
    masses = rng.integers(1, 4, size=len(weights)).astype(float)
    copies = np.repeat(np.arange(len(weights)), masses.astype(int))
    folded = graph.normalised(sp.csr_array(weights), masses)
    whole = graph.normalised(sp.csr_array(weights[np.ix_(copies, copies)]))
    vectors = rng.standard_normal((len(weights), 2))
    spread = (vectors / np.sqrt(masses)[:, None])[copies]
    np.testing.assert_allclose(
        vectors.T @ (folded.affinity @ vectors), spread.T @ (whole.affinity @ spread), atol=1e-10
    )
    np.testing.assert_allclose(folded.degrees[copies], whole.degrees, rtol=1e-12)


def test_isolated_nodes_get_an_empty_row_and_no_component():
    weights = np.zeros((5, 5))
    weights[0, 1] = weights[1, 0] = weights[3, 4] = weights[4, 3] = 1.0
    built = graph.normalised(sp.csr_array(weights))
    assert np.isfinite(built.affinity.toarray()).all()
    count, labels = built.components
    assert count == 2
    np.testing.assert_array_equal(labels, [0, 0, -1, 1, 1])


@quick
@given(affinities())
def test_normalized_cut_is_the_definition(case):
    weights, rng = case
    n_clusters = 3
    labels = rng.integers(0, n_clusters, size=len(weights))
    built = graph.normalised(sp.csr_array(weights))
    expected = 0.0
    for j in range(n_clusters):
        inside = labels == j
        volume = weights[inside].sum()
        expected += 1.0 if volume == 0 else weights[np.ix_(inside, ~inside)].sum() / volume
    assert graph.normalized_cut(built, np.eye(n_clusters)[labels]) == pytest.approx(expected, abs=1e-10)


@quick
@given(st.integers(0, 10**6), st.sampled_from([np.float64, np.float32]), st.booleans())
def test_distinct_rows_reproduce_the_table(seed, dtype, sparse):
    rng = np.random.default_rng(seed)
    points = rng.integers(-1, 2, size=(30, 3)).astype(dtype)
    points[0] = -0.0
    points[1] = 0.0
    found = graph.distinct(sp.csr_array(points) if sparse else points)
    expected = np.unique(points + 0.0, axis=0)
    assert len(found.rows) == len(expected)
    np.testing.assert_array_equal(points[found.rows][found.inverse], points)
    assert found.masses.sum() == 30
    np.testing.assert_array_equal(found.masses, np.bincount(found.inverse))


def test_distinct_depends_on_contents_not_on_order_or_on_how_weights_are_given():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((10, 4))
    weights = rng.integers(0, 4, size=10)
    order = rng.permutation(10)
    weighted = graph.distinct(points[order], weights[order].astype(float))
    repeated = graph.distinct(np.repeat(points, weights, axis=0))
    np.testing.assert_array_equal(points[order][weighted.rows], np.repeat(points, weights, axis=0)[repeated.rows])
    np.testing.assert_array_equal(weighted.masses, repeated.masses)
    assert ((weighted.inverse < 0) == (weights[order] == 0)).all()


def test_without_duplicates_or_weights_nothing_is_moved():
    points = np.random.default_rng(0).standard_normal((10, 2))
    rows, masses, inverse = graph.distinct(points)
    np.testing.assert_array_equal(rows, np.arange(10))
    assert masses is None
    assert inverse == slice(None)


def test_row_keys_that_collide_do_not_merge_rows(monkeypatch):
    points = np.array([[0.0, 1.0], [2.0, 3.0], [0.0, 1.0]])
    monkeypatch.setattr(graph, "row_keys", lambda table: np.zeros(len(table), dtype=np.uint64))
    assert graph.distinct(points).rows.size == 2


def test_empty_rows_of_similarities_are_filled():
    weights = sp.csr_array(np.array([[0.0, 0.0], [0.2, 0.3]]))
    np.testing.assert_array_equal(graph.without_empty_rows(weights).toarray(), [[1, 1], [0.2, 0.3]])
    np.testing.assert_array_equal(graph.without_empty_rows(weights, np.array([1, 0])).toarray(), [[0, 1], [0.2, 0.3]])


@quick
@given(affinities())
def test_agreed_weights_are_their_formula(case):
    _, rng = case
    directed = rng.random((9, 9)) * (rng.random((9, 9)) < 0.5)
    found = graph.agreed(sp.csr_array(directed)).toarray()
    np.testing.assert_allclose(found, ((np.sqrt(directed) + np.sqrt(directed.T)) / 2) ** 2, rtol=1e-12)
    np.testing.assert_array_equal(found, found.T)
