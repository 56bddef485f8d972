# mypy: disable-error-code="import-not-found,no-untyped-def,untyped-decorator"
# ruff: noqa: PLR0917 (kernels take many arguments)
"""Loops over the rows and the edges of a sparse matrix on a CUDA device. They need no memory beside their result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import triton
import triton.language as tl

# Columns of a block that a program takes at most, and the numbers that it reads at a time.
MOST_COLUMNS, AT_A_TIME = 128, 1024
# The cosine between the ends of an edge is raised to this power, by two squares.
POWER = 4


@triton.jit
def _filter_rows(
    offsets, columns, entries, block, fixed, before, result, width, f0, f1, f2,
    plain: tl.constexpr, COLUMNS: tl.constexpr, EDGES: tl.constexpr,
):  # fmt: skip
    """``f₀ A X + f₁ F + f₂ Y``, or ``A X`` if plain: a program writes one row."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = at < width
    begin, end = tl.load(offsets + row), tl.load(offsets + row + 1)
    total = tl.zeros((COLUMNS,), dtype=result.dtype.element_ty)
    for first in range(begin, end, EDGES):
        edge = first + tl.arange(0, EDGES)
        there = edge < end
        node = tl.load(columns + edge, mask=there, other=0).to(tl.int64)
        entry = tl.load(entries + edge, mask=there, other=0.0)
        theirs = tl.load(block + node[:, None] * width + at[None, :], mask=there[:, None] & inside[None, :], other=0.0)
        total += tl.sum(entry[:, None] * theirs, axis=0)
    if not plain:
        own = tl.load(fixed + row * width + at, mask=inside, other=0.0)
        old = tl.load(before + row * width + at, mask=inside, other=0.0)
        total = (f0 * total + f1 * own + f2 * old).to(result.dtype.element_ty)
    tl.store(result + row * width + at, total, mask=inside)


@triton.jit
def _compare_ends(
    vectors, rows, columns, result, n_edges, stride, width, fewest, COLUMNS: tl.constexpr, EDGES: tl.constexpr
):
    edge = (tl.program_id(0) * EDGES + tl.arange(0, EDGES)).to(tl.int64)
    there, at = edge < n_edges, tl.arange(0, COLUMNS)
    mask = there[:, None] & (at < width)[None, :]
    begin = tl.load(rows + edge, mask=there, other=0).to(tl.int64)
    end = tl.load(columns + edge, mask=there, other=0).to(tl.int64)
    left = tl.load(vectors + begin[:, None] * stride + at[None, :], mask=mask, other=0.0)
    right = tl.load(vectors + end[:, None] * stride + at[None, :], mask=mask, other=0.0)
    dots = tl.cumsum(left * right, axis=1)
    squares = tl.cumsum(left * left, axis=1) * tl.cumsum(right * right, axis=1)
    cosine = tl.where(squares > 0, dots / tl.sqrt(tl.where(squares > 0, squares, 1.0)), 0.0)
    cosine = tl.minimum(tl.maximum(cosine, 0.0), 1.0)
    square = cosine * cosine
    counted = (at >= fewest - 1) & (at < width)
    total = tl.sum(tl.where(counted[None, :], square * square, 0.0), axis=1)
    tl.store(result + edge, total / (width - fewest + 1), mask=there)


def multiply_rows(matrix: Any, block: Any) -> Any:
    """A CSR matrix times a block of vectors in rows."""
    block = block.contiguous()
    result = torch.empty((matrix.shape[0], block.shape[1]), dtype=block.dtype, device=block.device)
    _launch(matrix, (block, block, block), (1.0, 0.0, 0.0), result, plain=True)
    return result


def filter_rows(matrix: Any, block: Any, fixed: Any, before: Any, factors: Sequence[float], result: Any) -> None:
    """``result ← f₀ A block + f₁ fixed + f₂ before``; all blocks are contiguous."""
    _launch(matrix, (block, fixed, before), factors, result, plain=False)


def _launch(matrix: Any, blocks: tuple[Any, ...], factors: Sequence[float], result: Any, *, plain: bool) -> None:
    width = result.shape[1]
    n_columns = min(triton.next_power_of_2(width), MOST_COLUMNS)
    n_edges = min(AT_A_TIME // n_columns, 32)
    grid = (matrix.shape[0], triton.cdiv(width, n_columns))
    parts = (matrix.indptr, matrix.indices, matrix.data, *blocks, result)
    _filter_rows[grid](*parts, width, *factors, plain, n_columns, n_edges, num_warps=1)


def compare_ends(vectors: Any, rows: Any, columns: Any, fewest: int) -> Any:
    """``mean_q max(0, cos_q)^p`` for each edge, cos_q between the first q coordinates of its two ends."""
    width, n_edges = vectors.shape[1], rows.shape[0]
    n_columns = triton.next_power_of_2(width)
    at_a_time = max(2048 // n_columns, 1)
    result = torch.empty(n_edges, dtype=vectors.dtype, device=vectors.device)
    if n_edges:
        _compare_ends[(triton.cdiv(n_edges, at_a_time),)](
            vectors, rows, columns, result, n_edges, vectors.stride(0), width, fewest, n_columns, at_a_time
        )
    return result
