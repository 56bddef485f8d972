"""The studies' own helpers: what they draw, and how they judge."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from studies import ablation, calibration, common, count, coupled, coverage, draws, known, tables
from studies.__main__ import NAMES, make_parser
from studies.cost import measure_seconds
from studies.quality import group_by_method, measure

from afcm import AFCM
from afcm.datasets import load_dataset
from afcm.fitting import starts
from afcm.graph import sharpening


@pytest.fixture(scope="module")
def iris():
    found = load_dataset("iris", scale="minmax")
    return common.Problem("iris", found.X, found.y)


def test_honest_confidence_has_no_calibration_error():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.2, 1, 200_000)
    honest = rng.random(confidence.size) < confidence
    assert calibration.calibration_error(confidence, honest) < 0.01
    assert calibration.calibration_error(np.ones(10), np.arange(10) < 7) == pytest.approx(0.3)


def test_bins_hold_every_sample_once():
    counts, claimed, right = calibration.count_bins([0.0, 0.5, 0.52, 1.0], [False, True, False, True], 10)
    assert counts.tolist() == [1, 0, 0, 0, 0, 2, 0, 0, 0, 1]
    assert (claimed[5], right[5]) == (pytest.approx(0.51), 0.5)
    assert np.isnan(claimed[1])


def test_matching_does_not_mind_the_names_of_the_clusters():
    y, labels = np.array(["b", "b", "a", "a", "c"]), np.array([0, 0, 2, 0, 1])
    assert calibration.match_classes(y, labels).tolist() == [True, True, True, False, True]


def test_coverage_counts_sets_that_hold_the_cluster_of_the_class(iris):
    y, labels = np.array(["b", "b", "a", "a", "c"]), np.array([0, 0, 2, 0, 1])
    assert coverage.cluster_of_class(y, labels).tolist() == [0, 0, 2, 2, 1]
    model = AFCM(3, random_state=0).fit(iris.X)
    rows = coverage.measure(iris, 0)
    assert [row["alpha"] for row in rows] == [0.05, 0.1, 0.2]
    for row in rows:
        sets, right = model.cluster_sets(row["alpha"]), coverage.cluster_of_class(iris.y, model.labels_)
        held = [bool(one[cluster]) for one, cluster in zip(sets, right, strict=True)]
        assert row["coverage"] == pytest.approx(100 * np.mean(held))
        assert row["size"] == pytest.approx(sets.sum() / 150)
        assert row["labels"] == pytest.approx(100 * np.mean(calibration.match_classes(iris.y, model.labels_)))
    line = coverage.summarize("iris", rows)
    assert line[:3] == ["iris", model.membership_method_, pytest.approx(rows[0]["labels"])]
    assert line[3::2] == [pytest.approx(row["coverage"]) for row in rows]


@pytest.mark.parametrize(("n_clusters", "n_features"), [(2, 3), (5, 10)])
def test_gaussians_lie_as_far_apart_as_said(n_clusters, n_features):
    gaps = []
    for seed in range(20):
        X, y = coverage.draw_gaussians(n_clusters, n_features, 6.0, seed)
        means = np.array([X[y == j].mean(axis=0) for j in range(n_clusters)])
        gaps += [np.linalg.norm(means[i] - means[j]) for i in range(n_clusters) for j in range(i)]
    assert np.sqrt(np.mean(np.square(gaps))) == pytest.approx(6, rel=0.1)


def test_figures_of_a_partition_and_its_curve(iris):
    sure = np.eye(3)[iris.y] * 0.9 + 0.1 / 3
    found = calibration.judge(iris.y, sure)
    assert (found["ACC"], found["ECE"]) == (100, pytest.approx(100 * (1 - sure.max())))
    shares, claimed, right = calibration.average_bins([found, found])
    place = np.flatnonzero(shares)
    assert (shares[place], claimed[place], right[place]) == (1, pytest.approx(sure.max()), 1)


@pytest.mark.parametrize("name", [*draws.SHAPES, *draws.ROUND, *draws.HARD])
def test_a_toy_is_the_same_for_the_same_seed(name):
    draw = (draws.SHAPES | draws.ROUND | draws.HARD)[name]
    (X, y), (again, _) = draw(3), draw(3)
    assert np.array_equal(X, again)
    assert len(X) == len(y)
    assert np.unique(y).size > 1


@pytest.mark.parametrize("seed", range(20))
def test_random_blobs_are_what_the_study_says(seed):
    X, y = draws.draw_blobs(seed)
    sizes = np.bincount(y)
    assert 2 <= sizes.size <= 12
    assert 30 <= sizes.min() <= sizes.max() < 120
    assert X.shape[1] in draws.DIMENSIONS


def test_centres_are_spread_to_the_gap_and_noise_does_not_repeat_them():
    random = np.random.RandomState(0)
    centers = draws.draw_centers(5, 50, 6.0, random)
    apart = np.linalg.norm(centers[:, None] - centers, axis=2)
    assert apart[apart > 0].min() == pytest.approx(6)
    X, y = draws.gaussians(300, 5, 50, 6.0)(0)
    nearest = np.linalg.norm(X[:, None] - centers, axis=2).argmin(axis=1)
    assert np.mean(nearest == y) > 0.98


def test_nulls_have_one_class():
    for draw in draws.NULLS.values():
        assert np.unique(draw(0)[1]).tolist() == [0]


def test_counting_over_seeds():
    row = count.summarize("blobs", "blobs", draws.draw_blobs, range(1000, 1002))
    assert (row["draws"], row["right"], row["within_1"]) == (2, 1.0, 1.0)
    assert count.pool([row, row | {"right": 0.0}]) == [["all blobs", 4, 0.5, 1.0]]


def test_a_constant_is_put_back():
    before = sharpening.SHARPNESS
    with ablation.replace_constant(sharpening, "SHARPNESS", 2 * before):
        assert 2 * before == sharpening.SHARPNESS
    assert before == sharpening.SHARPNESS
    assert ablation.Factor(1.5) * 3 == 5


def test_the_graph_before_sharpening(iris):
    prepared = AFCM(3).prepare(iris.X)
    plain = ablation.undo_sharpening(prepared)
    assert plain.graph is prepared.base
    assert prepared.graph is not prepared.base
    assert ablation.score_start(iris, plain) > 90


def test_coupled_objective_falls_and_is_bounded(iris):
    from afcm.fitting.loop import run

    prepared = AFCM(3).prepare(iris.X)
    problem = coupled.CoupledProblem(prepared.graph.operator, prepared.graph.masses, 1.0, None)
    eigen, memberships = starts.start_prepared(prepared, 3, np.random.RandomState(0))
    found = run(problem, problem.from_spectral(eigen, memberships), max_iter=30, tol=0.0)
    values = found.history["objective"]
    assert np.all(np.diff(values) <= 1e-8 * np.abs(values[1:]))
    assert found.state.precision < problem.largest_precision(3)


def test_measuring_and_tables(iris, tmp_path, capsys):
    rows = measure(iris, {"truth": lambda seed: iris.y, "nothing": lambda seed: np.zeros(150, dtype=int)})
    assert group_by_method(rows, "ACC")["truth"] == {"iris": 100}
    common.write_csv(tmp_path / "table.csv", rows)
    with (tmp_path / "table.csv").open(encoding="utf-8") as file:
        assert next(csv.DictReader(file))["mean"] == "100.0000"
    common.show(["data", "ACC"], [["iris", 96.04]])
    assert capsys.readouterr().out.split() == ["data", "ACC", "iris", "96.0"]


def test_a_missing_data_set_is_left_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("AFCM_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert [problem.name for problem in common.load_ten(tmp_path)] == ["iris"]
    assert capsys.readouterr().out.count("left out") == 9


def test_scalings():
    X = np.array([[1.0, 5.0], [3.0, 5.0]])
    assert common.standardize(X).tolist() == [[-1, 0], [1, 0]]
    assert len(list(common.load_side())) == 12


def test_seconds_of_tasks_in_turns():
    order = []
    found = measure_seconds({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, rounds=2)
    assert order == ["a", "b", "a", "b"]
    assert all(wall >= 0 and cpu >= 0 for wall, cpu in found.values())


def test_command_line():
    options = make_parser().parse_args(["toys", "--out", "elsewhere"])
    assert (options.names, str(options.out)) == (["toys"], "elsewhere")
    assert set(NAMES) >= {"quality", "toys", "count", "calibration", "ablation", "cost"}


def test_the_yes_no_column_of_a_drawn_table_is_by_chance_or_a_mark():
    numbers, groups, chance = tables.draw_groups(3, 3.3, 0)
    assert (numbers.shape, set(groups)) == ((400, 3), {0, 1, 2})
    assert ((chance < 0.5 + 0.5 * np.where(groups == 1, 1, -1)) == (groups == 1)).all()
    scores = dict(zip(tables.RULES, tables.score_rules(3, 3.3, 0, 0.5), strict=True))
    assert scores["equal"] > 0.95
    assert set(scores) == {"left out", "equal", "√a", "a", "a²", "a⁴"}


def test_customers_are_drawn_as_described():
    table, groups = tables.draw_customers(0)
    assert np.isclose(np.isnan(table["income"]).mean(), 0.05, atol=0.03)
    for name, step, spread in (("age", 10, 4), ("income", 20_000, 6000)):
        means = [np.nanmean(table[name][groups == j]) for j in range(3)]
        np.testing.assert_allclose(np.diff(means), step, rtol=0.1)
        assert np.nanstd(table[name][groups == 0]) == pytest.approx(spread, rel=0.15)


def test_known_labels_are_drawn_and_scored_by_name(iris):
    y = np.array([0, 0, 1, 1, 2, 2])
    assert (known.draw_known(y, 0.0, 0) == -1).all()
    drawn = known.draw_known(y, 0.5, 1)
    assert (drawn >= 0).sum() == 3
    assert (drawn[drawn >= 0] == y[drawn >= 0]).all()
    labels = np.array([1, 1, 0, 0, 2, 0])
    assert known.score_by_name(y, labels, np.array([], dtype=int)) == pytest.approx(5 / 6)
    assert known.score_by_name(y, labels, np.array([0])) == pytest.approx(1 / 6)
    rows = known.measure(common.Problem("iris", iris.X, iris.y))
    assert [(row["method"], row["known"]) for row in rows][:2] == [("AFCM", 0), ("AFCM", 1)]
    assert rows[0]["ACC"] == rows[0]["by_name"]
