# ruff: noqa: PLR0917 (loops take many arguments)
"""Loops over the rows of a sparse matrix, compiled by Numba. Each row is written by one thread, in a fixed order."""

from __future__ import annotations

from typing import Any

import numpy as np

from afcm.compiled.jit import compile_fast, compile_strict


@compile_strict
def multiply_rows(offsets: Any, columns: Any, entries: Any, block: Any, begin: int, end: int, product: Any) -> None:
    """Rows of a CSR matrix times a block of vectors; entries are added one by one, as SciPy adds them."""
    width = block.shape[1]
    for i in range(begin, end):
        row = product[i]
        row[:] = 0.0
        at, last = offsets[i], offsets[i + 1]
        while at + 3 < last:  # four entries at a time: the row is read and written once for all of them
            a, b, c, d = entries[at], entries[at + 1], entries[at + 2], entries[at + 3]
            first, second = block[columns[at]], block[columns[at + 1]]
            third, fourth = block[columns[at + 2]], block[columns[at + 3]]
            for j in range(width):
                row[j] = (((row[j] + a * first[j]) + b * second[j]) + c * third[j]) + d * fourth[j]
            at += 4
        while at < last:
            a, first = entries[at], block[columns[at]]
            for j in range(width):
                row[j] += a * first[j]
            at += 1


@compile_fast
def filter_rows(
    offsets: Any,
    columns: Any,
    entries: Any,
    block: Any,
    fixed: Any,
    before: Any,
    factors: Any,
    begin: int,
    end: int,
    result: Any,
) -> None:
    """``f₀ A X + f₁ F + f₂ Y`` in one pass: a step of a three-term recurrence, where F may be X."""
    width = block.shape[1]
    for i in range(begin, end):
        row, own, old = result[i], fixed[i], before[i]
        for j in range(width):
            row[j] = factors[1] * own[j] + factors[2] * old[j]
        at, last = offsets[i], offsets[i + 1]
        while at + 3 < last:
            a, b = factors[0] * entries[at], factors[0] * entries[at + 1]
            c, d = factors[0] * entries[at + 2], factors[0] * entries[at + 3]
            first, second = block[columns[at]], block[columns[at + 1]]
            third, fourth = block[columns[at + 2]], block[columns[at + 3]]
            for j in range(width):
                row[j] += a * first[j] + b * second[j] + c * third[j] + d * fourth[j]
            at += 4
        while at < last:
            a, first = factors[0] * entries[at], block[columns[at]]
            for j in range(width):
                row[j] += a * first[j]
            at += 1


@compile_fast
def compare_ends(left: Any, right: Any, first: Any, second: Any, fewest: int) -> Any:
    """``mean_q max(0, cos_q)⁴`` of two rows; the others have ``1 / length`` of their first q coordinates."""
    zero, one = left.dtype.type(0), left.dtype.type(1)
    dot = total = zero
    for q in range(fewest - 1):
        dot += left[q] * right[q]
    for q in range(first.size):
        dot += left[fewest - 1 + q] * right[fewest - 1 + q]
        cosine = min(max(dot * first[q] * second[q], zero), one)
        square = cosine * cosine
        total += square * square
    return total / first.size


@compile_fast
def fade_edges(matrix: Any, vectors: Any, inverse: Any, keep: Any, begin: int, end: int, result: Any) -> None:
    """Entries of a symmetric matrix with sorted columns, times what `compare_ends` says of their ends.

    ``keep`` is the share that is kept in any case, and the fewest coordinates that are compared. An edge is worked out
    once, in its lower row, and written to both. Entries on the diagonal stay as they are.
    """
    offsets, columns, entries = matrix
    floor, fewest = keep
    for i in range(begin, end):
        own, own_inverse = vectors[i], inverse[i]
        for entry in range(offsets[i], offsets[i + 1]):
            j = columns[entry]
            if j <= i:
                continue
            share = compare_ends(own, vectors[j], own_inverse, inverse[j], fewest)
            low, high = offsets[j], offsets[j + 1]
            while high - low > 1:
                middle = (low + high) // 2
                if columns[middle] <= i:
                    low = middle
                else:
                    high = middle
            result[entry] = result[low] = entries[entry] * (floor + (1 - floor) * share)


