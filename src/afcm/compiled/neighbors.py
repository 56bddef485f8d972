# ruff: noqa: PLR0917 (loops take many arguments)
"""Loops of `afcm.neighbors.approximate`, and the selection of `afcm.neighbors.exact`, compiled by Numba.

Each list is written by one thread at a time, the one that holds its cell or its share of the rows, and in a fixed
order: lists do not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from afcm.compiled.jit import compile_fast

# Distances in a group, of which the smallest is compared first (two SIMD registers); larger cells are cut.
GROUP, MOST_MEMBERS = 16, 1024

# A bound on the smallest minima of groups is found in so many halvings of their range.
HALVINGS = 12

# Coordinates are cut here, so that their squares do not overflow in float32.
FARTHEST = 1e15


@compile_fast
def insert(numbers: Any, squared: Any, number: int, cost: Any) -> None:
    """Put a sample into a list that is sorted by distance, unless it is there already; the last falls out."""
    last = numbers.size - 1
    for place in range(last + 1):
        if numbers[place] == number:
            return
    place = last
    while place > 0 and squared[place - 1] > cost:
        squared[place], numbers[place] = squared[place - 1], numbers[place - 1]
        place -= 1
    squared[place], numbers[place] = cost, number


@compile_fast
def scale_samples(points: Any, numbers: Any, origin: Any, scale: float, values: Any) -> None:
    """Write some samples about an origin, scaled, as float32."""
    for row in range(numbers.size):
        sample = points[numbers[row]]
        for axis in range(origin.size):
            values[row, axis] = min(max((sample[axis] - origin[axis]) * scale, -FARTHEST), FARTHEST)


@compile_fast
def transpose_members(points: Any, members: Any, scale: float, columns: Any, width: int) -> None:
    """Write the members of a cell as float32 columns about the first of them; padding is far away."""
    origin = points[members[0]]
    for column in range(members.size):
        row = points[members[column]]
        for axis in range(origin.size):
            columns[axis, column] = min(max((row[axis] - origin[axis]) * scale, -FARTHEST), FARTHEST)
    columns[: origin.size, members.size : width] = np.float32(2 * FARTHEST)


@compile_fast
def measure_distances(columns: Any, own: int, costs: Any) -> None:
    """Squared distances of all members to one of them (from differences: no digits cancel)."""
    n_axes, size = columns.shape[0], costs.size
    costs[:] = np.float32(0)
    whole = n_axes - n_axes % 4
    for axis in range(0, whole, 4):
        a, b, c, d = columns[axis], columns[axis + 1], columns[axis + 2], columns[axis + 3]
        p, q, r, s = a[own], b[own], c[own], d[own]
        for i in range(size):
            costs[i] += (a[i] - p) ** 2 + (b[i] - q) ** 2 + (c[i] - r) ** 2 + (d[i] - s) ** 2
    for axis in range(whole, n_axes):
        a = columns[axis]
        p = a[own]
        for i in range(size):
            costs[i] += (a[i] - p) ** 2


@compile_fast
def find_group_minima(costs: Any, minima: Any) -> None:
    for group in range(minima.size):
        least = costs[group * GROUP]
        for place in range(group * GROUP + 1, (group + 1) * GROUP):
            least = min(least, costs[place])
        minima[group] = least


@compile_fast
def join_cell(points: Any, members: Any, scale: float, lists: Any, squared: Any, room: Any) -> None:
    """Compare all members of a cell: the list of each takes in those that are nearer than its last."""
    columns, costs, minima = room
    last = lists.shape[1] - 1
    n_groups = (members.size + GROUP - 1) // GROUP
    width = n_groups * GROUP
    transpose_members(points, members, scale, columns, width)
    for own in range(members.size):
        row = members[own]
        measure_distances(columns, own, costs[:width])
        costs[own] = np.inf
        find_group_minima(costs, minima[:n_groups])
        for group in range(n_groups):
            if minima[group] < squared[row, last]:
                for place in range(group * GROUP, min((group + 1) * GROUP, members.size)):
                    if costs[place] < squared[row, last]:
                        insert(lists[row], squared[row], members[place], costs[place])


@compile_fast
def join_cells(points: Any, order: Any, offsets: Any, scale: float, lists: Any, squared: Any) -> None:
    """`join_cell` for consecutive cells."""
    columns = np.empty((points.shape[1], MOST_MEMBERS + GROUP), np.float32)
    costs, minima = np.empty(MOST_MEMBERS + GROUP, np.float32), np.empty(MOST_MEMBERS // GROUP + 1, np.float32)
    for cell in range(offsets.size - 1):
        for first in range(offsets[cell], offsets[cell + 1], MOST_MEMBERS):
            end = min(first + MOST_MEMBERS, offsets[cell + 1])
            join_cell(points, order[first:end], scale, lists, squared, (columns, costs, minima))


@compile_fast
def descend(points: Any, rows: Any, scale: float, before: Any, lists: Any, squared: Any) -> None:
    """Take neighbors of neighbors into the lists of some rows; ``before`` holds the first neighbors of all rows."""
    last, zero = lists.shape[1] - 1, np.float32(0)
    for row in rows:
        own = points[row]
        for through in before[row]:
            if through < 0:
                continue
            for number in before[through]:
                if number < 0 or number == row:
                    continue
                other, cost = points[number], zero
                for axis in range(own.size):
                    cost += np.float32((own[axis] - other[axis]) * scale) ** 2
                if cost < squared[row, last]:
                    insert(lists[row], squared[row], number, cost)


@compile_fast
def measure_lists(points: Any, rows: Any, lists: Any, indices: Any, squared: Any) -> None:
    """Write the lists of some rows with distances in float64, nearest first, ties by number."""
    for row in rows:
        own = points[row]
        for place in range(lists.shape[1]):
            number, cost, slot = lists[row, place], 0.0, place
            for axis in range(own.size if number >= 0 else 0):
                cost += (np.float64(own[axis]) - np.float64(points[number, axis])) ** 2
            while slot > 0 and (
                squared[row, slot - 1] > cost or (squared[row, slot - 1] == cost and indices[row, slot - 1] > number)
            ):
                squared[row, slot], indices[row, slot] = squared[row, slot - 1], indices[row, slot - 1]
                slot -= 1
            squared[row, slot], indices[row, slot] = cost, number


@compile_fast
def find_strided_minima(values: Any, minima: Any) -> None:
    """The smallest of entries g, g + G, g + 2G, … for each g of G."""
    n_groups = minima.size
    minima[:] = values[:n_groups]
    for begin in range(n_groups, values.size - n_groups + 1, n_groups):
        part = values[begin : begin + n_groups]
        for group in range(n_groups):
            minima[group] = min(minima[group], part[group])


@compile_fast
def bound_smallest(values: Any, count: int) -> Any:
    """A number that is not below ``count`` of the values, and not above many more."""
    low, high = values[0], values[0]
    for value in values:
        low, high = min(low, value), max(high, value)
    for _ in range(HALVINGS):
        middle, below = (low + high) / values.dtype.type(2), 0
        for value in values:
            below += 1 if value <= middle else 0
        if below >= count:
            high = middle
        else:
            low = middle
    return high


@compile_fast
def put_sorted(numbers: Any, kept: Any, number: int, value: Any) -> None:
    """Put an entry into a sorted list if it is smaller than the last, which falls out."""
    place = kept.size - 1
    if value < kept[place]:
        while place > 0 and kept[place - 1] > value:
            kept[place], numbers[place] = kept[place - 1], numbers[place - 1]
            place -= 1
        kept[place], numbers[place] = value, number


@compile_fast
def select_smallest(costs: Any, size: int, selected: Any) -> None:
    """Write the columns of each row's smallest entries, the smallest first.

    They are in the groups (of ``size`` columns, see `find_strided_minima`) with the smallest minima, or in no group.
    """
    n_rows, n_columns = costs.shape
    count, n_groups = selected.shape[1], n_columns // size
    minima, kept = np.empty(n_groups, costs.dtype), np.empty(count, costs.dtype)
    for row in range(n_rows):
        values, numbers = costs[row], selected[row]
        kept[:] = np.inf
        find_strided_minima(values[: n_groups * size], minima)
        bound = bound_smallest(minima, count)
        for group in range(n_groups):
            if minima[group] <= bound:
                for column in range(group, n_groups * size, n_groups):
                    if values[column] <= bound:
                        put_sorted(numbers, kept, column, values[column])
        for column in range(n_groups * size, n_columns):
            put_sorted(numbers, kept, column, values[column])


@compile_fast
def search_columns(rows: Any, frame: Any, own: Any, plan: Any, selected: Any, last: Any) -> None:
    """The samples (columns of ``frame``, with their norms) nearest to each row, and the cost of the last of them.

    ``own`` are the columns that are the rows themselves, or none; ``plan`` is rows at a time and columns in a group.
    """
    (columns, norms), (n_rows, count), (step, size) = frame, selected.shape, plan
    costs = np.empty((step, norms.size), np.float32)
    for begin in range(0, n_rows, step):
        block = rows[begin : begin + step]
        part = costs[: block.shape[0]]
        np.dot(block, columns, part)
        for row in range(part.shape[0]):
            values = part[row]
            for column in range(norms.size):
                values[column] += norms[column]
            if own.size:
                values[own[begin + row]] = np.inf
        chosen = selected[begin : begin + step]
        select_smallest(part, size, chosen)
        for row in range(part.shape[0]):
            last[begin + row] = part[row, chosen[row, count - 1]]
