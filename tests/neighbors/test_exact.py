"""Cells, frames and selections of the exact search, each against a slow formula in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from afcm.compiled import neighbors as loops
from afcm.neighbors import exact
from tests.neighbors.brute import squared_distances


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.fixture
def clusters():
    """400 samples in ten clusters of different spread, in three columns."""
    rng = np.random.default_rng(0)
    labels = rng.integers(10, size=400)
    centers, spreads = 6 * rng.standard_normal((10, 3)), rng.uniform(0.1, 1.5, (10, 1))
    return centers[labels] + spreads[labels] * rng.standard_normal((400, 3))


@pytest.fixture
def table(clusters, monkeypatch):
    monkeypatch.setattr(exact, "CELL_SIZE", 25)
    return exact.CellTable.of(clusters)


def cell_members(table, cell):
    """Numbers of a cell's samples, from the centers alone."""
    return np.flatnonzero(np.argmin(squared_distances(table.points, table.centers), axis=1) == cell)


class TestFrame:
    def test_columns_and_norms_are_those_of_scaled_differences(self):
        points, origin, samples = 7 * normal(20, 3) + 2, np.array([1.0, 2.0, 3.0]), np.array([1, 4, 5, 19])
        frame = exact.make_frame(points, samples, origin)
        shifted = points[samples] - origin
        assert frame.scale == 1 / np.abs(shifted).max()
        assert frame.samples is samples
        assert frame.origin is origin
        assert frame.columns.dtype == frame.norms.dtype == np.float32
        assert frame.columns.flags.c_contiguous
        np.testing.assert_allclose(frame.columns, -2 * frame.scale * shifted.T, rtol=1e-6)
        np.testing.assert_allclose(frame.norms, (shifted**2).sum(axis=1) * frame.scale**2, rtol=1e-6)

    def test_equal_samples_have_the_scale_one(self):
        frame = exact.make_frame(np.ones((5, 2)), np.arange(5), np.ones(2))
        assert frame.scale == 1
        assert not frame.norms.any()

    def test_queries_are_scaled_and_kept_within_float32(self):
        points = np.array([[4.0, -8.0], [0.0, 2.0]])
        frame = exact.make_frame(points, np.arange(2), np.array([0.0, 2.0]))
        rows = frame.transform(np.array([[1.0, 4.5], [1e30, -1e30]]))
        assert rows.dtype == np.float32
        np.testing.assert_array_equal(rows, np.array([[0.1, 0.25], [1e15, -1e15]], dtype=np.float32))

    def test_rounding_is_a_share_of_the_largest_squared_length(self):
        frame = exact.make_frame(np.array([[3.0, 4.0], [0.0, 1.0]]), np.arange(2), np.zeros(2))
        assert exact.rounding_error(frame) == pytest.approx(2e-6 * 25, rel=1e-6)


