"""Products of tall blocks on all cores, in pieces of rows whose sums are added in order.

So they do not depend on the number of threads. BLAS itself would split them in ways of its own. ``inner`` and
``combine`` do so for large blocks on the host; small ones, and those on a device, are multiplied at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
from scipy.linalg import eigh, lapack

from afcm._typing import Floats
from afcm.arrays import backend_of, from_host, is_tensor
from afcm.linalg.products import map_row_blocks

T = TypeVar("T")

# Rows of a piece: enough for fast products, few enough that cores finish together.
ROWS = 2048
# Directions whose share of the largest is below this are rounding.
DROP = 1e-11
# If the columns are this far from each other, once is enough. If each has so much new (its squared length outside the
# span of those before), no direction is rounding.
WELL_APART, CLEARLY_NEW = 1e-2, 1e-8
# Entries from which on more cores help.
LARGE = 300_000


def inner(left: Floats, right: Floats) -> Floats:
    """``leftᵀ right``, where the blocks are."""
    return inner_products(left, right) if _is_large(left, right) else left.T @ right


def combine(block: Floats, coefficients: Floats) -> Floats:
    """``block @ coefficients``, where the block is."""
    return combine_columns(block, coefficients) if _is_large(block, block) else block @ coefficients


def add(target: Floats, block: Floats, coefficients: Floats) -> None:
    """``target ← target + block @ coefficients`` in place."""

    def work(rows: slice) -> None:
        target[rows] += block[rows] @ coefficients

    if _is_large(target, block):
        map_row_blocks(work, target.shape[0], ROWS)
    else:
        for rows in row_slices(target):
            work(rows)


def subtract_scaled(target: Floats, block: Floats, factors: Floats) -> None:
    """``target ← target − block diag(factors)`` in place, in its precision; the factors are on the host."""
    scale = from_host(np.ascontiguousarray(factors, str(target.dtype).removeprefix("torch.")), target)

    def work(rows: slice) -> None:
        target[rows] -= block[rows] * scale

    if is_tensor(target):
        work(slice(None))
    else:
        map_pieces(work, target)


def row_slices(block: Floats) -> Iterator[slice]:
    """Slices of consecutive rows, a cacheful each (on a device: one slice)."""
    slices: Iterator[slice] = backend_of(block).split_rows(block.shape[0])
    return slices


def _is_large(left: Floats, right: Floats) -> bool:
    return isinstance(left, np.ndarray) and left.shape[0] * max(left.shape[1], right.shape[1]) >= LARGE


def map_pieces(work: Callable[[slice], T], block: Floats) -> list[T]:
    """Results of the work for pieces of rows, in their order; threads are woken for a large block only."""
    if block.size >= LARGE:
        return map_row_blocks(work, block.shape[0], ROWS)
    return [work(slice(first, first + ROWS)) for first in range(0, block.shape[0], ROWS)]


def inner_products(left: Floats, right: Floats, dtype: type = np.float64) -> Floats:
    """``leftᵀ right``, on the host; pieces are multiplied in ``dtype`` (on a device: float64) and added in float64."""
    if is_tensor(left):
        inner: Floats = backend_of(left).inner_products(left, right)
        return inner

    def multiply(rows: slice) -> Floats:
        part: Floats = left[rows].astype(dtype, copy=False)
        return part.T @ (part if left is right else right[rows].astype(dtype, copy=False))

    total = np.zeros((left.shape[1], right.shape[1]))
    for part in map_pieces(multiply, left):
        total += part
    return total


def combine_columns(block: Floats, coefficients: Floats) -> Floats:
    """``block @ coefficients`` in the precision of the block; the coefficients are on the host."""
    if is_tensor(block):
        combined: Floats = backend_of(block).combine_columns(block, coefficients)
        return combined
    coefficients = np.ascontiguousarray(coefficients, dtype=block.dtype)
    result = np.empty((block.shape[0], coefficients.shape[1]), block.dtype)

    def multiply(rows: slice) -> None:
        np.matmul(block[rows], coefficients, out=result[rows])

    map_pieces(multiply, block)
    return result


def column_lengths(block: Floats) -> Floats:
    """‖·‖ of each column, in float64 and on the host."""
    if is_tensor(block):
        lengths: Floats = backend_of(block).column_norms(block)
        return lengths
    squares = map_pieces(lambda rows: np.einsum("ij,ij->j", block[rows], block[rows]), block)
    return np.sqrt(np.sum(squares, axis=0, dtype=np.float64))


def orthonormalize(block: Floats) -> Floats:
    """Orthonormal columns with the same span; directions that are rounding are left out."""
    for _ in range(2):
        gram = inner_products(block, block)
        lengths = np.sqrt(np.maximum(np.diag(gram), np.finfo(np.float64).tiny))
        coefficients, least = whiten(gram / np.outer(lengths, lengths))
        block = combine_columns(block, coefficients / lengths[:, None])
        if least > WELL_APART:
            break
    return block


def whiten(gram: Floats) -> tuple[Floats, float]:
    """C with ``Cᵀ gram C = I`` for unit vectors, and about the smallest eigenvalue.

    By Cholesky's decomposition, whose squared diagonal tells how much of a column is new. Where hardly any is, by
    eigenvectors, without those whose eigenvalues are rounding.
    """
    factor, failed = lapack.dpotrf(gram)
    least = 0.0 if failed else float(np.diag(factor).min()) ** 2
    if least > CLEARLY_NEW:
        return lapack.dtrtri(factor)[0], least
    weights, rotation = eigh(gram)
    kept = weights > DROP * weights[-1]
    return rotation[:, kept] / np.sqrt(weights[kept]), float(weights[0])
