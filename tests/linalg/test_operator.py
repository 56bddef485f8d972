"""The operator "sparse graph plus low rank" against its dense formula."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from afcm.arrays import numpy_arrays
from afcm.linalg import operator as operators
from afcm.linalg.operator import GraphPlusLowRank
from afcm.linalg.tall import row_slices
from tests.strategies import quick


def symmetric(rng, n=9):
    graph = rng.standard_normal((n, n))
    return graph + graph.T


@quick
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 1e6]), st.booleans())
def test_operator_equals_its_dense_formula(seed, factor_weight, dense):
    rng = np.random.default_rng(seed)
    graph, factor = symmetric(rng), rng.standard_normal((9, 2))
    given_graph = graph.copy() if dense else sp.csr_array(graph)
    operator = GraphPlusLowRank(given_graph, 2.5, factor, factor_weight)
    expected = 2.5 * graph + factor_weight * factor @ factor.T
    np.testing.assert_allclose(operator.to_dense(), expected, rtol=1e-12, atol=1e-9)
    block = rng.standard_normal((9, 3))
    np.testing.assert_allclose(operator @ block, expected @ block, rtol=1e-9, atol=1e-9 * (1 + factor_weight))
    np.testing.assert_array_equal(given_graph if dense else given_graph.toarray(), graph)  # not scaled in place


def test_an_operator_without_weights_is_the_graph():
    graph = symmetric(np.random.default_rng(0))
    operator = GraphPlusLowRank(graph)
    np.testing.assert_array_equal(operator.to_dense(), graph)
    np.testing.assert_array_equal(operator @ np.eye(9), graph)
    factor = np.ones((9, 1))
    np.testing.assert_array_equal(GraphPlusLowRank(graph, factor=factor).to_dense(), graph)


def test_tall_blocks_are_multiplied_piece_by_piece(monkeypatch):
    monkeypatch.setattr(numpy_arrays, "ROWS", 4)
    rng = np.random.default_rng(1)
    graph, factor = symmetric(rng), rng.standard_normal((9, 2))
    assert [(rows.start, rows.stop) for rows in row_slices(graph[:, :2])] == [(0, 4), (4, 8), (8, 12)]
    expected = 3 * graph + 0.5 * factor @ factor.T
    np.testing.assert_allclose(GraphPlusLowRank(graph, 3.0, factor, 0.5) @ np.eye(9), expected, atol=1e-13)


def test_size_and_scale():
    operator = GraphPlusLowRank(np.zeros((5, 3)), -2.0, None, 4.0)
    assert operator.size == 5
    assert isinstance(operator.size, int)
    assert operator.scale == 6.0


@pytest.mark.parametrize("factor", [None, "a factor"])
def test_all_parts_come_to_the_host(monkeypatch, factor):
    monkeypatch.setattr(operators, "to_host", lambda array: array and f"{array} on the host")
    expected = GraphPlusLowRank("a graph on the host", 2.0, factor and "a factor on the host", 3.0)
    assert GraphPlusLowRank("a graph", 2.0, factor, 3.0).to_host() == expected
