"""Products on all cores are SciPy's, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from afcm.linalg import products


def sparse(n_rows=50, n_columns=50, dtype=float):
    rng = np.random.default_rng(0)
    dense = rng.random((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.2)
    dense[10:20] = 0  # rows without entries
    return sp.csr_array(dense.astype(dtype))


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_columns", [50, 30])
def test_the_number_of_threads_changes_no_bit(monkeypatch, n_threads, order, n_columns):
    monkeypatch.setattr(products, "count_cores", lambda: n_threads)
    matrix = sparse(50, n_columns)
    block = np.asarray(np.random.default_rng(1).standard_normal((n_columns, 4)), order=order)
    parallel = products.ParallelSparse(matrix)
    np.testing.assert_array_equal(parallel @ block, matrix @ block)
    np.testing.assert_array_equal(parallel @ block[:, 0], matrix @ block[:, 0])
    np.testing.assert_array_equal(parallel.toarray(), matrix.toarray())
    assert parallel.shape == (50, n_columns)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_every_core_has_about_the_same_number_of_entries(monkeypatch, n_threads):
    monkeypatch.setattr(products, "count_cores", lambda: n_threads)
    blocks = []
    monkeypatch.setattr(products, "row_block", lambda matrix, rows: blocks.append(matrix[rows]) or matrix[rows])
    matrix = sp.csr_array(np.tril(np.ones((60, 60))))
    products.ParallelSparse(matrix)
    assert len(blocks) == n_threads
    assert sum(block.shape[0] for block in blocks) == 60
    assert all(abs(block.nnz - matrix.nnz / n_threads) <= 60 for block in blocks)  # a row more or less


@pytest.mark.parametrize(("entries", "numbers"), [(np.float32, np.float32), (np.float32, float), (float, np.float32)])
def test_the_product_has_the_dtype_that_scipy_gives_it(entries, numbers):
    matrix, block = sparse(dtype=entries), np.ones((50, 2), dtype=numbers)
    assert (products.ParallelSparse(matrix) @ block).dtype == (matrix @ block).dtype


def test_small_matrices_and_arrays_of_a_device_are_left_alone(monkeypatch):
    matrix = sp.eye_array(50_000, format="csr")
    monkeypatch.setattr(products, "count_cores", lambda: 2)
    assert isinstance(products.parallelize(matrix), products.ParallelSparse)
    monkeypatch.setattr(products, "count_cores", lambda: 1)
    assert products.parallelize(matrix) is matrix
    monkeypatch.setattr(products, "count_cores", lambda: 2)
    smaller, other = sp.eye_array(49_999, format="csr"), np.eye(3)
    assert products.parallelize(smaller) is smaller
    assert products.parallelize(other) is other


@pytest.mark.parametrize("rows", [slice(0, 50), slice(5, 25), slice(12, 15), slice(30, 50), slice(3, 4), slice(7, 7)])
def test_a_block_of_rows_shares_its_memory(rows):
    matrix = sparse(50, 30)
    block = products.row_block(matrix, rows)
    np.testing.assert_array_equal(block.toarray(), matrix.toarray()[rows])
    assert block.shape == (rows.stop - rows.start, 30)
    assert block.nnz == matrix[rows].nnz
    assert block.nnz == 0 or np.shares_memory(block.data, matrix.data)


def test_blocks_of_rows_are_consecutive_and_their_results_in_order():
    def bounds(*given):
        return products.map_row_blocks(lambda rows: (rows.start, rows.stop), *given)

    assert bounds(10, 4) == [(0, 4), (4, 8), (8, 10)]
    assert bounds(8, 4) == [(0, 4), (4, 8)]
    assert bounds(20_000) == [(0, 8192), (8192, 16384), (16384, 20_000)]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("with_fixed", [True, False])
def test_a_step_of_a_recurrence_in_single_precision(monkeypatch, compiled, with_fixed):
    if compiled:
        pytest.importorskip("numba")
    monkeypatch.setattr(products, "is_worth_compiling", lambda *_: compiled)
    matrix, rng = sparse(), np.random.default_rng(1)
    block, before, fixed = (rng.standard_normal((50, 3)).astype(np.float32) for _ in range(3))
    single, result = products.to_single_precision(matrix, 3), np.empty_like(block)
    assert single.shape == (50, 50)
    np.testing.assert_allclose(single @ block, matrix @ block, rtol=1e-5, atol=1e-5)
    single.recur(block, before, (0.7, -0.2, 1.5), result, *([fixed] if with_fixed else []))
    expected = 0.7 * (matrix @ block) - 0.2 * (fixed if with_fixed else block) + 1.5 * before
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
    assert result.dtype == np.float32


def test_what_is_stored_with_its_zeros_left_out():
    assert products.is_stored(sparse())
    assert not products.is_stored(np.eye(3))


def walk_by_breadth(dense):
    """The rows as a breadth-first walk meets them, with Python's lists."""
    order = []
    for first in range(len(dense)):
        queue = [first] if first not in order else []
        order += queue
        for row in queue:
            met = [column for column in np.flatnonzero(dense[row]) if column not in order]
            order += met
            queue += met
    return order


@pytest.mark.parametrize("n_pieces", [1, 3])
def test_arranged_rows_are_those_of_a_walk_and_products_keep_every_bit(monkeypatch, n_pieces):
    pytest.importorskip("numba")
    monkeypatch.setattr(products, "is_worth_compiling", lambda *_: True)
    monkeypatch.setattr(products, "WORTH_ARRANGING", 0)
    piece = sparse(30, 30)
    matrix = sp.csr_array(sp.block_diag([piece + piece.T] * n_pieces))
    arranged, order = products.arrange_rows(matrix, 4)
    assert order.tolist() == walk_by_breadth(matrix.toarray())
    np.testing.assert_array_equal(arranged.toarray(), matrix.astype(np.float32).toarray()[order][:, order])
    block = np.random.default_rng(1).standard_normal((30 * n_pieces, 4)).astype(np.float32)
    single = products.to_single_precision(matrix, 4) @ block
    np.testing.assert_array_equal(products.to_single_precision(arranged, 4) @ block[order], single[order])


def test_rows_near_their_neighbors_are_arranged_already(monkeypatch):
    monkeypatch.setattr(products, "WORTH_ARRANGING", 400)
    chain = sp.csr_array(sp.diags_array([np.ones(4999), np.ones(4999)], offsets=[-1, 1]))
    shuffled = np.random.default_rng(0).permutation(5000)
    assert products.is_arranged(chain, 4)  # what lies between neighbors: 4 numbers
    assert not products.is_arranged(chain, 401)
    assert not products.is_arranged(sp.csr_array(chain[shuffled][:, shuffled]), 4)


def test_rows_stay_where_blocks_fit_in_the_cache(monkeypatch):
    monkeypatch.setattr(products, "is_worth_compiling", lambda *_: True)
    matrix = sparse(50, 50)
    assert products.arrange_rows(matrix, 50 * products.WORTH_ARRANGING // 50 // 50 - 1) == (matrix, None)
