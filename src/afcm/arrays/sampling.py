"""Drawing some rows of many."""

from __future__ import annotations

import numpy as np
from sklearn.utils.random import sample_without_replacement

from afcm._typing import Integers

# Of more rows than this a sample is drawn without shuffling all their numbers.
LONG = 10_000_000


def draw_rows(n_rows: int, size: int, random: np.random.RandomState) -> Integers:
    """Numbers of ``size`` different rows, in rising order."""
    if n_rows <= LONG:
        return np.sort(random.choice(n_rows, size, replace=False))
    return draw_few_rows(n_rows, size, random)


def draw_few_rows(n_rows: int, size: int, random: np.random.RandomState) -> Integers:
    """Other rows than `draw_rows` draws, in a time that does not grow with the number of rows."""
    return np.sort(sample_without_replacement(n_rows, size, random_state=random)).astype(np.intp)
