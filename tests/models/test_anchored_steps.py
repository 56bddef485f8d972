"""Algorithm 1 on an anchor graph, sweep by sweep against the dense formulas, and the placing of new samples."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from afcm.graph.anchors.affinity import sample_graph
from afcm.graph.anchors.embedding import Coefficients
from afcm.graph.similarity import PlacedSamples
from afcm.linalg.operator import Eigenpairs
from afcm.linalg.products import map_row_blocks
from afcm.models import anchor_equations, anchored
from afcm.models.anchored import AnchoredProblem, extend_anchors
from tests.models.test_anchor_equations import LAMBDA, C, M, N, both, case, factor_of, orthonormal
from tests.reference import dense_clusters, dense_sweep, same_signs


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of five rows."""
    monkeypatch.setattr(anchored, "map_row_blocks", partial(map_row_blocks, size=5))


def problem_of(known):
    return AnchoredProblem.of(known.weights, known.masses, LAMBDA)


def assert_same_state(state, expected):
    signs = same_signs(state.embedding, expected.embedding)
    np.testing.assert_allclose(state.embedding * signs, expected.embedding, atol=1e-10)
    np.testing.assert_allclose(state.centers * signs, expected.centers, atol=1e-10)
    np.testing.assert_allclose(state.memberships, expected.memberships, atol=1e-9)
    assert state.precision == pytest.approx(expected.precision, rel=1e-9)
    assert state.objective == pytest.approx(expected.objective, rel=1e-11)


def assert_same_sums(found, known, memberships):
    expected = anchor_equations.sums(known.weights, memberships, known.masses)
    np.testing.assert_allclose(found.links, expected.links, rtol=1e-12)
    np.testing.assert_allclose(found.overlaps, expected.overlaps, rtol=1e-12)


@both
def test_sweeps_are_those_of_the_dense_formulas(masses):
    known = case(masses)
    problem = problem_of(known)
    state = problem.from_memberships(known.u)
    for _ in range(4):
        following = problem.sweep(state)
        assert_same_state(
            following, dense_sweep(known.affinity, known.masses, LAMBDA, state.memberships, state.precision)
        )
        assert_same_sums(following.sums, known, following.memberships)
        change = abs(following.memberships - state.memberships).max()
        assert following.change == following.sums.change == pytest.approx(change, rel=1e-12)
        rows = known.q @ following.on_anchors + state.memberships @ following.on_clusters
        np.testing.assert_allclose(following.embedding, rows, rtol=1e-12, atol=1e-14)
        assert (following.eigen_residual, following.eigen_converged) == (0.0, True)
        state = following


def test_the_next_eigen_step_begins_at_the_vectors_of_the_last(monkeypatch):
    known, solve, starts = case(), anchor_equations.embedding_step, []

    def watched(*how):
        starts.append(how[4])
        return solve(*how)

    monkeypatch.setattr(anchor_equations, "embedding_step", watched)
    problem = problem_of(known)
    first = problem.sweep(problem.from_memberships(known.u))
    problem.sweep(first)
    assert starts[0] is None
    assert starts[1] is first.vectors
    known_factor = factor_of(known) * np.where(np.arange(M + C) < M, 1, np.sqrt(1 / 2.5))  # γ = 1
    small = np.linalg.eigh(known_factor.T @ known_factor)[1][:, ::-1][:, :C]
    np.testing.assert_allclose(first.vectors * same_signs(first.vectors, small), small, atol=1e-10)


@both
def test_given_coefficients_take_the_place_of_the_eigen_step(masses):
    """Two dimensions for three clusters."""
    known = case(masses)
    problem = problem_of(known)
    (a, b, vectors, *_), z = orthonormal(known, n_dims=2)
    state = problem.sweep(problem.from_memberships(known.u), Coefficients(a, b, vectors, 0.25, False))
    assert state.on_anchors is a
    assert state.on_clusters is b
    assert state.vectors is vectors
    assert (state.eigen_residual, state.eigen_converged) == (0.25, False)
    roots = np.sqrt(known.m)[:, None]
    assert_same_state(state, dense_clusters(known.affinity, known.m, LAMBDA, known.u, roots * z))


def test_starts_from_memberships_have_their_sums_and_no_result_yet():
    known = case()
    problem = problem_of(known)
    first, later = problem.from_memberships(known.u), problem.from_fit(known.u, 4.5, None)
    assert (first.precision, later.precision) == (1.0, 4.5)
    for state in (first, later):
        assert state.memberships is known.u
        assert_same_sums(state.sums, known, known.u)
        assert (state.objective, state.change) == (math.inf, math.inf)
        assert (state.eigen_residual, state.eigen_converged) == (0.0, True)
        assert (state.centers, state.embedding, state.vectors) == (None, None, None)
        assert (state.on_anchors, state.on_clusters) == (None, None)


