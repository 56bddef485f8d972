"""Memberships after a walk over the graph: the finite sum, its limit, and rows that sum to one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afcm.graph import diffusion
from afcm.graph.affinity import normalize_graph
from afcm.graph.diffusion import diffuse
from afcm.linalg import products
from tests.graph.graphs import random_weights
from tests.strategies import quick


def random_walk(weights, masses):
    """``P = D⁻¹ W M``, dense; a node without neighbors stays where it is."""
    walk = weights.toarray() * (1.0 if masses is None else masses)
    for node, row in enumerate(walk):
        row[node] = 1.0 if row.sum() == 0 else row[node]
    return walk / walk.sum(axis=1, keepdims=True)


@st.composite
def walks(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = random_weights(rng, 12)
    masses = rng.integers(1, 4, 12).astype(float) if draw(st.booleans()) else None
    return normalize_graph(weights, masses), random_walk(weights, masses), rng.dirichlet(np.ones(3), size=12)


@quick
@given(walks(), st.sampled_from([0.05, 0.1, 0.5, 1.0]))
def test_equals_the_sum_over_steps(case, restart):
    graph, walk, memberships = case
    n_steps = math.ceil(math.log(1e-9) / math.log(1 - restart)) if restart < 1 else 0
    power, expected = memberships, restart * memberships
    for step in range(1, n_steps + 1):
        power = walk @ power
        expected = expected + restart * (1 - restart) ** step * power
    found = diffuse(graph, memberships, restart)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    assert (found >= 0).all()


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.99])
def test_so_many_steps_make_the_polynomial_smaller_than_the_tolerance(rate):
    """After k steps the largest error left is ``1 / T_k(1 / rate)``."""
    steps = diffusion.count_steps(rate)
    left = [1 / np.polynomial.chebyshev.chebval(1 / rate, np.eye(k + 1)[k]) for k in (steps - 1, steps)]
    assert left[1] <= diffusion.TOLERANCE < left[0]


@quick
@given(walks())
def test_equals_the_closed_form(case):
    graph, walk, memberships = case
    exact = 0.1 * np.linalg.solve(np.eye(12) - 0.9 * walk, memberships)
    found = diffuse(graph, memberships)
    np.testing.assert_allclose(found, exact, atol=1e-4)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("restart", [0.1, 0.6])
def test_single_precision_gives_the_same_walk(monkeypatch, restart, compiled):
    if compiled:
        pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    graph = normalize_graph(random_weights(rng, 40), rng.uniform(0.1, 3.0, 40))
    memberships = np.eye(3)[rng.integers(3, size=40)]
    double = diffuse(graph, memberships, restart)
    monkeypatch.setattr(diffusion, "is_worth_compiling", lambda *_: True)
    monkeypatch.setattr(products, "is_worth_compiling", lambda *_: compiled)
    single = diffuse(graph, memberships, restart)
    assert single.dtype == np.float64
    assert 0 < abs(single - double).max() < 1e-6
    np.testing.assert_allclose(single.sum(axis=1), 1, atol=1e-12)


def test_the_default_walk_is_about_ten_steps_long():
    graph = normalize_graph(random_weights(np.random.default_rng(0), 9))
    memberships = np.random.default_rng(1).dirichlet(np.ones(2), size=9)
    np.testing.assert_array_equal(diffuse(graph, memberships), diffuse(graph, memberships, 0.1))
    assert pytest.approx(1e-5) == diffusion.TOLERANCE
