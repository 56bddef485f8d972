"""Filtered subspaces against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.polynomial import chebyshev

pytest.importorskip("numba")

from afcm._util.threads import without_threads
from afcm.graph.affinity import normalize_graph
from afcm.linalg import filtered_subspace as fs
from afcm.linalg.products import CompiledSparse
from tests.linalg.test_eigensolver import ring_graph

N = 400


def clusters(n_groups=6, seed=0):
    """A graph of groups with few edges between them."""
    rng = np.random.default_rng(seed)
    labels = np.arange(N) % n_groups
    dense = (rng.random((N, N)) < np.where(labels[:, None] == labels, 0.15, 0.01)) * rng.random((N, N))
    return normalize_graph(sp.csr_array(np.triu(dense, 1) + np.triu(dense, 1).T)).affinity


def start(width, seed=1):
    return np.random.default_rng(seed).standard_normal((N, width))


def solve(graph, n_wanted, tol=1e-4):
    width = fs.block_width(n_wanted)
    return fs.filter_subspace(graph, start(width), lambda pairs: pairs.norms[:n_wanted] / tol)


def test_leading_eigenvectors_of_clusters():
    graph = clusters()
    pairs = solve(graph, 6)
    values, vectors = np.linalg.eigh(graph.toarray())
    np.testing.assert_allclose(pairs.values[:6], values[:-7:-1], atol=1e-6)
    assert np.linalg.svd(vectors[:, -6:].T @ pairs.vectors[:, :6])[1].min() > 1 - 1e-6
    residuals = graph @ pairs.vectors.astype(float) - pairs.vectors * pairs.values
    np.testing.assert_allclose(pairs.norms, np.linalg.norm(residuals, axis=0), atol=1e-5)


def test_repeated_eigenvalues_are_all_found():
    graph = ring_graph(5, N // 5)
    pairs = solve(graph, 7, 1e-3)
    exact = np.linalg.eigvalsh(graph.toarray())[::-1][:7]
    np.testing.assert_allclose(pairs.values[:7], exact, atol=1e-5)


def test_the_wanted_in_double_precision():
    graph = clusters()
    eigen = fs.to_eigenpairs(solve(graph, 6), graph, 6, converged=True)
    np.testing.assert_allclose(eigen.vectors.T @ eigen.vectors, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(eigen.graph_image, graph @ eigen.vectors, atol=1e-12)
    np.testing.assert_allclose(eigen.values, np.linalg.eigvalsh(graph.toarray())[:-7:-1], atol=1e-8)
    largest = np.linalg.norm(graph @ eigen.vectors - eigen.vectors * eigen.values, axis=0).max()
    assert eigen.residual == pytest.approx(largest, rel=1e-6)
    assert eigen.residual < 1e-4
    assert 0 <= eigen.trace_error < 1e-6
    assert eigen.converged


def test_angles_are_residuals_over_gaps():
    pairs = fs.RoughPairs(np.empty((1, 4)), np.array([1.0, 0.9, 0.5, 0.4]), np.array([0.01, 0.02, 0.6, 0.1]))
    np.testing.assert_allclose(pairs.angles(2), [0.01 / 0.5, 0.02 / 0.4])
    np.testing.assert_allclose(pairs.angles(-1), [0.01 / 0.6, 0.02 / 0.5, 1.0])  # a gap is not below the residual


@pytest.mark.parametrize(("unwanted", "spread"), [(0.3, 1e3), (0.95, 1e6), (0.9999, 1e6)])
def test_a_filter_is_a_chebyshev_polynomial(unwanted, spread):
    """Its values at the eigenvalues: T_m of the spectrum mapped so that [−1, unwanted] is [−1, 1], and 1 at 1."""
    graph = clusters()
    values, vectors = np.linalg.eigh(graph.toarray())
    block = start(3)
    mapped, top = ((2 * x + 1 - unwanted) / (1 + unwanted) for x in (values, 1.0))
    degree = min(60, int(np.log(spread) / np.arccosh(top)))
    assert fs.largest_degree(unwanted, spread) == degree
    found = fs.apply_filter(CompiledSparse.from_matrix(graph), block, unwanted, degree)
    factors = chebyshev.chebval(mapped, np.eye(degree + 1)[degree]) / chebyshev.chebval(top, np.eye(degree + 1)[degree])
    np.testing.assert_allclose(found, vectors @ (factors[:, None] * (vectors.T @ block)), atol=1e-9)


@pytest.mark.parametrize("unwanted", [-0.3, 0.4, 0.9])
def test_a_degree_is_the_lowest_that_mends_what_is_lacking(unwanted):
    """A vector comes nearer by how much the polynomial magnifies its eigenvalue; it shall by four times its lack."""
    values, lack = np.array([1.0, 0.98, 0.95, 0.93]), np.array([50.0, 8.0, 1.0])
    pairs = fs.RoughPairs(np.empty((1, 4)), values, np.zeros(4))
    degree = fs.choose_degree(pairs, lack, unwanted)
    mapped = (2 * values[:2] + 1 - unwanted) / (1 + unwanted)

    def magnify(degree):
        return chebyshev.chebval(mapped, np.eye(degree + 1)[degree])

    assert (magnify(degree) >= 4 * lack[:2]).all()
    assert degree == 2 or (magnify(degree - 1) < 4 * lack[:2]).any()


def test_a_degree_has_bounds():
    pairs = fs.RoughPairs(np.empty((1, 3)), np.array([1.0, 0.9, 0.9]), np.zeros(3))
    assert fs.choose_degree(pairs, np.array([1.0, 1.0]), 0.9) == 2
    assert fs.choose_degree(pairs, np.array([1.0, 1.5]), 0.9) == fs.largest_degree(0.9, 1e6)  # nothing magnifies it
    assert fs.choose_degree(pairs, np.array([np.inf, 1.0]), 0.9) == fs.largest_degree(0.9, 1e6)
    assert fs.choose_degree(pairs, np.array([np.inf, 1.0]), 0.9999) == 60


def test_eigenvalues_are_estimated_by_their_number():
    graph = clusters(20)
    exact = np.linalg.eigvalsh(graph.toarray())[::-1]
    single = CompiledSparse.from_matrix(graph, np.float32)
    for number in (40, 120):
        found = fs.estimate_eigenvalue(single, number)
        assert exact[int(1.5 * number)] < found < exact[number // 2]
    assert fs.estimate_eigenvalue(CompiledSparse.from_matrix(sp.eye_array(N, format="csr"), np.float32), 3) < 1


def test_results_do_not_depend_on_the_number_of_threads():
    graph = clusters()
    threaded = solve(graph, 6)
    with without_threads():
        alone = solve(graph, 6)
    np.testing.assert_array_equal(threaded.vectors, alone.vectors)


def test_the_last_round_is_given_if_none_is_good():
    graph = clusters()
    hurried = fs.filter_subspace(graph, start(10), lambda _: np.full(10, np.inf), most_rounds=1)
    patient = fs.filter_subspace(graph, start(10), lambda _: np.full(10, np.inf), most_rounds=3)
    assert patient.norms[:6].max() < hurried.norms[:6].max()


def test_a_start_whose_columns_depend_on_each_other_finds_all():
    graph, width = clusters(), fs.block_width(6)
    same = np.repeat(start(1), width, axis=1)
    pairs = fs.filter_subspace(graph, same, lambda found: found.norms[:6] / 1e-4)
    assert pairs.vectors.shape == (N, width)
    np.testing.assert_allclose(pairs.values[:6], np.linalg.eigvalsh(graph.toarray())[:-7:-1], atol=1e-6)
