"""Compiled loops over sparse rows: SciPy's product to the last bit, a recurrence, and cosines over edges."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("numba")

from afcm.compiled import sparse
from afcm.linalg.products import CompiledSparse


def random_matrix(n=40, density=0.2, dtype=float):
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((n, n)) * (rng.random((n, n)) < density)
    dense[5:8] = 0
    return sp.csr_array(dense.astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3, 17])
def test_products_are_those_of_scipy_to_the_last_bit(dtype, width):
    matrix = random_matrix(dtype=dtype)
    block = np.random.default_rng(1).standard_normal((40, width)).astype(dtype)
    product = CompiledSparse.from_matrix(matrix) @ block
    assert product.dtype == dtype
    np.testing.assert_array_equal(product, matrix @ block)


def test_a_step_of_a_recurrence():
    matrix, rng = random_matrix(), np.random.default_rng(2)
    block, before, result = rng.standard_normal((40, 5)), rng.standard_normal((40, 5)), np.empty((40, 5))
    CompiledSparse.from_matrix(matrix).recur(block, before, (0.3, -1.2, 0.7), result)
    np.testing.assert_allclose(result, 0.3 * (matrix.toarray() @ block) - 1.2 * block + 0.7 * before, atol=1e-14)


def test_a_matrix_in_another_precision():
    single = CompiledSparse.from_matrix(random_matrix(), np.float32)
    block = np.ones((40, 2), np.float32)
    assert single.entries.dtype == np.float32
    np.testing.assert_allclose(single @ block, random_matrix().toarray() @ block, atol=1e-5)


def test_rows_belong_to_one_band_each():
    matrix = random_matrix()
    rows = [row for begin, end in CompiledSparse.from_matrix(matrix).bands for row in range(begin, end)]
    assert rows == list(range(40))


def slow_coherence(left, right, fewest):
    """``mean_q max(0, cos_q)^4`` of two rows."""
    spaces = [(left[:q], right[:q]) for q in range(fewest, len(left) + 1)]
    cosines = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in spaces]
    return np.mean([max(cosine, 0.0) ** 4 for cosine in cosines])


@pytest.mark.parametrize("fewest", [1, 2, 4])
def test_every_edge_fades_once_and_both_of_its_entries_are_the_same(fewest):
    rng = np.random.default_rng(3)
    vectors, half = rng.standard_normal((40, 4)), abs(random_matrix())
    matrix = sp.csr_array(half + half.T + sp.eye_array(40))
    inverse = 1 / np.sqrt(np.cumsum(vectors**2, axis=1)[:, fewest - 1 :])
    result = matrix.data.copy()
    for rows in ((0, 13), (13, 40)):
        parts = matrix.indptr, matrix.indices, matrix.data
        sparse.fade_edges(parts, vectors, inverse, (0.25, fewest), *rows, result)
    found = sp.csr_array((result, matrix.indices, matrix.indptr)).toarray()
    expected = matrix.toarray()
    for i, j in zip(*np.nonzero(expected), strict=True):
        expected[i, j] *= 0.25 + 0.75 * slow_coherence(vectors[i], vectors[j], fewest)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(found, found.T)
