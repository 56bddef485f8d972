"""Small mixtures to fit, and the ways to fit them."""

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from afcm.equations import generalized_gaussian
from afcm.equations.scatters import STRUCTURES
from afcm.models.mixture import MixtureProblem

KINDS = sorted(STRUCTURES)
LIKE_SKLEARN = ["full", "tied", "diag", "spherical"]

quick = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
seeds = st.integers(0, 2**32 - 1)
shapes = st.floats(0.2, 5.0)


def clusters(rng, n_each=60, dimension=2, *, shape=1.0, n_clusters=3, spread=4.0):
    """Generalised Gaussian clusters of different orientation, and their labels."""
    draws = [
        generalized_gaussian.draw_standard(n_each, dimension, shape, 0.5, rng)
        @ rng.standard_normal((dimension, dimension))
        + spread * rng.standard_normal(dimension)
        for _ in range(n_clusters)
    ]
    return np.vstack(draws), np.repeat(np.arange(n_clusters), n_each)


def problem(points, kind, *, shape=None, shared=True, masses=None, reg_covar=1e-6):
    """`MixtureProblem` with a learned (None) or fixed shape, about the mean."""
    return MixtureProblem(points - points.mean(axis=0), masses, STRUCTURES[kind], reg_covar, shape is None, shared)


@st.composite
def problems(draw, kinds=KINDS):
    """A problem of any kind with its first state, and a generator for nudges."""
    rng = np.random.RandomState(draw(seeds))
    dimension, n_clusters = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    points, _ = clusters(
        rng, draw(st.integers(6, 25)), dimension, shape=draw(shapes), n_clusters=n_clusters, spread=2.0
    )
    masses = rng.randint(1, 4, size=len(points)).astype(float) if draw(st.booleans()) else None
    fixed = draw(st.one_of(st.none(), shapes))
    made = problem(points, draw(st.sampled_from(kinds)), shape=fixed, shared=draw(st.booleans()), masses=masses)
    memberships = rng.dirichlet(np.full(n_clusters, draw(st.sampled_from([0.1, 1.0]))), size=len(points))
    return made, made.from_memberships(memberships, fixed or 1.0), rng
