"""Eigenvectors of the samples' graph, taken from those of the anchors' graph, equal those of a dense solve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afcm.graph.anchors.affinity import CoarseGraph
from afcm.graph.anchors.embedding import inverse_roots, spectral_coefficients
from afcm.linalg.operator import Eigenpairs
from tests.graph.anchors.rows import dense_factors, random_rows
from tests.graph.graphs import dense_leading
from tests.strategies import quick


@quick
@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(1, 3), st.integers(1, 4))
def test_embedded_rows_are_the_eigenvectors_of_the_samples(seed, weighted, n_wanted, n_clusters):
    rng = np.random.default_rng(seed)
    weights = random_rows(30, 6, 3, rng)
    masses = rng.integers(1, 4, size=30).astype(float) if weighted else None
    coarse = CoarseGraph.from_rows(weights, masses)
    values, vectors = dense_leading(coarse.affinity, n_wanted)
    found = spectral_coefficients(coarse, Eigenpairs(vectors, values, vectors, 0.25, 0.0, 3, True), n_clusters)
    rows, mass, inverse = dense_factors(weights, masses)
    dense = np.sqrt(mass)[:, None] * (rows * inverse @ rows.T) * np.sqrt(mass)
    embedded = np.sqrt(mass)[:, None] * (rows @ found.on_anchors)
    np.testing.assert_allclose(embedded.T @ embedded, np.eye(n_wanted), atol=1e-10)
    np.testing.assert_allclose(dense @ embedded, embedded * values, atol=1e-10)
    np.testing.assert_array_equal(found.on_clusters, np.zeros((n_clusters, n_wanted)))
    np.testing.assert_array_equal(found.vectors, np.vstack([vectors, np.zeros((n_clusters, n_wanted))]))
    assert (found.residual, found.converged) == (0.25, True)


def test_roots_of_rounding_are_not_divided_by():
    values = np.array([4.0, 1.0, 4.0e-14 * 1.01, 4.0e-14, 0.0, -1e-18])
    expected = [0.5, 1.0, 1 / np.sqrt(4.04e-14), 0.0, 0.0, 0.0]
    np.testing.assert_allclose(inverse_roots(values), expected, rtol=1e-12)


def test_a_column_of_rounding_is_zero():
    weights = random_rows(10, 4, 2, np.random.default_rng(0))
    coarse = CoarseGraph.from_rows(weights, None)
    eigen = Eigenpairs(np.eye(4)[:, :2], np.array([1.0, 1e-15]), np.eye(4)[:, :2], 0.0, 0.0, 0, False)
    found = spectral_coefficients(coarse, eigen, 2)
    np.testing.assert_allclose(found.on_anchors[:, 0], np.eye(4)[0] / np.sqrt(coarse.sizes[0]))
    np.testing.assert_array_equal(found.on_anchors[:, 1], 0)
    assert found.converged is False
    assert found.residual == pytest.approx(0)
