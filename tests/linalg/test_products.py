"""Products on all cores are SciPy's, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from afcm.linalg import products


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_number_of_threads_changes_no_bit(monkeypatch, n_threads, order):
    monkeypatch.setattr(products, "count_cores", lambda: n_threads)
    dense = np.random.default_rng(0).random((50, 50)) * (np.random.default_rng(2).random((50, 50)) < 0.2)
    dense[10:20] = 0  # rows without entries
    matrix = sp.csr_array(dense)
    block = np.asarray(np.random.default_rng(1).standard_normal((50, 4)), order=order)
    cut = products.ParallelSparse(matrix)
    np.testing.assert_array_equal(cut @ block, matrix @ block)
    np.testing.assert_array_equal(cut @ block[:, 0], matrix @ block[:, 0])
    np.testing.assert_array_equal(cut.toarray(), matrix.toarray())
    assert cut.shape == (50, 50)


def test_small_matrices_are_left_alone(monkeypatch):
    matrix = sp.eye_array(5, format="csr")
    assert products.parallelize(matrix) is matrix
    monkeypatch.setattr(products, "WORTH_THREADS", 1)
    monkeypatch.setattr(products, "count_cores", lambda: 2)
    assert isinstance(products.parallelize(matrix), products.ParallelSparse)
