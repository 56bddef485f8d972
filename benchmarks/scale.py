"""Dask: strong and weak scaling over workers, what a task costs, and samples eight times the workers' memory.

``make bench NAME=scale`` prints the tables of docs/scale.md (some minutes, 10 GB in the folder for temporary files).
Workers are processes of one thread on this machine; X is a Zarr array in the file cache.
"""

from __future__ import annotations

import logging
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

D, C, SWEEPS = 16, 10, 6
STRONG_ROWS, WEAK_ROWS, CHUNK_ROWS = 4_000_000, 1_000_000, 250_000
WORKERS = (1, 2, 4)
# Out of core: workers, the limit of each (a worker with our libraries is at 0.3 GB before it has seen a sample), X.
N_WORKERS, LIMIT, TIMES = 2, 640 * 2**20, 8


@contextmanager
def start_cluster(n_workers: int, memory_limit: int = 0) -> Iterator[Any]:
    """A scheduler and worker processes over TCP, in use until the end of the block."""
    from distributed import Client, LocalCluster

    how = {"threads_per_worker": 1, "processes": True, "protocol": "tcp://", "host": "127.0.0.1"}
    quiet = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with (
        LocalCluster(n_workers=n_workers, memory_limit=memory_limit, **how, **quiet) as started,
        Client(started) as client,
    ):
        yield client


def make_centers() -> np.ndarray:
    return 2 * np.random.default_rng(1).standard_normal((C, D))


def draw_chunk(ones: np.ndarray, block_info: Any = None) -> np.ndarray:
    """Draw ten overlapping Gaussians, differently for each chunk."""
    rng = np.random.default_rng(block_info[0]["chunk-location"][0])
    return make_centers()[rng.integers(C, size=len(ones))] + rng.standard_normal(ones.shape)


def store_samples(folder: str, n_rows: int) -> Any:
    """Write X to disk unless it is there, and open it."""
    import dask
    import dask.array as da
    import zarr

    path = Path(folder) / str(n_rows)
    if not path.exists():
        X = da.ones((n_rows, D), chunks=(CHUNK_ROWS, D)).map_blocks(draw_chunk, dtype=float, meta=np.empty((0, 0)))
        target = zarr.create_array(path, shape=X.shape, chunks=X.chunksize, dtype=X.dtype, compressors=None)
        with dask.config.set(scheduler="threads"):
            X.store(target, lock=False)
    return da.from_zarr(path)


def time_sweeps(X: Any, n_sweeps: int = SWEEPS) -> tuple[float, float]:
    """Median seconds of a sweep of PlainAFCM, and seconds of the whole fit."""
    from afcm import PlainAFCM

    times: list[float] = []
    model = PlainAFCM(
        C, init=make_centers() + 0.5, max_iter=n_sweeps, tol=0, callback=lambda _: times.append(time.perf_counter())
    )
    with warnings.catch_warnings():  # so many sweeps and no more is what we ask for
        warnings.simplefilter("ignore")
        begin = time.perf_counter()
        model.fit(X)
    return statistics.median(np.diff(times)), time.perf_counter() - begin


def measure_scaling(folder: str) -> None:
    chunk = f"chunks of {CHUNK_ROWS:,} rows ({CHUNK_ROWS * D * 8 / 2**20:.0f} MiB)"
    print(f"PlainAFCM, d={D}, c={C}, float64, {chunk}; {os.cpu_count()} cores")
    print(f"{'workers':>8}{'strong n':>12}{'s/sweep':>9}{'speed-up':>9}{'weak n':>12}{'s/sweep':>9}{'efficiency':>11}")
    first: list[float] = []
    for count in WORKERS:
        with start_cluster(count):
            time_sweeps(store_samples(folder, CHUNK_ROWS * count), 2)  # libraries are loaded, loops compiled
            strong, _ = time_sweeps(store_samples(folder, STRONG_ROWS))
            weak, _ = time_sweeps(store_samples(folder, WEAK_ROWS * count))
        first = first or [strong, weak]
        row = (first[0] / strong, WEAK_ROWS * count, weak, first[1] / weak)
        print(
            f"{count:8}{STRONG_ROWS:12,}{strong:9.2f}{row[0]:9.2f}{row[1]:12,}{row[2]:9.2f}{row[3]:11.2f}", flush=True
        )


def measure_tasks() -> None:
    """Time chunks of 100 rows: what remains is the cost of a task for scheduler and client."""
    import dask.array as da

    print(f"\n{'chunks':>8}{'s/sweep':>9}{'ms/chunk':>10}   (chunks of 100 rows: the cost of tasks alone, 2 workers)")
    with start_cluster(2):
        for count in (100, 1_000, 2_000):
            X = da.ones((100 * count, D), chunks=(100, D)).map_blocks(draw_chunk, dtype=float, meta=np.empty((0, 0)))
            sweep, _ = time_sweeps(X, 3)
            print(f"{count:8,}{sweep:9.2f}{1000 * sweep / count:10.2f}", flush=True)


def measure_out_of_core(folder: str) -> None:
    """Fit X eight times as large as all workers' memory limits together."""
    import resource

    n_rows = -(-TIMES * N_WORKERS * LIMIT // (8 * D) // CHUNK_ROWS) * CHUNK_ROWS
    X = store_samples(folder, n_rows)
    with start_cluster(N_WORKERS, LIMIT) as client:
        sweep, seconds = time_sweeps(X, 3)
        peaks = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        spilled = client.run(lambda dask_worker: dask_worker.data.spilled_total.disk, wait=True)
    size, limit = X.nbytes / 2**30, f"{N_WORKERS} workers of {LIMIT / 2**20:.0f} MiB"
    print(f"\nout of core: X {size:.1f} GiB on disk, {limit}: {X.nbytes / (N_WORKERS * LIMIT):.1f} times their memory")
    print(f"fit of 3 sweeps {seconds:.0f} s, a sweep {sweep:.0f} s, {size / sweep:.2f} GiB/s")
    print("peak memory of the workers: " + ", ".join(f"{peak:.0f} MiB" for peak in peaks.values()))
    print(f"spilled to disk: {sum(spilled.values())} bytes", flush=True)


def measure_anchors(folder: str) -> None:
    """Fit AFCM on an anchor graph; each pass makes the samples' weights on the anchors again."""
    from afcm import AFCM

    X = store_samples(folder, WEAK_ROWS)
    with start_cluster(2), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        AFCM(C, graph="anchors", random_state=0).fit(X[:CHUNK_ROWS])  # libraries are loaded, loops compiled
        begin = time.perf_counter()
        model = AFCM(C, graph="anchors", random_state=0).fit(X)
        seconds = time.perf_counter() - begin
    how = f"{model.n_anchors_} anchors, {model.n_iter_} sweeps, 2 workers"
    print(f"\nAFCM(graph='anchors'), n={X.shape[0]:,}: {seconds:.1f} s ({how})", flush=True)


def main() -> None:
    try:
        import distributed  # noqa: F401
        import zarr  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}; install afcm[dask]")
        return
    with tempfile.TemporaryDirectory() as folder:
        measure_scaling(folder)
        measure_tasks()
        measure_anchors(folder)
        measure_out_of_core(folder)


if __name__ == "__main__":
    main()
