# ruff: noqa: PLR0917 (loops take many arguments)
"""Loops over the rows of a sparse matrix, compiled by Numba. Each row is written by one thread, in a fixed order."""

from __future__ import annotations

from typing import Any

import numpy as np

from afcm.compiled.jit import compile_fast, compile_strict

# The cosine between the ends of an edge is raised to this power.
POWER = 4


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
def compare_ends(vectors: Any, inverse: Any, rows: Any, columns: Any, fewest: int, result: Any) -> None:
    """``mean_q max(0, cos_q)^p`` for each edge; ``inverse`` has ``1 / length`` of the first q coordinates of nodes."""
    n_spaces = inverse.shape[1]
    products = np.empty(vectors.shape[1], vectors.dtype)
    for edge in range(rows.size):
        i, j = rows[edge], columns[edge]
        left, right, a, b = vectors[i], vectors[j], inverse[i], inverse[j]
        for q in range(products.size):
            products[q] = left[q] * right[q]
        dot = np.float64(0.0)
        for q in range(fewest - 1):
            dot += products[q]
        total = 0.0
        for q in range(n_spaces):
            dot += products[fewest - 1 + q]
            cosine = min(max(dot * a[q] * b[q], 0.0), 1.0)
            total += cosine**POWER
        result[edge] = total / n_spaces
