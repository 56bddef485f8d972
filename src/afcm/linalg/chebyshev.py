"""Chebyshev polynomials of an operator, applied to a block: large on wanted eigenvalues, small on the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from afcm._typing import Floats
from afcm.linalg.tall import row_slices


def apply_filter(operator: Any, block: Floats, unwanted: tuple[float, float], top: float, degree: int) -> Floats:
    """``p(A) @ block`` with a Chebyshev polynomial of this degree that is small on the ``unwanted`` interval.

    The three-term recurrence is scaled to be 1 at ``top``, above the interval, so it cannot overflow.
    """
    low, high = unwanted
    center, half = (high + low) / 2, max((high - low) / 2, float(np.finfo(float).tiny))
    ratio = half / (top - center)
    previous, scaling = block, ratio
    current: Floats = (operator @ block - center * block) * (ratio / half)
    for _ in range(degree - 1):
        following = 1 / (2 / ratio - scaling)
        image = operator @ current
        for rows in row_slices(image):
            if center:
                image[rows] -= center * current[rows]
            image[rows] *= 2 * following / half
            image[rows] -= (scaling * following) * previous[rows]
        previous, current, scaling = current, image, following
    return current


def log_growth(values: Floats, unwanted: tuple[float, float]) -> Floats:
    """By how much the logarithm of the polynomial at ``values`` grows with its degree; 0 inside the interval."""
    low, high = unwanted
    center, half = (high + low) / 2, max((high - low) / 2, float(np.finfo(float).tiny))
    return np.arccosh(np.maximum((values - center) / half, 1.0))
