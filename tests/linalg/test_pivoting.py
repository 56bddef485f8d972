"""Groups of rows by pivoted QR, against groups that are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ortho_group
from sklearn.metrics import adjusted_rand_score

from afcm.linalg.pivoting import assign_by_pivots, find_pivots


@pytest.mark.parametrize("n_groups", [1, 2, 3, 7])
def test_rotated_indicators_give_their_groups(n_groups):
    rng = np.random.default_rng(n_groups)
    labels = rng.permutation(np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, 60)]))
    block = np.eye(n_groups)[labels] * rng.uniform(0.5, 2, len(labels))[:, None]
    block /= np.linalg.norm(block, axis=0)
    if n_groups > 1:
        block = block @ ortho_group.rvs(n_groups, random_state=3)
    found = assign_by_pivots(block)
    assert adjusted_rand_score(labels, found) == 1
    assert set(found) == set(range(n_groups))


def test_rows_near_the_indicators_keep_their_groups_and_signs_do_not_matter():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 40)
    block, _ = np.linalg.qr(np.eye(3)[labels] + 0.05 * rng.standard_normal((120, 3)))
    found = assign_by_pivots(block * [1, -1, 1])
    assert adjusted_rand_score(labels, found) == 1
    np.testing.assert_array_equal(found, assign_by_pivots(block * [1, -1, 1]))


def test_pivots_are_rows_in_different_directions():
    """Noisy axes of different lengths: one row near each axis, the longest first."""
    rng = np.random.default_rng(0)
    axes = np.arange(60) % 4
    points = np.eye(4)[axes] * [4.0, 3.0, 2.0, 1.0] + 0.01 * rng.standard_normal((60, 4))
    rows = points[find_pivots(points, 4)]
    np.testing.assert_array_equal(abs(rows).argmax(axis=1), [0, 1, 2, 3])
    np.testing.assert_array_equal(find_pivots(points, 2), find_pivots(points, 4)[:2])


def test_each_pivot_is_the_longest_row_outside_those_before():
    vectors = np.random.default_rng(4).standard_normal((30, 3))
    chosen = []
    for _ in range(3):
        basis = np.linalg.qr(vectors[chosen].T)[0] if chosen else np.zeros((3, 0))
        chosen.append(int(np.linalg.norm(vectors - vectors @ basis @ basis.T, axis=1).argmax()))
    np.testing.assert_array_equal(find_pivots(vectors, 3), chosen)