class TestSearchFrame:
    @pytest.mark.parametrize("count", [1, 4, 12])
    @pytest.mark.parametrize("with_own", [True, False])
    @pytest.mark.parametrize("search", [exact.search_frame, exact.search_frame_compiled])
    def test_the_nearest_samples_and_the_distance_beyond(self, search, count, with_own, monkeypatch):
        monkeypatch.setattr(exact, "CACHED_ELEMENTS", 2 * 13)  # two rows at a time
        monkeypatch.setattr(exact, "ROWS_AT_A_TIME", 1)
        monkeypatch.setattr(exact, "group_size", lambda n, wanted: 1)
        points, samples = normal(30, 4), np.array([0, 2, 3, 7, 8, 9, 12, 13, 14, 20, 21, 22, 29])
        queries, own = points[[3, 20, 7]], np.array([3, 20, 7])
        frame = exact.make_frame(points, samples, np.full(4, 0.5))
        found = search(frame, queries, own if with_own else None, count)
        squared = squared_distances(queries, points[samples])
        if with_own:
            squared[samples == own[:, None]] = np.inf
        order = np.argsort(squared, axis=1)[:, :count]
        np.testing.assert_array_equal(np.sort(found.samples, axis=1), np.sort(samples[order], axis=1))
        last = np.take_along_axis(squared, order, axis=1)[:, -1]
        expected = np.maximum(last - exact.rounding_error(frame), 0)
        np.testing.assert_allclose(found.beyond, expected, atol=1e-6 / frame.scale**2)
        assert found.beyond.dtype == np.float64
        assert (found.beyond >= 0).all()

    @pytest.mark.parametrize(
        ("n_rows", "limits", "expected"),
        [
            (300, (2600, 64, 10**6), 200),
            (300, (130, 64, 10**6), 64),
            (300, (130, 64, 390), 30),
            (5, (2600, 64, 10**6), 5),
            (5, (1, 1, 1), 1),
        ],
    )
    def test_products_have_many_rows_if_their_table_is_not_too_large(self, n_rows, limits, expected, monkeypatch):
        for name, value in zip(("CACHED_ELEMENTS", "ROWS_AT_A_TIME", "COMPILED_ELEMENTS"), limits, strict=True):
            monkeypatch.setattr(exact, name, value)
        plans = []
        monkeypatch.setattr(loops, "search_columns", lambda rows, frame, own, plan, *out: plans.append(plan))
        frame = exact.make_frame(normal(13, 3), np.arange(13), np.zeros(3))
        exact.select_columns(frame, np.zeros((n_rows, 3), np.float32), 2, 1)
        assert plans[0][0] == expected

    def test_the_distance_beyond_allows_for_rounding(self):
        """Seen from far away, squared distances differ by less than float32 can tell."""
        points = np.array([[1000.0, 0.0], [1000.1, 0.0], [0.0, 0.0]])
        frame = exact.make_frame(points, np.arange(3), np.zeros(2))
        found = exact.search_frame(frame, points[:1], None, 1)
        assert found.beyond[0] == 0
        found = exact.search_frame(frame, points[:1], None, 3)
        assert found.beyond[0] == pytest.approx(1e6 - 2e-6 * 1000.1**2, rel=1e-7)


