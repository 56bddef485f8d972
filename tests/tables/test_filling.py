"""Fills of missing coordinates: the best linear expectation, against regression and against every nudge."""

from __future__ import annotations

import numpy as np
import pytest

from afcm.tables.filling import estimate_covariance, fill_missing

WIDE = np.full(3, np.inf)


def correlated(n=4000, seed=0):
    random = np.random.default_rng(seed)
    Z = random.normal(size=(n, 3)) @ np.array([[1.0, 0.8, -0.3], [0, 0.5, 0.4], [0, 0, 0.7]])
    return Z - Z.mean(axis=0)


def test_without_missing_values_the_covariance_is_the_usual_one():
    Z = correlated()
    np.testing.assert_allclose(estimate_covariance(Z), Z.T @ Z / len(Z), rtol=1e-9)


def test_covariances_are_of_the_rows_that_know_both():
    Z = correlated(50)
    Z[:10, 0] = np.nan
    Z[5:20, 1] = np.nan
    both = ~np.isnan(Z[:, 0]) & ~np.isnan(Z[:, 1])
    assert estimate_covariance(Z)[0, 1] == pytest.approx(np.mean(Z[both, 0] * Z[both, 1]), rel=1e-6)


def test_columns_that_no_row_knows_together_give_a_covariance_that_can_be_solved():
    Z = np.array([[1.0, np.nan], [-1.0, np.nan], [np.nan, 2.0], [np.nan, -2.0]])
    np.testing.assert_allclose(estimate_covariance(Z), np.diag([1, 4]))


def test_fills_are_least_squares_predictions():
    Z = correlated()
    holes = Z.copy()
    holes[:100, 1] = np.nan
    holes[100:150, 0] = holes[100:150, 2] = np.nan
    filled = fill_missing(holes, estimate_covariance(Z), WIDE)
    for rows, lost, known in ((slice(100), [1], [0, 2]), (slice(100, 150), [0, 2], [1])):
        slopes = np.linalg.lstsq(Z[:, known], Z[:, lost], rcond=None)[0]
        np.testing.assert_allclose(filled[rows][:, lost], Z[rows][:, known] @ slopes, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(filled[150:], Z[150:])


def test_no_other_linear_fill_adds_less_to_the_squared_distances():
    """Summed over pairs of rows, one with the value lost; the fill's slopes against nudges of them."""
    Z = correlated(300)
    holes = Z.copy()
    holes[:, 1] = np.nan
    best = fill_missing(holes, estimate_covariance(Z), WIDE)[:, 1]
    base = np.sum((best - Z[:, 1]) ** 2)
    for nudge in (Z[:, 0], Z[:, 2], np.ones(300)):
        for step in (-0.05, 0.05):
            assert np.sum((best + step * nudge - Z[:, 1]) ** 2) > base
    assert base < np.sum(Z[:, 1] ** 2)  # better than the mean


def test_rows_that_know_nothing_are_the_mean():
    filled = fill_missing(np.full((2, 3), np.nan), np.eye(3), WIDE)
    np.testing.assert_array_equal(filled, np.zeros((2, 3)))


def test_without_a_covariance_fills_are_the_mean():
    assert fill_missing(np.array([[1.0, np.nan]]), None, np.ones(2)).tolist() == [[1.0, 0.0]]


def test_an_outlier_counts_as_far_as_the_limit():
    covariance = np.array([[1.0, 0.9], [0.9, 1.0]])
    filled = fill_missing(np.array([[1000.0, np.nan]]), covariance, np.ones(2))
    np.testing.assert_allclose(filled, [[1000, 0.9]])
