"""Filters against their polynomials."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.chebyshev import chebval

from afcm.linalg.chebyshev import apply_filter, log_growth

UNWANTED = (-0.4, 0.6)


@pytest.mark.parametrize("degree", [1, 2, 5])
def test_the_filter_is_a_polynomial_of_the_matrix(degree):
    matrix = np.diag([1.7, 0.9, 0.6, 0.1, -0.4])
    coefficients = np.eye(degree + 1)[degree]
    wanted = chebval((np.diag(matrix) - 0.1) / 0.5, coefficients) / chebval((1.7 - 0.1) / 0.5, coefficients)
    np.testing.assert_allclose(
        apply_filter(matrix, np.eye(5), UNWANTED, 1.7, degree), np.diag(wanted), rtol=1e-9, atol=1e-12
    )


def test_the_block_that_is_filtered_stays_as_it_was():
    block = np.ones((5, 2))
    apply_filter(np.eye(5), block, (-1.0, 0.5), 1.0, 4)
    np.testing.assert_array_equal(block, 1.0)


def test_growth_is_that_of_the_polynomial():
    values = np.array([1.7, 0.9])
    at = (values - 0.1) / 0.5
    ratio = chebval(at, np.eye(9)[8]) / chebval(at, np.eye(8)[7])
    np.testing.assert_allclose(np.exp(log_growth(values, UNWANTED)), ratio, rtol=1e-5)


def test_nothing_grows_inside_the_interval():
    np.testing.assert_array_equal(log_growth(np.array([0.6, 0.0, -0.4, -3.0]), UNWANTED), 0.0)
