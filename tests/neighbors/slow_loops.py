"""`afcm.compiled.neighbors` in plain Python: slow, exact, and without Numba."""

# ruff: noqa: PLR0917 (as many arguments as the compiled loops)

from __future__ import annotations

from itertools import pairwise

import numpy as np

FARTHEST = 1e15


def scale_samples(points, numbers, origin, scale, values):
    values[:] = np.clip((points[numbers].astype(float) - origin) * scale, -FARTHEST, FARTHEST)


def insert(lists, squared, row, number, cost):
    """Keep the nearest samples of a row, each once; the first to come stays first on ties."""
    if number in lists[row] or not cost < squared[row, -1]:
        return
    place = int(np.searchsorted(squared[row], cost, side="right"))
    lists[row] = np.insert(lists[row], place, number)[:-1]
    squared[row] = np.insert(squared[row], place, cost)[:-1]


def scaled_distance(points, one, other, scale):
    difference = (points[one].astype(float) - points[other]) * scale
    return np.float32(difference @ difference)


def join_cells(points, order, offsets, _places, scale, lists, squared):
    for first, end in pairwise(offsets):
        for row in order[first:end]:
            for number in order[first:end]:
                if number != row:
                    insert(lists, squared, row, number, scaled_distance(points, row, number, scale))


def descend(points, rows, scale, before, lists, squared):
    for row in rows:
        for through in before[row][before[row] >= 0]:
            for number in before[through]:
                if number >= 0 and number != row:
                    insert(lists, squared, row, number, scaled_distance(points, row, number, scale))


def measure_lists(points, rows, lists, indices, squared):
    for row in rows:
        numbers = lists[row]
        differences = np.where(numbers[:, None] >= 0, points[numbers].astype(float) - points[row], 0.0)
        costs = (differences**2).sum(axis=1)
        order = np.lexsort((numbers, costs))
        indices[row], squared[row] = numbers[order], costs[order]
