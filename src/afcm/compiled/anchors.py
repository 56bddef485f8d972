"""Loops over the samples of an anchor graph, compiled by Numba: nearest anchors, and Qᵀ M Q."""

from __future__ import annotations

from typing import Any

import numpy as np

from afcm.compiled.jit import compile_fast

# Costs in a group, of which the smallest is compared first (two SIMD registers).
GROUP = 16


@compile_fast
def insert(costs: Any, numbers: Any, cost: Any, number: int) -> None:
    """Put an anchor into a list that is sorted by cost, ties by number; the last falls out."""
    place = numbers.size - 1
    while place > 0 and (costs[place - 1] > cost or (costs[place - 1] == cost and numbers[place - 1] > number)):
        costs[place], numbers[place] = costs[place - 1], numbers[place - 1]
        place -= 1
    costs[place], numbers[place] = cost, number


@compile_fast
def add_products(row: Any, columns: Any, costs: Any) -> None:
    """``costs += row @ columns``, four axes at a time."""
    n_axes = row.size
    whole = n_axes - n_axes % 4
    for axis in range(0, whole, 4):
        a, b, c, d = columns[axis], columns[axis + 1], columns[axis + 2], columns[axis + 3]
        p, q, r, s = row[axis], row[axis + 1], row[axis + 2], row[axis + 3]
        for i in range(costs.size):
            costs[i] += a[i] * p + b[i] * q + c[i] * r + d[i] * s
    for axis in range(whole, n_axes):
        a, p = columns[axis], row[axis]
        for i in range(costs.size):
            costs[i] += a[i] * p


@compile_fast
def find_group_minima(costs: Any, minima: Any) -> None:
    """The smallest cost of each group. Group g of G holds g, g + G, g + 2G, …"""
    n_groups = minima.size
    minima[:] = costs[:n_groups]
    for first in range(n_groups, costs.size, n_groups):
        part = costs[first : first + n_groups]
        for group in range(n_groups):
            minima[group] = min(minima[group], part[group])


@compile_fast
def find_candidates(rows: Any, columns: Any, norms: Any, candidates: Any, last: Any) -> None:
    """The anchors with the smallest costs ``‖a‖² − 2 a·x`` of each row, and the largest of these costs.

    Rows are float32 about the anchors' mean. ``columns`` hold −2 a and fill whole groups; padding has infinite norm.
    If k anchors are wanted, k groups have minima up to the k-th smallest minimum: larger costs are skipped.
    """
    costs, minima = np.empty(norms.size, dtype=np.float32), np.empty(norms.size // GROUP, dtype=np.float32)
    kept, groups = np.empty(candidates.shape[1], dtype=np.float32), np.empty(candidates.shape[1], dtype=np.int32)
    for row in range(rows.shape[0]):
        costs[:] = norms
        add_products(rows[row], columns, costs)
        find_group_minima(costs, minima)
        kept[:] = np.inf
        for group in range(minima.size):
            if minima[group] < kept[-1]:
                insert(kept, groups, minima[group], group)
        bound = kept[-1]
        kept[:] = np.inf
        candidates[row] = 0
        for group in range(minima.size):
            if minima[group] <= bound:
                for column in range(group, costs.size, minima.size):
                    if costs[column] <= bound and costs[column] < kept[-1]:
                        insert(kept, candidates[row], costs[column], column)
        last[row] = kept[-1]


@compile_fast
def measure_candidates(points: Any, anchors: Any, candidates: Any, indices: Any, squared: Any) -> None:
    """The nearest of each sample's candidates by distances in float64, nearest first, ties by number."""
    for row in range(points.shape[0]):
        squared[row] = np.inf
        indices[row] = anchors.shape[0]
        for place in range(candidates.shape[1]):
            anchor = candidates[row, place]
            cost = 0.0
            for axis in range(points.shape[1]):
                difference = anchors[anchor, axis] - points[row, axis]
                cost += difference * difference
            if cost < squared[row, -1] or (cost == squared[row, -1] and anchor < indices[row, -1]):
                insert(squared[row], indices[row], cost, anchor)


@compile_fast
def add_gram(offsets: Any, indices: Any, weights: Any, masses: Any, total: Any) -> None:
    """Add ``Qᵀ M Q`` of some rows of a CSR matrix to ``total``; empty ``masses`` are all 1."""
    for row in range(offsets.size - 1):
        mass = masses[row] if masses.size else 1.0
        for first in range(offsets[row], offsets[row + 1]):
            share = mass * weights[first]
            target = total[indices[first]]
            for second in range(offsets[row], offsets[row + 1]):
                target[indices[second]] += share * weights[second]


def pad_to_groups(columns: Any, norms: Any) -> tuple[Any, Any]:
    """Fill up columns and norms to whole groups with anchors that are infinitely far."""
    n_more = -norms.size % GROUP
    if not n_more:
        return columns, norms
    return np.pad(columns, ((0, 0), (0, n_more))), np.pad(norms, (0, n_more), constant_values=np.inf)