@both
def test_a_spectral_start_is_a_sweep_from_the_eigenvectors_of_the_graph(masses):
    """Two eigenvectors for three clusters of the anchors; the samples have the mean memberships of their anchors."""
    known = case(masses)
    values, vectors = np.linalg.eigh(known.anchors.affinity)
    eigen = Eigenpairs(vectors[:, :-3:-1], values[:-3:-1], None, 0.125, 0.0, 0, True)
    of_anchors = np.random.default_rng(3).dirichlet(np.ones(C), size=M)
    state = problem_of(known).from_spectral(eigen, of_anchors)
    large = np.linalg.eigh(known.affinity)[1][:, :-3:-1]
    assert_same_state(state, dense_clusters(known.affinity, known.m, LAMBDA, known.q @ of_anchors, large))
    np.testing.assert_array_equal(state.on_clusters, np.zeros((C, 2)))
    assert (state.eigen_residual, state.eigen_converged) == (0.125, True)


@both
def test_the_cut_is_that_of_the_labels(masses):
    known = case(masses)
    problem = problem_of(known)
    labels = [max(range(C), key=row.__getitem__) for row in known.u.tolist()]
    links = np.zeros((M, C))
    for i, label in enumerate(labels):
        links[:, label] += known.m[i] * known.q[i]
    np.testing.assert_allclose(problem.hard_links(known.u), links, rtol=1e-13)
    cut = 0.0
    for j in range(C):
        h = np.sqrt(known.m) * (np.array(labels) == j)
        cut += 1 - h @ known.affinity @ h / (h @ h)
    assert problem.normalized_cut(known.u) == pytest.approx(cut, rel=1e-12)


@both
def test_the_mass_is_the_number_of_samples_and_the_scale_of_changes_and_of_the_cap(masses):
    known = case(masses)
    problem = problem_of(known)
    assert problem.mass == pytest.approx(known.m.sum(), rel=1e-14)
    assert problem.objective_scale == problem.mass
    assert problem.largest_precision(2) == pytest.approx(known.m.sum() / 2 / 1e-8, rel=1e-14)


def test_a_problem_is_shown_without_its_arrays():
    assert repr(problem_of(case())) == "AnchoredProblem(graph_weight=7.0)"


# --- new samples ---


def extension_of(known):
    """Of a fit in two dimensions."""
    problem = problem_of(known)
    coefficients, _ = orthonormal(known, n_dims=2)
    state = problem.sweep(problem.from_memberships(known.u), coefficients)
    graph = sample_graph(known.weights, problem.anchors, known.masses)
    return extend_anchors(problem, state, graph.affinity), state


def new_samples(seed=4):
    """Three, of which the second is the first fitted sample and the third a later one."""
    rows = np.random.default_rng(seed).dirichlet(np.ones(M), size=3)
    return rows, np.array([-1, 0, 9])


def means_of_anchors(known, values):
    """``Σ_i m_i q_ik y_i / Σ_i m_i q_ik`` for each anchor k; 0 for one of no sample."""
    means = np.zeros((M, values.shape[1]))
    for k in range(M):
        shares = known.m * known.q[:, k]
        means[k] = shares @ values / shares.sum() if shares.any() else 0
    return means


@both
def test_new_samples_have_the_mean_rows_of_their_anchors_and_fitted_ones_their_own(masses):
    known = case(masses)
    extension, state = extension_of(known)
    rows, twins = new_samples()
    placed = extension.embed(PlacedSamples(sp.csr_array(rows), twins))
    means = means_of_anchors(known, state.memberships)
    for row, twin, found in zip(rows, twins, placed, strict=True):
        expected = row @ state.on_anchors + row @ means @ state.on_clusters if twin < 0 else state.embedding[twin]
        np.testing.assert_allclose(found, expected, rtol=1e-11)


@both
def test_values_of_samples_are_averaged_over_anchors(masses):
    known = case(masses)
    extension, _ = extension_of(known)
    values = np.random.default_rng(5).standard_normal((N, 4))
    rows, twins = new_samples()
    averages = extension.averaged(PlacedSamples(sp.csr_array(rows), twins), values)
    means = means_of_anchors(known, values)
    for row, twin, found in zip(rows, twins, averages, strict=True):
        np.testing.assert_allclose(found, row @ means if twin < 0 else values[twin], rtol=1e-11)


def test_an_extension_keeps_the_fit_and_gives_memberships_by_distance():
    extension, state = extension_of(case())
    assert extension.embedding is state.embedding
    assert extension.memberships is state.memberships
    assert extension.centers is state.centers
    assert (extension.precision, extension.graph_weight, extension.n_clusters) == (state.precision, LAMBDA, C)
    rows = 0.3 * np.random.default_rng(6).standard_normal((4, 2))
    for row, found in zip(rows, extension.memberships_of(rows), strict=True):
        scores = np.array([np.exp(-state.precision * sum((row - center) ** 2)) for center in state.centers])
        np.testing.assert_allclose(found, scores / scores.sum(), rtol=1e-11)