@compile_strict
def sum_links(matrix: Any, roots: Any, labels: Any, begin: int, end: int, links: Any) -> None:
    """Add ``r_i s_ij r_j`` of some rows i to the entry of both labels."""
    offsets, columns, entries = matrix
    for row in range(begin, end):
        mine, root = links[labels[row]], roots[row]
        for entry in range(offsets[row], offsets[row + 1]):
            column = columns[entry]
            mine[labels[column]] += root * entries[entry] * roots[column]


@compile_strict
def sort_rows(offsets: Any, columns: Any, entries: Any, begin: int, end: int) -> None:
    """Bring the entries of each row into the order of their columns, in place; rows are short."""
    for row in range(begin, end):
        first = offsets[row]
        for at in range(first + 1, offsets[row + 1]):
            column, entry, place = columns[at], entries[at], at
            while place > first and columns[place - 1] > column:
                columns[place], entries[place] = columns[place - 1], entries[place - 1]
                place -= 1
            columns[place], entries[place] = column, entry


@compile_strict
def count_union(one: Any, other: Any, begin: int, end: int, counts: Any) -> None:
    """How many columns each row has in either of two matrices with sorted columns."""
    offsets, columns = one[0], one[1]
    other_offsets, other_columns = other[0], other[1]
    for row in range(begin, end):
        at, last = offsets[row], offsets[row + 1]
        there, other_last = other_offsets[row], other_offsets[row + 1]
        n_both = 0
        while at < last and there < other_last:
            step = columns[at] - other_columns[there]
            n_both += step == 0
            at += step <= 0
            there += step >= 0
        counts[row] = last - offsets[row] + other_last - other_offsets[row] - n_both


@compile_strict
def agree(one: Any, other: Any, begin: int, end: int, result: Any) -> None:
    """``((√a_ij + √b_ij) / 2)²`` for rows of two matrices with sorted columns; ``result`` has the offsets already."""
    offsets, columns, entries = one
    other_offsets, other_columns, other_entries = other
    starts, joint_columns, joint_entries = result
    for row in range(begin, end):
        at, last = offsets[row], offsets[row + 1]
        there, other_last = other_offsets[row], other_offsets[row + 1]
        for to in range(starts[row], starts[row + 1]):
            mine = at < last and (there == other_last or columns[at] <= other_columns[there])
            theirs = there < other_last and (at == last or other_columns[there] <= columns[at])
            joint_columns[to] = columns[at] if mine else other_columns[there]
            left = np.sqrt(entries[at]) if mine else 0.0
            right = np.sqrt(other_entries[there]) if theirs else 0.0
            joint_entries[to] = ((left + right) * 0.5) ** 2
            at += mine
            there += theirs


@compile_strict
def walk_by_breadth(offsets: Any, columns: Any) -> Any:
    """Numbers of the rows as a walk over the edges meets them, nearest first, and the piece of each row.

    Pieces are numbered by their first row, at which the walk begins them.
    """
    n_rows = offsets.size - 1
    order, pieces, n_met, n_pieces = np.empty(n_rows, np.int32), np.full(n_rows, -1, np.int64), 0, 0
    for first in range(n_rows):
        if pieces[first] >= 0:
            continue
        order[n_met], pieces[first], at, n_met = first, n_pieces, n_met, n_met + 1
        while at < n_met:
            row = order[at]
            for entry in range(offsets[row], offsets[row + 1]):
                column = columns[entry]
                if pieces[column] < 0:
                    order[n_met], pieces[column], n_met = column, n_pieces, n_met + 1
            at += 1
        n_pieces += 1
    return order, pieces


@compile_strict
def arrange_entries(
    matrix: Any, order: Any, places: Any, starts: Any, begin: int, end: int, columns: Any, entries: Any
) -> None:
    """Rows of ``P A Pᵀ``, entries in the order they have in A; ``matrix`` has A's offsets, columns and entries."""
    old_offsets, old_columns, old_entries = matrix
    for row in range(begin, end):
        first, at = old_offsets[order[row]], starts[row]
        for entry in range(starts[row + 1] - at):
            columns[at + entry] = places[old_columns[first + entry]]
            entries[at + entry] = old_entries[first + entry]
