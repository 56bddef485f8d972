"""Systems solved from products, against a dense solve."""

from __future__ import annotations

import numpy as np
import pytest

from afcm.linalg.conjugate_gradients import solve_columns


@pytest.mark.parametrize("seed", range(3))
def test_columns_equal_a_dense_solve(seed):
    random = np.random.default_rng(seed)
    factor = random.standard_normal((12, 12))
    matrix, right = factor @ factor.T + 0.5 * np.eye(12), random.standard_normal((12, 4))
    right[:, 2] = 0
    found = solve_columns(lambda columns: matrix @ columns, right, np.ones((12, 4)), tolerance=1e-12)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right), atol=1e-8)


def test_a_solution_is_left_as_it_is():
    right = np.arange(6.0).reshape(3, 2)
    assert np.array_equal(solve_columns(lambda columns: 2 * columns, right, right / 2), right / 2)