class TestSelection:
    @pytest.mark.parametrize(("n_columns", "count"), [(1, 1), (5, 5), (5, 9), (40, 1), (41, 2), (300, 7), (3000, 1)])
    @pytest.mark.parametrize("select", [exact.select_smallest, exact.select_smallest_by_groups])
    def test_the_smallest_entries_of_each_row_are_selected(self, select, n_columns, count):
        values = np.random.default_rng(n_columns).permuted(np.tile(np.arange(n_columns), (6, 1)), axis=1)
        columns = select(values, count)
        assert columns.shape == (6, min(count, n_columns))
        chosen = np.sort(np.take_along_axis(values, columns, axis=1), axis=1)
        np.testing.assert_array_equal(chosen, np.tile(np.arange(min(count, n_columns)), (6, 1)))

    @pytest.mark.parametrize(("n_columns", "count", "size"), [(40, 2, 3), (41, 2, 4), (300, 7, 6), (3000, 11, 16)])
    @pytest.mark.parametrize("n_last", [1, 2])
    def test_compiled_loops_write_the_last_few_in_order(self, n_columns, count, size, n_last):
        """Among equal values, too: many ten times, or ten different ones in all."""
        rng = np.random.default_rng(n_columns)
        tied = rng.integers(n_columns // 10, size=(6, n_columns)), rng.integers(10, size=(6, n_columns))
        for values in (rng.normal(size=(6, n_columns)), *tied):
            costs, selected = values.astype(np.float32), np.empty((6, count), np.intp)
            loops.select_smallest(costs, size, n_last, selected)
            found, expected = np.take_along_axis(costs, selected, axis=1), np.sort(costs, axis=1)[:, :count]
            np.testing.assert_array_equal(np.sort(found, axis=1), expected)
            np.testing.assert_array_equal(found[:, -n_last:], expected[:, -n_last:])
            assert all(len(set(row)) == count for row in selected)

    def test_a_bound_is_not_below_the_smallest_and_not_above_many_more(self):
        values = np.random.default_rng(0).normal(size=1000).astype(np.float32)
        below = (values <= loops.bound_smallest(values, 30)).sum()
        assert 30 <= below <= 33
        assert loops.bound_smallest(np.ones(5, np.float32), 2) == 1
        values[:900] = np.inf
        assert 30 <= (values <= loops.bound_smallest(values, 30)).sum() <= 33
        assert loops.bound_smallest(values, 101) == np.inf

    def test_minima_of_groups_run_along_memory(self):
        values, minima = np.random.default_rng(1).normal(size=12), np.empty(4)
        loops.find_strided_minima(values, minima)
        np.testing.assert_array_equal(minima, values.reshape(3, 4).min(axis=0))

    def test_groups_are_used_where_there_are_more_than_are_wanted(self, monkeypatch):
        """Ten columns in groups of two, three wanted: five minima are compared, then three groups of two members."""
        looked_at, select = [], exact.select_smallest
        monkeypatch.setattr(
            exact, "select_smallest", lambda values, count: looked_at.append(values.shape) or select(values, count)
        )
        monkeypatch.setattr(exact, "group_size", lambda n_columns, count: 2)
        values = normal(4, 11)
        exact.select_smallest_by_groups(values, 3)
        assert looked_at == [(4, 5), (4, 3 * 2 + 1)]
        looked_at.clear()
        exact.select_smallest_by_groups(values, 5)
        assert looked_at == [(4, 11)]

    @pytest.mark.parametrize(
        ("n_columns", "count", "size"),
        [(90, 10, 3), (89, 10, 2), (10, 10, 1), (10, 30, 1), (64**2 * 10, 10, 64), (10**6, 10, 64), (63**2, 1, 63)],
    )
    def test_a_group_balances_minima_and_members(self, n_columns, count, size):
        assert exact.group_size(n_columns, count) == size


class TestCells:
    def test_distances_to_centers(self):
        offset = np.array([1e6, -1e6, 1e6])  # costs no digits: distances are taken about the mean of the centers
        points, centers = normal(9, 3) + offset, normal(4, 3, seed=1) + offset
        centers[0] = points[0]
        squared = exact.squared_distances(points, centers)
        np.testing.assert_allclose(squared, squared_distances(points, centers), rtol=1e-9, atol=1e-12)
        assert squared.min() >= 0
        assert exact.squared_distances(centers[:1], centers[:1]) == 0

    @pytest.mark.parametrize("elements", [750_000, 400, 1])
    def test_each_row_belongs_to_its_nearest_center(self, monkeypatch, elements):
        monkeypatch.setattr(exact, "BLOCK_ELEMENTS", elements)
        points, centers = normal(50, 6), normal(5, 6, seed=1)
        cells, distances = exact.assign_to_centers(points, centers)
        squared = squared_distances(points, centers)
        np.testing.assert_array_equal(cells, np.argmin(squared, axis=1))
        np.testing.assert_allclose(distances, np.sqrt(squared.min(axis=1)), rtol=1e-12)

    @pytest.mark.parametrize(("elements", "size"), [(8 * (5 + 6) * 7, 7), (8 * (5 + 6) * 7 - 1, 6), (1, 1)])
    def test_blocks_of_rows_hold_their_coordinates_and_distances(self, monkeypatch, elements, size):
        blocks, measure = [], exact.squared_distances
        monkeypatch.setattr(
            exact, "squared_distances", lambda points, centers: blocks.append(len(points)) or measure(points, centers)
        )
        monkeypatch.setattr(exact, "BLOCK_ELEMENTS", elements)
        exact.assign_to_centers(normal(40, 6), normal(5, 6, seed=1))
        assert blocks[:-1] == [size] * (len(blocks) - 1)
        assert sum(blocks) == 40
        assert 1 <= blocks[-1] <= size

    def test_with_one_center_there_is_nothing_to_measure(self):
        cells, distances = exact.assign_to_centers(normal(5, 2), np.full((1, 2), np.nan))
        assert cells.tolist() == [0] * 5
        assert cells.dtype == np.intp
        assert distances.tolist() == [0.0] * 5

    @pytest.mark.parametrize(("n", "n_cells"), [(1, 1), (1023, 1), (1024, 2), (131_071, 255), (131_584, 256)])
    def test_a_cell_has_about_512_samples_and_there_are_256_at_the_most(self, n, n_cells):
        assert exact.learn_centers(np.linspace(0, 1, n)[:, None]).shape == (n_cells, 1)

    @pytest.mark.parametrize(("dtype", "n_chosen"), [(np.float64, 256), (np.float32, 256), (np.float64, 32)])
    def test_centers_are_four_rounds_of_k_means_on_16_samples_per_cell(self, clusters, monkeypatch, dtype, n_chosen):
        monkeypatch.setattr(exact, "CELL_SIZE", 25)
        if n_chosen == 32:
            monkeypatch.setattr(exact, "LEARNED_FROM", 2)  # some cells have one sample, or none
        points = clusters.astype(dtype)
        chosen = np.random.default_rng(0).choice(400, n_chosen, replace=False)
        sample = points[chosen].astype(float)
        centers = sample[:16].copy()
        for _ in range(4):
            labels = np.argmin(squared_distances(sample, centers), axis=1)
            for cell in np.unique(labels):
                centers[cell] = sample[labels == cell].mean(axis=0)
        found = exact.learn_centers(points)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, centers, rtol=1e-12)

    def test_a_center_without_samples_stays(self, monkeypatch):
        """All samples are equal: the first center has all of them, and the others have none."""
        monkeypatch.setattr(exact, "CELL_SIZE", 2)
        points = np.full((8, 1), 3.0)
        np.testing.assert_array_equal(exact.learn_centers(points), np.full((4, 1), 3.0))

    def test_the_table_holds_each_cell_with_its_radius(self, table):
        assert table.radii.shape == (16,)
        assert table.offsets.shape == (17,)
        assert table.offsets[-1] == 400
        for cell, radius in enumerate(table.radii):
            own = cell_members(table, cell)
            np.testing.assert_array_equal(table.members([cell]), own)
            distances = np.linalg.norm(table.points[own] - table.centers[cell], axis=1)
            assert radius == pytest.approx(distances.max(), rel=1e-12)
        np.testing.assert_array_equal(
            table.members([7, 2]), np.sort(np.concatenate([cell_members(table, 2), cell_members(table, 7)]))
        )

    def test_queries_are_grouped_by_cell_with_the_largest_group_first(self, table):
        queries = 3 * normal(60, 3, seed=5)
        cells = np.argmin(squared_distances(queries, table.centers), axis=1)
        groups = table.group_queries(queries)
        assert sorted(cell for cell, _ in groups) == sorted(set(cells))
        for cell, rows in groups:
            np.testing.assert_array_equal(rows, np.flatnonzero(cells == cell))
        sizes = [rows.size for _, rows in groups]
        assert sizes == sorted(sizes, reverse=True)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_everything_is_all_samples_about_their_mean(self, dtype):
        table = exact.CellTable.of((normal(30, 3) + 100).astype(dtype))
        assert table.everything.samples.tolist() == list(range(30))
        assert table.everything.origin.dtype == np.float64
        np.testing.assert_allclose(table.everything.origin, table.points.astype(float).mean(axis=0), rtol=1e-12)
        assert table.everything is table.everything


