"""The graph: symmetric, positive semi-definite Laplacian with the right null vector, kernels as their formulas."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from afcm.graph import duplicates, kernels
from afcm.graph.affinity import (
    fill_empty_rows,
    neighbor_graph,
    neighbor_matrix,
    neighbor_weights,
    normalize_graph,
    normalized_cut,
    symmetrize,
    symmetrize_by_agreement,
)
from afcm.graph.duplicates import merge_duplicates, row_keys
from afcm.graph.kernels import KERNELS, NeighborLists, adaptive, binary, gaussian, local, neighbor_lists
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


def test_kernels_are_their_formulas():
    points = np.random.default_rng(0).standard_normal((20, 2))
    k = 4
    found = find_neighbors(points, k + 1)
    lists = neighbor_lists(found, k, bandwidth=0.7)
    scale = np.sqrt(found.squared[:, k - 1])
    for i in range(20):
        e = found.squared[i]
        for j in range(k):
            other = found.indices[i, j]
            assert gaussian(lists)[i, j] == pytest.approx(np.exp(-e[j] / (2 * 0.7**2)))
            assert local(lists)[i, j] == pytest.approx(np.exp(-e[j] / (scale[i] * scale[other])))
            assert adaptive(lists)[i, j] == pytest.approx((e[k] - e[j]) / (k * e[k] - e[:k].sum()))
    np.testing.assert_allclose(adaptive(lists).sum(axis=1), 1)
    assert (binary(lists) == 1).all()


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


@quick
@given(st.integers(0, 10**6), st.sampled_from([np.float64, np.float32]), st.booleans())
def test_distinct_rows_reproduce_the_table(seed, dtype, sparse):
    rng = np.random.default_rng(seed)
    points = rng.integers(-1, 2, size=(30, 3)).astype(dtype)
    points[0] = -0.0
    points[1] = 0.0
    found = merge_duplicates(sp.csr_array(points) if sparse else points)
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
    weighted = merge_duplicates(points[order], weights[order].astype(float))
    repeated = merge_duplicates(np.repeat(points, weights, axis=0))
    np.testing.assert_array_equal(points[order][weighted.rows], np.repeat(points, weights, axis=0)[repeated.rows])
    np.testing.assert_array_equal(weighted.masses, repeated.masses)
    assert ((weighted.inverse < 0) == (weights[order] == 0)).all()


def test_without_duplicates_or_weights_nothing_is_moved():
    points = np.random.default_rng(0).standard_normal((10, 2))
    rows, masses, inverse = merge_duplicates(points)
    np.testing.assert_array_equal(rows, np.arange(10))
    assert masses is None
    assert inverse == slice(None)


def test_row_keys_that_collide_do_not_merge_rows(monkeypatch):
    points = np.array([[0.0, 1.0], [2.0, 3.0], [0.0, 1.0]])
    monkeypatch.setattr(duplicates, "row_keys", lambda table: np.zeros(len(table), dtype=np.uint64))
    assert merge_duplicates(points).rows.size == 2


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


def test_neighbor_lists_of_new_samples_take_the_scales_of_the_nodes():
    found = Neighbors(np.array([[2, 0, 1]]), np.array([[1.0, 4.0, 9.0]]))
    lists = neighbor_lists(found, 2, 1.0, scales=np.array([5.0, 6.0, 7.0]))
    np.testing.assert_array_equal(lists.their_scale, [[7.0, 5.0]])
    np.testing.assert_array_equal(lists.own_scale, [2.0])
    np.testing.assert_array_equal(lists.beyond, [9.0])
    np.testing.assert_array_equal(lists.squared, [[1.0, 4.0]])


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


def test_samples_that_are_not_merged_keep_their_order_and_weights():
    points = np.array([[3.0], [1.0], [1.0], [2.0]])
    rows, masses, inverse = merge_duplicates(points, merge=False)
    np.testing.assert_array_equal(rows, np.arange(4))
    assert (masses, inverse) == (None, slice(None))
    rows, masses, inverse = merge_duplicates(points, np.array([2.0, 0.0, 0.5, 1.0]), merge=False)
    np.testing.assert_array_equal(rows, [0, 2, 3])
    np.testing.assert_array_equal(masses, [2.0, 0.5, 1.0])
    np.testing.assert_array_equal(inverse, [0, -1, 1, 2])
    assert masses.dtype == np.float64


def test_weights_alone_order_the_samples_by_content():
    points = np.array([[3.0], [1.0], [2.0]])
    rows, masses, inverse = merge_duplicates(points, np.array([1.0, 1.0, 1.0]))
    np.testing.assert_array_equal(points[rows][inverse], points)
    np.testing.assert_array_equal(masses, np.ones(3))
    again = merge_duplicates(points[::-1], np.ones(3))
    np.testing.assert_array_equal(points[::-1][again.rows], points[rows])


class OnDevice(np.ndarray):
    """Stands for a tensor."""


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 0.0])])
def test_duplicates_of_tensors_are_sorted_out_on_the_host(equal, weights, monkeypatch):
    points = np.array([[1.0], [2.0], [1.0 if equal else 3.0]])
    monkeypatch.setattr(duplicates, "is_tensor", lambda array: isinstance(array, OnDevice))
    monkeypatch.setattr(duplicates, "to_host", lambda array: array.view(np.ndarray))
    monkeypatch.setattr(
        duplicates, "from_host", lambda array, place: array if array is None else array.view(type(place))
    )
    monkeypatch.setattr(
        duplicates, "backend_of", lambda array: type("Backend", (), {"may_have_equal_rows": lambda _: equal})
    )
    for merge in (True, False):
        rows, masses, inverse = merge_duplicates(points.view(OnDevice), weights, merge=merge)
        expected = merge_duplicates(points, weights, merge=merge)
        np.testing.assert_array_equal(rows, expected.rows)
        assert isinstance(masses, OnDevice) == (expected.masses is not None)
        np.testing.assert_array_equal(np.arange(3)[inverse], np.arange(3)[expected.inverse])
        if masses is not None:
            np.testing.assert_array_equal(masses, expected.masses)


def test_row_keys_tell_rows_apart_by_values_and_places():
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        table = rng.integers(-2, 3, size=(4000, 8)).astype(dtype)
        table = np.unique(table, axis=0)
        assert np.unique(row_keys(table)).size == len(table)
        assert row_keys(table).dtype == np.uint64
    rows = np.array([[0.0, 1.0], [1.0, 0.0], [-0.0, 1.0], [0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    keys = row_keys(rows)
    assert keys[0] == keys[2]
    assert np.unique(keys).size == 5


def test_sparse_rows_are_compared_by_value_and_not_changed():
    """Explicit zeros, entries in two parts and columns in another order are the same row."""
    offsets = np.array([0, 2, 5, 8, 9])
    columns = np.array([0, 2, 2, 0, 1, 0, 2, 0, 1])
    values = np.array([1.0, 5.0, 5.0, 1.0, 0.0, 0.5, 5.0, 0.5, 1.0])
    matrix = sp.csr_array((values, columns, offsets), shape=(4, 3))
    before = matrix.copy()
    rows, masses, inverse = merge_duplicates(matrix)
    assert rows.size == 2
    np.testing.assert_array_equal(np.sort(masses), [1, 3])
    assert inverse[0] == inverse[1] == inverse[2] != inverse[3]
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(matrix, part), getattr(before, part))


def test_ratios_of_arrays_of_two_libraries_are_refused():
    with pytest.raises(TypeError, match=r"[Mm]ultiple namespaces"):
        ratio(np.ones(2), Foreign(), np.ones(2))


def test_the_local_kernel_without_a_scale():
    near = np.array([[0.0, 0.25, 4.0]])
    lists = NeighborLists(near, np.array([4.0]), np.array([1.0]), np.zeros((1, 3)), 1.0)
    np.testing.assert_array_equal(local(lists), [[1.0, 0.0, 0.0]])


def test_kernels_go_by_their_names():
    named = {name: getattr(kernels, name) for name in ("adaptive", "local", "gaussian", "binary")}
    assert named == KERNELS


def test_isolated_nodes_are_scaled_by_zero():
    np.testing.assert_array_equal(inverse_sqrt(np.array([0.0, 4.0, 0.25])), [0.0, 0.5, 2.0])


def test_rows_whose_keys_collide_are_told_apart_to_the_last_digit(monkeypatch):
    points = np.array([[0.0], [1e-20], [-0.0]])
    monkeypatch.setattr(duplicates, "row_keys", lambda table: np.zeros(len(table), dtype=np.uint64))
    rows, masses, inverse = merge_duplicates(points)
    np.testing.assert_array_equal(points[rows][inverse], points)
    np.testing.assert_array_equal(masses, [2.0, 1.0])
