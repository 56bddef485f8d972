"""Algorithm 1: never a rising J, the fast eigen-step like the dense one, masses like repeated samples."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from afcm.equations import paper
from afcm.fitting import starts
from afcm.fitting.loop import run
from afcm.graph import eigenvectors
from afcm.graph.affinity import Graph, neighbor_matrix, normalize_graph, symmetrize
from afcm.graph.kernels import KERNELS, neighbor_lists
from afcm.graph.similarity import PlacedSamples
from afcm.linalg import eigensolver
from afcm.linalg.operator import GraphPlusLowRank
from afcm.models.embedded import EmbeddedProblem
from afcm.models.extension import extend, inverse_spectrum
from afcm.models.plain import PlainProblem
from afcm.neighbors import find_neighbors
from tests.reference import dense_paper_run
from tests.strategies import affinities, quick


def blob_graph(n, kernel="local", k=10, spread=3.0):
    points, _ = make_blobs(n, 10, centers=12, cluster_std=spread, random_state=0)
    found = find_neighbors(points, k + 1)
    weights = KERNELS[kernel](neighbor_lists(found, k, 2.0))
    return normalize_graph(symmetrize(neighbor_matrix(weights, found.indices, n)))


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


@pytest.mark.parametrize("n_clusters", [3, 10, 40])
@pytest.mark.parametrize("graph_weight", [150.0, 15000.0])
def test_fast_and_dense_eigen_steps_give_the_same_objectives(monkeypatch, n_clusters, graph_weight):
    if n_clusters < 40 or graph_weight < 1000:  # 40 of 12 blobs with a heavy graph: no gap, the dense fallback's case
        monkeypatch.setattr(eigensolver, "DENSE_PER_VECTOR", 0)
        monkeypatch.setattr(eigensolver, "DENSE_MOST", 0)
    built = blob_graph(1500)
    memberships = starts.draw_memberships(1500, n_clusters, np.random.RandomState(1))
    problem = problem_for(built, n_clusters, graph_weight)
    sweeps = 5
    fast = run(problem, problem.from_memberships(memberships), max_iter=sweeps, tol=0.0)
    cap = problem.largest_precision(n_clusters)
    dense = dense_paper_run(built.affinity.toarray(), memberships, graph_weight, cap, sweeps)
    np.testing.assert_allclose(fast.history["objective"], dense, rtol=1e-8)
    assert fast.state.eigen_converged


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


def test_with_a_fixed_embedding_a_sweep_is_plain_afcms():
    """q = d and Z held: op5, op7 and op3 are the same three updates."""
    built = blob_graph(200)
    problem = problem_for(built, 4, 100.0)
    rng = np.random.default_rng(0)
    eigen = eigensolver.leading_eigenvectors(GraphPlusLowRank(built.affinity), problem.search_start, 4)
    memberships = rng.dirichlet(np.ones(4), size=200)
    embedded = problem.from_spectral(eigen, memberships)
    plain = PlainProblem.from_points(eigen.vectors).from_memberships(memberships)
    np.testing.assert_allclose(embedded.memberships, plain.memberships, atol=1e-10)
    np.testing.assert_allclose(embedded.centers, plain.centers, atol=1e-12)
    assert embedded.precision == pytest.approx(plain.precision, rel=1e-10)
    rough = paper.roughness(eigen.vectors, eigen.graph_image)
    assert embedded.objective == pytest.approx(plain.objective + 100.0 * rough, rel=1e-10)


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


def test_fitted_samples_obey_the_equation_that_places_new_ones():
    """z_i Θ = λ Σ_j s_ij z_j + γ u_i V at a converged state."""
    built = blob_graph(300, spread=4.0)
    problem = problem_for(built, 3, 3e5)
    eigen, memberships = starts.spectral_start(
        built, 3, None, np.random.RandomState(0), solve=lambda q: eigenvectors.solve_leading(built, q)
    )
    result = run(problem, problem.from_spectral(eigen, memberships), max_iter=300, tol=1e-10)
    state = result.state
    right = 3e5 * state.smoothed + state.precision * state.memberships @ state.centers
    np.testing.assert_allclose(right @ inverse_spectrum(problem, state), state.vectors, atol=1e-6)
    placed = extend(problem, state, built.degrees).embed(PlacedSamples(built.affinity, np.full(300, -1)))
    assert np.corrcoef(placed.ravel(), state.vectors.ravel())[0, 1] > 0.98
