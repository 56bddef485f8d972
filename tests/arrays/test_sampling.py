"""Rows drawn from many: different ones, in rising order, the same for the same seed."""

import numpy as np
from sklearn.utils.random import sample_without_replacement

from afcm.arrays import sampling


def test_drawn_rows_are_different_and_rise(monkeypatch):
    monkeypatch.setattr(sampling, "LONG", 50)
    expected = np.sort(np.random.RandomState(0).choice(50, 20, replace=False))
    np.testing.assert_array_equal(sampling.draw_rows(50, 20, np.random.RandomState(0)), expected)
    np.testing.assert_array_equal(sampling.draw_rows(50, 50, np.random.RandomState(0)), np.arange(50))
    of_many = sampling.draw_rows(51, 20, np.random.RandomState(0))
    expected = np.sort(sample_without_replacement(51, 20, random_state=np.random.RandomState(0)))
    np.testing.assert_array_equal(of_many, expected)
    assert of_many.dtype == np.intp
