"""Algorithm 1: a sweep like the dense formulas to rounding, never a rising J, masses like repeated samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from afcm.equations import paper
from afcm.fitting.loop import run
from afcm.graph import eigenvectors
from afcm.graph.affinity import Graph, normalize_graph
from afcm.linalg import eigensolver
from afcm.linalg.eigenbasis import LearningSolver
from afcm.linalg.operator import Eigenpairs
from afcm.models import embedded
from afcm.models.embedded import EmbeddedProblem
from tests.reference import dense_clusters, dense_sweep, same_signs
from tests.strategies import affinities, quick

MASSES = [None, np.random.default_rng(1).uniform(0.3, 4.0, 30)]
IDS = ["all masses 1", "with masses"]


def problem_for(affinity, n_clusters, graph_weight, masses=None):
    built = affinity if isinstance(affinity, Graph) else normalize_graph(sp.csr_array(affinity), masses)
    block = eigenvectors.search_block(built, n_clusters)
    return EmbeddedProblem(built.affinity, masses, graph_weight, block)


@quick
@given(affinities(), st.integers(1, 3), st.sampled_from([0.1, 5.0, 1e3]), st.booleans())
def test_objective_never_rises(case, n_clusters, graph_weight, weighted):
    affinity, rng = case
    masses = rng.integers(1, 4, size=len(affinity)).astype(float) if weighted else None
    problem = problem_for(affinity, n_clusters, graph_weight, masses)
    start = problem.from_memberships(rng.dirichlet(np.ones(n_clusters), size=len(affinity)))
    result = run(problem, start, max_iter=25, tol=0.0)
    values = result.history["objective"]
    capped = result.history["gamma"] >= problem.largest_precision(n_clusters)
    falling = np.diff(values) <= 1e-7 * (1 + np.abs(values[1:]))
    assert (falling | capped[1:]).all()
    assert np.isfinite(result.state.memberships).all()
    np.testing.assert_allclose(result.state.memberships.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(result.state.vectors.T @ result.state.vectors, np.eye(n_clusters), atol=1e-9)


@quick
@given(affinities())
def test_no_orthonormal_nudge_beats_the_embedding_step(case):
    affinity, rng = case
    n_clusters = 2
    problem = problem_for(affinity, n_clusters, 2.0)
    memberships = rng.dirichlet(np.ones(n_clusters), size=len(affinity))
    state = problem.sweep(problem.from_memberships(memberships))
    best = problem.sweep(state)

    def value(vectors):
        plain = paper.scatter(
            paper.squared_distances(vectors, paper.centers(vectors, state.memberships)), state.memberships
        )
        return state.precision * plain + 2.0 * paper.roughness(vectors, problem.affinity @ vectors)

    for _ in range(5):
        nudged = np.linalg.qr(best.vectors + 10.0 ** rng.uniform(-5, 0) * rng.standard_normal(best.vectors.shape))[0]
        assert value(nudged) >= value(best.vectors) - 1e-8 * (1 + abs(value(best.vectors)))


@quick
@given(affinities(), st.sampled_from([0.5, 50.0]))
def test_a_mass_of_two_is_a_sample_twice(case, graph_weight):
    affinity, rng = case
    affinity = affinity + 0.05 * (1 - np.eye(len(affinity)))
    masses = rng.integers(1, 3, size=len(affinity)).astype(float)
    copies = np.repeat(np.arange(len(affinity)), masses.astype(int))
    memberships = rng.dirichlet(np.ones(2), size=len(affinity))
    folded = problem_for(affinity, 2, graph_weight, masses)
    whole = problem_for(affinity[np.ix_(copies, copies)], 2, graph_weight)
    # copies add directions with eigenvalue 0, and a tie would leave the subspace open: neither must be among the two
    assume(np.sort(np.linalg.eigvalsh(folded.affinity.toarray()))[-2] > 1e-3)
    gap = np.sort(np.linalg.eigvalsh(folded.affinity.toarray()))[-3:]
    assume(gap[1] - gap[0] > 1e-3)
    once = folded.sweep(folded.from_memberships(memberships))
    twice = whole.sweep(whole.from_memberships(memberships[copies]))
    assert once.objective == pytest.approx(twice.objective, rel=1e-8)
    assert once.precision == pytest.approx(twice.precision, rel=1e-6)
    np.testing.assert_allclose(once.memberships[copies], twice.memberships, atol=1e-6)


def small_problem(masses, graph_weight=25.0):
    """A dense graph of 30 nodes, whose leading eigenvalues all differ, and memberships in 3 clusters."""
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((30, 30)) ** 6, 1)
    problem = problem_for(upper + upper.T, 3, graph_weight, masses)
    return problem, rng.dirichlet(np.ones(3), size=30)


def assert_same_state(state, expected, angle=1e-11):
    """Equal but for the signs of the eigenvectors, to rounding or about that angle; J moves far less."""
    signs = same_signs(state.vectors, expected.vectors)
    np.testing.assert_allclose(state.vectors * signs, expected.vectors, rtol=0, atol=angle)
    np.testing.assert_allclose(state.smoothed * signs, expected.smoothed, rtol=0, atol=angle)
    np.testing.assert_allclose(state.centers * signs, expected.centers, rtol=0, atol=angle)
    np.testing.assert_allclose(state.memberships, expected.memberships, rtol=0, atol=100 * angle)
    assert state.precision == pytest.approx(expected.precision, rel=10 * angle)
    assert state.objective == pytest.approx(expected.objective, rel=max(1e-12, 1e-3 * angle))


@pytest.mark.parametrize("masses", MASSES, ids=IDS)
def test_sweeps_are_those_of_the_dense_formulas(masses):
    problem, memberships = small_problem(masses)
    state, dense = problem.from_memberships(memberships), problem.affinity.toarray()
    for _ in range(4):
        following = problem.sweep(state)
        assert_same_state(following, dense_sweep(dense, masses, 25.0, state.memberships, state.precision))
        assert (following.eigen_residual, following.eigen_converged) == (0.0, True)
        state = following


@pytest.mark.parametrize("how", ["searched", "learned"])
def test_sweeps_are_those_of_the_dense_formulas_whoever_solves(monkeypatch, how):
    problem, memberships = small_problem(MASSES[1])
    if how == "searched":
        for limit in ("DENSE_LIMIT", "DENSE_PER_VECTOR", "DENSE_MOST"):
            monkeypatch.setattr(eigensolver, limit, 0)
    else:
        problem.dense.learn(problem.affinity)
    state, dense = problem.from_memberships(memberships), problem.affinity.toarray()
    for _ in range(4):
        following = problem.sweep(state)
        expected = dense_sweep(dense, MASSES[1], 25.0, state.memberships, state.precision)
        assert_same_state(following, expected, angle=embedded.ANGLE_TOL)
        assert following.eigen_converged
        assert 0 < following.eigen_residual < 1e-5
        state = following


@pytest.mark.parametrize("masses", MASSES, ids=IDS)
def test_a_start_from_given_eigenvectors_leaves_the_first_step_out(masses):
    """Two of them for three clusters."""
    problem, memberships = small_problem(masses)
    vectors = np.linalg.qr(np.random.default_rng(2).standard_normal((30, 2)))[0]
    eigen = Eigenpairs(vectors, np.ones(2), problem.affinity @ vectors, 0.25, 0.0, 0, False)
    state = problem.from_spectral(eigen, memberships)
    ones = np.ones(30) if masses is None else masses
    assert_same_state(state, dense_clusters(problem.affinity.toarray(), ones, 25.0, memberships, vectors))
    assert (state.eigen_residual, state.eigen_converged) == (0.25, False)


@pytest.mark.parametrize("masses", MASSES, ids=IDS)
def test_a_start_from_a_fit_goes_on_from_its_embedding(masses):
    problem, memberships = small_problem(masses)
    first = problem.sweep(problem.from_memberships(memberships))
    again = problem.from_fit(first.memberships, first.precision, problem.embedding(first.vectors))
    np.testing.assert_allclose(again.vectors, first.vectors, rtol=1e-14)
    assert (again.precision, again.memberships is first.memberships) == (first.precision, True)
    assert_same_state(problem.sweep(again), problem.sweep(first))


def test_a_start_has_the_precision_of_the_paper_and_no_result_yet():
    problem, memberships = small_problem(None)
    state = problem.from_memberships(memberships)
    assert (state.precision, state.objective) == (1.0, math.inf)
    assert (state.eigen_residual, state.eigen_converged) == (0.0, True)
    assert state.memberships is memberships
    assert (state.centers, state.vectors, state.smoothed) == (None, None, None)


def test_an_eigen_step_searches_from_the_last_vectors_and_the_factor_with_the_solver_of_the_problem(monkeypatch):
    problem, memberships = small_problem(MASSES[1])
    solve, calls = eigensolver.leading_eigenvectors, []

    def watched(operator, start, n_wanted, **how):
        calls.append((operator, start, n_wanted, how))
        return solve(operator, start, n_wanted, **how)

    monkeypatch.setattr(eigensolver, "leading_eigenvectors", watched)
    first = problem.sweep(problem.from_memberships(memberships))
    problem.sweep(first)
    assert calls[0][1] is problem.search_start
    assert calls[1][1] is first.vectors
    for (operator, _, n_wanted, how), u in zip(calls, (memberships, first.memberships), strict=True):
        factor = paper.membership_factor(u, problem.masses)
        np.testing.assert_array_equal(operator.factor, factor)
        np.testing.assert_array_equal(how.pop("extra"), factor)
        tolerances = {"trace_tol": embedded.TRACE_TOL, "angle_tol": embedded.ANGLE_TOL}
        assert (n_wanted, how) == (3, {"dense": problem.dense, **tolerances})


@pytest.mark.parametrize(("masses", "mass"), [(None, 30.0), (MASSES[1], math.fsum(MASSES[1]))], ids=IDS)
def test_the_mass_is_the_number_of_samples_and_the_scale_of_changes_and_of_the_cap(masses, mass):
    problem, _ = small_problem(masses)
    assert problem.mass == pytest.approx(mass, rel=1e-14)
    assert problem.objective_scale == problem.mass
    assert problem.largest_precision(3) == pytest.approx(mass / 2 / 1e-8, rel=1e-14)


def test_clusters_that_shrink_to_points_have_the_largest_precision():
    """Three complete parts of the graph, one cluster each: the rows of a part are the same."""
    labels = np.repeat(np.arange(3), [3, 4, 5])
    problem = problem_for((labels[:, None] == labels) - np.eye(12), 3, 10.0)
    state = problem.sweep(problem.from_memberships(np.eye(3)[labels]))
    assert state.precision == pytest.approx(12 / 2 / 1e-8, rel=1e-12)
    np.testing.assert_array_equal(state.memberships, np.eye(3)[labels])


def test_a_solver_that_learned_is_continued():
    problem, memberships = small_problem(None)
    assert isinstance(problem.dense, LearningSolver)
    assert problem.experience == {"n_solves": 0}
    problem.sweep(problem.from_memberships(memberships))
    assert problem.experience == {"n_solves": 1}
    problem.restore({"n_solves": 9})
    assert problem.dense.n_solves == 9
