"""The one call for neighbors: who searches what, and every way of searching against all distances, sorted."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from afcm import arrays
from afcm._util import progress, threads
from afcm.neighbors import SEARCHES, Neighbors, approximate, exact, find_neighbors, search
from tests.neighbors.brute import assert_same, sort_neighbors, squared_distances

WAYS = {"tree": search._search_tree, "cells": search._search_cells, "any": find_neighbors}


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def refuse(*_):
    raise AssertionError("must not be called")


class TestRouting:
    @pytest.fixture
    def routes(self, monkeypatch):
        """Each search gives its name and what it was given."""
        for name in ("approximately", "sparse", "tree", "cells"):
            monkeypatch.setattr(search, f"_search_{name}", lambda *given, name=name: (name, *given))

    @pytest.mark.parametrize(("n_columns", "way"), [(1, "tree"), (6, "tree"), (7, "cells")])
    def test_few_columns_go_to_the_tree(self, routes, n_columns, way):
        points, queries = np.zeros((9, n_columns)), np.zeros((2, n_columns))
        assert find_neighbors(points, 3, queries) == (way, points, 3, queries)
        assert find_neighbors(points, 3) == (way, points, 3, None)

    @pytest.mark.parametrize("how", [{}, {"search": "auto"}, {"search": "approximate"}])
    def test_sparse_data_are_searched_exactly(self, routes, how):
        points, queries = sp.csr_array(np.zeros((9, 20))), sp.csr_array(np.zeros((2, 20)))
        assert find_neighbors(points, 3, queries, **how) == ("sparse", points, 3, queries)
        assert find_neighbors(points, 3, **how) == ("sparse", points, 3, None)

    @pytest.mark.parametrize("search", SEARCHES)
    def test_tensors_are_searched_exactly(self, routes, monkeypatch, search):
        given = []
        fake = SimpleNamespace(find_tensor_neighbors=lambda *what: given.append(what) or (np.ones(2), np.zeros(2)))
        monkeypatch.setitem(sys.modules, "afcm.neighbors.torch", fake)
        monkeypatch.setattr("afcm.neighbors.torch", fake, raising=False)
        monkeypatch.setattr(arrays, "is_tensor", lambda array: True)
        points, queries = np.zeros((9, 3)), np.zeros((2, 3))
        found = find_neighbors(points, 3, queries, search=search)
        assert given == [(points, 3, queries)]
        assert find_neighbors(points, 3, search=search).recall == found.recall == 1.0
        np.testing.assert_array_equal(found.indices, np.ones(2))
        np.testing.assert_array_equal(found.squared, np.zeros(2))

    def test_very_many_samples_are_searched_approximately_if_that_is_installed(self, routes, monkeypatch):
        installed = True
        monkeypatch.setattr(search, "is_usable", lambda *package: installed and package == ("numba", "fast"))
        many, fewer = np.broadcast_to(0.0, (15_000, 7)), np.broadcast_to(0.0, (14_999, 7))
        assert SEARCHES == ("auto", "exact", "approximate")
        assert find_neighbors(many, 3, search="auto") == ("approximately", many, 3)
        assert find_neighbors(many, 3) == ("cells", many, 3, None)
        assert find_neighbors(many, 3, many[:2], search="auto")[0] == "cells"
        assert find_neighbors(many, 3, many[:2], search="approximate")[0] == "cells"
        assert find_neighbors(fewer, 3, search="auto")[0] == "cells"
        assert find_neighbors(many[:, :6], 3, search="auto")[0] == "tree"
        assert find_neighbors(fewer[:, :2], 3, search="approximate")[0] == "approximately"
        assert search.is_approximate(many, "exact") is False
        assert search.is_approximate(np.broadcast_to(0.0, (15_000, 64)), "auto")
        assert not search.is_approximate(np.broadcast_to(0.0, (29_999, 65)), "auto")
        assert search.is_approximate(np.broadcast_to(0.0, (30_000, 65)), "auto")
        installed = False
        assert find_neighbors(many, 3, search="auto")[0] == "cells"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n_features", [1, 3, 12])
@pytest.mark.parametrize("k", [1, 7, 99])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_neighbors_are_those_of_a_full_sort(way, n_features, k, dtype):
    points, queries = normal(100, n_features, seed=k).astype(dtype), normal(9, n_features, seed=200).astype(dtype)
    assert_same(WAYS[way](points, k, None), sort_neighbors(points, k))
    assert_same(WAYS[way](points, k, queries), sort_neighbors(points, k, queries))


@pytest.mark.parametrize("way", ["tree", "cells"])
def test_many_copies_do_not_make_a_sample_its_own_neighbor(way):
    points = np.repeat(np.eye(3, 8), 10, axis=0)
    found = WAYS[way](points, 5, None)
    assert (found.indices != np.arange(30)[:, None]).all()
    assert (found.squared == 0).all()
    assert all(np.unique(row).size == 5 for row in found.indices)


@pytest.mark.parametrize("offset", [1e6, -1e8])
def test_an_offset_costs_no_neighbors(offset):
    points = np.round(normal(200, 10), 6) + offset
    order, squared = sort_neighbors(points, 6)
    found = find_neighbors(points, 6)
    np.testing.assert_allclose(found.squared, squared, rtol=1e-9)
    assert (found.indices == order).mean() > 0.999


def test_several_blocks_and_threads_give_one_answer(monkeypatch):
    points = normal(301, 9)
    whole = find_neighbors(points, 4)
    monkeypatch.setattr(exact, "BLOCK_ELEMENTS", 1000)
    monkeypatch.setattr(threads, "for_each", lambda work, items, done=None: [work(item) for item in items])
    parts = find_neighbors(points, 4)
    np.testing.assert_array_equal(whole.indices, parts.indices)
    np.testing.assert_array_equal(whole.squared, parts.squared)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_data_have_the_same_neighbors(dtype):
    dense = (normal(60, 20) * (np.random.default_rng(1).random((60, 20)) < 0.3)).astype(dtype)
    rtol = 1e-7 if dtype is np.float64 else 1e-4
    assert_same(find_neighbors(sp.csr_array(dense), 3), sort_neighbors(dense, 3), rtol)
    queries = dense[:5] + normal(5, 20).astype(dtype)
    assert_same(find_neighbors(sp.csr_array(dense), 3, sp.csr_array(queries)), sort_neighbors(dense, 3, queries), rtol)


@pytest.mark.parametrize("spread", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("k", [1, 10, 60])
def test_cells_out_of_reach_hide_no_neighbor(monkeypatch, spread, k):
    """Far apart, touching and overlapping clusters, one of them small, and an outlier far from all."""
    monkeypatch.setattr(exact, "CELL_SIZE", 40)
    rng = np.random.default_rng(0)
    centers = 2 * rng.standard_normal((6, 8))
    points = centers[rng.integers(6, size=700)] + spread * rng.standard_normal((700, 8))
    points[0] = 1e4
    assert_same(find_neighbors(points, k), sort_neighbors(points, k), 1e-9)
    queries = rng.standard_normal((50, 8)) * 3
    np.testing.assert_array_equal(find_neighbors(points, k, queries).indices, sort_neighbors(points, k, queries)[0])


class TestTooFineForFloat32:
    @pytest.fixture
    def points(self):
        """Most samples are together, and three are far away: seen from there, all others are equally far."""
        points = 1e-4 * normal(300, 8)
        points[:3] = 1e5 * normal(3, 8, seed=1)
        return points

    @pytest.mark.parametrize("k", [5, 60])
    def test_rows_are_searched_again_in_float64(self, points, k):
        order, squared = sort_neighbors(points, k)
        found = find_neighbors(points, k)
        np.testing.assert_array_equal(found.indices[3:], order[3:])
        np.testing.assert_allclose(found.squared, squared, rtol=1e-4)  # the share that a missed neighbor may be nearer
        np.testing.assert_allclose(found.squared[3:], squared[3:], rtol=1e-12)
        asked = points[3:50] + 1e-5
        assert_same(find_neighbors(points, k, asked), sort_neighbors(points, k, asked))

    def test_only_rows_in_doubt_are_searched_again(self, points, monkeypatch):
        asked = []
        monkeypatch.setattr(search, "_search_again", lambda result, *given: asked.append(given) or result)
        find_neighbors(points, 5)
        (given,) = asked
        assert given[0] is points
        assert given[1] is None
        assert set(range(3, 300)) <= set(given[2])
        find_neighbors(points, 5, points[:40])
        assert asked[1][1].shape == (40, 8)

    def test_nothing_is_searched_again_without_doubt(self, points, monkeypatch):
        monkeypatch.setattr(search, "_search_again", refuse)
        find_neighbors(normal(300, 8), 5)
        find_neighbors(np.ones((300, 8)), 5)
        # all others are candidates, so that none can be missed
        assert_same(find_neighbors(points[:20], 13), sort_neighbors(points[:20], 13))
        assert_same(find_neighbors(points[:20], 14, points[:5]), sort_neighbors(points[:20], 14, points[:5]))

    def test_a_list_that_lacks_one_sample_is_in_doubt(self, points, monkeypatch):
        asked = []
        monkeypatch.setattr(search, "_search_again", lambda result, *given: asked.append(given) or result)
        few = points[2:22]  # one of them far away
        find_neighbors(few, 12)
        find_neighbors(few, 13, few)
        assert len(asked) == 2


def test_blocks_are_measured_by_what_they_hold(monkeypatch):
    asked, slices = [], search._slices
    monkeypatch.setattr(search, "_slices", lambda *given: asked.append(given) or slices(*given))
    points = normal(30, 4)
    search.measure_candidates(points, points[:7], np.zeros((7, 3), dtype=int), 2)
    assert asked == [(7, 3 * 4)]  # coordinates of candidates
    search._search_again(Neighbors(np.zeros((7, 3), int), np.zeros((7, 3))), points, points[:7], np.array([1, 2]))
    assert asked[1:] == [(2, 30), (2, 3 * 4)]  # distances, then coordinates


@pytest.mark.parametrize("elements", [250_000, 70])
@pytest.mark.parametrize("with_queries", [True, False])
def test_searching_again_replaces_some_rows_and_no_others(monkeypatch, elements, with_queries):
    monkeypatch.setattr(search, "MEASURED_ELEMENTS", elements)
    points, queries = normal(30, 4), normal(12, 4, seed=1) if with_queries else None
    n = 12 if with_queries else 30
    before = Neighbors(np.zeros((n, 3), dtype=int), np.full((n, 3), 9.0), 0.5)
    rows = np.array([0, 3, 4, 7, 11])
    found = search._search_again(before, points, queries, rows)
    order, squared = sort_neighbors(points, 3, queries)
    assert_same(Neighbors(found.indices[rows], found.squared[rows]), (order[rows], squared[rows]))
    others = np.setdiff1d(np.arange(n), rows)
    assert (found.indices[others] == 0).all()
    assert (found.squared[others] == 9).all()
    assert found.recall == 0.5
    assert (before.squared == 9).all()
    assert (before.indices == 0).all()


def test_lists_that_are_not_full_are_searched_exactly(monkeypatch):
    points = normal(6, 9)
    indices = np.array([[1, 2], [3, -1], [5, 0], [-1, -1], [1, 5], [0, 3]])
    found = Neighbors(indices, np.full((6, 2), 7.0), 0.9)
    monkeypatch.setattr(approximate, "find_approximate_neighbors", lambda points, k: found if k == 2 else None)
    again = find_neighbors(points, 2, search="approximate")
    order, squared = sort_neighbors(points, 2)
    for row in range(6):
        full = row not in (1, 3)
        np.testing.assert_array_equal(again.indices[row], indices[row] if full else order[row])
        np.testing.assert_allclose(again.squared[row], 7.0 if full else squared[row])
    assert again.recall == 0.9
    found = replace(found, indices=np.abs(indices))
    assert find_neighbors(points, 2, search="approximate") is found


def test_the_tree_is_asked_on_all_cores_for_no_more_than_needed(monkeypatch):
    asked = []

    class Tree(search.KDTree):
        def query(self, x, **how):
            asked.append((how["workers"], *how["k"]))
            return super().query(x, **how)

    monkeypatch.setattr(search, "KDTree", Tree)
    points = normal(20, 2)
    search._search_tree(points, 2, None)
    search._search_tree(points, 2, points[:3])
    assert asked == [(-1, 1, 2, 3), (-1, 1, 2)]


def test_each_row_drops_itself_or_else_its_last():
    indices = np.array([[0, 1, 2], [2, 1, 3], [3, 0, 2], [0, 1, 2]])
    np.testing.assert_array_equal(search.drop_self(indices), [[1, 2], [2, 3], [3, 0], [0, 1]])


@pytest.mark.parametrize("elements", [250_000, 50, 1])
def test_candidates_are_sorted_by_distance_then_number(monkeypatch, elements):
    monkeypatch.setattr(search, "MEASURED_ELEMENTS", elements)
    points = np.round(normal(40, 3)).astype(np.float32)  # many ties
    queries = np.round(normal(11, 3, seed=1)).astype(np.float32)
    rng = np.random.default_rng(2)
    candidates = np.array([rng.permutation(40)[:9] for _ in range(11)])
    found = search.measure_candidates(points, queries, candidates, 4)
    squared = squared_distances(queries, points)
    for row in range(11):
        best = sorted((squared[row, number], number) for number in candidates[row])[:4]
        assert list(zip(found.squared[row], found.indices[row], strict=True)) == best
    assert found.recall == 1.0


@pytest.mark.parametrize("elements", [250_000, 50])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_candidates_of_the_samples_themselves_are_measured_alike_by_compiled_loops(monkeypatch, elements, dtype):
    pytest.importorskip("numba")
    asked, compiled = [], search._measure_compiled
    monkeypatch.setattr(search, "_measure_compiled", lambda *given: asked.append(given) or compiled(*given))
    monkeypatch.setattr(search, "MEASURED_ELEMENTS", elements)
    points = np.round(normal(40, 3)).astype(dtype)  # many ties
    rng = np.random.default_rng(2)
    candidates = np.array([rng.permutation(40)[:9] for _ in range(40)])
    found, expected = (search.measure_candidates(points, queries, candidates, 4) for queries in (points, points.copy()))
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.squared, expected.squared)
    assert found.squared.flags.c_contiguous
    assert len(asked) == 1


@pytest.mark.parametrize("n_columns", [1, 2, 3, 4, 7, 16, 33])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_loops_add_squares_in_the_same_order(n_columns, dtype):
    """To the last bit: a fit must not depend on whether Numba is loaded."""
    neighbor_loops = pytest.importorskip("afcm.compiled.neighbors", reason="the loops need Numba (afcm[fast])")
    points = normal(30, n_columns).astype(dtype)
    lists = np.tile(np.arange(30), (30, 1))
    indices, squared = np.zeros((30, 30), np.intp), np.zeros((30, 30))
    neighbor_loops.measure_lists(points, np.arange(30), lists, indices, squared)
    expected = search.sum_squares(points[indices].astype(np.float64) - points[:, None])
    np.testing.assert_array_equal(squared, expected)
    np.testing.assert_allclose(expected, ((points[indices] - points[:, None].astype(float)) ** 2).sum(axis=2))


def test_differences_are_taken_in_double_precision():
    points = np.array([[1.0], [1 + 2**-20]], dtype=np.float32)
    queries = np.array([[2.0**-30]], dtype=np.float32)
    found = search.measure_candidates(points, queries, np.array([[0, 1]]), 2)
    assert found.squared.tolist() == [[(1 - 2.0**-30) ** 2, (1 + 2**-20 - 2.0**-30) ** 2]]


def test_slices_hold_a_fixed_number_of_elements(monkeypatch):
    monkeypatch.setattr(search, "MEASURED_ELEMENTS", 100)
    assert list(search._slices(7, 33)) == [slice(0, 3), slice(3, 6), slice(6, 9)]
    assert list(search._slices(6, 50)) == [slice(0, 2), slice(2, 4), slice(4, 6)]
    assert list(search._slices(2, 1000)) == [slice(0, 1), slice(1, 2)]
    assert list(search._slices(120, 0)) == [slice(0, 100), slice(100, 200)]


def test_progress_counts_the_samples_of_finished_cells(monkeypatch):
    monkeypatch.setattr(exact, "CELL_SIZE", 50)
    monkeypatch.setattr(search, "FEW_SAMPLES", 299)
    points, heard = normal(300, 8), []
    with progress.listen(lambda *told: heard.append(told)):
        find_neighbors(points, 4)
    sizes = [rows.size for _, rows in exact.CellTable.of(points).group_queries(points)]
    assert len(sizes) > 2
    assert heard == [("finding neighbours", 0, None), *(("finding neighbours", n, 300) for n in np.cumsum(sizes))]


def test_the_first_neighbors_and_all_there_are():
    found = Neighbors(np.arange(6).reshape(2, 3), np.arange(6.0).reshape(2, 3), 0.5)
    assert found.first(2).indices.tolist() == [[0, 1], [3, 4]]
    assert found.first(2).squared.tolist() == [[0, 1], [3, 4]]
    assert found.first(9).indices.shape == (2, 3)
    assert found.first(2).recall == 0.5
