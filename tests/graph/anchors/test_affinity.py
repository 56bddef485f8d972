"""The anchor graph equals its dense formula, whatever the blocks it is added up from."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from afcm.graph.anchors import affinity as module
from afcm.graph.anchors.affinity import CoarseGraph, FactoredAffinity, dense_gram, gram, sample_graph, select_masses
from afcm.graph.anchors.weights import AnchorSimilarity
from tests.graph.anchors.rows import dense_factors, random_rows
from tests.strategies import quick


@st.composite
def cases(draw):
    """Rows of Q (the last anchors may have no sample), masses or None, and a generator."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m, k = draw(st.integers(4, 20)), draw(st.integers(4, 8)), draw(st.integers(1, 4))
    masses = rng.integers(1, 4, size=n).astype(float) if draw(st.booleans()) else None
    return random_rows(n, m, k, rng), masses, rng


@quick
@given(cases())
def test_the_graph_of_the_anchors_is_its_dense_formula(case):
    weights, masses, rng = case
    rows, mass, inverse = dense_factors(weights, masses)
    coarse = CoarseGraph.from_rows(weights, masses)
    shared = rows.T @ (mass[:, None] * rows)
    np.testing.assert_allclose(coarse.weights.toarray(), shared, atol=1e-12)
    np.testing.assert_allclose(coarse.sizes, rows.T @ mass, atol=1e-12)
    np.testing.assert_allclose(coarse.density.toarray(), inverse[:, None] * shared * inverse, atol=1e-12)
    normalized = np.sqrt(inverse)[:, None] * shared * np.sqrt(inverse)
    np.testing.assert_allclose(coarse.affinity, normalized, atol=1e-12)
    np.testing.assert_allclose(coarse.graph.affinity.toarray(), normalized, atol=1e-12)
    np.testing.assert_allclose(coarse.graph.degrees, inverse > 0, atol=1e-12)
    np.testing.assert_array_equal(coarse.graph.masses, coarse.sizes)
    values = rng.standard_normal((rows.shape[1], 2))
    np.testing.assert_allclose(coarse.scale(values), np.sqrt(inverse)[:, None] * values, atol=1e-12)
    np.testing.assert_allclose(coarse.average(values), inverse[:, None] * values, atol=1e-12)


@quick
@given(cases())
def test_the_affinity_of_the_samples_is_its_dense_formula(case):
    weights, masses, rng = case
    rows, mass, inverse = dense_factors(weights, masses)
    dense = np.sqrt(mass)[:, None] * (rows * inverse @ rows.T) * np.sqrt(mass)
    graph = sample_graph(weights, CoarseGraph.from_rows(weights, masses), masses)
    affinity, n = graph.affinity, len(rows)
    np.testing.assert_allclose(affinity.toarray(), dense, atol=1e-12)
    assert affinity.shape == (n, n)
    np.testing.assert_array_equal(graph.degrees, np.ones(n))
    assert graph.masses is masses
    values = rng.standard_normal((n, 2))
    np.testing.assert_allclose(affinity @ values, dense @ values, atol=1e-12)
    np.testing.assert_allclose(affinity.links(values), rows.T @ values, atol=1e-12)
    means = inverse[:, None] * (rows.T @ (mass[:, None] * values))
    np.testing.assert_allclose(affinity.means(values), means, atol=1e-12)
    np.testing.assert_allclose(affinity.means(sp.csr_array(values)).toarray(), means, atol=1e-12)
    reached = np.linalg.matrix_power((dense > 0).astype(float) + np.eye(n), n) > 0
    count, labels = graph.components
    np.testing.assert_array_equal(labels[:, None] == labels, reached)
    assert count == np.unique(reached, axis=0).shape[0] == labels.max() + 1


def test_anchors_of_no_sample_are_divided_by_nothing():
    weights = sp.csr_array(np.array([[1.0, 0.0, 0.0], [0.5, 0.0, 0.5]]))
    affinity = FactoredAffinity(weights, np.array([1.5, 0.0, 0.5]), np.array([0, -1, 0]))
    np.testing.assert_allclose(affinity.means(np.ones((2, 1))), [[1], [0], [1]])
    np.testing.assert_allclose(affinity.means(sp.csr_array(np.ones((2, 1)))).toarray(), [[1], [0], [1]])
    assert affinity.masses is None
    assert affinity.components[0] == 1


