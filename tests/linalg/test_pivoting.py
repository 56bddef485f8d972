"""Groups of rows by pivoted QR, against groups that are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ortho_group
from sklearn.metrics import adjusted_rand_score

from afcm.linalg.pivoting import assign_by_pivots


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
