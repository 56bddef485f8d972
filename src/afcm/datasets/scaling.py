"""The paper's preprocessing."""

import numpy as np

from afcm._typing import Floats


def minmax(X: Floats) -> Floats:
    """Map every column to [0, 1]; a constant column becomes 0.

    Examples
    --------
    >>> import numpy as np
    >>> minmax(np.array([[1.0, 7.0], [3.0, 7.0], [5.0, 7.0]])).tolist()
    [[0.0, 0.0], [0.5, 0.0], [1.0, 0.0]]
    """
    low, span = X.min(axis=0), np.ptp(X, axis=0)
    scaled: Floats = (X - low) / np.where(span > 0, span, 1.0)
    return scaled
