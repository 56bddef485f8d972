"""A second witness where a valley is not quite deep enough to count: do Gaussians see the same two groups?

The graph sees density only. Where few samples overlap, the valley between two clusters is lost in the noise of counts,
and their form still tells them. Neither is enough alone: a uniform cloud is better described by two Gaussians than by
one, and chance digs valleys; but it does not dig them where the Gaussians part, and then asks for a third or none.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import scale

from afcm._typing import Integers
from afcm.arrays import take_rows, to_host

# Numbers of Gaussians that are compared, by BIC; by how much two must be better than one, and more not than two.
SIZES, LEAD, DOUBT = (1, 2, 3, 4), 10.0, 6.0
# The two groups agree with those of the graph if their adjusted Rand index is above this.
SAME = 0.85
# The fewest samples for each column, the most that are looked at, and starts of each mixture.
FEWEST_PER_COLUMN, MOST_SAMPLES, N_STARTS = 8, 3000, 5


def see_two_groups(points: Any, first: Integers, second: Integers) -> bool:
    """Whether two Gaussians describe these samples, as no other number does, and part them as the graph does."""
    rows = np.concatenate([first, second])
    side = np.repeat([0, 1], [first.size, second.size])
    if sp.issparse(points) or rows.size < FEWEST_PER_COLUMN * (points.shape[1] + 2):
        return False
    if rows.size > MOST_SAMPLES:
        chosen = np.random.RandomState(0).permutation(rows.size)[:MOST_SAMPLES]
        rows, side = rows[chosen], side[chosen]
    samples = np.asarray(to_host(take_rows(points, rows)), dtype=np.float64)
    samples = scale(samples)  # a mixture adds a constant to variances
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = {k: GaussianMixture(k, n_init=N_STARTS, random_state=0).fit(samples) for k in SIZES}
    one, two, *more = (fit.bic(samples) for fit in fits.values())
    if one - two < LEAD or two - min(more) > DOUBT:
        return False
    return bool(adjusted_rand_score(side, fits[2].predict(samples)) > SAME)
