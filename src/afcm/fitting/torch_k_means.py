"""Lloyd's k-means for PyTorch tensors, and rows to start it from."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch

# Up to this many numbers k-means runs on the host: copying them costs less than starting the kernels.
HOST_KMEANS = 200_000
# Rows that are compared with the centers at a time.
BLOCK_ROWS = 1 << 18
# A run ends when its centers moved by no more than this share of the variance (as scikit-learn's), or after so many
# rounds.
TOLERANCE, LLOYD_ROUNDS = 1e-4, 100


class Assignment(NamedTuple):
    """The nearest center of each row, and sums of the rows of each center."""

    labels: Any  # n
    scatter: Any  # Σ m_i (‖x_i − v‖² − ‖x_i‖²)
    totals: Any  # c: masses
    sums: Any  # c×d


def k_means(points: Any, masses: Any, seeds: Iterable[Any]) -> Any:
    """Labels of the run of Lloyd's algorithm with the least scatter; each run starts from one of the seeds (c×d)."""
    mass = torch.ones_like(points[:, 0]) if masses is None else masses.to(points.dtype)
    still = TOLERANCE * float(torch.var(points, dim=0, correction=0).mean())
    runs = (_lloyd(points, mass, centers, still) for centers in seeds)
    return min(runs, key=lambda run: float(run.scatter)).labels


def _lloyd(points: Any, mass: Any, centers: Any, still: float) -> Assignment:
    found = _assign(points, mass, centers)
    for _ in range(LLOYD_ROUNDS):
        filled = found.totals[:, None] > 0
        moved = torch.where(filled, found.sums / torch.where(filled, found.totals[:, None], 1.0), centers)
        step, centers = float(torch.sum((moved - centers) ** 2)), moved
        found = _assign(points, mass, centers)
        if step <= still:
            break
    return found


def _assign(points: Any, mass: Any, centers: Any) -> Assignment:
    lengths, parts = torch.linalg.vecdot(centers, centers), []
    numbers = torch.arange(centers.shape[0], device=points.device)
    for own, weights in zip(torch.split(points, BLOCK_ROWS), torch.split(mass, BLOCK_ROWS), strict=True):
        costs, labels = torch.min(torch.addmm(lengths, own, centers.T, alpha=-2), dim=1)
        shares = torch.where(labels[:, None] == numbers, weights[:, None], 0.0)
        parts.append(Assignment(labels, torch.dot(costs, weights), shares.sum(dim=0), shares.T @ own))
    numbered, *sums = zip(*parts, strict=True)
    return Assignment(torch.cat(numbered), *(sum(part) for part in sums))


def pivot_rows(points: Any, n_clusters: int) -> Any:
    """Rows that point in directions as different as can be: the pivots of a QR decomposition.

    Each time the row that sticks out most from the directions so far is taken, and gives the next direction.
    """
    left = torch.linalg.vecdot(points, points)
    directions, chosen = points.new_zeros((n_clusters, points.shape[1])), []
    for number in range(n_clusters):
        row = points[torch.argmax(left)]
        chosen.append(row)
        for _ in range(2):  # twice is enough against rounding
            row = row - directions.T @ (directions @ row)
        directions[number] = row / torch.linalg.vector_norm(row).clamp(min=torch.finfo(row.dtype).tiny)
        left = left - (points @ directions[number]) ** 2
    return torch.stack(chosen)
