"""Cluster samples on disk with a Dask cluster: a scheduler and three worker processes on this machine, over TCP.

    python examples/dask_cluster.py            # needs afcm[dask]

The samples never come into memory together, and a fit that loses all its workers goes on from its checkpoint when the
script is run again. On a cluster of machines only the `Client` line changes.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from afcm import AFCM, PlainAFCM
from afcm.checkpoints import Checkpoint


def samples(n_samples: int, path: Path) -> da.Array:
    """Four blobs in 8 columns, written to a Zarr array chunk by chunk."""
    rng = da.random.default_rng(0)
    blobs = rng.integers(4, size=n_samples, chunks=50_000)
    centers = 6 * np.random.default_rng(1).standard_normal((4, 8))
    X = rng.standard_normal((n_samples, 8), chunks=(50_000, 8)) + blobs.map_blocks(
        lambda labels: centers[labels], chunks=(blobs.chunks[0], (8,)), new_axis=1, dtype=float
    )
    X.to_zarr(path)
    return da.from_zarr(path)


def main(n_samples: int = 400_000) -> None:
    """Fit two models and write the labels, chunk by chunk."""
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=3, threads_per_worker=1, protocol="tcp://", dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        X = samples(n_samples, Path(folder) / "X")
        print(f"X: {X.nbytes / 2**20:.0f} MiB in {X.npartitions} chunks, {len(client.nthreads())} workers")

        checkpoint = Checkpoint(Path(folder) / "fit.ckpt", seconds=60)
        plain = PlainAFCM(4, n_init=2, random_state=0, callback=checkpoint).fit(X)
        print(f"PlainAFCM: {plain.n_iter_} sweeps, γ = {plain.gamma_:.3f}, memberships {plain.membership_state_}")
        print(f"memberships are lazy: {plain.memberships_}")

        graph = AFCM(4, graph="anchors", n_anchors=200, random_state=0).fit(X)
        agreement = [(plain.labels_[graph.labels_ == j] == k).mean() for j in range(4) for k in range(4)]
        best = np.reshape(da.compute(*agreement), (4, 4)).max(axis=1)
        print(f"AFCM: {graph.n_iter_} sweeps, normalised cut {graph.normalized_cut_:.4f}, agreement {best.min():.4f}")

        plain.labels_.to_zarr(Path(folder) / "labels")
        print("labels written, chunk by chunk")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
