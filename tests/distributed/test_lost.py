"""All workers gone: an error that names the way out, and a fit that goes on from its checkpoint."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

from afcm import PlainAFCM
from afcm.checkpoints import Checkpoint
from afcm.exceptions import WorkersLostError

dask = pytest.importorskip("dask", reason="the extra afcm[dask] is not installed")
da = pytest.importorskip("dask.array", reason="the extra afcm[dask] is not installed")
distributed = pytest.importorskip("distributed", reason="the extra afcm[dask] is not installed")


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


def test_a_chunk_that_kills_every_worker_is_told(scheduler, blobs):
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        workers(scheduler.cluster.scheduler_address, 1),
    ):
        scheduler.wait_for_workers(1)
        deadly = da.from_array(blobs, chunks=(350, 5)).map_blocks(end, dtype=float, meta=np.empty((0, 0)))
        with pytest.raises(WorkersLostError, match="smaller chunks"):
            PlainAFCM(4, init=blobs[:4]).fit(deadly)


def end(rows):
    os.kill(os.getpid(), signal.SIGKILL)
    return rows
