"""Quotients and inverse roots, and their value where the denominator is zero."""

from __future__ import annotations

import numpy as np
import pytest

from afcm.linalg.ratios import inverse_sqrt, normalize_rows, ratio
from tests.equations.test_paper import Foreign


def test_a_ratio_is_the_quotient_where_the_bottom_is_positive():
    top, bottom = np.array([6.0, 6.0, -1.0, 0.0, 5.0]), np.array([4.0, 0.0, 0.5, 0.0, -2.0])
    np.testing.assert_array_equal(ratio(top, bottom, 7.0), [1.5, 7.0, -2.0, 7.0, 7.0])
    np.testing.assert_array_equal(ratio(top, bottom, np.arange(5.0)), [1.5, 1.0, -2.0, 3.0, 4.0])


def test_an_inverse_root_of_zero_is_zero():
    np.testing.assert_array_equal(inverse_sqrt(np.array([4.0, 0.0, 0.25])), [0.5, 0.0, 2.0])


def test_arrays_of_two_libraries_are_refused():
    with pytest.raises(TypeError, match=r"[Mm]ultiple namespaces"):
        ratio(np.ones(2), Foreign(), 0.0)


def test_rows_have_length_one_unless_they_are_zero():
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]])
    np.testing.assert_allclose(normalize_rows(rows), [[0.6, 0.8], [0, 0], [0, -1]], rtol=1e-15)
