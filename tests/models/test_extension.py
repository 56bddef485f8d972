"""New samples in an embedding: the equation of the fitted rows, by loops, sample by sample and to rounding."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from afcm.graph.similarity import PlacedSamples
from afcm.models.embedded import EmbeddedProblem, EmbeddedState
from afcm.models.extension import Extension, extend, inverse_spectrum

LAMBDA, GAMMA = 3.5, 1.7
ISOLATED = 4
MASSES = [None, np.array([1.0, 2.0, 0.5, 3.0, 1.5, 4.0, 1.0, 2.5])]
IDS = ["all masses 1", "with masses"]
TWINS = np.array([-1, 0, -1, 5, -1])


def similarities():
    """Of eight nodes with degrees below and above 1, one of them isolated."""
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((8, 8)) ** 3, 1)
    upper[:, ISOLATED] = upper[ISOLATED] = 0
    return upper + upper.T


def new_similarities():
    """Of five samples: to all nodes, to some, to the isolated one and another, to the isolated one alone."""
    rows = np.random.default_rng(1).random((5, 8)) * 4
    rows[1, [0, 2, 3, 4]] = 0
    rows[2, [0, 1, 2, 3, 5, 7]] = 0
    rows[4] = np.eye(8)[ISOLATED] * 2
    return rows


def fitted(masses):
    """A problem of λ, S and M, a state with three clusters in two dimensions, and the degrees."""
    rng, weights = np.random.default_rng(2), similarities()
    m = np.ones(8) if masses is None else masses
    degrees = weights @ m
    roots = np.sqrt(m / np.where(degrees > 0, degrees, 1))
    affinity = roots[:, None] * weights * roots
    vectors = np.linalg.qr(rng.standard_normal((8, 2)))[0]
    memberships = rng.dirichlet(np.ones(3), size=8)
    state = EmbeddedState(memberships, GAMMA, rng.standard_normal((3, 2)), vectors, affinity @ vectors)
    return EmbeddedProblem(affinity, masses, LAMBDA, None), state, degrees


def spectrum_by_loops(problem, state):
    """``Θ = λ Ẑᵀ S Ẑ + γ Vᵀ diag(N) V``, entry by entry."""
    n, q = state.vectors.shape
    masses = np.ones(n) if problem.masses is None else problem.masses
    theta = np.zeros((q, q))
    for a in range(q):
        for b in range(q):
            for i in range(n):
                for j in range(n):
                    theta[a, b] += LAMBDA * state.vectors[i, a] * problem.affinity[i, j] * state.vectors[j, b]
                for center, membership in zip(state.centers, state.memberships[i], strict=True):
                    theta[a, b] += GAMMA * masses[i] * membership * center[a] * center[b]
    return theta


def row_by_loops(problem, state, degrees, similar):
    """z of ``z Θ = λ Σ_j s_j z_j + γ u V`` for one sample; an isolated node counts as one of degree 1."""
    masses = np.ones(len(degrees)) if problem.masses is None else problem.masses
    total = sum(masses * similar)
    # Only the ratios of a new sample's similarities mean anything: its degree is the mean of its neighbors'.
    degree = sum(masses * similar * degrees) / total
    right = np.zeros(state.vectors.shape[1])
    for j in range(len(degrees)):
        w = similar[j] * degree / total
        s = masses[j] * w / np.sqrt(degree * (degrees[j] or 1)) if w else 0
        right += LAMBDA * s * state.vectors[j] / np.sqrt(masses[j])
        for center, membership in zip(state.centers, state.memberships[j], strict=True):
            right += GAMMA * masses[j] * similar[j] / total * membership * center
    return np.linalg.solve(spectrum_by_loops(problem, state).T, right)


@pytest.mark.parametrize("masses", MASSES, ids=IDS)
def test_new_samples_get_the_rows_that_solve_the_equation(masses):
    problem, state, degrees = fitted(masses)
    assert degrees[ISOLATED] == 0
    assert 0 < np.sort(degrees)[1] < 1 < degrees.max()
    rows = extend(problem, state, degrees).embed(PlacedSamples(sp.csr_array(new_similarities()), np.full(5, -1)))
    expected = [row_by_loops(problem, state, degrees, similar) for similar in new_similarities()]
    np.testing.assert_allclose(rows, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("masses", MASSES, ids=IDS)
def test_a_sample_identical_to_a_node_gets_the_row_of_that_node(masses):
    problem, state, degrees = fitted(masses)
    extension, weights = extend(problem, state, degrees), sp.csr_array(new_similarities())
    rows = extension.embed(PlacedSamples(weights, TWINS))
    others = extension.embed(PlacedSamples(weights, np.full(5, -1)))
    roots = np.ones(8) if masses is None else np.sqrt(masses)
    for row, twin, other in zip(rows, TWINS, others, strict=True):
        np.testing.assert_array_equal(row, other if twin < 0 else state.vectors[twin] / roots[twin])


@pytest.mark.parametrize("masses", MASSES, ids=IDS)
def test_values_are_averaged_over_the_neighbors_with_their_masses(masses):
    problem, state, degrees = fitted(masses)
    values = np.random.default_rng(3).standard_normal((8, 4))
    placed = PlacedSamples(sp.csr_array(new_similarities()), TWINS)
    averages = extend(problem, state, degrees).averaged(placed, values)
    for similar, twin, average in zip(new_similarities(), TWINS, averages, strict=True):
        shares = similar if masses is None else similar * masses
        expected = values[twin] if twin >= 0 else sum(s * v for s, v in zip(shares, values, strict=True)) / sum(shares)
        np.testing.assert_allclose(average, expected, rtol=1e-12)


@pytest.mark.parametrize("masses", MASSES, ids=IDS)
def test_the_inverse_spectrum_is_that_of_the_formula(masses):
    problem, state, _ = fitted(masses)
    inverse = inverse_spectrum(problem, state)
    np.testing.assert_allclose(inverse @ spectrum_by_loops(problem, state), np.eye(2), atol=1e-12)


def test_a_singular_spectrum_is_inverted_where_it_can_be():
    """Three merged clusters in a graph without edges: ``Θ = γ n v vᵀ`` has the pseudo-inverse ``v vᵀ / (γ n ‖v‖⁴)``."""
    memberships, center = np.full((8, 3), 1 / 3), np.array([2.0, -1.0])
    state = EmbeddedState(memberships, GAMMA, np.tile(center, (3, 1)), np.eye(8, 2), np.zeros((8, 2)))
    inverse = inverse_spectrum(EmbeddedProblem(np.zeros((8, 8)), None, LAMBDA, None), state)
    np.testing.assert_allclose(inverse, np.outer(center, center) / (GAMMA * 8 * 25), rtol=1e-12)


@pytest.mark.parametrize("masses", MASSES, ids=IDS)
def test_an_extension_keeps_the_fit(masses):
    problem, state, degrees = fitted(masses)
    kept = extend(problem, state, degrees)
    roots = 1 if masses is None else np.sqrt(masses)[:, None]
    np.testing.assert_allclose(kept.embedding * roots, state.vectors, rtol=1e-14)
    for name, value in {"memberships": state.memberships, "centers": state.centers, "degrees": degrees}.items():
        assert getattr(kept, name) is value
    assert kept.masses is masses
    assert (kept.precision, kept.graph_weight, kept.n_clusters) == (GAMMA, LAMBDA, 3)
    np.testing.assert_array_equal(kept.inverse_spectrum, inverse_spectrum(problem, state))


def test_nodes_count_by_their_masses_times_what_balanced_the_similarities():
    problem, state, degrees = fitted(MASSES[1])
    scale = np.random.default_rng(5).uniform(0.1, 3.0, 8)
    kept, placed = extend(problem, state, degrees, scale), PlacedSamples(sp.csr_array(new_similarities()), TWINS)
    shares = new_similarities() * MASSES[1] * scale
    np.testing.assert_allclose(kept.shares(placed.weights).toarray(), shares / shares.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(kept.inverse_spectrum, inverse_spectrum(problem, state))


def test_memberships_are_the_softmax_of_the_distances():
    problem, state, degrees = fitted(None)
    kept, rows = extend(problem, state, degrees), np.random.default_rng(4).standard_normal((5, 2))
    assert isinstance(kept, Extension)
    for row, found in zip(rows, kept.memberships_of(rows), strict=True):
        scores = [np.exp(-GAMMA * sum((row - center) ** 2)) for center in state.centers]
        np.testing.assert_allclose(found, np.array(scores) / sum(scores), rtol=1e-12)
