"""Solves symmetric positive systems for many right-hand sides at once, from products with the matrix alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from array_api_compat import array_namespace

from afcm.linalg.ratios import ratio

# A column is solved when its residual is this small against its right-hand side.
TOLERANCE, MOST_STEPS = 1e-6, 500


def solve_columns(apply: Callable[[Any], Any], right: Any, start: Any, tolerance: float = TOLERANCE) -> Any:
    """``A X = right`` by conjugate gradients from ``start``, each column with steps of its own.

    ``apply(X)`` is ``A X`` with a symmetric A whose eigenvalues are positive.
    """
    xp = array_namespace(right)
    solution, residual = start, right - apply(start)
    direction, size = residual, xp.sum(residual**2, axis=0)
    goal = tolerance**2 * xp.sum(right**2, axis=0)
    for _ in range(MOST_STEPS):
        if bool(xp.all(size <= goal)):
            break
        image = apply(direction)
        step = ratio(size, xp.sum(direction * image, axis=0), xp.zeros_like(size))
        solution = solution + step * direction
        residual = residual - step * image
        before, size = size, xp.sum(residual**2, axis=0)
        direction = residual + ratio(size, before, xp.zeros_like(size)) * direction
    return solution
