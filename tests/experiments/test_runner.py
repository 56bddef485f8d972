"""Runs in one process and in several: the same rows, whatever fails, dies or is killed on the way."""

from __future__ import annotations

import multiprocessing
import os
import queue
import random
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from afcm import AFCM
from afcm.experiments import methods, runner
from afcm.experiments.methods import NotApplicable, estimate_cost, name_graph
from afcm.experiments.plan import EXPERIMENTS, Method, Spec, choose_specs, list_tasks, read_spec
from afcm.experiments.record import RowStore, read_rows
from afcm.experiments.runner import WorkerDied, group_tasks, receive_rows, reproduce
from afcm.graph import similarity
from afcm.linalg import eigenbasis
from tests.experiments.synthetic import row

SIGKILL = 9  # by number: Windows, which has no signals, ends a process for it all the same
PATIENCE = 180  # seconds; everything that is waited for takes a few on an idle machine
SPECTRAL = Method("SC", "SC", {"n_neighbors": [3, 5]})
PAPER = Method("AFCM", "AFCM", {"n_neighbors": [3, 5], "graph_weight": [1e1, 1e4]})
SIMPLE = Method("CDKM", "CDKM")
ANCHORS = Method("FCAG", "FCAG", {"n_anchors": [16, 128], "n_neighbors": [3]})
RACING = Method("FCM", "FCM", {"m": [1.1, 2.0, 3.0]}, race=True)


