"""A real cluster for the tests that need one: a scheduler and three worker processes that talk over TCP."""

from __future__ import annotations

import logging

import numpy as np
import pytest


@pytest.fixture(scope="session")
def blobs():
    """Overlapping blobs, 700×5: every membership has a say."""
    rng = np.random.default_rng(3)
    centers = 4 * rng.standard_normal((4, 5))
    return centers[rng.integers(4, size=700)] + 2 * rng.standard_normal((700, 5))


@pytest.fixture(scope="package")
def cluster():
    """Scheduler and workers, which a nanny each starts again when they die."""
    distributed = pytest.importorskip("distributed", reason="the extra afcm[dask] is not installed")
    options = {"n_workers": 3, "threads_per_worker": 1, "processes": True, "protocol": "tcp://", "host": "127.0.0.1"}
    quiet = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with (
        distributed.LocalCluster(**options, **quiet, memory_limit=0) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(cluster):
    """The cluster in use, with all its workers."""
    import dask

    cluster.wait_for_workers(3)
    with dask.config.set(scheduler=cluster):
        yield cluster