def samples_in_reach(table, cell, queries, count):
    """Cells that the triangle inequality cannot rule out, in double precision."""
    own = cell_members(table, cell)
    reach = np.sqrt(np.sort(squared_distances(queries, table.points[own]), axis=1)[:, count])
    gaps = np.sqrt(squared_distances(queries, table.centers)) - reach[:, None] - table.radii
    assert np.abs(gaps.min(axis=0)).min() > 1e-4, "the example is too close to call"
    near = np.flatnonzero((gaps <= 0).any(axis=0))
    return np.sort(np.concatenate([cell_members(table, cell) for cell in near]))


class TestReach:
    @pytest.mark.parametrize("count", [1, 3, 9])
    def test_cells_within_reach_are_those_of_the_triangle_inequality(self, table, monkeypatch, count):
        monkeypatch.setattr(exact, "MOST_WORTH_COPYING", 1.0)
        sizes = []
        for cell, rows in table.group_queries(table.points):
            if cell_members(table, cell).size <= count:
                continue
            for part in (rows, rows[:1]):
                queries = table.points[part]
                frame = table.frame_within_reach(cell, queries, count)
                expected = samples_in_reach(table, cell, queries, count)
                np.testing.assert_array_equal(frame.samples, expected)
                if expected.size < 400:
                    np.testing.assert_array_equal(frame.origin, table.centers[cell])
                sizes.append(expected.size)
        assert len(set(sizes)) > 5

    def test_a_cell_that_holds_too_few_searches_everything(self, table):
        cell, rows = table.group_queries(table.points)[-1]
        size = cell_members(table, cell).size
        assert table.frame_within_reach(cell, table.points[rows], size) is table.everything
        assert table.frame_within_reach(cell, table.points[rows[:1]], size - 1) is not table.everything

    @pytest.mark.parametrize(("gap", "included"), [(6.5e-7, True), (8.5e-7, False)])
    def test_the_reach_allows_for_the_rounding_of_float32_and_no_more(self, gap, included):
        """One of two samples at 0 and 1 asks: with a reach of 1, plus 2.5e-7 for the rounding of squared distances in
        float32 (about 0.5, scaled by 2), plus 5e-7 for that of the radius 0.25 of the other cell."""
        other = np.array([1 + gap, 1.25 + gap, 1.5 + gap, *np.full(9, 1.25)])
        points = np.concatenate([[0.0, 1.0], other])[:, None]
        centers, radii = np.array([[0.5], [1.25 + gap]]), np.array([0.5, 0.25])
        table = exact.CellTable(points, np.arange(14), np.array([0, 2, 14]), centers, radii)
        frame = table.frame_within_reach(0, np.array([[0.0]]), 1)
        assert (frame is table.everything) == included
        assert frame.samples.size == (14 if included else 2)

    def test_one_cell_is_everything(self):
        table = exact.CellTable.of(normal(30, 3))
        assert table.frame_within_reach(0, table.points, 5) is table.everything

    def test_more_than_half_of_the_samples_are_everything(self):
        """Four equal cells in a row; the reach of a query is its distance to the far end of the first cell."""
        starts = np.array([0.0, 1.5, 2.6, 8.0])
        points = (starts[:, None] + np.linspace(0, 1, 10)).reshape(-1, 1)
        offsets, centers = np.array([0, 10, 20, 30, 40]), starts[:, None] + 0.5
        table = exact.CellTable(points, np.arange(40), offsets, centers, np.full(4, 0.5))
        half = table.frame_within_reach(0, np.array([[1.0]]), 9)
        assert half.samples.tolist() == list(range(20))
        assert half is not table.everything
        assert table.frame_within_reach(0, np.array([[1.4]]), 9) is table.everything


