"""Each step of the approximate search against a slow formula; the compiled loops are replaced by slow ones."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest

from afcm._util import progress
from afcm.neighbors import Neighbors, approximate, exact
from afcm.neighbors.approximate import Cells, RecallSample, ScaledSamples, _NeighborLists
from tests.neighbors import slow_loops
from tests.neighbors.brute import assert_same, sort_neighbors, squared_distances


@pytest.fixture(autouse=True)
def without_numba(monkeypatch):
    monkeypatch.setitem(sys.modules, "afcm.compiled.neighbors", slow_loops)
    monkeypatch.setattr("afcm.compiled.neighbors", slow_loops, raising=False)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def cells_of(cells):
    """The members of each cell."""
    return [cells.order[a:b].tolist() for a, b in pairwise(cells.offsets)]


class TestScaledSamples:
    def test_the_origin_is_the_median_and_the_unit_the_median_distance_from_it(self):
        points = normal(1100, 3) * 5 + 2  # every second one is looked at
        samples, some = ScaledSamples.of(points), points[::2]
        np.testing.assert_array_equal(samples.origin, np.median(some, axis=0))
        assert samples.scale == 1 / np.median(np.abs(some - samples.origin))
        assert samples.points is points

    @pytest.mark.parametrize(("n", "step"), [(511, 1), (1023, 1), (1024, 2), (1535, 2), (1536, 3)])
    def test_about_512_samples_are_looked_at(self, n, step):
        points = normal(n, 2).astype(np.float32)
        origin = ScaledSamples.of(points).origin
        assert origin.dtype == np.float64
        np.testing.assert_array_equal(origin, np.median(points[::step].astype(float), axis=0))

    def test_if_most_samples_are_equal_the_unit_is_the_largest_distance(self):
        points = np.ones((9, 2))
        points[3] = [5.0, 2.0]
        assert ScaledSamples.of(points).scale == 1 / 4

    def test_equal_samples_have_a_finite_scale(self):
        assert ScaledSamples.of(np.ones((9, 2))).scale == 1 / np.finfo(float).tiny

    def test_samples_are_converted_when_they_are_asked_for(self):
        points = normal(50, 4) * 3 + 1
        samples, numbers = ScaledSamples.of(points), np.array([4, 0, 49, 4])
        values = samples.to_float32(numbers)
        assert values.dtype == np.float32
        np.testing.assert_array_equal(values, ((points[numbers] - samples.origin) * samples.scale).astype(np.float32))


class TestSearch:
    """The loop of the search, with a script of recalls."""

    @pytest.fixture
    def script(self, monkeypatch):
        events = []

        class Lists:
            lists = "lists"

            @classmethod
            def of(cls, points, k):
                events.append(("lists", k))
                return cls()

            def join(self, partition, scale):
                events.append(("join", partition, scale))

            def descend(self, scale):
                events.append(("descend", scale))

            def measure(self):
                return "indices", "squared"

        def run(recalls, k=3, **how):
            recalls = iter(recalls)

            class Check:
                @staticmethod
                def of(points, k, random):
                    events.append(("check", k, random))
                    return Check

                @staticmethod
                def estimate_recall(lists):
                    assert lists == "lists"
                    return next(recalls)

            monkeypatch.setattr(approximate, "RecallSample", Check)
            events.clear()
            return approximate.find_approximate_neighbors(normal(20, 2), k, **how), list(events)

        monkeypatch.setattr(approximate, "_NeighborLists", Lists)
        monkeypatch.setattr(approximate, "draw_cells", lambda samples, size, random: ("cells", size, random))
        return run

    def steps(self, events):
        return [event[0] for event in events if event[0] in ("join", "descend")]

    def test_partitions_are_joined_until_a_descent_promises_enough(self, script):
        found, events = script([0.25, 0.5, 0.75], recall=0.75)
        assert self.steps(events) == ["join", "join", "descend"]
        assert (found.indices, found.squared, found.recall) == ("indices", "squared", 0.75)

    def test_a_descent_that_gained_too_little_is_followed_by_partitions(self, script):
        found, events = script([0.5, 0.7, 0.72, 0.8], recall=0.75)
        assert self.steps(events) == ["join", "descend", "join", "descend"]
        assert found.recall == 0.8

    def test_the_recall_is_97_percent_unless_told_otherwise(self, script):
        found, events = script([0.924, 0.926, 0.969, 0.968, 0.971])
        assert self.steps(events) == ["join", "join", "descend", "join", "descend"]
        assert found.recall == 0.971

    def test_64_partitions_are_tried_and_the_last_is_followed_by_a_descent(self, script):
        heard = []
        with progress.listen(lambda *told: heard.append(told)):
            found, events = script([0.1] * 64 + [0.2])
        assert self.steps(events) == ["join"] * 64 + ["descend"]
        assert found.recall == 0.2
        assert heard == [("finding neighbours", number, None) for number in range(65)]

    @pytest.mark.parametrize(("k", "size"), [(3, 256), (32, 256), (33, 264)])
    def test_cells_are_large_enough_for_many_neighbors(self, script, k, size):
        _, events = script([1.0, 1.0], k=k)
        scale = ScaledSamples.of(normal(20, 2)).scale
        lists, check, (_, (_, found, random), joined), (_, descended) = events
        assert found == size
        assert joined == descended == scale
        assert lists == ("lists", k)
        assert check == ("check", k, random)  # the same stream

    def test_draws_are_always_the_same(self, script):
        _, events = script([1.0, 1.0])
        random = events[1][2]
        assert random.random() == np.random.default_rng(0).random()


class TestLists:
    def test_lists_are_empty_at_first(self):
        points = normal(5, 2)
        lists = _NeighborLists.of(points, 3)
        assert lists.points is points
        assert (lists.lists == -1).all()
        assert np.isinf(lists.squared).all()
        assert lists.lists.shape == lists.squared.shape == (5, 3)
        assert (lists.lists.dtype, lists.squared.dtype, lists.order.dtype) == (np.int32, np.float32, np.int32)
        assert lists.order.tolist() == [0, 1, 2, 3, 4]

    @pytest.mark.parametrize(("n", "n_cells"), [(30, 1), (60, 3), (140, 70)])
    def test_joining_compares_the_members_of_every_cell(self, monkeypatch, n, n_cells):
        pieces, join = [], slow_loops.join_cells
        monkeypatch.setattr(slow_loops, "join_cells", lambda *given: pieces.append(given[2].size - 1) or join(*given))
        points, order = normal(n, 3), np.random.default_rng(1).permutation(n).astype(np.int32)
        lists = _NeighborLists.of(points, 1)
        lists.join(Cells(order, np.arange(n_cells + 1) * (n // n_cells)), 0.5)
        np.testing.assert_array_equal(lists.order, order)
        assert sum(pieces) == n_cells
        assert min(pieces) > 0
        for members in np.split(order, n_cells):
            indices, squared = sort_neighbors(points[members], 1)
            np.testing.assert_array_equal(lists.lists[members], members[indices])
            np.testing.assert_allclose(lists.squared[members], squared * 0.25, rtol=1e-6)

    def test_descending_takes_the_first_twelve_neighbors_as_they_were_before(self, monkeypatch):
        calls = []

        def descend(points, rows, scale, before, lists, squared):  # noqa: PLR0917
            calls.append((rows.copy(), before.copy()))
            assert points is neighbors.points
            assert scale == 2.0
            assert lists is neighbors.lists
            assert squared is neighbors.squared
            lists[rows] = 0  # other threads still see what was there before

        monkeypatch.setattr(slow_loops, "descend", descend)
        neighbors = _NeighborLists.of(normal(100, 2), 14)
        neighbors.lists[:] = np.random.default_rng(0).integers(100, size=(100, 14))
        neighbors.order[:] = np.random.default_rng(1).permutation(100)
        before = neighbors.lists[:, :12].copy()
        neighbors.descend(2.0)
        assert len(calls) == 64
        assert sorted(np.concatenate([rows for rows, _ in calls])) == list(range(100))
        assert all((seen == before).all() for _, seen in calls)

    def test_measuring_sorts_all_lists_by_exact_distances(self):
        points = normal(90, 3)
        lists = _NeighborLists.of(points, 4)
        lists.lists[:] = sort_neighbors(points, 4)[0][:, ::-1]
        indices, squared = lists.measure()
        assert indices.dtype == np.intp
        expected = sort_neighbors(points, 4)
        np.testing.assert_array_equal(indices, expected[0])
        np.testing.assert_allclose(squared, expected[1], rtol=1e-12)


@pytest.mark.parametrize(
    ("size", "count", "cuts"), [(10, 3, [0, 3, 6, 10]), (2, 5, [0, 1, 2]), (4, 1, [0, 4]), (0, 3, [0])]
)
def test_parts_are_about_equal(size, count, cuts):
    assert list(approximate.split_evenly(size, count)) == [slice(a, b) for a, b in pairwise(cuts)]


def test_there_are_64_parts_unless_told_otherwise():
    assert len(list(approximate.split_evenly(1000))) == 64


class TestCellsOfSamples:
    def test_positions_are_grouped_in_their_order(self):
        numbers = np.random.default_rng(0).integers(4, size=200)
        cells = approximate.group_by_cell(numbers, 6)
        assert cells.order.dtype == np.int32
        assert cells_of(cells) == [np.flatnonzero(numbers == cell).tolist() for cell in range(6)]

    @pytest.mark.parametrize("block", [4096, 7, 1])
    def test_each_sample_has_its_nearest_seed(self, monkeypatch, block):
        monkeypatch.setattr(approximate, "BLOCK_ROWS", block)
        blocks, scale = [], slow_loops.scale_samples
        monkeypatch.setattr(slow_loops, "scale_samples", lambda *given: blocks.append(given[1].size) or scale(*given))
        samples = ScaledSamples.of(normal(60, 3) * 4 + 1)
        numbers, seeds = np.arange(5, 45), np.array([3, 50, 20, 21, 22])
        found = approximate.assign_to_seeds(samples, numbers, seeds)
        assert found.dtype == np.uint16
        squared = squared_distances(samples.points[numbers], samples.points[seeds])
        np.testing.assert_array_equal(found, np.argmin(squared, axis=1))
        assert blocks == [5, *(min(block, 40 - first) for first in range(0, 40, block))]  # the seeds, then the samples

    def nearest(self, points, numbers, seeds):
        return np.argmin(squared_distances(points[numbers], points[seeds]), axis=1)

    @pytest.mark.parametrize(("size", "n_seeds"), [(10, 4), (16, 2), (15, 3), (100, 1), (1, 40)])
    def test_a_group_is_split_by_some_of_its_members(self, size, n_seeds):
        samples, group = ScaledSamples.of(normal(80, 2)), np.arange(20, 60, dtype=np.int32)
        cells = approximate.split_cell(samples, group, size, np.random.default_rng(5))
        seeds = np.random.default_rng(5).choice(group, n_seeds, replace=False)
        nearest = self.nearest(samples.points, group, seeds)
        assert cells_of(cells) == [group[nearest == cell].tolist() for cell in range(n_seeds)]

    def test_an_empty_group_has_no_cells(self):
        samples = ScaledSamples.of(normal(80, 2))
        cells = approximate.split_cell(samples, np.zeros(0, dtype=np.int32), 5, np.random.default_rng(0))
        assert cells.order.size == 0
        assert cells.offsets.tolist() == [0]

    @pytest.mark.parametrize(("n", "shuffled"), [(15, False), (16, True)])
    def test_members_of_a_large_cell_are_shuffled(self, n, shuffled):
        """All samples are equal: the first of two or three seeds has all of them."""
        samples, group = ScaledSamples.of(np.ones((30, 2))), np.arange(10, 10 + n, dtype=np.int32)
        cells = approximate.split_cell(samples, group, 5, np.random.default_rng(0))
        assert np.diff(cells.offsets).max() == n
        assert sorted(cells.order) == list(group)
        random, expected = np.random.default_rng(0), group.copy()
        random.choice(group, 3, replace=False)
        if shuffled:
            random.shuffle(expected)
        np.testing.assert_array_equal(cells.order, expected)

    @pytest.mark.parametrize(("n", "size"), [(300, 10), (70, 100), (20, 100), (90, 4)])
    def test_cells_are_drawn_in_two_steps(self, n, size):
        samples = ScaledSamples.of(normal(n, 3) + 2)
        cells = approximate.draw_cells(samples, size, np.random.default_rng(3))
        random, n_coarse = np.random.default_rng(3), max(1, round((n / size) ** 0.5))
        seeds = random.choice(n, n_coarse, replace=False)
        coarse = self.nearest(samples.points, np.arange(n), seeds)
        states, expected = random.integers(2**63, size=n_coarse), []
        for number, state in enumerate(states):
            group = np.flatnonzero(coarse == number).astype(np.int32)
            expected += cells_of(approximate.split_cell(samples, group, size, np.random.default_rng(state)))
        assert cells_of(cells) == expected
        assert cells.offsets[0] == 0
        assert cells.offsets[-1] == n
        assert sorted(cells.order) == list(range(n))


class TestRecall:
    def test_distances_to_others_and_to_none(self):
        points = normal(20, 3).astype(np.float32)
        asked, others = np.array([2, 5, 7]), np.array([[0, 2, 3, -1], [5, 1, 0, 4], [19, -1, -1, 6]])
        squared = approximate.measure_distances(points, asked, others)
        for row, own in enumerate(asked):
            for place, other in enumerate(others[row]):
                difference = points[own].astype(float) - points[other].astype(float)
                expected = np.inf if other in (own, -1) else difference @ difference
                assert squared[row, place] == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("k", [1, 4, 39])
    @pytest.mark.parametrize("block", [4096, 20, 7])
    def test_the_reach_is_the_distance_of_the_last_true_neighbor(self, monkeypatch, k, block):
        monkeypatch.setattr(approximate, "BLOCK_ROWS", block)
        points = normal(40, 3) + 5
        check = RecallSample.of(points, k, np.random.default_rng(0))
        assert check.points is points
        assert check.asked.tolist() == list(range(40))
        np.testing.assert_allclose(check.reach, sort_neighbors(points, k)[1][:, -1], rtol=1e-12)

    @pytest.mark.parametrize(("k", "block"), [(1, 4), (100, 70)])
    def test_the_reach_among_candidates_of_many_blocks(self, monkeypatch, k, block):
        monkeypatch.setattr(approximate, "BLOCK_ROWS", block)
        points = normal(700, 3)
        check = RecallSample.of(points, k, np.random.default_rng(0))
        np.testing.assert_allclose(check.reach, sort_neighbors(points, k)[1][check.asked, -1], rtol=1e-12)

    def test_512_samples_are_asked(self):
        points = normal(600, 3)
        check = RecallSample.of(points, 2, np.random.default_rng(4))
        expected = np.sort(np.random.default_rng(4).choice(600, 512, replace=False))
        np.testing.assert_array_equal(check.asked, expected)
        np.testing.assert_allclose(check.reach, sort_neighbors(points, 2)[1][check.asked, -1], rtol=1e-12)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_the_reach_is_exact_where_single_precision_cannot_tell_samples_apart(self, dtype):
        """Groups of 20 samples are as wide as a ten-thousandth of the distance between groups."""
        points = (1000 * np.repeat(normal(30, 8), 20, axis=0) + 0.1 * normal(600, 8, seed=1)).astype(dtype)
        points = np.random.default_rng(2).permutation(points)
        check = RecallSample.of(points, 5, np.random.default_rng(0))
        np.testing.assert_allclose(check.reach, sort_neighbors(points, 5)[1][check.asked, -1], rtol=1e-12)

    def test_a_far_outlier_does_not_cost_the_others_their_digits(self):
        points = normal(600, 8) + 3
        points[[0, 5, 300]] = 1e12
        check = RecallSample.of(points, 5, np.random.default_rng(0))
        np.testing.assert_allclose(check.reach, sort_neighbors(points, 5)[1][check.asked, -1], rtol=1e-12)

    @pytest.mark.parametrize(("n", "blocks"), [(4096, 1), (8191, 1), (8192, 2)])
    def test_blocks_are_searched_one_by_one(self, monkeypatch, n, blocks):
        seen, select = [], exact.select_smallest_by_groups

        def watched(costs, count):
            seen.append((costs.shape, costs.dtype, count))
            return select(costs, count)

        monkeypatch.setattr(exact, "select_smallest_by_groups", watched)
        monkeypatch.setattr(approximate, "ASKED", 3)
        RecallSample.of(normal(n, 1).astype(np.float32), 2, np.random.default_rng(0))
        assert seen == [((3, n // blocks), np.float64, 3)] * blocks  # a sample may find itself

    def test_the_recall_is_the_share_of_true_neighbors(self):
        points = normal(40, 2)
        check, (lists, _) = RecallSample.of(points, 4, np.random.default_rng(0)), sort_neighbors(points, 4)
        assert check.estimate_recall(lists) == 1.0
        wrong = lists.copy()
        wrong[:10, 3] = sort_neighbors(points, 9)[0][:10, 8]
        wrong[10:20, 0] = -1
        assert check.estimate_recall(wrong) == (160 - 20) / 160

    def test_a_neighbor_at_the_same_distance_is_as_good(self):
        points = np.array([[0.0], [1.0], [-1.0], [1 + 5e-7], [1 + 1e-5]])
        check = RecallSample(points, np.array([0]), np.array([1.0]))
        assert [check.estimate_recall(np.array([[other]])) for other in (1, 2, 3, 4)] == [1, 1, 1, 0]
        assert RecallSample(np.ones((3, 1)), np.array([0]), np.array([0.0])).estimate_recall(np.array([[2]])) == 1


def test_the_search_finds_nearly_all_neighbors_and_its_recall_is_right(monkeypatch):
    monkeypatch.setattr(approximate, "CELL_SIZE", 20)
    monkeypatch.setattr(approximate, "PER_NEIGHBOR", 2)
    points = normal(120, 3)
    found = approximate.find_approximate_neighbors(points, 3)
    indices, squared = sort_neighbors(points, 3)
    hits = [np.intersect1d(a, b).size for a, b in zip(found.indices, indices, strict=True)]
    assert found.recall == sum(hits) / 360 >= 0.97
    right = np.array(hits) == 3
    assert_same(Neighbors(found.indices[right], found.squared[right]), (indices[right], squared[right]))
