"""Exact nearest neighbors of tensors by blocked matrix products, for devices and sizes without the fused kernel."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

# Entries of the distance matrix in memory at a time, on the host and on a device; candidates beyond k that are
# measured again.
ENTRIES, DEVICE_ENTRIES, SPARE = 1 << 25, 1 << 27, 6
# Costs that differ by less than this share of the largest may differ by rounding.
CLOSE = 1e-12


def search_blocked(points: Any, k: int, queries: Any = None) -> tuple[Any, Any]:
    """The k nearest rows of each query and their squared distances (float64), ties by row number."""
    asked = points if queries is None else queries
    numbers = torch.arange(asked.shape[0], device=points.device)
    own = numbers if queries is None else torch.full_like(numbers, -1)
    lists = []
    for rows, costs in _costs(points, asked):
        part, mine = asked[rows], own[rows]
        if queries is None:
            costs.scatter_(1, mine[:, None], float("inf"))
        candidates = torch.topk(costs, min(k + SPARE, costs.shape[1]), largest=False, sorted=False).indices
        lists.append(measure_candidates(points, part, candidates, k, mine))
    indices, squared = (torch.cat(parts) for parts in zip(*lists, strict=True))
    return indices, squared


def average_nearest(points: Any, values: Any, k: int, queries: Any) -> Any:
    """The mean of the values of the k nearest rows of each query; ties by row number.

    Distances are measured again only where rounding may decide which row is the last of the nearest.
    """
    means = []
    for rows, costs in _costs(points, queries):
        nearest, numbers = torch.topk(costs, min(k + 1, costs.shape[1]), largest=False)
        means.append(values[numbers[:, :k]].mean(dim=1))
        if k < costs.shape[1]:
            close = CLOSE * costs.abs().amax(dim=1)
            doubtful = torch.nonzero(nearest[:, k] - nearest[:, k - 1] <= close).ravel()
            again = search_blocked(points, k, queries[rows][doubtful])[0] if doubtful.numel() else numbers[:0, :k]
            means[-1][doubtful] = values[again].mean(dim=1)
    return torch.cat(means)


def _costs(points: Any, asked: Any) -> Iterator[tuple[slice, Any]]:
    """Blocks of queries, and ``‖y‖² − 2 x·y`` of each query x and all points y about their mean, in float64."""
    mean = points.double().mean(dim=0)
    table = points.double() - mean
    lengths = torch.linalg.vecdot(table, table)
    size = max(1, (DEVICE_ENTRIES if points.is_cuda else ENTRIES) // points.shape[0])
    for first in range(0, asked.shape[0], size):
        rows = slice(first, first + size)
        yield rows, torch.addmm(lengths, asked[rows].double() - mean, table.T, alpha=-2)


def measure_candidates(points: Any, asked: Any, candidates: Any, k: int, own: Any) -> tuple[Any, Any]:
    """The k nearest of each query's candidates by distances in float64, nearest first, ties by row number.

    Skipped are a query's ``own`` number (−1: none) and candidates that are the number of points, which fill up lists.
    """
    squared = torch.empty(candidates.shape, dtype=torch.float64, device=points.device)
    candidates = candidates.sort(dim=1).values
    for column in range(candidates.shape[1]):
        difference = points[candidates[:, column].clamp(max=points.shape[0] - 1)].double() - asked
        squared[:, column] = torch.linalg.vecdot(difference, difference)
    squared[(candidates == own[:, None]) | (candidates >= points.shape[0])] = float("inf")
    squared, order = torch.sort(squared, dim=1, stable=True)
    return torch.gather(candidates, 1, order[:, :k]), squared[:, :k].contiguous()