class TestCandidates:
    @pytest.mark.parametrize("elements", [750_000, 2000, 1])
    @pytest.mark.parametrize("count", [2, 9])
    def test_candidates_are_the_nearest_of_all_samples(self, table, monkeypatch, elements, count):
        monkeypatch.setattr(exact, "BLOCK_ELEMENTS", elements)
        squared = squared_distances(table.points, table.points)
        with_self = np.sort(squared, axis=1)
        np.fill_diagonal(squared, np.inf)
        without_self = np.sort(squared, axis=1)
        for cell, rows in table.group_queries(table.points):
            found = table.find_candidates(cell, table.points[rows], rows, count)
            distances = np.sort(np.take_along_axis(squared[rows], found.samples, axis=1), axis=1)
            np.testing.assert_array_equal(distances, without_self[rows, :count])
            np.testing.assert_allclose(found.beyond, without_self[rows, count - 1], atol=1e-2)
            found = table.find_candidates(cell, table.points[rows], None, count)
            assert (found.samples == rows[:, None]).any(axis=1).all()
            np.testing.assert_allclose(found.beyond, with_self[rows, count - 1], atol=1e-2)

    def test_blocks_hold_a_fixed_number_of_distances(self, table, monkeypatch):
        sizes, search = [], exact.search_frame

        def watched(frame, queries, *rest):
            sizes.append(len(queries))
            return search(frame, queries, *rest)

        monkeypatch.setattr(exact, "search_frame", watched)
        monkeypatch.setattr(exact, "is_loaded", lambda *_: False)
        monkeypatch.setattr(exact, "BLOCK_ELEMENTS", 4 * 400 + 399)
        monkeypatch.setattr(exact, "MOST_WORTH_COPYING", -1.0)  # everything, always
        table.find_candidates(0, table.points[:10], None, 2)
        assert sizes == [10, 4, 4, 2]
        sizes.clear()
        monkeypatch.setattr(exact, "BLOCK_ELEMENTS", 1)
        table.find_candidates(0, table.points[:10], None, 2)
        assert sizes == [10] + [1] * 10


def test_an_undivided_table_searches_everything_in_bands(clusters, monkeypatch):
    monkeypatch.setattr(exact, "BAND_ROWS", 150)
    table = exact.CellTable.undivided(clusters)
    groups = table.group_queries(clusters)
    assert [rows.size for _, rows in groups] == [150, 150, 100]
    np.testing.assert_array_equal(np.concatenate([rows for _, rows in groups]), np.arange(400))
    for cell, rows in groups:
        found = table.find_candidates(cell, clusters[rows], rows, 3)
        squared = squared_distances(clusters[rows], clusters)
        squared[np.arange(rows.size), rows] = np.inf
        np.testing.assert_array_equal(np.sort(found.samples), np.sort(np.argsort(squared, axis=1)[:, :3]))