# --- blocks ---


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [1, 7, 65_536])
def test_blocks_of_any_size_add_up(monkeypatch, rows, weighted):
    rng = np.random.default_rng(0)
    weights, masses = random_rows(23, 5, 2, rng), rng.uniform(1, 3, size=23) if weighted else None
    whole, asked = CoarseGraph.from_rows(weights, masses).weights.toarray(), []
    monkeypatch.setattr(module, "GRAM_ROWS", rows)
    monkeypatch.setattr(module, "gram", lambda block, mass: asked.append(block.shape) or gram(block, mass))
    np.testing.assert_allclose(CoarseGraph.from_rows(weights, masses).weights.toarray(), whole, atol=1e-12)
    sizes = [min(rows, 23 - first) for first in range(0, 23, rows)]
    assert sorted(asked) == sorted((size, 5) for size in sizes)  # threads take them in any order


@pytest.mark.parametrize(("most", "largest"), [(2, 12), (4, 10)])
@pytest.mark.parametrize("usable", [True, False])
def test_many_entries_are_worth_compiled_loops_in_few_dense_parts(monkeypatch, most, largest, usable):
    weights, asked = random_rows(23, 5, 2, np.random.default_rng(0)), []

    def watch(block, mass, name):
        asked.append((name, block.shape[0]))
        return gram(block, mass).toarray()

    monkeypatch.setattr(module, "GRAM_ROWS", 10)
    monkeypatch.setattr(module, "MOST_PARTS", most)
    monkeypatch.setattr(module, "dense_gram", lambda block, mass: watch(block, mass, "loops"))
    monkeypatch.setattr(module, "gram", lambda block, mass: watch(block, mass, "products"))
    monkeypatch.setattr(module, "is_usable", lambda *names: usable and names == ("numba", "fast"))
    whole = weights.toarray().T @ weights.toarray()
    for worth, loops in ((weights.nnz, usable), (weights.nnz + 1, False)):
        asked.clear()
        monkeypatch.setattr(module, "WORTH_COMPILING", worth)
        np.testing.assert_allclose(CoarseGraph.from_rows(weights, None).weights.toarray(), whole, atol=1e-12)
        name, size = ("loops", largest) if loops else ("products", 10)
        assert sorted(asked) == sorted((name, min(size, 23 - first)) for first in range(0, 23, size))


@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_loops_add_up_what_products_do(weighted):
    pytest.importorskip("numba", reason="Numba is not installed")
    rng = np.random.default_rng(0)
    weights, masses = random_rows(40, 6, 3, rng), rng.uniform(1, 3, size=40) if weighted else None
    rows, mass, _ = dense_factors(weights, masses)
    np.testing.assert_allclose(dense_gram(weights, masses), rows.T @ (mass[:, None] * rows), atol=1e-12)
    np.testing.assert_allclose(gram(weights, masses).toarray(), rows.T @ (mass[:, None] * rows), atol=1e-12)


def test_masses_of_some_rows():
    assert select_masses(None, slice(1, 3)) is None
    np.testing.assert_array_equal(select_masses(np.arange(5.0), slice(1, 3)), [1.0, 2.0])


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_samples_give_the_graph_of_their_weights_wherever_they_are(weighted, chunked):
    rng = np.random.default_rng(0)
    points, masses = rng.standard_normal((20, 2)), rng.uniform(1, 3, size=20) if weighted else None
    similarity = AnchorSimilarity.from_anchors(rng.standard_normal((6, 2)), 3)
    expected = CoarseGraph.from_rows(similarity.weigh(points), masses)
    if chunked:
        da = pytest.importorskip("dask.array", reason="Dask is not installed")
        points = da.from_array(points, chunks=(7, 2))
        masses = None if masses is None else da.from_array(masses, chunks=7)
    found = CoarseGraph.from_samples(similarity, points, masses)
    np.testing.assert_allclose(found.weights.toarray(), expected.weights.toarray(), atol=1e-12)
    assert found.weights.format == "csr"
