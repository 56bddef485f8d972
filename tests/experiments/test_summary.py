"""From rows to results: spread, choice, completeness, verdict."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afcm.experiments.printed import Score, printed_scores
from afcm.experiments.summary import Cell, average, choose_traces, drop_repeats, judge, sort_names, summarize
from tests.experiments.synthetic import row, trace
from tests.strategies import quick

percent = st.floats(0, 100)


def cell_of(rows) -> Cell:
    (cell,) = summarize(rows)
    return cell


def grid(accuracies, **more):
    """One grid point per list of accuracies, one seed per number."""
    return [
        row(params={"k": point}, seed=seed, acc=acc, **more)
        for point, values in enumerate(accuracies)
        for seed, acc in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("ours", "mean", "std", "expected"),
    [
        (95.67, 94.67, 0.0, "reproduced"),  # exactly one point above
        (93.67, 94.67, 0.0, "reproduced"),  # exactly one point below
        (95.68, 94.67, 0.0, "better"),
        (93.66, 94.67, 0.0, "different"),
        (93.67, 94.67, 0.99, "reproduced"),  # a spread below one point does not narrow it
        (98.0, 96.0, 2.0, "reproduced"),  # exactly one spread
        (94.0, 96.0, 2.0, "reproduced"),
        (98.01, 96.0, 2.0, "better"),
        (93.99, 96.0, 2.0, "different"),
    ],
)
def test_verdict_at_its_edges(ours, mean, std, expected):
    assert judge(ours, Score(mean, std)) == expected


def test_one_point_is_one_point_whatever_the_binary_fractions_say():
    for score in printed_scores("results").values():
        if score.std <= 1:
            assert {judge(round(score.mean + gap, 3), score) for gap in (-1, 1)} == {"reproduced"}


@given(ours=percent, mean=percent, std=st.floats(0, 10))
@quick
def test_verdict_is_symmetric_but_for_better_and_different(ours, mean, std):
    mirror = {"reproduced": "reproduced", "better": "different", "different": "better"}
    assert judge(2 * mean - ours, Score(mean, std)) in (mirror[judge(ours, Score(mean, std))], "reproduced")
    assert judge(mean, Score(mean, std)) == "reproduced"


def test_the_papers_iris_row_has_a_population_spread():
    """Nine runs at 88.67 and one at 89.33 are printed as 88.73 ± 0.20; the sample spread would be 0.21."""
    score = cell_of(grid([[1300 / 15 + 2.0] * 9 + [1300 / 15 + 2.0 + 100 / 150]])).score("ACC")
    assert f"{score.std:.2f}" == "0.20"
    assert f"{score.mean:.2f}" == "88.73"


@given(st.lists(percent, min_size=1, max_size=10))
@quick
def test_mean_and_spread_are_those_of_the_standard_library(values):
    score = average(values)
    assert score.mean == pytest.approx(statistics.fmean(values))
    assert score.std == pytest.approx(statistics.pstdev(values), abs=1e-6)


def test_the_best_mean_accuracy_is_chosen_and_the_other_metrics_follow_it():
    rows = [
        row(params={"k": 3}, acc=80.0, nmi=99.0),
        row(params={"k": 4}, acc=85.0, nmi=10.0),
        row(params={"k": 5}, acc=84.0, nmi=50.0),
    ]
    cell = cell_of(rows)
    assert cell.best.params == {"k": 4}
    assert cell.score("NMI").mean == 10.0


def test_ties_go_to_the_first_grid_point_by_size_of_its_numbers():
    rows = [row(params={"k": k, "weight": w}) for k in (12, 10, 3) for w in (1e6, 1e-1, 1e2)]
    assert cell_of(rows).best.params == {"k": 3, "weight": 0.1}
    assert [point.params["k"] for point in cell_of(rows).points] == [3] * 3 + [10] * 3 + [12] * 3


def test_settings_of_mixed_kinds_have_an_order():
    rows = [row(params={"cap": cap}) for cap in ("none", None, 2.0, math.inf, True)]
    assert [point.params["cap"] for point in cell_of(rows).points] == [True, 2.0, math.inf, "none", None]


def test_several_grid_points_make_an_oracle():
    assert cell_of(grid([[90.0], [80.0]])).oracle
    assert not cell_of(grid([[90.0, 80.0]])).oracle
    failed, skipped = (row(params={"k": 9}, status=status, reason="no") for status in ("failed", "skipped"))
    assert cell_of([*grid([[90.0]]), failed]).oracle
    assert not cell_of([*grid([[90.0]]), skipped]).oracle  # it did not apply, so there was no choice


def test_an_interrupted_grid_point_is_not_chosen_over_whole_ones():
    cell = cell_of(grid([[70.0, 72.0, 74.0], [99.0, 99.0]]))
    assert cell.best.params == {"k": 0}
    assert cell.lost == {"failed": 0, "skipped": 0, "missing": 1}
    assert [point.complete for point in cell.points] == [True, False]


@pytest.mark.parametrize("status", ["failed", "skipped"])
def test_a_grid_point_with_a_lost_run_is_not_chosen_and_the_run_is_counted(status):
    lost = row(params={"k": 1}, seed=2, status=status, reason="out of memory")
    cell = cell_of([*grid([[70.0, 72.0, 74.0], [99.0, 99.0]]), lost])
    assert cell.best.params == {"k": 0}
    assert cell.lost[status] == 1
    assert cell.lost.total() == 1


def test_without_a_whole_grid_point_those_with_the_most_runs_compete():
    rows = [*grid([[70.0, 71.0], [60.0, 61.0], [99.0]]), row(params={"k": 3}, seed=5, status="failed")]
    cell = cell_of(rows)
    assert cell.n_seeds == 3
    assert cell.best.params == {"k": 0}
    assert not cell.best.complete


def test_a_cell_that_has_not_all_seeds_of_its_experiment_is_not_complete():
    short, whole = summarize([*grid([[70.0]], method="FCM"), *grid([[60.0, 61.0]], method="AFCM")])
    assert (short.n_seeds, short.best.n_ok, short.best.complete, short.lost["missing"]) == (2, 1, False, 1)
    assert whole.best.complete


def test_a_race_is_won_by_a_grid_point_that_ran_to_its_end():
    cell = cell_of(grid([[50.0] * 3, [80.0, 80.0, 80.0, 60.0, 60.0], [79.0] * 5, [74.0] * 3]))
    assert cell.best.params == {"k": 2}
    assert cell.n_tried == 4
    assert cell.lost["missing"] == 4


def test_a_cell_in_which_everything_failed_has_no_result():
    cell = cell_of([row(status="failed", reason="no", seed=seed) for seed in range(3)])
    assert cell.best is None
    assert cell.score("ACC") is None
    assert cell.lost["failed"] == 3


def test_an_undefined_accuracy_is_never_chosen():
    cell = cell_of(grid([[math.nan], [10.0]]))
    assert cell.best.params == {"k": 1}
    assert cell_of(grid([[math.nan]])).score("ACC") is None


def test_cells_come_in_the_order_of_the_paper():
    names = [("table2", "iris", "Ablation-1"), ("table1", "usps", "FCM"), ("table1", "iris", "AFCM")]
    names += [("table1", "iris", "FCM"), ("table1", "mine", "FCM"), ("table1", "iris", "Zebra")]
    cells = summarize(row(dataset, method, experiment=experiment) for experiment, dataset, method in names)
    assert [(c.dataset, c.method) for c in cells] == [
        ("iris", "FCM"),
        ("iris", "AFCM"),
        ("iris", "Zebra"),
        ("usps", "FCM"),
        ("mine", "FCM"),
        ("iris", "Ablation-1"),
    ]
    assert sort_names(["b", "a", "x", "x"], ("x", "y")) == ["x", "a", "b"]


def test_a_repeated_run_counts_once_and_an_ok_one_wins():
    rows = [row(acc=90.0), row(status="failed", reason="first try")]
    assert [r.status for r in drop_repeats(rows)] == [r.status for r in drop_repeats(rows[::-1])] == ["ok"]
    assert cell_of(rows).best.n_ok == 1


@st.composite
def runs(draw):
    """Rows of one cell with everything that can happen to them, some missing."""
    rows = []
    for point in range(draw(st.integers(1, 4))):
        for seed in range(draw(st.integers(1, 4))):
            status = draw(st.sampled_from(["ok", "ok", "ok", "failed", "skipped"]))
            rows.append(row(params={"k": point}, seed=seed, acc=draw(percent), status=status))
    return rows


@given(rows=runs(), seed=st.integers(0, 1000))
@quick
def test_the_order_of_rows_changes_nothing(rows, seed):
    shuffled = random.Random(seed).sample(rows, len(rows))
    assert repr(summarize(rows)) == repr(summarize(shuffled))
    assert repr(cell_of(rows).best) == repr(cell_of(shuffled).best)


@given(rows=runs())
@quick
def test_every_run_is_accounted_for_and_no_better_whole_grid_point_is_passed_over(rows):
    cell = cell_of(rows)
    lost = cell.lost
    assert sum(p.n_ok for p in cell.points) + lost["failed"] + lost["skipped"] == len(rows)
    run = [point for point in cell.points if point.n_ok + point.n_failed]
    assert lost["missing"] == sum(cell.n_seeds - p.n_ok - p.n_failed - p.n_skipped for p in run)
    assert cell.oracle == (len(run) > 1)
    whole = [point for point in cell.points if point.complete]
    if whole:
        assert cell.best.complete
        assert cell.best.accuracy == max(point.accuracy for point in whole)


def test_traces_are_one_run_per_data_set_with_a_history():
    rows = [
        trace("usps", seed=1),
        trace("usps", seed=0),
        trace("iris"),
        trace("vehicle", details={}),
        trace("breast", status="failed"),
        row("iris"),
    ]
    assert [(r.dataset, r.seed) for r in choose_traces(rows)] == [("iris", 0), ("usps", 0)]
