"""Small random problems: more or less clear clusters, sometimes with repeated samples."""

from __future__ import annotations

import os
import warnings
from typing import Any, NamedTuple

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from sklearn.base import clone

from afcm.exceptions import AFCMWarning
from tests.properties.promises import Promise

# Problems a test; AFCM_EXAMPLES asks for more of them, drawn afresh in every run (`make properties`).
MORE = os.environ.get("AFCM_EXAMPLES")
few = settings(
    max_examples=int(MORE or 5), deadline=None, derandomize=not MORE, suppress_health_check=list(HealthCheck)
)


class Problem(NamedTuple):
    """Samples (n×d), memberships to start from (n×c) and a generator for changes."""

    X: Any
    start: Any
    rng: np.random.Generator

    @property
    def n_clusters(self) -> int:
        """c."""
        return self.start.shape[1]


@st.composite
def problems(draw: Any, promise: Promise) -> Problem:
    """Samples about c centres that are 0 (no clusters), 3 or 10 standard deviations apart."""
    n, d, c = draw(st.integers(*promise.sizes)), draw(st.integers(1, 4)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    centers = draw(st.sampled_from([0.0, 3.0, 10.0])) * rng.standard_normal((c, d))
    X = centers[rng.integers(c, size=n)] + rng.standard_normal((n, d))
    start = rng.dirichlet(np.ones(c), size=n)
    start[:c] = (start[:c] + np.eye(c)) / 2  # no cluster is empty, with hard labels either
    if draw(st.booleans()) and promise.repeats:
        X, start = np.concatenate([X, X[:3]]), np.concatenate([start, start[:3]])
    return Problem(X, start, rng)


def fitted(promise: Promise, problem: Problem, **settings: Any) -> Any:
    """A fit from the given start, where there can be one."""
    given = {} if promise.start is None else {"init": promise.start(problem.start)}
    return quietly(promise.make(problem.n_clusters, random_state=0, **(given | settings)), problem.X)


def quietly(model: Any, X: Any) -> Any:
    """A fit of a fresh copy; what the package itself has to say about tiny data is not the matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AFCMWarning)
        return clone(model).fit(X)
