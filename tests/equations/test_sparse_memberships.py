"""Memberships of which each row keeps the largest few, against slow loops over dense ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afcm.equations import sparse_memberships
from afcm.equations.ambiguity import ambiguity
from afcm.equations.cluster_sets import smallest_sets, sparse_sets
from afcm.equations.sparse_memberships import (
    FINE_KEPT,
    MOST_KEPT,
    MOST_LEFT,
    argmax_rows,
    choose_twins,
    find_largest,
    keep_blocks,
    keep_fine,
    keep_largest,
    largest_of_rows,
    map_dense_rows,
    mean_left_out,
    put_rows,
    rank_memberships,
    to_dense_rows,
)
from afcm.estimators.base import crispness, membership_state

many = settings(max_examples=60, deadline=None, derandomize=True)
SEEDS, WIDTHS, SPREADS = st.integers(0, 999), st.integers(1, 60), st.sampled_from([0.01, 0.1, 1.0, 100.0])


def draw(seed, n_clusters, spread, n=12):
    return np.random.default_rng(seed).dirichlet(np.full(n_clusters, spread), size=n)


def keep_slowly(row):
    """Numbers of the clusters that are kept."""
    kept = []
    for j in sorted(range(len(row)), key=lambda j: -row[j]):
        if len(kept) == MOST_KEPT or (kept and sum(row[kept]) >= 1 - MOST_LEFT):
            break
        kept.append(j)
    return kept


@many
@given(SEEDS, WIDTHS, SPREADS)
def test_the_fewest_largest_are_kept_as_they_are(seed, n_clusters, spread):
    dense = draw(seed, n_clusters, spread)
    few = keep_largest(dense)
    assert few.has_sorted_indices
    for i, row in enumerate(dense):
        kept = keep_slowly(row)
        assert sorted(few.indices[few.indptr[i] : few.indptr[i + 1]]) == sorted(kept)
        np.testing.assert_array_equal(few.toarray()[i, kept], row[kept])


@many
@given(SEEDS, WIDTHS, SPREADS)
def test_labels_ranks_and_doubts_are_those_of_dense_memberships(seed, n_clusters, spread):
    dense = draw(seed, n_clusters, spread)
    few = keep_largest(dense)
    np.testing.assert_array_equal(find_largest(few), dense.argmax(axis=1))
    np.testing.assert_array_equal(largest_of_rows(few), dense.max(axis=1))
    clusters, values = rank_memberships(few)
    for i, row in enumerate(dense):
        kept = keep_slowly(row)
        assert clusters[i].tolist() == kept + [-1] * (clusters.shape[1] - len(kept))
        np.testing.assert_array_equal(values[i, : len(kept)], row[kept])
    np.testing.assert_allclose(ambiguity(few), ambiguity(dense), atol=MOST_LEFT)
    left = [(1 - row[keep_slowly(row)].sum()) / max(n_clusters - len(keep_slowly(row)), 1) for row in dense]
    np.testing.assert_allclose(mean_left_out(few), left, atol=1e-12)
    np.testing.assert_array_equal(to_dense_rows(few, [2, 0]), few.toarray()[[2, 0]])


def test_of_equal_memberships_the_first_is_the_label():
    few = keep_largest(np.array([[0.25, 0.25, 0.25, 0.25], [0.0, 0.5, 0.0, 0.5]]))
    assert find_largest(few).tolist() == [0, 1]
    assert ambiguity(few).tolist() == [1.0, 1.0]
    assert ambiguity(keep_largest(np.ones((2, 1)))).tolist() == [0.0, 0.0]
    assert ambiguity(keep_largest(np.eye(3))).tolist() == [0.0] * 3


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5])
def test_sets_are_those_of_dense_memberships_where_enough_is_kept(alpha):
    dense = draw(0, 50, 0.05, n=40)
    few = keep_largest(dense)
    assert few.sum(axis=1).min() > 0.99
    np.testing.assert_array_equal(sparse_sets(few, alpha).toarray(), smallest_sets(dense, alpha))
    flat = keep_largest(np.full((2, 50), 0.02))
    np.testing.assert_array_equal(sparse_sets(flat, 0.1).toarray(), flat.toarray() > 0)


@pytest.mark.parametrize(("dense", "state"), [(np.full((9, 300), 1 / 300), "merged"), (np.eye(300)[:9], "hard")])
def test_states_are_those_of_dense_memberships(dense, state):
    assert membership_state(keep_largest(dense)) == membership_state(dense) == state
    assert crispness(keep_largest(dense)) == pytest.approx(crispness(dense), abs=1e-9)
    soft = draw(1, 300, 0.005)
    assert membership_state(keep_largest(soft)) == membership_state(soft) == "soft"
    assert crispness(keep_largest(soft)) == pytest.approx(crispness(soft), abs=1e-5)


@pytest.mark.parametrize("entries", [1, 100, 10**6])
def test_blocks_of_rows_give_what_all_rows_give(monkeypatch, entries):
    monkeypatch.setattr(sparse_memberships, "BLOCK_ENTRIES", entries)
    dense, weights = draw(2, 40, 0.05, n=30), np.linspace(0.5, 1, 30)[:, None]
    whole = keep_largest(dense)
    assert (keep_blocks(lambda rows: dense[rows], dense.shape) != whole).nnz == 0
    halves = map_dense_rows(lambda rows, factors: rows[:, ::2] * factors, whole, weights)
    assert (halves != keep_largest(whole.toarray()[:, ::2] * weights)).nnz == 0
    np.testing.assert_allclose(keep_fine(dense).toarray(), dense, atol=1e-15)
    assert np.diff(keep_fine(np.full((3, 100), 0.01)).indptr).tolist() == [FINE_KEPT] * 3


def test_zeros_are_never_kept_and_no_row_is_empty():
    few = keep_largest(np.array([[0.0, 0.5, 0.0, 0.2], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]))
    assert np.diff(few.indptr).tolist() == [2, 1, 1]
    assert few.data.tolist() == [0.5, 0.2, 0.0, 1.0]


def test_rows_are_taken_from_either_place():
    dense, others = draw(3, 20, 0.1, n=6), draw(4, 20, 0.1, n=4)
    few, fewer = keep_largest(dense), keep_largest(others)
    twins = np.array([-1, 5, -1, 0])
    expected = np.array([others[0], dense[5], others[2], dense[0]])
    np.testing.assert_array_equal(choose_twins(twins, dense, others), expected)
    np.testing.assert_array_equal(choose_twins(twins, few, fewer).toarray(), keep_largest(expected).toarray())
    for new in (others[:2], fewer[:2]):
        put = put_rows(few, np.array([4, 1]), new)
        after = dense.copy()
        after[[4, 1]] = others[:2]
        np.testing.assert_array_equal(put.toarray(), keep_largest(after).toarray())
    np.testing.assert_array_equal(few.toarray(), keep_largest(dense).toarray())  # not changed
    assert put_rows(dense, np.array([2]), others[:1]) is dense
    np.testing.assert_array_equal(dense[2], others[0])
    np.testing.assert_array_equal(argmax_rows(few), argmax_rows(keep_largest(few.toarray()).toarray()))
