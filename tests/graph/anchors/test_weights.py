"""Weights on anchors equal those from sorting all distances, whichever way they are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from afcm._util import progress
from afcm.graph.anchors import weights as module
from afcm.graph.anchors.weights import AnchorSimilarity, anchor_weights, find_nearest_anchors
from afcm.graph.duplicates import row_keys
from tests.strategies import quick

seeds = st.integers(0, 2**32 - 1)
KERNELS = ["adaptive", "local", "gaussian", "binary"]


def squared_distances(points, anchors):
    return ((points[:, None] - anchors) ** 2).sum(axis=2)


def slow_rows(points, anchors, k, kernel, bandwidth):
    """Q, dense: each row's k nearest by sorting, the kernel's formula, divided by its sum."""
    among = np.sort(squared_distances(anchors, anchors), axis=1)
    rows = np.zeros((len(points), len(anchors)))
    for row, e in zip(rows, squared_distances(points, anchors), strict=True):
        order = np.argsort(e)[:k]
        if kernel == "adaptive":
            row[order] = np.sort(e)[min(k, len(anchors) - 1)] - e[order]
        elif kernel == "local":
            row[order] = np.exp(-e[order] / (np.sqrt(e[order[-1]]) * np.sqrt(among[order, k])))
        elif kernel == "gaussian":
            row[order] = np.exp(-e[order] / (2 * bandwidth**2))
        else:
            row[order] = 1.0
    return rows / rows.sum(axis=1, keepdims=True)


@quick
@given(seeds, st.sampled_from(KERNELS), st.integers(2, 9), st.integers(1, 12))
def test_weights_are_those_from_sorting_all_distances(seed, kernel, m, k):
    rng = np.random.default_rng(seed)
    points, anchors = rng.standard_normal((12, 3)), rng.standard_normal((m, 3))
    similarity = AnchorSimilarity.from_anchors(anchors, k, kernel, 0.8)
    assert similarity.k == min(k, m - 1)
    found = similarity.weigh(points)
    np.testing.assert_allclose(
        found.toarray(), slow_rows(points, anchors, min(k, m - 1), kernel, 0.8), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_array_equal(similarity.place(points).weights.toarray(), found.toarray())


@quick
@given(seeds, st.integers(2, 6), st.integers(1, 8))
def test_the_weights_of_fcag_are_adaptive(seed, m, k):
    rng = np.random.default_rng(seed)
    points, anchors = rng.standard_normal((9, 2)), rng.standard_normal((m, 2))
    expected = slow_rows(points, anchors, min(k, m - 1), "adaptive", 1.0)
    np.testing.assert_allclose(anchor_weights(points, anchors, k).toarray(), expected, rtol=1e-9, atol=1e-12)


def test_scales_are_distances_among_the_anchors():
    anchors = np.array([[0.0], [1.0], [3.0]])
    np.testing.assert_array_equal(AnchorSimilarity.from_anchors(anchors, 1, "local").scales, [1, 1, 2])
    np.testing.assert_array_equal(AnchorSimilarity.from_anchors(anchors, 2, "local").scales, [3, 2, 3])
    np.testing.assert_array_equal(AnchorSimilarity.from_anchors(anchors[::2], 1, "local").scales, [3, 3])


@pytest.mark.parametrize("k", [1, 3, 5])
def test_log_distances_are_those_to_the_kth_anchor(k):
    rng = np.random.default_rng(0)
    anchors, points = rng.standard_normal((6, 2)), rng.standard_normal((9, 2))
    found = AnchorSimilarity.from_anchors(anchors, k).log_distances(points)
    np.testing.assert_allclose(found, np.log(np.sort(cdist(points, anchors), axis=1)[:, k - 1]), rtol=1e-10)


def test_one_anchor_has_all_the_weight():
    for kernel in KERNELS:
        found = AnchorSimilarity.from_anchors(np.zeros((1, 2)), 3, kernel).weigh(np.ones((4, 2)))
        np.testing.assert_array_equal(found.toarray(), np.ones((4, 1)))


def test_a_sample_far_from_everything_has_its_nearest_anchor_alone():
    anchors = np.array([[0.0], [1.0], [5.0]])
    similarity = AnchorSimilarity.from_anchors(anchors, 2, "gaussian", 0.1)
    np.testing.assert_array_equal(similarity.weigh(np.array([[90.0]])).toarray(), [[0, 0, 1]])


def test_the_kernel_is_adaptive_and_the_bandwidth_one_by_default():
    anchors = np.random.default_rng(0).standard_normal((6, 2))
    similarity = AnchorSimilarity.from_anchors(anchors, 3)
    assert (similarity.kernel, similarity.bandwidth) == ("adaptive", 1.0)
    np.testing.assert_array_equal(similarity.scales, np.ones(6))
    direct = AnchorSimilarity(anchors, np.ones(6), 3)
    assert (direct.kernel, direct.bandwidth) == ("adaptive", 1.0)


@quick
@given(seeds, st.integers(1, 6), st.integers(1, 8))
def test_anchor_weights_are_row_stochastic_even_with_equal_anchors(seed, m, k):
    rng = np.random.default_rng(seed)
    weights = anchor_weights(rng.standard_normal((7, 2)), rng.integers(2, size=(m, 2)).astype(float), k)
    assert weights.data.min() >= 0
    assert np.diff(weights.indptr).max() <= max(1, min(k, m - 1))
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("columns", [2, 20])
def test_rows_have_their_exact_nearest_anchors_even_far_from_everything(columns):
    rng = np.random.default_rng(0)
    anchors, points = rng.standard_normal((70, columns)), rng.standard_normal((500, columns))
    points[0] = 1e7
    rows = AnchorSimilarity.from_anchors(anchors, 6, "binary").weigh(points).toarray()
    nearest = np.argsort(cdist(points, anchors), axis=1)[:, :6]
    expected = np.zeros_like(rows)
    np.put_along_axis(expected, nearest, 1 / 6, axis=1)
    np.testing.assert_allclose(rows[1:], expected[1:])
    assert np.isin(rows[0].argmax(), np.argsort(cdist(points[:1], anchors))[0, :20])  # ties to 1e-7


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_sum_to_one_whatever_the_kernel(kernel):
    rng = np.random.default_rng(0)
    points = np.vstack([rng.standard_normal((50, 3)), np.full((1, 3), 1e3)])
    rows = AnchorSimilarity.from_anchors(points[::4], 4, kernel, 0.1).weigh(points)
    assert rows.data.min() > 0
    np.testing.assert_allclose(rows.sum(axis=1), 1, atol=1e-12)


# --- blocks, loops and doubts ---


@pytest.mark.parametrize(("elements", "n_blocks"), [(1, 23), (14, 12), (10**6, 1)])
def test_blocks_of_any_size_give_the_same_and_tell_how_far_they_are(monkeypatch, elements, n_blocks):
    rng = np.random.default_rng(0)
    similarity = AnchorSimilarity.from_anchors(rng.standard_normal((7, 2)), 3)
    points, told = rng.standard_normal((23, 2)), []
    whole = similarity.weigh(points)
    monkeypatch.setattr(module, "BLOCK_ELEMENTS", elements)
    with progress.listen(lambda *step: told.append(step)):
        np.testing.assert_allclose(similarity.weigh(points).toarray(), whole.toarray(), rtol=1e-12)
    size = max(1, elements // 7)
    steps = [("finding anchors", min(number * size, 23), 23) for number in range(1, n_blocks + 1)]
    assert told == [("finding anchors", 0, None), *steps]


@pytest.mark.parametrize(("worth", "fast"), [(7 * 46, True), (7 * 46 + 1, False)])
def test_loops_are_compiled_for_many_multiplications(monkeypatch, worth, fast):
    rng = np.random.default_rng(0)
    asked = []
    monkeypatch.setattr(module, "WORTH_COMPILING", worth)
    monkeypatch.setattr(module.optional, "is_usable", lambda *names: asked.append(names) or True)
    similarity = AnchorSimilarity.from_anchors(rng.standard_normal((7, 2)), 3)
    points = rng.standard_normal((23, 2))
    search, given_to = module.find_nearest_anchors, []

    def watch(frame, anchors, k, block, fast):
        given_to.append(fast)
        return search(frame, anchors, k, block, False)

    monkeypatch.setattr(module, "find_nearest_anchors", watch)
    similarity.weigh(points)
    assert (given_to, asked) == ([fast], [("numba", "fast")] * fast)


@pytest.mark.parametrize("n_anchors", [5, 40])
def test_compiled_loops_find_what_products_find(n_anchors):
    pytest.importorskip("numba", reason="Numba is not installed")
    rng = np.random.default_rng(0)
    anchors, points = 1e3 + rng.standard_normal((n_anchors, 7)), 1e3 + rng.standard_normal((50, 7))
    similarity = AnchorSimilarity.from_anchors(anchors, 4)
    found = find_nearest_anchors(similarity._frame, anchors, 4, points, True)
    squared = squared_distances(points, anchors)
    np.testing.assert_array_equal(found.indices, np.argsort(squared, axis=1)[:, :4])
    np.testing.assert_allclose(found.squared, np.sort(squared, axis=1)[:, :4], rtol=1e-12)
    assert (found.indices.dtype, found.squared.dtype) == (np.int32, np.float64)


@pytest.fixture(params=[False, True], ids=["products", "loops"])
def find(request, monkeypatch):
    """The search of nearest anchors either way, and which samples it searched again."""
    if request.param:
        pytest.importorskip("numba", reason="Numba is not installed")
    again = []
    search = module.find_neighbors
    monkeypatch.setattr(module, "find_neighbors", lambda *given: again.append(given[1:]) or search(*given))

    def find(anchors, k, points):
        frame = AnchorSimilarity.from_anchors(anchors, k)._frame
        found = find_nearest_anchors(frame, anchors, k, points, request.param)
        squared = squared_distances(points, anchors)
        np.testing.assert_allclose(found.squared, np.sort(squared, axis=1)[:, :k], rtol=1e-12)
        np.testing.assert_allclose(np.take_along_axis(squared, found.indices, axis=1), found.squared, rtol=1e-12)
        return again

    return find


def test_samples_for_which_single_precision_is_too_coarse_are_searched_again(find):
    """One anchor far away makes float32 too coarse for the others, but not for samples half-way."""
    rng = np.random.default_rng(0)
    anchors, points = 1e-4 * rng.standard_normal((30, 3)), 1e-4 * rng.standard_normal((8, 3))
    anchors[11], points[[0, 4]] = 100.0, 50.0
    ((k, doubtful),) = find(anchors, 4, points)
    assert k == 4
    np.testing.assert_array_equal(doubtful, points[[1, 2, 3, 5, 6, 7]])


def test_the_farthest_of_the_wanted_anchors_decides_whether_to_doubt(find):
    """All but the nearest are about as far, by less than float32 tells beside an anchor far away."""
    rng = np.random.default_rng(0)
    anchors = rng.standard_normal((30, 3))
    anchors *= (1 + 1e-4 * rng.random((30, 1))) / np.linalg.norm(anchors, axis=1, keepdims=True)
    anchors[0], anchors[11] = 0.3 * anchors[0], 100.0
    assert len(find(anchors, 4, np.zeros((1, 3)))) == 1


def test_ordinary_samples_are_searched_once(find):
    rng = np.random.default_rng(0)
    assert not find(rng.standard_normal((30, 3)), 4, rng.standard_normal((8, 3)))


def test_copies_of_an_anchor_leave_no_doubt(find):
    anchors = np.random.default_rng(0).standard_normal((12, 3))
    anchors[:7] = anchors[0]
    assert not find(anchors, 4, anchors[:1].copy())


def test_where_all_anchors_were_measured_there_is_no_doubt(find):
    assert not find(np.random.default_rng(0).standard_normal((6, 3)), 5, np.full((1, 3), 1e18))


def test_single_precision_is_taken_about_the_mean_of_the_anchors():
    anchors = 1e3 + np.random.default_rng(0).standard_normal((9, 3)) * [1, 10, 100]
    np.testing.assert_allclose(AnchorSimilarity.from_anchors(anchors, 2)._frame.origin, anchors.mean(axis=0))


@pytest.mark.parametrize("fast", [False, True])
def test_a_few_more_candidates_than_wanted_are_measured(monkeypatch, fast):
    asked = []
    name = "_search_by_loops" if fast else "measure_candidates"
    search = getattr(module, name)

    def watch(*given):
        asked.append(given[-1] if fast else given[2].shape[1])
        return search(*given)

    monkeypatch.setattr(module, name, watch)
    if fast:
        pytest.importorskip("numba", reason="Numba is not installed")
    rng = np.random.default_rng(0)
    anchors = rng.standard_normal((9, 3))
    frame = AnchorSimilarity.from_anchors(anchors, 4)._frame
    for k in (3, 8):
        find_nearest_anchors(frame, anchors, k, rng.standard_normal((5, 3)), fast)
    assert asked == [5, 9]


# --- samples that are known ---


def test_fitted_samples_are_known_again():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((50, 3))
    points[7] = points[3]
    similarity = AnchorSimilarity.from_anchors(points[:5], 2).remember(points)
    keys = row_keys(points).view(np.int64)
    np.testing.assert_array_equal(similarity.keys, np.sort(keys))
    np.testing.assert_array_equal(keys[similarity.numbers], similarity.keys)
    expected = np.arange(50)
    expected[7] = 3  # the first of equals
    np.testing.assert_array_equal(similarity.find_twins(points), expected)
    np.testing.assert_array_equal(similarity.find_twins(points[::-1]), expected[::-1])
    np.testing.assert_array_equal(similarity.find_twins(points.astype(np.float32)), -1)
    np.testing.assert_array_equal(similarity.find_twins(points + 1e-12), -1)
    np.testing.assert_array_equal(similarity.place(points[4:6]).twins, [4, 5])


def test_of_many_copies_the_first_is_the_twin():
    points = np.tile([[1.0], [2.0]], (40, 1))
    similarity = AnchorSimilarity.from_anchors(points[:2], 1).remember(points)
    np.testing.assert_array_equal(similarity.find_twins(points[:2]), [0, 1])


def test_without_fitted_samples_none_is_known():
    points = np.random.default_rng(0).standard_normal((6, 3))
    similarity = AnchorSimilarity.from_anchors(points[:5], 2)
    np.testing.assert_array_equal(similarity.find_twins(points), np.full(6, -1))


def test_single_precision_samples_are_known_by_their_values():
    points = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)
    similarity = AnchorSimilarity.from_anchors(points[:5].astype(float), 2).remember(points)
    np.testing.assert_array_equal(similarity.find_twins(points.astype(np.float64)), np.arange(6))


def test_samples_with_keys_beyond_all_known_ones_are_not_known():
    similarity = AnchorSimilarity(np.zeros((1, 1)), np.ones(1), 1, keys=np.array([-5]), numbers=np.array([0]))
    np.testing.assert_array_equal(similarity.find_twins(np.arange(20.0)[:, None]), -1)
