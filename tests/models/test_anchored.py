"""Algorithm 1 on an anchor graph: the small eigenproblem is the large one, blocks add up, J never rises."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from afcm.equations import paper
from afcm.fitting import starts
from afcm.fitting.loop import run
from afcm.graph import eigenvectors
from afcm.graph.affinity import normalize_graph, normalized_cut
from afcm.graph.anchors import embedding
from afcm.graph.anchors.affinity import CoarseGraph, gram, sample_graph, select_masses
from afcm.graph.similarity import PlacedSamples
from afcm.linalg import eigensolver
from afcm.linalg.products import row_block
from afcm.models import anchor_equations
from afcm.models.anchored import AnchoredProblem, extend_anchors
from tests.reference import dense_paper_run
from tests.strategies import quick


def random_rows(n, m, k, rng):
    """A sparse row-stochastic matrix with k entries a row."""
    dense = np.zeros((n, m))
    for row in dense:
        row[rng.choice(m, k, replace=False)] = rng.dirichlet(np.ones(k))
    return sp.csr_array(dense)


@st.composite
def cases(draw):
    """Rows, memberships, masses (or None) and a generator."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = draw(st.integers(4, 9))
    n, c, k = draw(st.integers(m, 25)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    masses = rng.integers(1, 4, size=n).astype(float) if draw(st.booleans()) else None
    return random_rows(n, m, k, rng), rng.dirichlet(np.ones(c), size=n), masses, rng


def dense_affinity(weights, masses):
    """S by its formula."""
    dense = weights.toarray()
    mass = np.ones(len(dense)) if masses is None else masses
    sizes = mass @ dense
    inverse = np.divide(1, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return np.sqrt(mass)[:, None] * (dense * inverse @ dense.T) * np.sqrt(mass)


def blobs_case(n=400, m=60, k=5, seed=0):
    """Rows of three groups of samples that share some anchors."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    dense = np.zeros((n, m))
    for row, label in zip(dense, labels, strict=True):
        reach = np.arange(m) if rng.random() < 0.1 else np.arange(label * m // 3, (label + 1) * m // 3)
        row[rng.choice(reach, k, replace=False)] = rng.dirichlet(np.ones(k))
    return sp.csr_array(dense), labels, rng


@quick
@given(cases())
def test_the_operator_equals_its_dense_formula_and_all_degrees_are_one(case):
    weights, _, masses, rng = case
    affinity = sample_graph(weights, CoarseGraph.from_rows(weights, masses), masses).affinity
    dense = dense_affinity(weights, masses)
    np.testing.assert_allclose(affinity.toarray(), dense, atol=1e-12)
    roots = np.ones(len(dense)) if masses is None else np.sqrt(masses)
    np.testing.assert_allclose(dense @ roots, roots, atol=1e-12)  # the trivial eigenvector: degrees are 1
    assert np.linalg.eigvalsh(dense)[0] > -1e-12
    values = rng.standard_normal((len(dense), 2))
    sizes = (np.ones(len(dense)) if masses is None else masses) @ weights.toarray()
    expected = weights.T @ (values if masses is None else masses[:, None] * values)
    np.testing.assert_allclose(affinity.means(values) * sizes[:, None], expected, atol=1e-12)


@quick
@given(cases(), st.sampled_from([0.1, 5.0, 1e3]), st.sampled_from([1e-2, 1.0, 1e4]))
def test_the_small_eigenproblem_is_the_large_one(case, graph_weight, precision):
    weights, memberships, masses, _ = case
    problem = AnchoredProblem.of(weights, masses, graph_weight)
    found = anchor_equations.embedding_step(
        problem.anchors, problem.sum_memberships(memberships), graph_weight, precision
    )
    factor = paper.membership_factor(memberships, masses)
    large = graph_weight * dense_affinity(weights, masses) + precision * factor @ factor.T
    values = np.linalg.eigvalsh(large)[::-1][: memberships.shape[1]]
    assume(values[-1] > 1e-9 * values[0])
    step = anchor_equations.Step(*found[:2], None, precision)
    vectors = anchor_equations.embedded_rows(weights, memberships, step)
    vectors = vectors if masses is None else np.sqrt(masses)[:, None] * vectors
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(values.size), atol=1e-8)
    np.testing.assert_allclose(np.trace(vectors.T @ large @ vectors), values.sum(), rtol=1e-9)


@pytest.mark.parametrize("graph_weight", [40.0, 1200.0, 1e5])
@pytest.mark.parametrize("iterated", [False, True])
def test_objectives_equal_those_of_the_dense_algorithm(monkeypatch, graph_weight, iterated):
    if iterated:
        for limit in ("DENSE_LIMIT", "DENSE_PER_VECTOR", "DENSE_MOST"):
            monkeypatch.setattr(eigensolver, limit, 0)
    weights, _, rng = blobs_case(150)
    problem = AnchoredProblem.of(weights, None, graph_weight)
    memberships = rng.dirichlet(np.ones(3), size=150)
    result = run(problem, problem.from_memberships(memberships), max_iter=12, tol=0.0)
    cap = problem.largest_precision(3)
    expected = dense_paper_run(dense_affinity(weights, None), memberships, graph_weight, cap, result.n_iter)
    np.testing.assert_allclose(result.history["objective"], expected, rtol=1e-8)
    assert result.state.eigen_converged


@quick
@given(cases(), st.sampled_from([0.1, 5.0, 1e3]))
def test_the_objective_never_rises(case, graph_weight):
    weights, memberships, masses, _ = case
    problem = AnchoredProblem.of(weights, masses, graph_weight)
    result = run(problem, problem.from_memberships(memberships), max_iter=25, tol=0.0)
    values = result.history["objective"]
    capped = result.history["gamma"] >= problem.largest_precision(memberships.shape[1])
    assert ((np.diff(values) <= 1e-7 * (1 + np.abs(values[1:]))) | capped[1:]).all()
    np.testing.assert_allclose(result.state.memberships.sum(axis=1), 1, atol=1e-12)


@quick
@given(cases())
def test_centres_scatter_roughness_and_energy_from_sums_are_those_of_the_rows(case):
    weights, memberships, masses, _ = case
    problem = AnchoredProblem.of(weights, masses, 5.0)
    found = problem.sum_memberships(memberships)
    coefficients = anchor_equations.embedding_step(problem.anchors, found, 5.0, 2.0)
    assume(np.any(coefficients.on_anchors, axis=0).all())
    rows = anchor_equations.embedded_rows(weights, memberships, anchor_equations.Step(*coefficients[:2], None, 2.0))
    v = anchor_equations.centers(found, coefficients)
    np.testing.assert_allclose(v, paper.centers(rows, memberships, masses), atol=1e-10)
    scatter = paper.scatter(paper.squared_distances(rows, v), memberships, masses)
    assert anchor_equations.scatter(found, coefficients) == pytest.approx(scatter, abs=1e-9)
    vectors = rows if masses is None else np.sqrt(masses)[:, None] * rows
    rough = paper.roughness(vectors, dense_affinity(weights, masses) @ vectors)
    assert anchor_equations.roughness(problem.anchors, found, coefficients) == pytest.approx(rough, abs=1e-9)


def test_an_empty_cluster_goes_to_the_mean():
    weights, labels, _ = blobs_case(90)
    problem = AnchoredProblem.of(weights, None, 100.0)
    found = problem.sum_memberships(np.eye(4)[labels])
    coefficients = anchor_equations.embedding_step(problem.anchors, found, 100.0, 1.0)
    rows = anchor_equations.embedded_rows(
        weights, np.eye(4)[labels], anchor_equations.Step(*coefficients[:2], None, 1.0)
    )
    np.testing.assert_allclose(anchor_equations.centers(found, coefficients)[3], rows.mean(axis=0), atol=1e-12)


@quick
@given(cases(), st.lists(st.integers(1, 24), max_size=4))
def test_blocks_of_any_size_add_up(case, cuts):
    weights, memberships, masses, _ = case
    n = weights.shape[0]
    ends = sorted({0, n, *(end for end in cuts if end < n)})
    blocks = [slice(a, b) for a, b in pairwise(ends)]
    problem = AnchoredProblem.of(weights, masses, 5.0)
    state = problem.sweep(problem.from_memberships(memberships))
    step = anchor_equations.Step(state.on_anchors, state.on_clusters, state.centers, state.precision)
    looks = [
        anchor_equations.look(row_block(weights, b), memberships[b], select_masses(masses, b), step) for b in blocks
    ]
    memberships, rows, sums = zip(*looks, strict=True)
    total = anchor_equations.add_sums(sums)
    for part, whole in zip(total, state.sums, strict=True):
        np.testing.assert_allclose(part, whole, rtol=1e-12, atol=1e-12)
    for parts, whole in ((memberships, state.memberships), (rows, state.embedding)):
        # a product of fewer rows may be summed in another order
        np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-12, atol=1e-14)
    shared = sum(gram(row_block(weights, b), select_masses(masses, b)).toarray() for b in blocks)
    np.testing.assert_allclose(shared, problem.anchors.weights.toarray(), atol=1e-12)


@quick
@given(cases(), st.sampled_from([0.5, 50.0]))
def test_a_mass_of_two_is_a_sample_twice(case, graph_weight):
    weights, memberships, masses, _ = case
    assume(masses is not None)
    copies = np.repeat(np.arange(masses.size), masses.astype(int))
    folded = AnchoredProblem.of(weights, masses, graph_weight)
    whole = AnchoredProblem.of(weights[copies], None, graph_weight)
    once = folded.sweep(folded.from_memberships(memberships))
    twice = whole.sweep(whole.from_memberships(memberships[copies]))
    assume(once.eigen_converged)
    assert once.precision == pytest.approx(twice.precision, rel=1e-7)
    assert once.objective == pytest.approx(twice.objective, rel=1e-8)


@quick
@given(cases())
def test_the_normalised_cut_is_that_of_the_graph(case):
    weights, memberships, masses, _ = case
    anchors = CoarseGraph.from_rows(weights, masses)
    graph = sample_graph(weights, anchors, masses)
    hard = starts.one_hot(memberships.argmax(axis=1), memberships.shape[1])
    links = graph.affinity.links(hard if masses is None else hard * masses[:, None])
    assert anchor_equations.normalized_cut(anchors, links) == pytest.approx(normalized_cut(graph, hard), abs=1e-10)
    dense = normalize_graph(sp.csr_array(dense_affinity(weights, masses)))
    assert graph.components[0] == dense.components[0]
    together = [labels[:, None] == labels for labels in (graph.components[1], dense.components[1])]
    np.testing.assert_array_equal(*together)


def test_spectral_start_solves_for_the_eigenvectors_of_the_graph():
    weights, labels, _ = blobs_case()
    masses = np.random.default_rng(1).integers(1, 4, size=400).astype(float)
    anchors = CoarseGraph.from_rows(weights, masses)
    eigen = eigenvectors.solve_leading(anchors.graph, 3, 1e-8)
    rows = weights @ embedding.spectral_coefficients(anchors, eigen, 3).on_anchors
    vectors = np.sqrt(masses)[:, None] * rows
    dense = dense_affinity(weights, masses)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-8)
    np.testing.assert_allclose(dense @ vectors, vectors * eigen.values, atol=1e-6)
    assert np.unique(labels).size == 3


def test_new_samples_get_the_row_that_fitted_ones_have():
    """``q a + u b`` with the memberships of the anchors for u: exact where samples agree with their anchors."""
    weights, _, rng = blobs_case()
    problem = AnchoredProblem.of(weights, None, 4e5)
    memberships = rng.dirichlet(np.ones(3), size=400)
    state = run(problem, problem.from_memberships(memberships), max_iter=200, tol=1e-9).state
    affinity = sample_graph(weights, problem.anchors, None).affinity
    extension = extend_anchors(problem, state, affinity)
    unknown = extension.embed(PlacedSamples(weights, np.full(400, -1)))
    mean = weights @ affinity.means(state.memberships)
    np.testing.assert_allclose(unknown, weights @ state.on_anchors + mean @ state.on_clusters, atol=1e-12)
    labels = extension.memberships_of(unknown).argmax(axis=1)
    assert np.mean(labels == state.memberships.argmax(axis=1)) > 0.97
    known = extension.embed(PlacedSamples(weights, np.arange(400)))
    np.testing.assert_array_equal(known, state.embedding)
