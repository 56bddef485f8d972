"""Ambiguity of samples from their memberships, against values known by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afcm.metrics.ambiguity import ambiguity, is_ambiguous


def test_known_rows():
    rows = np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0.25, 0.5, 0.25], [1 / 3] * 3])
    assert ambiguity(rows) == pytest.approx([0, 1, 0.75, 1])


def test_one_cluster_leaves_no_doubt():
    assert ambiguity(np.ones((3, 1))).tolist() == [0, 0, 0]


@given(st.permutations(range(4)), st.lists(st.floats(0.01, 1), min_size=4, max_size=4))
def test_the_names_of_the_clusters_do_not_matter(order, row):
    row = np.array([row]) / sum(row)
    assert ambiguity(row[:, order]) == pytest.approx(ambiguity(row))
    assert 0 <= ambiguity(row)[0] <= 1


def test_the_limit_itself_is_ambiguous():
    assert is_ambiguous(np.array([0.0, 0.4999, 0.5, 1.0])).tolist() == [False, False, True, True]
