"""What a sweep costs the cluster: tasks, and numbers that travel, counted."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from afcm import FCM
from afcm.models.passes import merge_results
from afcm.models.plain import PlainProblem

dask = pytest.importorskip("dask", reason="the extra afcm[dask] is not installed")
da = pytest.importorskip("dask.array", reason="the extra afcm[dask] is not installed")


def sweep(n_chunks, d=5, c=4, rows=10):
    """The graph of one look at so many chunks, which are made by three layers of tasks."""
    from afcm.arrays.dask_passes import build_method_reduction

    X = (da.ones((rows * n_chunks, d), chunks=(rows, d)) + 1) * 2
    centers = np.zeros((c, d))
    return build_method_reduction(PlainProblem(X, None), "scan", (centers, 1.0, (centers, 1.0)), merge_results)


@pytest.mark.parametrize("n_chunks", [1, 7, 64, 300])
def test_tasks_of_a_sweep_grow_with_the_chunks_alone(n_chunks):
    tasks = len(dict(sweep(n_chunks).__dask_graph__()))
    # one a chunk (loading is part of it), one for the centres, a tree of eights
    assert n_chunks + 1 <= tasks <= n_chunks * 8 / 7 + 4


def test_loading_fuses_with_looking():
    names = [str(key) for key in dict(sweep(64).__dask_graph__())]
    assert all("afcm-scan" in name for name in names)


def test_chunks_that_are_kept_need_one_more_task_each():
    from afcm.arrays.dask_passes import build_method_reduction

    X = da.from_array(np.ones((640, 5)), chunks=(10, 5))
    reduction = build_method_reduction(PlainProblem(X, None), "scan", (np.zeros((4, 5)), 1.0, None), merge_results)
    tasks = len(dict(reduction.__dask_graph__()))
    assert tasks <= 64 * 8 / 7 + 4 + len(dict(X.__dask_graph__()))


def test_what_is_sent_to_the_scheduler_does_not_hold_the_centres_once_a_chunk():
    few, many = (len(pickle.dumps(dict(sweep(100, d=d, c=c).__dask_graph__()))) for d, c in ((4, 2), (40, 20)))
    assert (
        many - few <= 100 * 400 + 3 * 8 * 40 * 20
    )  # a task is as long whatever the model; the centres are there twice


def results(n_chunks, d, c):
    """Bytes that each task of one look gives."""
    from dask.callbacks import Callback

    found = {}

    def note(key, value, *_):
        found[key] = len(pickle.dumps(value))

    with Callback(posttask=note), dask.config.set(scheduler="synchronous"):
        sweep(n_chunks, d=d, c=c, rows=50).compute()
    return found


@pytest.mark.parametrize(("d", "c"), [(3, 2), (30, 20)])
def test_no_task_gives_more_than_the_statistics(d, c):
    found = results(20, d, c)
    assert len(found) >= 20
    assert max(found.values()) <= 8 * (c * d + c) + 1000  # numbers of the statistics, and what a pickle adds


def test_a_fit_on_a_cluster_runs_one_task_a_chunk_and_sweep(client, blobs):
    """Counted by the scheduler itself: how many tasks ran, and how large what they left was."""
    from distributed.diagnostics.plugin import SchedulerPlugin

    class Counter(SchedulerPlugin):
        name = "counter"

        def __init__(self):
            self.sizes = {}

        def transition(self, key, start, finish, *args, **kwargs):
            if finish == "memory":
                self.sizes[str(key)] = kwargs.get("nbytes", 0)

    counter, chunks = Counter(), da.from_array(blobs, chunks=(70, 5))
    client.cluster.scheduler.add_plugin(counter)
    try:
        model = FCM(4, random_state=0, n_init=1).fit(chunks)
    finally:
        client.cluster.scheduler.remove_plugin("counter")
    looks = {key: size for key, size in counter.sizes.items() if key.startswith("('afcm-scan-")}
    parts = [key for key in looks if "-sum" not in key]
    assert len(parts) == 10 * (model.n_iter_ + 1)
    assert len(looks) <= len(parts) + 3 * (model.n_iter_ + 1)
    assert max(looks.values()) <= 8 * (4 * 5 + 4) + 1500


def test_a_look_has_the_same_cost_with_weights(blobs):
    from afcm.arrays.dask_passes import build_method_reduction

    X, weights = da.ones((700, 5), chunks=(70, 5)), da.ones(700, chunks=70)
    graph = build_method_reduction(
        PlainProblem(X, weights), "scan", (blobs[:4], 1.0, None), merge_results
    ).__dask_graph__()
    assert len(dict(graph)) <= 10 * 8 / 7 + 5
