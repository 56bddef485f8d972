"""All workers gone: an error that names the way out, and a fit that goes on from its checkpoint."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from afcm import PlainAFCM
from afcm.checkpoints import Checkpoint
from afcm.exceptions import WorkersLostError

dask = pytest.importorskip("dask", reason="the extra afcm[dask] is not installed")
da = pytest.importorskip("dask.array", reason="the extra afcm[dask] is not installed")
distributed = pytest.importorskip("distributed", reason="the extra afcm[dask] is not installed")

from distributed.comm import CommClosedError  # noqa: E402
from distributed.scheduler import KilledWorker  # noqa: E402

from afcm.arrays import dask_execution  # noqa: E402

SIGKILL = 9  # by number: Windows, which has no signals, ends a process for it all the same


@contextmanager
def workers(address, count):
    """Worker processes that nobody starts again."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1"]
    own_core = {"env": os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}}  # as nannies do
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **own_core}
    started = [subprocess.Popen([*command, "--no-dashboard"], **silent) for _ in range(count)]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.fixture
def scheduler():
    """A scheduler without workers, and its client."""
    quiet = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    options = {"n_workers": 0, "processes": True, "protocol": "tcp://", "host": "127.0.0.1"}
    with (
        distributed.LocalCluster(**options, **quiet) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        dask.config.set({"scheduler": client, "distributed.scheduler.no-workers-timeout": "1s"}),
    ):
        yield client


@pytest.mark.slow
def test_all_workers_killed_then_resumed(scheduler, blobs, tmp_path):
    chunks, sweeps = da.from_array(blobs, chunks=(100, 5)), []
    address = scheduler.cluster.scheduler_address

    with workers(address, 3) as started:
        scheduler.wait_for_workers(3)

        def kill(iteration):
            sweeps.append(iteration.index)
            if iteration.index == 3:
                for process in started:
                    process.kill()

        checkpoint = Checkpoint(tmp_path / "fit.ckpt", every=1, callback=kill)
        with pytest.raises(WorkersLostError, match=r"no worker for 1 s.*Checkpoint") as caught:
            PlainAFCM(4, init=blobs[:4], callback=checkpoint).fit(chunks)
        assert address in str(caught.value)
    assert sweeps == [1, 2, 3]

    with workers(address, 1):
        scheduler.wait_for_workers(1)
        resumed = Checkpoint(tmp_path / "fit.ckpt", callback=lambda iteration: sweeps.append(iteration.index))
        model = PlainAFCM(4, init=blobs[:4], callback=resumed).fit(chunks)
        memberships = model.memberships_.compute()
    assert sweeps == list(range(1, model.n_iter_ + 1))  # it went on, it did not start over
    here = PlainAFCM(4, init=blobs[:4]).fit(blobs)
    assert model.n_iter_ == here.n_iter_ > 3
    assert np.abs(memberships - here.memberships_).max() <= 1e-10


def test_a_chunk_that_kills_every_worker_is_told(scheduler, blobs, monkeypatch):
    monkeypatch.setattr(scheduler.cluster.scheduler, "allowed_failures", 0)
    with workers(scheduler.cluster.scheduler_address, 1):
        scheduler.wait_for_workers(1)
        deadly = da.from_array(blobs, chunks=(350, 5)).map_blocks(end, dtype=float, meta=np.empty((0, 0)))
        with pytest.raises(WorkersLostError, match=r"died while running it.*smaller chunks"):
            PlainAFCM(4, init=blobs[:4]).fit(deadly)


def end(rows):
    os.kill(os.getpid(), SIGKILL)
    return rows


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KilledWorker("sum", SimpleNamespace(address="tcp://w"), 3), "on 4 different workers, but all .* died"),
        (distributed.CancelledError("sum"), "the connection to the scheduler broke .CancelledError."),
        (CommClosedError("reset"), "the connection to the scheduler broke .CommClosedError."),
    ],
)
def test_what_a_broken_cluster_raises_is_told_with_the_way_out(monkeypatch, error, words):
    monkeypatch.setattr(dask_execution, "wait_briefly", lambda *_: True)
    client = SimpleNamespace(scheduler=SimpleNamespace(address="tcp://far:8786"))
    future = Mock(**{"result.side_effect": error})
    with pytest.raises(WorkersLostError, match=f"tcp://far:8786.*{words}.*fit again.*Checkpoint") as caught:
        dask_execution.wait_for(client, future)
    assert caught.value.__cause__ is error
    future.cancel.assert_called_once_with()


def test_an_error_of_the_task_itself_is_passed_on(monkeypatch):
    monkeypatch.setattr(dask_execution, "wait_briefly", lambda *_: True)
    future = Mock(**{"result.side_effect": ValueError("X contains NaN")})
    with pytest.raises(ValueError, match="X contains NaN"):
        dask_execution.wait_for(None, future)
    future.cancel.assert_called_once_with()
