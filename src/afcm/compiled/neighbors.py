# ruff: noqa: PLR0917 (loops take many arguments)
"""Loops of `afcm.neighbors.approximate`, and the selection of `afcm.neighbors.exact`, compiled by Numba.

Each list is written by one thread at a time, the one that holds its cell or its share of the rows, and in a fixed
order: lists do not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from afcm.compiled.jit import compile_fast, compile_strict

# Distances in a group, of which the smallest is compared first (two SIMD registers); larger cells are cut.
GROUP, MOST_MEMBERS = 16, 1024

# A bound on the smallest minima of groups is found in so many halvings of their range.
HALVINGS, INFINITE = 12, np.float32(np.inf)

# Coordinates are cut here, so that their squares do not overflow in float32.
FARTHEST = 1e15


@compile_fast
def scale_samples(points: Any, numbers: Any, origin: Any, scale: float, values: Any) -> None:
    """Write some samples about an origin, scaled, as float32."""
    for row in range(numbers.size):
        sample = points[numbers[row]]
        for axis in range(origin.size):
            values[row, axis] = min(max((sample[axis] - origin[axis]) * scale, -FARTHEST), FARTHEST)


@compile_fast
def transpose_members(points: Any, members: Any, scale: float, columns: Any, width: int) -> None:
    """Write the members of a cell as float32 columns about the first of them, and zeros after them."""
    origin = points[members[0]]
    for column in range(members.size):
        row = points[members[column]]
        for axis in range(origin.size):
            columns[axis, column] = min(max((row[axis] - origin[axis]) * scale, -FARTHEST), FARTHEST)
    columns[:, members.size : width] = np.float32(0)


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
def find_strided_minima(values: Any, minima: Any) -> None:
    """The smallest of entries g, g + G, g + 2G, … for each g of G."""
    n_groups = minima.size
    minima[:] = values[:n_groups]
    for begin in range(n_groups, values.size - n_groups + 1, n_groups):
        part = values[begin : begin + n_groups]
        for group in range(n_groups):
            minima[group] = min(minima[group], part[group])


@compile_fast
def find_finite_range(values: Any) -> Any:
    """The smallest of some values, and the largest that is finite."""
    low, high = INFINITE, -INFINITE
    for i in range(values.size):
        low = min(low, values[i])
        high = max(high, values[i] if values[i] < INFINITE else -INFINITE)
    return low, high


@compile_fast
def count_below(values: Any, bound: Any) -> Any:
    """How many values are not above a bound (in 32 bits, as wide as the values: counted in SIMD registers)."""
    count = np.int32(0)
    for i in range(values.size):
        count += np.int32(1) if values[i] <= bound else np.int32(0)
    return count


@compile_fast
def bound_smallest(values: Any, count: int) -> Any:
    """A number that is not below ``count`` of the values, and not above many more; infinite if fewer are finite."""
    low, high = find_finite_range(values)
    if count_below(values, high) < count:
        return INFINITE
    for _ in range(HALVINGS):
        middle = low + (high - low) * np.float32(0.5)
        below = count_below(values, middle)
        if below >= count:
            high = middle
        else:
            low = middle
        if below == count:
            break
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
def list_below(costs: Any, minima: Any, bound: Any, found: Any) -> int:
    """Write the places of all costs up to a bound, and say how many; ``minima`` are those of `find_strided_minima`."""
    count, n_groups = 0, minima.size
    for group in range(n_groups):
        if minima[group] <= bound:
            for place in range(group, costs.size, n_groups):  # no branch here: most would be foretold wrongly
                found[count] = place
                count += costs[place] <= bound
    return count


@compile_fast
def join_cell(points: Any, cell: Any, scale: float, lists: Any, squared: Any, room: Any) -> None:
    """Compare all members of a cell: the list of each takes in those that are nearer than its last.

    Those it has already are known by their places in the order of all samples, of which the cell is a piece.
    """
    (members, begin, places), (columns, costs, minima, found) = cell, room
    size, last, n_groups = members.size, lists.shape[1] - 1, (members.size + GROUP - 1) // GROUP
    costs, minima = costs[: n_groups * GROUP], minima[:n_groups]
    transpose_members(points, members, scale, columns, costs.size)
    for own in range(size):
        numbers, kept = lists[members[own]], squared[members[own]]
        measure_distances(columns, own, costs)
        costs[own] = costs[size:] = np.inf
        for number in numbers:
            place = places[number] - begin if number >= 0 else -1
            if 0 <= place < size:
                costs[place] = np.inf
        find_strided_minima(costs, minima)
        bound = kept[last] if numbers[last] >= 0 else bound_smallest(costs, last + 1)
        for number in range(list_below(costs, minima, bound, found)):
            place = found[number]
            put_sorted(numbers, kept, members[place], costs[place])


@compile_fast
def join_cells(points: Any, order: Any, offsets: Any, places: Any, scale: float, lists: Any, squared: Any) -> None:
    """`join_cell` for consecutive cells; ``places`` has the place of each sample in the order."""
    columns, costs = np.empty((points.shape[1], MOST_MEMBERS), np.float32), np.empty(MOST_MEMBERS, np.float32)
    room = columns, costs, np.empty(MOST_MEMBERS // GROUP, np.float32), np.empty(MOST_MEMBERS + 1, np.int64)
    for cell in range(offsets.size - 1):
        for first in range(offsets[cell], offsets[cell + 1], MOST_MEMBERS):
            members = order[first : min(first + MOST_MEMBERS, offsets[cell + 1])]
            join_cell(points, (members, first, places), scale, lists, squared, room)


@compile_fast
def descend(points: Any, rows: Any, scale: float, before: Any, lists: Any, squared: Any) -> None:
    """Take neighbors of neighbors into the lists of some rows; ``before`` holds the first neighbors of all rows."""
    last, zero, met = lists.shape[1] - 1, np.float32(0), np.full(points.shape[0], -1, np.int32)  # met: for which row
    for row in rows:
        own = points[row]
        met[row] = row
        for number in lists[row]:
            if number >= 0:
                met[number] = row
        for through in before[row]:
            if through < 0:
                continue
            for number in before[through]:
                if number < 0 or met[number] == row:
                    continue
                other, cost, met[number] = points[number], zero, row
                for axis in range(own.size):
                    cost += np.float32((own[axis] - other[axis]) * scale) ** 2
                if cost < squared[row, last]:
                    put_sorted(lists[row], squared[row], number, cost)


@compile_strict
def square_distance(points: Any, one: int, other: int, parts: Any) -> float:
    """``‖x_i − x_j‖²`` in float64, squares added in the order of `neighbors.search.sum_squares`, to the last bit."""
    n_axes = points.shape[1]
    whole = n_axes - n_axes % 4
    parts[:] = 0.0
    for first in range(0, whole, 4):
        for axis in range(4):
            difference = np.float64(points[one, first + axis]) - np.float64(points[other, first + axis])
            parts[axis] += difference * difference
    for axis in range(n_axes - whole):
        difference = np.float64(points[one, whole + axis]) - np.float64(points[other, whole + axis])
        parts[axis] += difference * difference
    return (parts[0] + parts[1]) + (parts[2] + parts[3])


@compile_strict
def measure_lists(points: Any, rows: Any, lists: Any, indices: Any, squared: Any) -> None:
    """Write the lists of some rows with distances in float64, nearest first, ties by number."""
    parts = np.empty(4)
    for row in rows:
        for place in range(lists.shape[1]):
            number, slot = lists[row, place], place
            cost = square_distance(points, row, number, parts) if number >= 0 else 0.0
            while slot > 0 and (
                squared[row, slot - 1] > cost or (squared[row, slot - 1] == cost and indices[row, slot - 1] > number)
            ):
                squared[row, slot], indices[row, slot] = squared[row, slot - 1], indices[row, slot - 1]
                slot -= 1
            squared[row, slot], indices[row, slot] = cost, number


@compile_fast
def find_largest(values: Any, places: Any, n_places: int) -> int:
    """The number of the place that has the largest value."""
    largest = 0
    for number in range(1, n_places):
        if values[places[number]] > values[places[largest]]:
            largest = number
    return largest


@compile_fast
def keep_smallest(values: Any, places: Any, n_places: int, n_last: int, numbers: Any) -> None:
    """Keep as many places as there is room for, those with the smallest values; the last few are in rising order."""
    if n_places > 2 * numbers.size:  # many equal values
        kept = np.full(numbers.size, np.inf, values.dtype)
        for place in places[:n_places]:
            put_sorted(numbers, kept, place, values[place])
        return
    while n_places > numbers.size:
        largest = find_largest(values, places, n_places)
        n_places -= 1
        places[largest] = places[n_places]
    for end in range(n_places, n_places - n_last, -1):
        largest = find_largest(values, places, end)
        places[largest], places[end - 1] = places[end - 1], places[largest]
    numbers[:] = places[: numbers.size]


@compile_fast
def select_smallest(costs: Any, size: int, n_last: int, selected: Any) -> None:
    """Write the columns of each row's smallest entries; the last few are the largest of them, in rising order.

    They are in the groups (of ``size`` columns, see `find_strided_minima`) with the smallest minima, or in no group.
    """
    n_rows, n_columns = costs.shape
    count, n_groups = selected.shape[1], n_columns // size
    minima, places = np.empty(n_groups, costs.dtype), np.empty(n_columns + 1, np.int64)
    for row in range(n_rows):
        values, grouped = costs[row], costs[row, : n_groups * size]
        find_strided_minima(grouped, minima)
        bound = bound_smallest(minima, count)
        n_places = list_below(grouped, minima, bound, places)
        for column in range(n_groups * size, n_columns):
            places[n_places] = column
            n_places += values[column] <= bound
        keep_smallest(values, places, n_places, n_last, selected[row])


@compile_fast
def search_columns(rows: Any, frame: Any, own: Any, plan: Any, selected: Any, last: Any) -> None:
    """The samples (columns of ``frame``, with their norms) nearest to each row, and the costs of the last few of them.

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
        select_smallest(part, size, last.shape[1], chosen)
        for row in range(part.shape[0]):
            for place in range(last.shape[1]):
                last[begin + row, place] = part[row, chosen[row, count - last.shape[1] + place]]