@pytest.fixture(autouse=True)
def no_data(tmp_path, monkeypatch):
    """Workbenches are fresh, and there are no data sets but Iris and the toys."""
    monkeypatch.delenv("AFCM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    runner.open_workbench.cache_clear()
    yield
    runner.open_workbench.cache_clear()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.jsonl"


def spec(*chosen, datasets=("iris",), seeds=2, name="table1"):
    return Spec(name, name, seeds, tuple(datasets), chosen)


def rows_of(specs, path, **options):
    with RowStore(path) as store:
        return reproduce(specs, store, **{"jobs": 1} | options)


def content(rows):
    """What does not depend on how long things took."""
    return {each.key: (each.status, each.reason, each.metrics, each.details, each.versions) for each in rows}


def fails(bench, params, seed):
    raise ArithmeticError("seven is not a number\nof this kind")


# Rows.


@pytest.mark.slow
def test_rows_are_the_same_from_one_process_and_from_two(tmp_path):
    specs = [
        spec(SPECTRAL, PAPER, SIMPLE, ANCHORS, RACING, seeds=4),
        spec(Method("AFCM", "AFCM-default"), datasets=["rings", "spirals"], name="toys"),
        spec(SIMPLE, datasets=["vehicle"], name="ours"),
    ]
    one = rows_of(specs, tmp_path / "one", jobs=1)
    two = rows_of(specs, tmp_path / "two", jobs=2)
    assert content(one) == content(two)
    assert [each.key for each in one] == [each.key for each in two]  # in the order of the plan
    assert Counter(each.status for each in one)["skipped"] == 4 + 2  # anchors and vehicle
    kept = {key: value for key, value in content(one).items() if "absent" not in value[3]}
    assert content(read_rows(tmp_path / "one")) == content(read_rows(tmp_path / "two")) == kept
    assert not multiprocessing.active_children()


def test_a_row_says_what_was_run_and_with_what(path):
    (found,) = rows_of([spec(Method("My AFCM", "AFCM", {"n_neighbors": [3], "graph_weight": [1e2]}), seeds=1)], path)
    assert (found.experiment, found.dataset, found.method, found.seed) == ("table1", "iris", "My AFCM", 0)
    assert found.params == {"n_neighbors": 3, "graph_weight": 1e2}
    assert {"afcm", "python", "numpy", "scipy", "scikit-learn"} == set(found.versions)
    assert set(found.metrics) == {"ACC", "NMI", "ARI"}
    assert found.details["graph_weight"] == 1e2
    assert found.details["n_components"] == 2


def test_what_is_there_is_not_run_again(path, monkeypatch):
    specs = [spec(SIMPLE, ANCHORS)]
    first = rows_of(specs, path)
    before = path.read_bytes()
    monkeypatch.setattr(runner, "run_task", lambda *given: pytest.fail("run again"))
    assert content(rows_of(specs, path)) == content(first)
    assert path.read_bytes() == before


def test_only_what_was_asked_for_comes_back(path):
    rows_of([spec(SIMPLE, SPECTRAL)], path)
    assert {each.method for each in rows_of([spec(SIMPLE)], path)} == {"CDKM"}
    assert len(rows_of([spec(SIMPLE, seeds=3)], path)) == 3
    assert len(rows_of([spec(SIMPLE, seeds=1)], path)) == 1


def test_the_race_is_run_to_its_end(path):
    rows = rows_of([spec(RACING, seeds=5)], path)
    counts = Counter(each.params["m"] for each in rows)
    assert set(counts.values()) <= {3, 5}
    assert 5 in counts.values()


def test_the_progress_adds_up(path):
    plans, shares = [], []
    specs = [spec(SIMPLE, RACING, seeds=5), spec(SIMPLE, datasets=["vehicle"], name="ours")]
    rows_of(specs, path, on_plan=plans.append, on_row=lambda row, share: shares.append(share))
    assert len(plans) == 2  # the race has two legs
    assert len(shares) == len(read_rows(path)) + 2  # what is absent is not stored
    assert sum(plans) == pytest.approx(sum(shares))


# Failures and skips are rows.


def test_a_failure_is_a_row_and_the_rest_goes_on(path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(methods.RUNNERS, "CDKM", fails)
        rows = rows_of([spec(SIMPLE, SPECTRAL)], path)
    by_method = {name: [each for each in rows if each.method == name] for name in ("CDKM", "SC")}
    assert {(each.status, each.reason) for each in by_method["CDKM"]} == {
        ("failed", "ArithmeticError: seven is not a number of this kind")
    }
    assert all(each.metrics == {} for each in by_method["CDKM"])
    assert {each.status for each in by_method["SC"]} == {"ok"}
    assert content(read_rows(path)) == content(rows)


def test_an_error_without_a_message_has_a_reason_too(path, monkeypatch):
    def silent(*_):
        raise MemoryError

    monkeypatch.setitem(methods.RUNNERS, "CDKM", silent)
    assert {each.reason for each in rows_of([spec(SIMPLE)], path)} == {"MemoryError"}


def test_a_race_in_which_all_fails_ends(path, monkeypatch):
    monkeypatch.setitem(methods.RUNNERS, "FCM", fails)
    assert [each.status for each in rows_of([spec(RACING, seeds=5)], path)] == ["failed"] * 9


def test_what_does_not_apply_is_skipped(path, monkeypatch):
    def never_applies(bench, params, seed):
        raise NotApplicable("not for flowers\nor trees")

    monkeypatch.setitem(methods.RUNNERS, "CDKM", never_applies)
    rows = rows_of([spec(SIMPLE, ANCHORS, seeds=1)], path)
    assert [(each.status, each.reason) for each in rows] == [
        ("skipped", "not for flowers or trees"),
        ("ok", ""),
        ("skipped", "n_anchors must lie between n_clusters=3 and 75, above n_neighbors"),
    ]


def test_a_missing_data_set_is_skipped_and_the_others_run(path):
    rows = rows_of([spec(SIMPLE, SPECTRAL, datasets=["vehicle", "iris"])], path)
    lost = [each for each in rows if each.dataset == "vehicle"]
    assert len(lost) == 6
    assert {each.status for each in lost} == {"skipped"}
    assert all(each.reason.startswith("data set 'vehicle' not found: no file 'vehicle.npz'") for each in lost)
    assert {each.status for each in rows if each.dataset == "iris"} == {"ok"}


def test_warnings_are_noted_in_the_row(path):
    chosen = Method("AFCM", "AFCM-trace", {"n_neighbors": [3], "graph_weight": [1e1, 1e6]})
    hard, soft = rows_of([spec(chosen, seeds=1)], path)
    assert hard.details["warnings"] == ["HardMembershipsWarning", "NotConvergedWarning"]
    assert soft.details["warnings"] == ["NotConvergedWarning"]
    (calm,) = rows_of([spec(SIMPLE, seeds=1)], path)
    assert "warnings" not in calm.details


def test_tasks_and_their_rows_have_the_same_key():
    for task in list_tasks(choose_specs(["table1"], ["iris"], seeds=1), {}):
        assert runner.make_row(task).key == task.key


def test_there_are_as_many_processes_as_cores_unless_told_otherwise(path, monkeypatch):
    asked, original = [], runner.run_groups
    monkeypatch.setattr(
        runner, "run_groups", lambda todo, folder, jobs: asked.append(jobs) or original(todo, folder, 1)
    )
    monkeypatch.setattr(runner, "count_cores", lambda: 17)
    rows_of([spec(SIMPLE)], path, jobs=None)
    rows_of([spec(SPECTRAL)], path, jobs=3)
    assert asked == [17, 3]


# What is shared.


def test_a_graph_is_built_once_for_all_its_fits(path, monkeypatch):
    built, searched, solved = [], [], []
    prepare, nearest, basis = AFCM.prepare, similarity.find_neighbors, eigenbasis.EigenBasis.from_graph
    monkeypatch.setattr(AFCM, "prepare", lambda self, X: built.append(self.n_neighbors) or prepare(self, X))
    monkeypatch.setattr(
        similarity, "find_neighbors", lambda *given, **how: searched.append(given[1]) or nearest(*given, **how)
    )
    monkeypatch.setattr(eigenbasis.EigenBasis, "from_graph", lambda graph: solved.append(graph.shape) or basis(graph))
    trace = Method("AFCM", "AFCM-trace", {"n_neighbors": [5], "graph_weight": [1e4]})
    ablations = (Method("Ablation-1", "Ablation-1", {"n_neighbors": [5, 3]}),)
    specs = [spec(SPECTRAL, PAPER), spec(*ablations, name="table2"), spec(trace, seeds=1, name="convergence")]
    rows = rows_of(specs, path)
    assert len(rows) == 4 + 8 + 4 + 1
    assert {each.status for each in rows} == {"ok"}
    assert sorted(built) == [3, 5]
    assert sorted(searched) == [4, 6]  # one more than k
    assert len(solved) == 2


def test_graphs_are_let_go_after_their_group(path):
    rows_of([spec(SPECTRAL)], path)
    assert not runner.open_workbench("iris", None)._graphs


def test_the_time_of_a_row_is_that_of_its_fit(path, monkeypatch):
    prepare = AFCM.prepare
    monkeypatch.setattr(AFCM, "prepare", lambda self, X: time.sleep(1.0) or prepare(self, X))
    seconds = [each.seconds for each in rows_of([spec(Method("SC", "SC", {"n_neighbors": [3]}))], path)]
    assert all(0 < each < 1.0 for each in seconds)


def test_groups_hold_every_task_once_and_one_graph_each():
    pending = list_tasks(map(read_spec, EXPERIMENTS), {})
    found = group_tasks(pending)
    assert sorted(task.key for group in found for task in group) == sorted(task.key for task in pending)
    graphs = [{(task.dataset, name_graph(task.runner, task.params)) for task in group} for group in found]
    assert all(len(each) == 1 for each in graphs)
    assert len(set.union(*graphs)) == len(graphs)
    costs = [sum(estimate_cost(task.dataset, task.runner) for task in group) for group in found]
    assert costs == sorted(costs, reverse=True)


# The channel between the processes.


class Channel(queue.Queue):
    """A queue whose process dies once it is empty."""

    def get(self, timeout=None):
        try:
            return super().get(timeout=timeout)
        except queue.Empty:
            raise EOFError from None


def futures(*outcomes):
    found = []
    for outcome in outcomes:
        future = Future()
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(None)
        found.append(future)
    return found


def filled(channel):
    for seed in range(3):
        channel.put(row(seed=seed))
    return channel


@pytest.mark.parametrize(
    ("error", "expected"), [(BrokenProcessPool("gone"), WorkerDied), (ZeroDivisionError("by zero"), ZeroDivisionError)]
)
def test_rows_that_were_sent_come_before_the_error(error, expected):
    rows = receive_rows(filled(queue.Queue()), futures(None, error))
    assert [next(rows).seed for _ in range(3)] == [0, 1, 2]
    with pytest.raises(expected):
        next(rows)


def test_the_end_comes_when_all_is_done_and_the_channel_empty():
    assert [each.seed for each in receive_rows(filled(queue.Queue()), futures(None, None))] == [0, 1, 2]


def test_a_channel_that_is_gone_is_a_dead_worker():
    rows = receive_rows(filled(Channel()), [Future()])
    assert [next(rows).seed for _ in range(3)] == [0, 1, 2]
    with pytest.raises(WorkerDied, match="the rows so far are safe: start again to go on"):
        next(rows)


# Dead and killed.


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def test_an_error_while_rows_come_in_ends_the_workers_at_once(path, monkeypatch):
    closed = []

    def rows_in_processes(todo, folder, jobs):
        try:
            yield from runner.run_group(todo[0], folder)
        finally:
            closed.append("workers")

    monkeypatch.setattr(runner, "run_groups", rows_in_processes)
    with pytest.raises(ZeroDivisionError) as caught:  # as long as this holds the traceback nothing is collected
        rows_of([spec(SIMPLE)], path, on_row=lambda row, share: 1 / 0)
    assert closed == ["workers"], caught
    assert len(read_rows(path)) == 1


@pytest.mark.slow
def test_a_killed_worker_is_an_error_that_costs_no_row(path, capfd):
    specs, killed = [spec(SPECTRAL, PAPER, seeds=10)], []

    def kill_one(row, share):
        if not killed:
            victim = next(each for each in multiprocessing.active_children() if each.name.startswith("SpawnProcess"))
            os.kill(victim.pid, SIGKILL)
            killed.append(row)

    with pytest.raises(WorkerDied, match=r"a worker process died \(out of memory\?\); the rows so far are safe: start"):
        rows_of(specs, path, jobs=2, on_row=kill_one)
    kept = read_rows(path)
    assert content(killed).items() <= content(kept).items()
    assert len(kept) < 60
    wait_until(lambda: not multiprocessing.active_children())
    assert "Traceback" not in capfd.readouterr().err
    rows = rows_of(specs, path)
    assert len(rows) == len(read_rows(path)) == 60
    assert content(kept).items() <= content(rows).items()


ARGUMENTS = ["reproduce", "--experiment", "table1", "--only", "iris", "--method", "SC,CDKM,FCM", "--seeds", "3"]


def start(folder, jobs):
    command = [sys.executable, "-m", "afcm.cli", *ARGUMENTS, "--out", "out", "--jobs", str(jobs)]
    errors = (folder / "errors.txt").open("a")
    with errors:
        return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True)


def n_rows(folder):
    path = folder / "out" / "rows.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def alive(session):
    """Processes of a session that have not ended, by way of /proc."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its_session = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:  # it has just ended
            continue
        if its_session == str(session) and state not in "ZX":
            found.append(int(stat.parent.name))
    return found


def kill(process, folder):
    """SIGKILL; what was on the disk is still there, and nobody is left behind."""
    before = (folder / "out" / "rows.jsonl").read_bytes() if n_rows(folder) else b""
    workers = alive(process.pid)
    process.kill()
    process.wait()
    after = (folder / "out" / "rows.jsonl").read_bytes() if n_rows(folder) else b""
    assert after.startswith(before[: before.rfind(b"\n") + 1])
    wait_until(lambda: not alive(process.pid))
    return len(workers)


def report_of(folder):
    text = (folder / "out" / "report.md").read_text(encoding="utf-8")
    tables = [(folder / "out" / f"{name}.csv").read_bytes() for name in ("table1", "table2", "ours")]
    return text.replace("--jobs 1", "--jobs 2"), tables


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for left-over processes in /proc")
def test_a_run_killed_at_any_moment_goes_on_and_ends_in_the_same_report(tmp_path):
    straight, stopped = tmp_path / "straight", tmp_path / "stopped"
    straight.mkdir()
    stopped.mkdir()
    assert start(straight, jobs=1).wait(PATIENCE) == 0

    process = start(stopped, jobs=2)
    time.sleep(moment := random.uniform(0.0, 3.0))  # somewhere in its beginnings
    print(f"killed after {moment:.3f} s with {n_rows(stopped)} rows")  # seen if the test fails
    kill(process, stopped)
    n_workers = 0
    for _ in range(2):
        process, goal = start(stopped, jobs=2), n_rows(stopped) + random.randint(1, 20)
        wait_until(lambda process=process, goal=goal: n_rows(stopped) >= goal or process.poll() is not None)
        time.sleep(random.uniform(0.0, 0.02))
        print(f"killed at {n_rows(stopped)} rows")
        n_workers = max(n_workers, kill(process, stopped))
    assert n_workers >= 4  # the test did see the run, its workers and their manager
    assert start(stopped, jobs=2).wait(PATIENCE) == 0, (stopped / "errors.txt").read_text()

    expected, found = (read_rows(folder / "out" / "rows.jsonl") for folder in (straight, stopped))
    assert len(found) == len({each.key for each in found}) == len(expected)
    assert content(found) == content(expected)
    assert report_of(stopped) == report_of(straight)
