"""Ranges, squared distances, correlations and agreement of columns, against slow formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from afcm.tables import relations


@given(st.integers(0, 2**32 - 1))
def test_the_mean_squared_distance_is_that_of_all_pairs(seed):
    block = np.random.default_rng(seed).normal(size=(12, 3))
    pairs = [np.sum((a - b) ** 2) for a in block for b in block]
    assert relations.mean_squared_distance(block) == pytest.approx(np.mean(pairs))


def test_missing_values_are_passed_over():
    block = np.array([[0.0], [2.0], [np.nan]])
    assert relations.mean_squared_distance(block) == pytest.approx(2)


def test_inliers_of_a_clean_column_are_all_values():
    values = np.append(np.random.default_rng(0).uniform(-3, 5, 200), np.nan)
    assert np.ptp(relations.find_inliers(values)) == np.nanmax(values) - np.nanmin(values)


@pytest.mark.parametrize("share", [0.0, 0.6])
def test_outliers_do_not_stretch_the_range(share):
    """Of a column of which most values are equal, too."""
    random = np.random.default_rng(0)
    values = random.uniform(1, 2, 300)
    values[: int(share * 300)] = 0
    clean = np.ptp(relations.find_inliers(values))
    values[-5:] = 1e6
    assert np.ptp(relations.find_inliers(values)) == pytest.approx(clean, rel=0.05)


def test_a_rare_value_far_off_keeps_the_two_common_ones():
    values = np.repeat([0.0, 5.0, 1000.0], [60, 39, 1])
    assert set(relations.find_inliers(values)) == {0.0, 5.0}


def test_agreement_equals_the_share_of_neighbors_with_the_same_category():
    random = np.random.default_rng(1)
    n = 150
    others, codes = random.normal(size=(n, 2)), random.integers(0, 3, n)
    codes[others[:, 0] > 0] = 1
    indicators = np.eye(3)[codes]
    distances = cdist(others, others)
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1)[:, :10]
    same = np.mean(codes[near] == codes[:, None])
    chance = np.sum(indicators.mean(axis=0) ** 2)
    assert relations.neighbor_agreement(indicators, others) == pytest.approx((same - chance) / (1 - chance))


def test_agreement_is_1_for_what_the_others_decide_and_about_0_for_chance():
    random = np.random.default_rng(2)
    groups = random.integers(0, 2, 500)
    others = random.normal(size=(500, 2)) + 20 * groups[:, None]
    assert relations.neighbor_agreement(groups[:, None].astype(float), others) == 1
    assert relations.neighbor_agreement(random.integers(0, 2, (500, 1)).astype(float), others) < 0.1


def test_block_correlations_are_squared_correlations_of_single_columns():
    Z = np.random.default_rng(3).normal(size=(40, 4)) @ np.random.default_rng(4).normal(size=(4, 4))
    found = relations.block_correlations([Z[:, [j]] for j in range(4)])
    np.testing.assert_allclose(found, np.corrcoef(Z.T) ** 2)


def test_block_correlations_do_not_change_when_a_block_is_turned_or_stretched():
    random = np.random.default_rng(5)
    A, B = random.normal(size=(40, 3)), random.normal(size=(40, 2))
    B[:, 0] += A[:, 1]
    turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
    before = relations.block_correlations([A, B])
    np.testing.assert_allclose(relations.block_correlations([3 * A @ turn + 1, B]), before)
    centered = [block - block.mean(axis=0) for block in (A, B)]
    grams = [block @ block.T for block in centered]  # the other definition: products of the samples
    slow = np.sum(grams[0] * grams[1]) / np.sqrt(np.sum(grams[0] ** 2) * np.sum(grams[1] ** 2))
    assert before[0, 1] == pytest.approx(slow)


def test_sameness_is_1_for_copies_and_0_below_the_threshold():
    random = np.random.default_rng(6)
    first, noise = random.normal(size=(2, 200, 1))
    found = relations.measure_sameness([first, -3 * first + 1, first + 0.5 * noise, noise])
    np.testing.assert_allclose(found, [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], atol=1e-9)
