"""Algorithm 1 on an anchor graph: each function of rows and sums against the dense matrices Q, M, U, to rounding."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from afcm.graph.anchors.affinity import CoarseGraph
from afcm.graph.anchors.embedding import Coefficients
from afcm.linalg import eigensolver
from afcm.models import anchor_equations
from afcm.models.anchor_equations import Step, Sums
from tests.reference import dense_clusters, dense_sweep, same_signs

LAMBDA, GAMMA = 7.0, 2.5
N, M, C = 14, 6, 3
UNUSED = 4  # an anchor of no sample


def case(masses="unequal", seed=0):
    """Q with an unused anchor, U, the masses (or None), and the dense matrices that follow from them."""
    rng = np.random.default_rng(seed)
    q = np.zeros((N, M))
    for row in q:
        row[rng.choice(np.delete(np.arange(M), UNUSED), 3, replace=False)] = rng.dirichlet(np.ones(3))
    u = rng.dirichlet(np.ones(C), size=N)
    given = rng.uniform(0.2, 3.0, N) if masses == "unequal" else None
    m = np.ones(N) if given is None else given
    sizes = m @ q
    inverse = np.array([1 / size if size else 0 for size in sizes])
    affinity = np.sqrt(m)[:, None] * (q * inverse @ q.T) * np.sqrt(m)
    weights = sp.csr_array(q)
    return SimpleNamespace(
        weights=weights, u=u, masses=given, q=q, m=m, inverse=inverse, affinity=affinity,
        anchors=CoarseGraph.from_rows(weights, given), sums=anchor_equations.sums(weights, u, given),
    )  # fmt: skip


both = pytest.mark.parametrize("masses", ["equal", "unequal"])


def orthonormal(known, n_dims=C):
    """The first columns of coefficients whose embedding has ``Zᵀ M Z = I``, and that embedding."""
    found = anchor_equations.embedding_step(known.anchors, known.sums, LAMBDA, GAMMA)
    a, b = found.on_anchors[:, :n_dims], found.on_clusters[:, :n_dims]
    z = known.q @ a + known.u @ b
    np.testing.assert_allclose(z.T @ (known.m[:, None] * z), np.eye(n_dims), atol=1e-12)
    return Coefficients(a, b, found.vectors, 0.0, True), z


# --- rows ---


@both
def test_sums_are_those_over_the_samples(masses):
    known = case(masses)
    links, overlaps = np.zeros((M, C)), np.zeros((C, C))
    for i in range(N):
        links += known.m[i] * np.outer(known.q[i], known.u[i])
        overlaps += known.m[i] * np.outer(known.u[i], known.u[i])
    found = known.sums
    np.testing.assert_allclose(found.links, links, rtol=1e-13)
    np.testing.assert_allclose(found.overlaps, overlaps, rtol=1e-13)
    np.testing.assert_allclose(found.totals, known.m @ known.u, rtol=1e-13)
    assert (found.free_energy, found.change) == (0.0, 0.0)


def test_rows_of_the_embedding_are_those_of_the_anchors_and_of_the_clusters():
    known, rng = case(), np.random.default_rng(1)
    a, b = rng.standard_normal((M, 2)), rng.standard_normal((C, 2))
    rows = anchor_equations.embedded_rows(known.weights, known.u, Step(a, b, None, 1.0))
    expected = [known.q[i] @ a + known.u[i] @ b for i in range(N)]
    np.testing.assert_allclose(rows, expected, rtol=1e-12)


@both
def test_a_look_gives_the_next_memberships_the_rows_and_their_sums(masses):
    known, rng = case(masses), np.random.default_rng(2)
    step = Step(rng.standard_normal((M, 2)), rng.standard_normal((C, 2)), rng.standard_normal((C, 2)), GAMMA)
    z = np.array([known.q[i] @ step.on_anchors + known.u[i] @ step.on_clusters for i in range(N)])
    d2 = np.array([[sum((row - center) ** 2) for center in step.centers] for row in z])
    new = np.array([np.exp(-GAMMA * row) / sum(np.exp(-GAMMA * row)) for row in d2])
    changes = abs(new - known.u).max(axis=1)
    if known.masses is not None:  # the largest change is of a sample that does not count
        quiet = changes.argmax()
        known.masses[quiet] = changes[quiet] = 0.0
    following, rows, found = anchor_equations.look(known.weights, known.u, known.masses, step)
    np.testing.assert_allclose(rows, z, rtol=1e-12)
    np.testing.assert_allclose(following, new, rtol=1e-11)
    energy = sum(known.m[i] * (GAMMA * new[i] @ d2[i] + new[i] @ np.log(new[i])) for i in range(N))
    after = anchor_equations.sums(known.weights, following, known.masses)
    np.testing.assert_array_equal(found.links, after.links)
    np.testing.assert_array_equal(found.overlaps, after.overlaps)
    assert found.free_energy == pytest.approx(energy, rel=1e-11)
    assert found.change == pytest.approx(changes.max(), rel=1e-11)


def test_sums_of_blocks_add_up_and_the_largest_change_remains():
    rng = np.random.default_rng(3)
    energies, changes = (1.5, -4.0, 2.0), (0.2, 0.7, 0.1)
    parts = [Sums(rng.random((M, C)), rng.random((C, C)), *known) for known in zip(energies, changes, strict=True)]
    total = anchor_equations.add_sums(iter(parts))
    np.testing.assert_allclose(total.links, parts[0].links + parts[1].links + parts[2].links, rtol=1e-14)
    np.testing.assert_allclose(total.overlaps, parts[0].overlaps + parts[1].overlaps + parts[2].overlaps, rtol=1e-14)
    assert (total.free_energy, total.change) == (-0.5, 0.7)


# --- what follows from the sums ---


def factor_of(known):
    """``G = M^{1/2} [√λ Q Λ^{-1/2}, √γ U B^{1/2}]``, n×(m+c)."""
    totals = known.m @ known.u
    clusters = known.u * np.sqrt([1 / total if total else 0 for total in totals])
    return np.sqrt(known.m)[:, None] * np.hstack(
        [np.sqrt(LAMBDA) * known.q * np.sqrt(known.inverse), np.sqrt(GAMMA) * clusters]
    )


@both
@pytest.mark.parametrize("empty", [False, True])
def test_the_small_matrix_is_that_of_the_factor(masses, empty):
    known = case(masses)
    if empty:
        known.u[:, 1] = 0
        known.sums = anchor_equations.sums(known.weights, known.u, known.masses)
    g = factor_of(known)
    found = anchor_equations.small_matrix(known.anchors, known.sums, LAMBDA, GAMMA)
    np.testing.assert_allclose(found, g.T @ g, rtol=1e-12, atol=1e-14)
    large = LAMBDA * known.affinity
    large += sum(GAMMA * np.outer(column, column) for column in (g[:, M:] / np.sqrt(GAMMA)).T)
    np.testing.assert_allclose(g @ g.T, large, rtol=1e-12, atol=1e-14)


@both
@pytest.mark.parametrize("iterated", [False, True])
def test_the_embedding_step_gives_the_leading_eigenvectors_of_the_large_matrix(monkeypatch, masses, iterated):
    if iterated:
        for limit in ("DENSE_LIMIT", "DENSE_PER_VECTOR", "DENSE_MOST"):
            monkeypatch.setattr(eigensolver, limit, 0)
    known = case(masses)
    found = anchor_equations.embedding_step(known.anchors, known.sums, LAMBDA, GAMMA)
    expected = dense_sweep(known.affinity, known.masses, LAMBDA, known.u, GAMMA)
    z = known.q @ found.on_anchors + known.u @ found.on_clusters
    signs = same_signs(z, expected.embedding)
    np.testing.assert_allclose(z * signs, expected.embedding, atol=1e-10)
    g = factor_of(known)
    small = np.linalg.eigh(g.T @ g)[1][:, ::-1][:, :C]
    np.testing.assert_allclose(found.vectors * same_signs(found.vectors, small), small, atol=1e-10)
    assert found.residual < 1e-9
    assert found.converged is True
    if not iterated:
        assert found.residual == 0.0


@pytest.mark.parametrize("start", [None, np.eye(M + C)[:, :C]], ids=["first", "later"])
def test_the_small_problem_is_searched_from_the_last_vectors_and_the_clusters(monkeypatch, start):
    known, solve, calls = case(), eigensolver.leading_eigenvectors, []

    def watched(operator, first, n_wanted, **how):
        calls.append((operator, first, n_wanted, how))
        return solve(operator, first, n_wanted, **how)

    monkeypatch.setattr(eigensolver, "leading_eigenvectors", watched)
    anchor_equations.embedding_step(known.anchors, known.sums, LAMBDA, GAMMA, start)
    ((operator, first, n_wanted, how),) = calls
    g = factor_of(known)
    np.testing.assert_allclose(operator.to_dense(), g.T @ g, rtol=1e-12, atol=1e-14)
    assert operator.scale == LAMBDA + GAMMA  # the unit of tolerances is at least the norm
    np.testing.assert_array_equal(how.pop("extra"), np.vstack([np.zeros((M, C)), np.eye(C)]))
    assert how == {"trace_tol": anchor_equations.TRACE_TOL, "angle_tol": anchor_equations.ANGLE_TOL}
    assert n_wanted == C
    if start is None:
        assert np.linalg.matrix_rank(first) == C
        assert first.shape == (M + C, C)
    else:
        assert first is start


def test_directions_that_no_sample_reaches_are_columns_of_zeros():
    """Two samples span two directions; the third column of Z is 0 and does not count."""
    weights = sp.csr_array(np.array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]))
    u = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
    anchors, found = CoarseGraph.from_rows(weights, None), anchor_equations.sums(weights, u, None)
    coefficients = anchor_equations.embedding_step(anchors, found, LAMBDA, GAMMA)
    np.testing.assert_array_equal(coefficients.on_anchors[:, 2], 0)
    np.testing.assert_array_equal(coefficients.on_clusters[:, 2], 0)
    assert anchor_equations.n_used_columns(coefficients) == 2.0
    z = weights @ coefficients.on_anchors + u @ coefficients.on_clusters
    np.testing.assert_allclose(z.T @ z, np.diag([1, 1, 0]), atol=1e-12)


@both
def test_clusters_from_sums_are_those_of_the_rows(masses):
    """op5, op7 and J for two dimensions of three clusters."""
    known = case(masses)
    coefficients, z = orthonormal(known, n_dims=2)
    np.testing.assert_allclose(
        anchor_equations.cluster_sums(known.sums, coefficients), known.u.T @ (known.m[:, None] * z), atol=1e-12
    )
    vectors = np.sqrt(known.m)[:, None] * z
    expected = dense_clusters(known.affinity, known.m, LAMBDA, known.u, vectors)
    d2 = ((z[:, None] - expected.centers) ** 2).sum(axis=2)
    scatter = sum(known.m[i] * known.u[i] @ d2[i] for i in range(N))
    np.testing.assert_allclose(anchor_equations.centers(known.sums, coefficients), expected.centers, atol=1e-12)
    assert anchor_equations.scatter(known.sums, coefficients) == pytest.approx(scatter, rel=1e-12)
    rough = np.trace(vectors.T @ (np.eye(N) - known.affinity) @ vectors)
    assert anchor_equations.roughness(known.anchors, known.sums, coefficients) == pytest.approx(rough, rel=1e-11)
    step = anchor_equations.cluster_step(known.sums, coefficients)
    assert step.on_anchors is coefficients.on_anchors
    assert step.on_clusters is coefficients.on_clusters
    np.testing.assert_allclose(step.centers, expected.centers, atol=1e-12)
    assert step.precision == pytest.approx(expected.precision, rel=1e-11)
    following, _, after = anchor_equations.look(known.weights, known.u, known.masses, step)
    np.testing.assert_allclose(following, expected.memberships, atol=1e-10)
    found = anchor_equations.objective(known.anchors, known.sums, after, step, LAMBDA)
    assert found == pytest.approx(expected.objective, rel=1e-12)


def test_an_empty_cluster_goes_to_the_mean_of_all_samples():
    known = case()
    known.u[:] = np.eye(C)[np.arange(N) % 2]
    known.sums = anchor_equations.sums(known.weights, known.u, known.masses)
    coefficients, z = orthonormal(known)
    found = anchor_equations.centers(known.sums, coefficients)
    np.testing.assert_allclose(found[2], known.m @ z / known.m.sum(), atol=1e-13)
    for j in (0, 1):
        inside = known.m * (np.arange(N) % 2 == j)
        np.testing.assert_allclose(found[j], inside @ z / inside.sum(), atol=1e-12)


def test_the_precision_is_capped_where_samples_lie_on_their_centers():
    """Each cluster has an anchor of its own: the rows of a cluster are the same."""
    labels = np.repeat(np.arange(3), [3, 4, 5])
    weights = sp.csr_array(np.eye(3)[labels])
    anchors, found = CoarseGraph.from_rows(weights, None), anchor_equations.sums(weights, np.eye(3)[labels], None)
    coefficients = anchor_equations.embedding_step(anchors, found, LAMBDA, GAMMA)
    step = anchor_equations.cluster_step(found, coefficients)
    assert step.precision == pytest.approx(12 / 2 / 1e-8, rel=1e-12)
    assert anchor_equations.largest_precision(12.0, 3) == pytest.approx(12 / 2 / 1e-8, rel=1e-14)


@both
def test_the_normalized_cut_is_the_weight_that_leaves_each_cluster(masses):
    """Σ_j cut(j) / volume(j), with the edges ``m_i w_ij m_j`` of the samples; an empty cluster counts 1."""
    known = case(masses)
    labels = np.array([0, 2])[np.arange(N) % 2]
    edges = np.sqrt(known.m)[:, None] * known.affinity * np.sqrt(known.m)
    cut = 1.0
    for j in (0, 2):
        inside = labels == j
        cut += edges[np.ix_(inside, ~inside)].sum() / edges[inside].sum()
    links = known.q.T @ (known.m[:, None] * np.eye(C)[labels])
    assert anchor_equations.normalized_cut(known.anchors, links) == pytest.approx(cut, rel=1e-12)
