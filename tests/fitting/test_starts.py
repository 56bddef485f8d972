"""Starting points against slow formulas: every draw, every row, and which of two spectral starts is taken."""

import numpy as np
import pytest

from afcm.fitting import starts


def test_the_automatic_precision_is_that_of_the_k_means_clusters():
    points = np.array([[0.0, 0.0], [2.0, 0.0], [100.0, 0.0], [102.0, 0.0]])
    precision = starts.k_means_precision(points, None, points[[0, 2]])
    assert precision == pytest.approx(4 * 2 / 2 / 4)  # (n d / 2) / scatter
