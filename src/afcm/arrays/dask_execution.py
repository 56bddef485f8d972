"""Run Dask graphs on the cluster in use or on this machine's threads; a cluster without workers is an error."""

from __future__ import annotations

import sys
import time
from typing import Any

import dask
from dask.base import get_scheduler
from dask.utils import parse_timedelta

from afcm._util.messages import to_one_line
from afcm._util.threads import one_blas_thread
from afcm.exceptions import WorkersLostError

# How often to look whether the cluster still has workers while waiting, and how long to wait for one to come (unless
# Dask's own setting says): a worker that died is replaced within seconds, a machine within a minute.
LOOK_EVERY, PATIENCE = 1.0, "60s"
PATIENCE_SETTING = "distributed.scheduler.no-workers-timeout"


def compute(collection: Any) -> Any:
    """The value of a Dask collection; raises `WorkersLostError` if the cluster is lost."""
    client = find_client(collection)
    if client is not None:
        return wait_for(client, client.compute(collection))
    with one_blas_thread():  # each of Dask's threads has a core already
        return collection.compute()


def find_client(collection: Any) -> Any:
    """The client of the cluster that the collection would run on; None on this machine."""
    distributed = sys.modules.get("distributed")
    owner = getattr(get_scheduler(collections=[collection]), "__self__", None)
    return owner if distributed is not None and isinstance(owner, distributed.Client) else None


def wait_for(client: Any, future: Any) -> Any:
    """The result of a future. Errors of a lost cluster become a `WorkersLostError` that says what to do."""
    from distributed import CancelledError
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker, NoValidWorkerError

    try:
        return poll(client, future)
    except (KilledWorker, NoValidWorkerError) as error:
        raise workers_lost(client, to_one_line(error, 200)) from error
    except (CancelledError, CommClosedError) as error:
        raise workers_lost(client, f"the connection to the scheduler broke ({type(error).__name__})") from error
    finally:
        future.cancel()


def poll(client: Any, future: Any) -> Any:
    """Wait for the result as long as the cluster has workers, or is likely to have some again."""
    patience = parse_timedelta(dask.config.get(PATIENCE_SETTING, None) or PATIENCE)
    seen = time.monotonic()
    while not wait_briefly(client, future):
        if client.nthreads():
            seen = time.monotonic()
        elif time.monotonic() - seen > patience:
            raise workers_lost(client, f"there has been no worker for {patience:g} s")
    return future.result()


def wait_briefly(client: Any, future: Any) -> bool:
    """Wait for `LOOK_EVERY` seconds at most; True if the future is done or has failed."""
    from distributed import wait

    try:
        with client.as_current():
            wait([future], timeout=LOOK_EVERY)
    except TimeoutError:
        return False
    return True


def workers_lost(client: Any, why: str) -> WorkersLostError:
    address = getattr(client.scheduler, "address", "?")
    return WorkersLostError(
        f"the Dask cluster at {address} cannot go on with the fit: {why}. Nothing of X is lost: bring the workers back "
        "(with more memory or smaller chunks if memory ended them) and fit again; with callback=Checkpoint(path) from "
        "afcm.checkpoints the fit continues from its last checkpoint instead of starting over"
    )
