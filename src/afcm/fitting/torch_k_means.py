"""Lloyd's k-means for PyTorch tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from afcm.arrays.torch_arrays import from_host, take_rows, to_host

# Up to this many numbers k-means runs on the host: copying them costs less than starting the kernels.
HOST_KMEANS = 200_000
# k-means++ sees at most this many samples; Lloyd's algorithm ends after this many rounds at the latest.
SEED_SAMPLE, LLOYD_ROUNDS = 50_000, 100


def k_means(points: Any, n_clusters: int, masses: Any, random: Any, n_runs: int) -> Any:
    """Labels of the best of several runs of Lloyd's algorithm from k-means++ seeds, drawn on the host."""
    from sklearn.cluster import kmeans_plusplus

    chosen = np.sort(random.choice(points.shape[0], min(SEED_SAMPLE, points.shape[0]), replace=False))
    sample = to_host(take_rows(points, chosen))
    weights = None if masses is None else to_host(take_rows(masses, chosen))
    best, lowest = None, float("inf")
    for _ in range(n_runs):
        seeds, _ = kmeans_plusplus(sample, n_clusters, sample_weight=weights, random_state=random)
        labels, scatter = _lloyd(points, masses, from_host(seeds, points))
        if scatter < lowest:
            best, lowest = labels, scatter
    return best


def _lloyd(points: Any, masses: Any, centers: Any) -> tuple[Any, float]:
    """Lloyd's algorithm until no label changes: the labels and their scatter."""
    lengths, labels = torch.linalg.vecdot(points, points), None
    mass = torch.ones_like(lengths) if masses is None else masses.to(lengths.dtype)
    for _ in range(LLOYD_ROUNDS):
        costs, latest = torch.min(torch.linalg.vecdot(centers, centers) - 2 * (points @ centers.T), dim=1)
        if labels is not None and torch.equal(labels, latest):
            break
        labels = latest
        totals = torch.zeros_like(centers[:, 0]).index_add_(0, labels, mass)
        sums = torch.zeros_like(centers).index_add_(0, labels, points * mass[:, None])
        centers = torch.where(totals[:, None] > 0, sums / totals.clamp(min=1e-300)[:, None], centers)
    return labels, float(torch.sum(mass * (costs + lengths)))
