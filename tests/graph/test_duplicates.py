"""Identical samples are one node with their mass, in an order that depends on contents alone."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from afcm.graph import duplicates
from afcm.graph.duplicates import merge_duplicates, row_keys
from tests.strategies import quick


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


def test_rows_whose_keys_collide_are_told_apart_to_the_last_digit(monkeypatch):
    points = np.array([[0.0], [1e-20], [-0.0]])
    monkeypatch.setattr(duplicates, "row_keys", lambda table: np.zeros(len(table), dtype=np.uint64))
    rows, masses, inverse = merge_duplicates(points)
    np.testing.assert_array_equal(points[rows][inverse], points)
    np.testing.assert_array_equal(masses, [2.0, 1.0])


@quick
@given(st.integers(0, 2**32 - 1), st.sampled_from(["<d", "<f"]))
def test_row_keys_equal_their_formula(seed, form):
    """Keys are kept in model files, so they must be the same in every version; here in integers of any length."""
    points = np.random.default_rng(seed).standard_normal((4, 3)).astype(form[1:])
    points[0, 1] = -0.0
    factors = [int(draw) * 2 + 1 for draw in np.random.default_rng(0).integers(1, 2**63, size=3, dtype=np.uint64)]
    for row, key in zip(points, row_keys(points), strict=True):
        expected = 0
        for value, factor in zip(row, factors, strict=True):
            bits = int.from_bytes(struct.pack(form, value + 0.0), "little")
            mixed = (bits ^ factor) * factor % 2**64
            expected = (expected ^ mixed ^ mixed >> 29) * 0x9E3779B97F4A7C15 % 2**64
        assert int(key) == expected
