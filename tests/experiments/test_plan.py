"""From specs to runs: the grids as printed, the choice of what to run, and the race."""

from __future__ import annotations

from importlib import resources
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afcm.datasets import dataset_info
from afcm.experiments.methods import RUNNERS, TOYS
from afcm.experiments.plan import (
    EXPERIMENTS,
    RACE_MARGIN,
    RACE_SEEDS,
    Method,
    Spec,
    choose_specs,
    list_tasks,
    match_names,
    read_spec,
)
from afcm.experiments.printed import printed_name, printed_scores
from afcm.experiments.record import Row
from tests.strategies import quick

NEIGHBORS = [3, 4, 5, 6, 8, 10, 12]
WEIGHTS = [1e-1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6]


def method_of(experiment, name):
    (found,) = [method for method in read_spec(experiment).methods if method.name == name]
    return found


def test_there_is_a_file_for_every_experiment_and_no_other():
    files = resources.files("afcm.experiments").joinpath("specs").iterdir()
    assert sorted(file.name for file in files) == sorted(f"{name}.toml" for name in EXPERIMENTS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_spec_names_only_what_there_is(name):
    spec = read_spec(name)
    assert spec.name == name
    assert spec.title
    assert {method.runner for method in spec.methods} <= set(RUNNERS)
    assert all(dataset in TOYS or dataset_info(dataset).name == dataset for dataset in spec.datasets)
    for names in (spec.datasets, [method.name for method in spec.methods]):
        assert len(set(names)) == len(names) > 0


def test_no_two_runs_have_the_same_key():
    keys = [task.key for task in list_tasks(map(read_spec, EXPERIMENTS), {})]
    assert len(set(keys)) == len(keys)


def test_afcm_has_the_printed_grid():
    points = list(method_of("table1", "AFCM").points())
    assert points == [{"n_neighbors": k, "graph_weight": w} for k, w in product(NEIGHBORS, WEIGHTS)]
    assert len(points) == 49
    assert not method_of("table1", "AFCM").race  # the paper ran them all
    assert list(method_of("flat", "AFCM-flat").points()) == points


@pytest.mark.parametrize(("experiment", "name"), [("table1", "SC"), ("table2", "Ablation-1"), ("table2", "Ablation-2")])
def test_spectral_methods_have_the_printed_neighbours(experiment, name):
    method = method_of(experiment, name)
    assert method.grid["n_neighbors"] == NEIGHBORS
    assert not method.race


@pytest.mark.parametrize(("experiment", "printed"), [("table1", "results"), ("table2", "ablation")])
def test_a_table_has_the_printed_methods_data_sets_and_seeds(experiment, printed):
    spec, cells = read_spec(experiment), printed_scores(printed)
    afcm = {"AFCM"} if experiment == "table2" else set()  # Table 2 repeats the AFCM of Table 1
    assert {method.name for method in spec.methods} | afcm == {method for _, method, _ in cells}
    assert {printed_name(dataset) for dataset in spec.datasets} == {dataset for dataset, _, _ in cells}
    assert spec.seeds == 10


def test_our_grid_is_no_larger_than_the_papers():
    assert read_spec("ours").datasets == read_spec("table1").datasets
    sizes = {method.name: len(list(method.points())) for method in read_spec("ours").methods}
    assert sizes["AFCM-ours"] <= 49
    assert sizes["AFCM-default"] == sizes["SC-default"] == 1
    ours, spectral = method_of("ours", "AFCM-ours").grid, method_of("ours", "SC-ours").grid
    assert {name: ours[name] for name in spectral} == spectral  # the same graphs


def test_convergence_is_shown_on_eight_sets_and_toys_on_two():
    assert len(read_spec("convergence").datasets) == 8
    assert read_spec("toys").datasets == ("spirals", "rings")


def test_everything_is_chosen_unless_told_otherwise():
    assert choose_specs() == [read_spec(name) for name in EXPERIMENTS]


def test_the_choice_cuts_experiments_data_sets_methods_and_seeds():
    first, second = choose_specs(["table1", "table2"], ["iris", "usps"], ["SC", "Ablation-2"], 4)
    assert (first.name, first.datasets, [m.name for m in first.methods]) == ("table1", ("iris", "usps"), ["SC"])
    assert (second.name, [m.name for m in second.methods]) == ("table2", ["Ablation-2"])
    assert first.seeds == second.seeds == 4
    assert first.methods[0] == method_of("table1", "SC")  # the grid is not cut


def test_seeds_are_as_many_as_asked_for_and_a_trace_is_one():
    for asked in (1, 7, 100):
        found = {spec.name: spec.seeds for spec in choose_specs(seeds=asked)}
        assert found.pop("convergence") == 1
        assert set(found.values()) == {asked}


def test_experiments_without_the_chosen_data_are_left_out():
    assert [spec.name for spec in choose_specs(datasets=["rings"])] == ["toys"]
    with_jaffe = [name for name in EXPERIMENTS if "jaffe50" in read_spec(name).datasets]
    assert [spec.name for spec in choose_specs(datasets=["jaffe50"])] == with_jaffe != list(EXPERIMENTS)


def test_names_may_be_written_in_any_case():
    assert choose_specs(["TABLE1"], ["Iris", "USPS"], ["afcm", "fcm-er"]) == choose_specs(
        ["table1"], ["usps", "iris"], ["FCM-ER", "AFCM"]
    )


@pytest.mark.parametrize(
    ("kind", "choice", "guess"),
    [
        ("experiment", {"experiments": ["tabel1"]}, "table1"),
        ("data set", {"datasets": ["iris", "warpPIE10"]}, "warppie10p"),
        ("method", {"methods": ["FMC"]}, "FCM"),
        ("method", {"methods": ["ablation1"]}, "Ablation-1"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_one(kind, choice, guess):
    wrong = next(iter(choice.values()))[-1]
    with pytest.raises(ValueError, match=rf"{kind} '{wrong}' is unknown; did you mean {guess}\? Known: .*{guess}"):
        choose_specs(**choice)


def test_a_name_like_no_other_is_refused_with_the_list():
    with pytest.raises(ValueError, match=r"data set 'zzz' is unknown\. Known: breast, breast-id, iris"):
        choose_specs(datasets=["zzz"])
    with pytest.raises(ValueError, match="'rings' is unknown"):  # it is, in that experiment
        choose_specs(["table1"], ["rings"])


def test_a_choice_of_nothing_is_refused():
    with pytest.raises(ValueError, match="nothing to run: the chosen experiments do not have"):
        choose_specs(["toys", "table1"], ["rings"], ["SC"])


@given(st.lists(st.sampled_from(["Iris", "USPS", "ORL64x64"])))
@quick
def test_checked_keeps_the_order_and_gives_the_known_spelling(names):
    assert match_names("data set", [name.swapcase() for name in names], ["USPS", "ORL64x64", "Iris"]) == names


# The race: points of a grid by the ACC each of their seeds would give, or what became of the run.


def race(n_points, seeds=10, datasets=("iris",)):
    method = Method("M", "M", {"a": list(range(n_points))}, race=True)
    return [Spec("table1", "Table 1", seeds, datasets, (method,))]


def result(task, outcome):
    content = {"metrics": {"ACC": outcome}} if isinstance(outcome, float) else {"status": outcome, "reason": "no"}
    return Row(
        experiment="table1",
        dataset=task.dataset,
        method="M",
        params=task.params,
        seed=task.seed,
        versions={},
        **content,
    )


def played(specs, outcome, order=lambda pending: pending):
    """Rows of a race that is run to its end, one row at a time."""
    rows = {}
    while pending := [task for task in list_tasks(specs, rows) if task.key not in rows]:
        task = order(pending)[0]
        rows[task.key] = result(task, outcome(task))
    return rows


def seeds_run(rows, dataset="iris"):
    """How many seeds each point of the grid has had."""
    points = [row.params["a"] for row in rows.values() if row.dataset == dataset]
    return {point: points.count(point) for point in sorted(points)}


def test_the_first_leg_has_three_seeds_of_every_point():
    specs = race(4)
    found = list_tasks(specs, {})
    assert RACE_SEEDS == 3
    assert [(task.params["a"], task.seed) for task in found] == list(product(range(4), range(3)))
    without_last = {task.key: result(task, 50.0) for task in found[:-1]}
    assert list_tasks(specs, without_last) == found  # no second leg before the first is whole


def test_the_second_leg_is_for_points_within_the_margin():
    scores = [90.0, 90.0 - RACE_MARGIN, 90.0 - RACE_MARGIN - 0.01, 20.0]
    rows = played(race(4), lambda task: scores[task.params["a"]])
    assert seeds_run(rows) == {0: 10, 1: 10, 2: 3, 3: 3}
    assert {row.seed for row in rows.values() if row.params["a"] == 1} == set(range(10))


def test_later_seeds_do_not_change_who_is_in_the_second_leg():
    rows = played(race(2), lambda task: 90.0 if task.seed < 3 else 0.0 if task.params["a"] == 0 else 100.0)
    assert seeds_run(rows) == {0: 10, 1: 10}


def test_it_is_the_mean_over_the_first_seeds_that_counts():
    low = 70.0 - 3 * RACE_MARGIN
    scores = {0: [90.0, 90.0, 90.0], 1: [100.0, 100.0, low], 2: [100.0, 100.0, low - 1]}
    rows = played(race(3), lambda task: scores[task.params["a"]][task.seed % 3])
    assert seeds_run(rows) == {0: 10, 1: 10, 2: 3}


@pytest.mark.parametrize("status", ["failed", "skipped"])
def test_a_race_that_nobody_finished_ends_after_its_first_leg(status):
    assert seeds_run(played(race(3), lambda task: status)) == {0: 3, 1: 3, 2: 3}


def test_points_without_a_result_drop_out_and_lost_seeds_do_not_count():
    outcomes = {0: ["failed"] * 3, 1: ["failed", 80.0, 80.0], 2: [78.0, 80.0, 80.0], 3: ["skipped"] * 3}
    rows = played(race(4), lambda task: outcomes[task.params["a"]][task.seed % 3])
    assert seeds_run(rows) == {0: 3, 1: 10, 2: 10, 3: 3}


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_with_three_seeds_or_fewer_there_is_no_race(seeds):
    found = list_tasks(race(3, seeds), {})
    assert [(task.params["a"], task.seed) for task in found] == list(product(range(3), range(seeds)))


def test_a_single_point_and_a_method_that_does_not_race_run_all_seeds_at_once():
    assert len(list_tasks(race(1), {})) == 10
    (spec,) = race(4)
    calm = Spec(spec.name, spec.title, 10, spec.datasets, (Method("M", "M", spec.methods[0].grid),))
    assert len(list_tasks([calm], {})) == 40


def test_every_data_set_has_a_race_of_its_own():
    wins = {"iris": 0, "usps": 1}
    rows = played(
        race(2, datasets=("iris", "usps")), lambda task: 90.0 if task.params["a"] == wins[task.dataset] else 9.0
    )
    assert seeds_run(rows, "iris") == {0: 10, 1: 3}
    assert seeds_run(rows, "usps") == {0: 3, 1: 10}


outcomes = st.floats(0, 100) | st.sampled_from(["failed", "skipped"])


@given(st.lists(st.lists(outcomes, min_size=5, max_size=5), min_size=1, max_size=4), st.randoms(use_true_random=False))
@quick
def test_the_order_and_the_interruptions_of_a_race_do_not_matter(table, random):
    """Which is what makes it resumable: the runs to do are a function of the rows there are."""
    specs = race(len(table), seeds=5)

    def outcome(task):
        return table[task.params["a"]][task.seed]

    def anyhow(pending):
        return random.sample(pending, len(pending))

    straight, mixed = played(specs, outcome), played(specs, outcome, anyhow)
    assert straight == mixed
    some = {key: mixed[key] for key in list(mixed)[: random.randint(0, len(mixed))]}
    before = dict(some)
    named = [task.key for task in list_tasks(specs, some)]
    assert some == before
    assert set(some) <= set(named) <= set(mixed)  # no row is forgotten, no run is asked for in vain
    assert len(named) == len(set(named))
