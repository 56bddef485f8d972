"""Algorithm 1 on graphs of some hundred samples: the fast eigen-step like the dense one, and the rows it ends with."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from afcm.equations import paper
from afcm.fitting import starts
from afcm.fitting.loop import run
from afcm.graph import eigenvectors
from afcm.graph.affinity import neighbor_matrix, normalize_graph, symmetrize
from afcm.graph.kernels import KERNELS, neighbor_lists
from afcm.graph.similarity import PlacedSamples
from afcm.linalg import eigensolver
from afcm.linalg.operator import GraphPlusLowRank
from afcm.models.extension import extend, inverse_spectrum
from afcm.models.plain import PlainProblem
from afcm.neighbors import find_neighbors
from tests.models.test_embedded import problem_for
from tests.reference import dense_paper_run


def blob_graph(n, kernel="local", k=10, spread=3.0):
    points, _ = make_blobs(n, 10, centers=12, cluster_std=spread, random_state=0)
    found = find_neighbors(points, k + 1)
    weights = KERNELS[kernel](neighbor_lists(found, k, 2.0))
    return normalize_graph(symmetrize(neighbor_matrix(weights, found.indices, n)))


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


def test_with_a_fixed_embedding_a_sweep_is_plain_afcms():
    """q = d and Z held: op5, op7 and op3 are the same three updates."""
    built = blob_graph(200)
    problem = problem_for(built, 4, 100.0)
    rng = np.random.default_rng(0)
    eigen = eigensolver.leading_eigenvectors(GraphPlusLowRank(built.affinity), problem.search_start, 4)
    memberships = rng.dirichlet(np.ones(4), size=200)
    embedded = problem.from_spectral(eigen, memberships)
    plain = PlainProblem(eigen.vectors).from_memberships(memberships)
    np.testing.assert_allclose(embedded.memberships, plain.memberships, atol=1e-10)
    np.testing.assert_allclose(embedded.centers, plain.centers, atol=1e-12)
    assert embedded.precision == pytest.approx(plain.precision, rel=1e-10)
    rough = paper.roughness(eigen.vectors, eigen.graph_image)
    assert embedded.objective == pytest.approx(plain.objective + 100.0 * rough, rel=1e-10)


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
