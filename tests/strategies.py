"""Hypothesis strategies shared by the tests of the core: small problems with everything that can go wrong in them."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

quick = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def problems(draw, most_samples=12, most_features=4, most_clusters=4, weights=True):
    """Points (n×d), memberships (n×c), masses (n or None), and a generator for nudges."""
    n = draw(st.integers(2, most_samples))
    d = draw(st.integers(1, most_features))
    c = draw(st.integers(1, min(n, most_clusters)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    points = rng.standard_normal((n, d)) * draw(st.sampled_from([1e-3, 1.0, 1e3])) + draw(st.sampled_from([0.0, 10.0]))
    memberships = rng.dirichlet(np.full(c, draw(st.sampled_from([0.1, 1.0, 10.0]))), size=n)
    memberships = np.maximum(memberships, 1e-12)
    memberships /= memberships.sum(axis=1, keepdims=True)
    masses = rng.integers(1, 4, size=n).astype(float) if weights and draw(st.booleans()) else None
    return points, memberships, masses, rng


@st.composite
def affinities(draw, most_nodes=14):
    """A symmetric non-negative matrix without diagonal, possibly with isolated nodes, and a generator."""
    n = draw(st.integers(3, most_nodes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < draw(st.sampled_from([0.2, 0.5, 1.0]))), 1)
    upper[0, 1] = 0.5
    return upper + upper.T, rng
