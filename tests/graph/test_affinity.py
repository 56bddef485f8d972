"""The graph: symmetric, positive semi-definite Laplacian with the right null vector, kernels as their formulas."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from afcm.graph import affinity
from afcm.graph.affinity import (
    Graph,
    fill_empty_rows,
    neighbor_graph,
    neighbor_matrix,
    neighbor_weights,
    normalize_graph,
    normalized_cut,
    symmetrize,
    symmetrize_by_agreement,
)
from afcm.graph.kernels import KERNELS, neighbor_lists
from afcm.linalg.ratios import inverse_sqrt, ratio
from afcm.neighbors import Neighbors, find_neighbors
from tests.equations.test_paper import Foreign
from tests.strategies import affinities, quick


def build(points, k, kernel, bandwidth=2.0, masses=None):
    found = find_neighbors(points, min(k + 1, len(points) - 1))
    lists = neighbor_lists(found, k, bandwidth)
    weights = neighbor_matrix(KERNELS[kernel](lists), found.indices, len(points))
    return normalize_graph(symmetrize(weights), masses), weights


@quick
@given(st.integers(0, 10**6), st.sampled_from(sorted(KERNELS)), st.integers(1, 6), st.booleans())
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
    folded = normalize_graph(sp.csr_array(weights), masses)
    whole = normalize_graph(sp.csr_array(weights[np.ix_(copies, copies)]))
    vectors = rng.standard_normal((len(weights), 2))
    spread = (vectors / np.sqrt(masses)[:, None])[copies]
    np.testing.assert_allclose(
        vectors.T @ (folded.affinity @ vectors), spread.T @ (whole.affinity @ spread), atol=1e-10
    )
    np.testing.assert_allclose(folded.degrees[copies], whole.degrees, rtol=1e-12)


def test_isolated_nodes_get_an_empty_row_and_no_component():
    weights = np.zeros((5, 5))
    weights[0, 1] = weights[1, 0] = weights[3, 4] = weights[4, 3] = 1.0
    built = normalize_graph(sp.csr_array(weights))
    assert np.isfinite(built.affinity.toarray()).all()
    count, labels = built.components
    assert count == 2
    np.testing.assert_array_equal(labels, [0, 0, -1, 1, 1])


def test_an_operator_that_knows_its_components_is_asked_for_them():
    operator = SimpleNamespace(components=(2, np.array([0, 1, 0])))
    assert Graph(operator, np.ones(3)).components is operator.components


@quick
@given(affinities())
def test_normalized_cut_is_the_definition(case):
    weights, rng = case
    n_clusters = 3
    labels = rng.integers(0, n_clusters, size=len(weights))
    built = normalize_graph(sp.csr_array(weights))
    expected = 0.0
    for j in range(n_clusters):
        inside = labels == j
        volume = weights[inside].sum()
        expected += 1.0 if volume == 0 else weights[np.ix_(inside, ~inside)].sum() / volume
    assert normalized_cut(built, np.eye(n_clusters)[labels]) == pytest.approx(expected, abs=1e-10)


def test_empty_rows_of_similarities_are_filled():
    weights = sp.csr_array(np.array([[0.0, 0.0], [0.2, 0.3]]))
    np.testing.assert_array_equal(fill_empty_rows(weights).toarray(), [[1, 1], [0.2, 0.3]])


@quick
@given(affinities())
def test_agreed_weights_are_their_formula(case):
    _, rng = case
    weights = rng.random((9, 9)) * (rng.random((9, 9)) < 0.5)
    found = symmetrize_by_agreement(sp.csr_array(weights)).toarray()
    np.testing.assert_allclose(found, ((np.sqrt(weights) + np.sqrt(weights.T)) / 2) ** 2, rtol=1e-12)
    np.testing.assert_array_equal(found, found.T)


def test_compiled_components_are_the_same(monkeypatch):
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    dense = np.triu(rng.random((80, 80)) * (rng.random((80, 80)) < 0.02), 1)
    weights = sp.csr_array(dense + dense.T)
    degrees = weights.sum(axis=1)
    expected = affinity.find_components(weights, degrees <= 0)
    monkeypatch.setattr(affinity, "AT_HAND", 0)  # Numba is loaded
    monkeypatch.setattr(affinity, "backend_of", lambda _: pytest.fail("a compiled loop does it"))
    found = affinity.find_components(weights, degrees <= 0)
    assert found[0] == expected[0] > 3
    np.testing.assert_array_equal(found[1], expected[1])
    assert (found[1] == -1).sum() == (degrees <= 0).sum() > 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_agreement_is_the_same(monkeypatch, dtype):
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    dense = (rng.random((60, 60)) * (rng.random((60, 60)) < 0.2)).astype(dtype)
    dense[7], dense[:, 7], dense[9] = 0, 0, 0  # nobody's neighbor, and one without neighbors of its own
    weights = sp.csr_array(dense)
    for first, last in zip(weights.indptr[:-1], weights.indptr[1:], strict=True):  # neighbors come by distance
        order = rng.permutation(last - first)
        weights.indices[first:last], weights.data[first:last] = (
            part[first:last][order] for part in (weights.indices, weights.data)
        )
    given_order, expected = weights.indices.copy(), symmetrize_by_agreement(sp.csr_array(dense))
    monkeypatch.setattr(affinity, "WORTH_COMPILING", 0)
    found = symmetrize_by_agreement(weights)
    assert found.dtype == dtype
    for part in ("indptr", "indices"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))
    np.testing.assert_allclose(found.data, expected.data, rtol=0 if dtype is np.float64 else 1e-6)
    np.testing.assert_array_equal(weights.indices, given_order)


@quick
@given(st.integers(0, 10**6), st.sampled_from(sorted(KERNELS)), st.booleans())
def test_the_whole_way_is_its_steps(seed, kernel, weighted):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((12, 2))
    masses = rng.integers(1, 4, size=12).astype(float) if weighted else None
    found = find_neighbors(points, 4)
    whole = neighbor_graph(found, 3, kernel=kernel, masses=masses)
    steps, weights = build(points, 3, kernel, bandwidth=1.0, masses=masses)
    np.testing.assert_array_equal(whole.affinity.toarray(), steps.affinity.toarray())
    np.testing.assert_array_equal(whole.degrees, steps.degrees)
    np.testing.assert_array_equal(neighbor_weights(found, 3, kernel=kernel).toarray(), weights.toarray())
    np.testing.assert_array_equal(whole.volumes, steps.degrees * (1 if masses is None else masses))
    assert whole.operator is whole.operator
    wide = neighbor_graph(found, 3, kernel="gaussian", bandwidth=9.0)
    assert (wide.affinity.toarray() != build(points, 3, "gaussian", bandwidth=1.0)[0].affinity.toarray()).any()


def test_a_bandwidth_that_is_too_small_names_a_better_one():
    found = Neighbors(np.array([[1, 2], [0, 2], [1, 0]]), np.array([[4.0, 9.0], [4.0, 9.0], [9.0, 25.0]]))
    with pytest.raises(ValueError, match=r"bandwidth=0.001 .* every similarity is 0; use about 3, or kernel='local'"):
        neighbor_graph(found, 2, kernel="gaussian", bandwidth=1e-3)


def test_degrees_of_single_precision_weights_are_double():
    weights = sp.csr_array(np.array([[0, 1 / 3], [1 / 3, 0]], dtype=np.float32))
    for masses in (None, np.ones(2)):
        built = normalize_graph(weights, masses)
        assert built.degrees.dtype == built.affinity.dtype == np.float64
        np.testing.assert_array_equal(built.degrees, np.float64(np.float32(1 / 3)))


def test_full_rows_of_similarities_are_left_alone():
    weights = sp.csr_array(np.array([[0.0, 0.1], [0.2, 0.3]]))
    assert fill_empty_rows(weights) is weights
    assert fill_empty_rows(sp.csr_array(-np.eye(2))).toarray().min() == 1


def test_ratios_of_arrays_of_two_libraries_are_refused():
    with pytest.raises(TypeError, match=r"[Mm]ultiple namespaces"):
        ratio(np.ones(2), Foreign(), np.ones(2))


def test_isolated_nodes_are_scaled_by_zero():
    np.testing.assert_array_equal(inverse_sqrt(np.array([0.0, 4.0, 0.25])), [0.0, 0.5, 2.0])
