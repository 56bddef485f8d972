"""The smallest sets of clusters, against trying every subset."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afcm.equations.cluster_sets import smallest_sets


def smallest_by_trial(row, alpha):
    """Of the smallest subsets that suffice the one with the largest sum."""
    for size in range(1, len(row) + 1):
        best = max(combinations(range(len(row)), size), key=lambda subset: sum(row[j] for j in subset))
        if sum(row[j] for j in best) >= 1 - alpha or size == len(row):
            return set(best)
    raise AssertionError


@given(st.integers(0, 10_000), st.integers(1, 6), st.floats(0.01, 0.99))
def test_no_smaller_set_suffices(seed, n_clusters, alpha):
    memberships = np.random.default_rng(seed).dirichlet(np.full(n_clusters, 0.5), size=8)
    found = smallest_sets(memberships, alpha)
    for row, chosen in zip(memberships, found, strict=True):
        assert set(np.flatnonzero(chosen)) == smallest_by_trial(row, alpha)


def test_sums_that_rounding_keeps_below_are_enough():
    memberships = np.array([[0.1, 0.5, 0.4], [0.7, 0.1, 0.2], [0.0, 0.0, 1.0]])
    expected = [[False, True, True], [True, False, True], [False, False, True]]
    assert smallest_sets(memberships, 0.1).tolist() == expected
    assert smallest_sets(memberships.astype(np.float32), 0.1).tolist() == expected


def test_of_equal_memberships_the_first_enter():
    assert smallest_sets(np.full((1, 4), 0.25), 0.5).tolist() == [[True, True, False, False]]
    assert smallest_sets(np.full((1, 4), 0.25), 0.999).tolist() == [[True, False, False, False]]


def test_tensors_give_the_same():
    torch = pytest.importorskip("torch")
    memberships = np.random.default_rng(0).dirichlet(np.full(5, 0.3), size=50)
    found = smallest_sets(torch.as_tensor(memberships), 0.1)
    assert found.dtype == torch.bool
    np.testing.assert_array_equal(found.numpy(), smallest_sets(memberships, 0.1))
