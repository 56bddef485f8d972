"""Runs tasks in several processes; rows come back one by one, as they finish."""

from __future__ import annotations

import multiprocessing
import os
import platform
import queue
import signal
import threading
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import cache
from importlib.metadata import version
from multiprocessing.connection import wait
from multiprocessing.managers import SyncManager
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from afcm._util.messages import to_one_line
from afcm._util.version import __version__
from afcm.datasets import DatasetNotFound
from afcm.experiments import methods
from afcm.experiments.methods import NotApplicable, Workbench
from afcm.experiments.plan import Spec, Task, list_tasks
from afcm.experiments.record import METRICS, Row, RowStore
from afcm.metrics import adjusted_rand, clustering_accuracy, normalized_mutual_info

open_workbench = cache(Workbench)  # a process works on one data set after the other and may come back to one
Group = list[Task]
DIED = (
    "a worker process died (out of memory?); the rows so far are safe: start again to go on, with fewer --jobs if "
    "memory is short"
)


class WorkerDied(RuntimeError):
    """A worker process was killed or crashed."""


def reproduce(
    specs: Iterable[Spec],
    store: RowStore,
    *,
    folder: str | None = None,
    jobs: int | None = None,
    on_plan: Callable[[float], object] | None = None,
    on_row: Callable[[Row, float], object] | None = None,
) -> list[Row]:
    """Run whatever of the specs is not in the store, and return all their rows.

    Parameters
    ----------
    specs : iterable of Spec
    store : RowStore
        Open. Rows in it are not run again.
    folder : str, optional
        Where the data sets are.
    jobs : int, optional
        Processes; by default as many as there are cores.
    on_plan, on_row : callable, optional
        Called with the rough cost of what is to be done, and with each row and its share of that.

    Returns
    -------
    list of Row

    Raises
    ------
    WorkerDied
        If a process was killed. The rows so far are in the store.
    StoreError
        If a row cannot be written.
    """
    specs, absent = list(specs), dict[str, Row]()  # what cannot be read today may be there tomorrow: not stored
    while pending := [t for t in list_tasks(specs, store.rows) if t.key not in store.rows and t.key not in absent]:
        cost = {task.key: methods.estimate_cost(task.dataset, task.runner) for task in pending}
        if on_plan is not None:
            on_plan(sum(cost.values()))
        rows = run_groups(group_tasks(pending), folder, jobs or count_cores())
        with closing(rows):  # an error here ends the workers too
            for row in rows:
                if row.details.get("absent"):
                    absent[row.key] = row
                else:
                    store.append(row)
                if on_row is not None:
                    on_row(row, cost[row.key])
    found = absent | store.rows
    return [found[task.key] for task in list_tasks(specs, store.rows)]


def group_tasks(pending: Iterable[Task]) -> list[Group]:
    """Put tasks that share a graph together, the longest group first."""
    found: defaultdict[tuple[str, str], Group] = defaultdict(list)
    for task in pending:
        found[task.dataset, methods.name_graph(task.runner, task.params)].append(task)
    costs = {key: sum(methods.estimate_cost(t.dataset, t.runner) for t in group) for key, group in found.items()}
    return [found[key] for key in sorted(found, key=lambda key: (-costs[key], key))]


def count_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_groups(todo: list[Group], folder: str | None, jobs: int) -> Generator[Row, None, None]:
    """Run all groups, and yield rows in the order in which they finish."""
    if jobs == 1:
        for group in todo:
            yield from run_group(group, folder)
        return
    context = multiprocessing.get_context("spawn")
    manager = SyncManager(ctx=context)
    manager.start(initializer=end_with_parent)
    pool = ProcessPoolExecutor(min(jobs, len(todo)), mp_context=context, initializer=end_with_parent)
    try:
        channel = manager.Queue()
        futures = [pool.submit(send_rows, group, folder, channel) for group in todo]
        yield from receive_rows(channel, futures)
    finally:
        workers = list((getattr(pool, "_processes", None) or {}).values())  # shutdown forgets them
        pool.shutdown(wait=False, cancel_futures=True)
        for process in workers:
            process.terminate()
        manager.shutdown()


def receive_rows(channel: Any, futures: list[Future[None]]) -> Iterator[Row]:
    """Yield rows from the channel until every group is done and the channel empty."""
    while True:
        finished = all(future.done() for future in futures)
        try:
            yield channel.get(timeout=0.0 if finished else 0.2)
            continue
        except queue.Empty:
            failures = [error for future in futures if future.done() and (error := future.exception())]
        except (EOFError, ConnectionError) as error:  # the channel's own process is gone
            raise WorkerDied(DIED) from error
        if failures and isinstance(failures[0], BrokenProcessPool):
            raise WorkerDied(DIED) from failures[0]
        if failures:
            raise failures[0]
        if finished:
            return


def end_with_parent() -> None:
    """Prepare a worker: one thread for linear algebra, and no life without the parent, even if that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent as well, and that ends the workers
    threadpool_limits(1)
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def send_rows(group: Group, folder: str | None, channel: Any) -> None:
    for row in run_group(group, folder):
        channel.put(row)


def run_group(group: Group, folder: str | None) -> Iterator[Row]:
    try:
        bench = open_workbench(group[0].dataset, folder)
    except DatasetNotFound as error:
        for task in group:
            yield make_row(task, status="skipped", reason=to_one_line(error), details={"absent": True})
        return
    with threadpool_limits(1):
        for task in group:
            yield run_task(task, bench)
    bench.forget()


def run_task(task: Task, bench: Workbench) -> Row:
    """Run one task; a failure is a row too."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            begin, shared = time.perf_counter(), bench.seconds
            model, details = methods.RUNNERS[task.runner](bench, task.params, task.seed)
            seconds = time.perf_counter() - begin - (bench.seconds - shared)
    except NotApplicable as error:
        return make_row(task, status="skipped", reason=to_one_line(error))
    except Exception as error:  # a failure is a result; the run goes on
        name, said = type(error).__name__, to_one_line(error)
        return make_row(task, status="failed", reason=name if said == name else f"{name}: {said}")
    names = sorted({warning.category.__name__ for warning in caught})
    details = describe_model(model) | details | ({"warnings": names} if names else {})  # a runner's own words count
    found = (metric(bench.y, model.labels_) for metric in (clustering_accuracy, normalized_mutual_info, adjusted_rand))
    metrics = {name: 100 * float(value) for name, value in zip(METRICS, found, strict=True)}
    return make_row(task, metrics=metrics, seconds=round(seconds, 4), details=details)


def make_row(task: Task, **content: Any) -> Row:
    names = ("experiment", "dataset", "method", "params", "seed")
    return Row(**{name: getattr(task, name) for name in names}, versions=list_versions(), **content)


def describe_model(model: Any) -> dict[str, Any]:
    names = ("n_iter_", "converged_", "gamma_", "membership_state_", "n_components_", "graph_weight_")
    found = {name[:-1]: getattr(model, name) for name in names if getattr(model, name, None) is not None}
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in found.items()}


@cache
def list_versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"afcm": __version__, "python": platform.python_version(), **packages}
