"""On a real cluster over TCP: the same result, whatever happens to the workers."""

from __future__ import annotations

import os

import numpy as np
import pytest

from afcm import EntropyFCM, PlainAFCM

dask = pytest.importorskip("dask", reason="the extra afcm[dask] is not installed")
da = pytest.importorskip("dask.array", reason="the extra afcm[dask] is not installed")

SIGKILL = 9  # by number: Windows, which has no signals, ends a process for it all the same


def deadly(rows, trigger):
    """A chunk that ends its worker, once each time the trigger is set."""
    try:
        os.rename(trigger, f"{trigger}-{os.getpid()}")
    except FileNotFoundError:
        return rows
    os.kill(os.getpid(), SIGKILL)
    return rows


def test_workers_are_processes_that_talk_over_tcp(client):
    pids = client.run(os.getpid)
    assert len(set(pids.values()) | {os.getpid()}) == 4
    assert all(address.startswith("tcp://") for address in pids)


@pytest.mark.parametrize(
    "model", [PlainAFCM(4, random_state=0, n_init=1), EntropyFCM(4, random_state=0, n_init=1)], ids=str
)
def test_a_fit_on_the_cluster_is_the_fit_in_memory(client, blobs, model):
    there = model.fit(da.from_array(blobs, chunks=((1, 300, 0, 399), 5))).memberships_.compute()
    assert np.abs(there - model.fit(blobs).memberships_).max() <= 1e-10


def test_workers_killed_in_the_middle_of_a_sweep_and_at_the_end(client, blobs, tmp_path):
    trigger = tmp_path / "now"
    before = set(client.run(os.getpid).values())

    def kill(iteration):
        if iteration.index == 2 or iteration.converged:
            trigger.touch()

    chunks = da.from_array(blobs, chunks=(100, 5)).map_blocks(deadly, str(trigger), dtype=float, meta=np.empty((0, 0)))
    model = PlainAFCM(4, random_state=0, n_init=1, callback=kill).fit(chunks)
    assert len(list(tmp_path.iterdir())) == 2  # two were killed
    here = PlainAFCM(4, random_state=0, n_init=1).fit(blobs)
    assert model.n_iter_ == here.n_iter_
    assert np.abs(model.memberships_.compute() - here.memberships_).max() <= 1e-10
    client.wait_for_workers(3)
    assert before - set(client.run(os.getpid).values())


def test_an_error_in_a_chunk_is_that_error(client, blobs):
    model = PlainAFCM(4, random_state=0, n_init=1).fit(blobs)
    spoiled = da.from_array(np.where(blobs > blobs.max() - 1e-9, np.nan, blobs), chunks=(100, 5))
    with pytest.raises(ValueError, match="NaN or infinity"):
        model.predict(spoiled).sum().compute()
    with pytest.raises(ValueError, match="NaN or infinity"):
        PlainAFCM(4).fit(spoiled)


def peak():
    """The most memory this process has had, in MB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def on_disk(rows, folder, store):
    """Three blobs of 32 columns, in a file or folder per chunk."""
    X = da.ones((rows, 32), chunks=(8_000, 32)).map_blocks(noisy, dtype=float, meta=np.empty((0, 0)))
    if store == "zarr":
        pytest.importorskip("zarr", reason="the extra afcm[dask] is not installed")
        X.to_zarr(folder / "X")
        return da.from_zarr(folder / "X")
    pq = pytest.importorskip("pyarrow.parquet", reason="the extra afcm[dask] is not installed")
    dd = pytest.importorskip("dask.dataframe", reason="the extra afcm[dask] is not installed")
    import pyarrow as pa

    for number, block in enumerate(X.blocks):
        table = pa.table({f"x{j}": column for j, column in enumerate(block.compute().T)})
        pq.write_table(table, folder / f"part.{number:03}.parquet")
    return dd.read_parquet(folder)


def noisy(ones):
    rng = np.random.default_rng(len(ones))
    return ones * 4 * rng.integers(3, size=(len(ones), 1)) + rng.standard_normal(ones.shape)


@pytest.mark.parametrize(("store", "n_rows"), [("zarr", 240_000), ("parquet", 80_000)])
def test_samples_on_disk_never_come_into_memory_together(client, tmp_path, store, n_rows):
    with dask.config.set(scheduler="synchronous"):
        X = on_disk(n_rows, tmp_path, store)
    model = PlainAFCM(3, init=np.arange(3)[:, None] * 4 + np.zeros((3, 32)))
    model.fit(X[:24_000] if store == "zarr" else X.partitions[:3])  # what libraries need, once
    before = client.run(peak)
    assert model.fit(X).converged_
    after = client.run(peak)
    assert max(after[worker] - before[worker] for worker in before) <= 30  # Zarr: X is 59 MB, a chunk 2
