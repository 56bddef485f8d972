"""Products of a sparse matrix on a device with a block of vectors: one kernel on CUDA, else PyTorch's own."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch

from afcm.arrays.torch_arrays import SparseTensor
from afcm.compiled.dispatch import is_fused

# Rows are arranged in so many cells, which grow over so many edges of each row in so many rounds.
N_CELLS, CELL_EDGES, CELL_ROUNDS = 128, 4, 32


class DeviceSparse(SparseTensor):
    """A CSR matrix of tensors that is multiplied often."""

    @classmethod
    def from_tensor(cls, matrix: SparseTensor, dtype: Any = None) -> DeviceSparse:
        """Share the memory of the matrix, or copy its entries to another ``dtype``."""
        data = matrix.data if dtype is None else matrix.data.to(dtype)
        return cls(data, matrix.indices, matrix.indptr, matrix.shape)

    def __matmul__(self, block: Any) -> Any:
        if not self._is_fused or block.ndim != 2 or block.dtype != self.data.dtype:
            return super().__matmul__(block)
        from afcm.compiled.cuda_sparse import multiply_rows

        return multiply_rows(self, block)

    def recur(self, block: Any, before: Any, factors: Sequence[float], result: Any, fixed: Any = None) -> None:
        """``result ← f₀ A block + f₁ fixed + f₂ before``; ``fixed`` is the block unless it is given."""
        fixed = block if fixed is None else fixed
        if self._is_fused and block.dtype == torch.float32:  # the kernel's factors have single precision
            from afcm.compiled.cuda_sparse import filter_rows

            filter_rows(self, block, fixed, before, factors, result)
            return
        torch.mul(fixed, factors[1], out=result)
        result.add_(before, alpha=factors[2]).add_(self @ block, alpha=factors[0])

    @cached_property
    def _is_fused(self) -> bool:
        return is_fused(self.data)


def arrange_rows(matrix: SparseTensor) -> tuple[DeviceSparse, Any]:
    """``P A Pᵀ`` in single precision with rows that share neighbors near each other, and the old number of each row.

    A row of a product reads the rows of its neighbors. Where these lie together, most are in the cache already.
    """
    order = torch.argsort(grow_cells(matrix), stable=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(order.shape[0], device=order.device)
    counts = torch.diff(matrix.indptr)[order]
    offsets = torch.cat([counts.new_zeros(1), torch.cumsum(counts, dim=0)])
    shifts = torch.repeat_interleave(matrix.indptr[:-1][order] - offsets[:-1], counts)
    entries = shifts.add_(torch.arange(shifts.shape[0], device=shifts.device))
    data, columns = matrix.data[entries].to(torch.float32), place[matrix.indices[entries]]
    return DeviceSparse(data, columns, offsets, matrix.shape), order


def grow_cells(matrix: SparseTensor) -> Any:
    """A cell for each row, by the first of some scattered rows that reaches it over a few edges of each row."""
    n = matrix.shape[0]
    places = matrix.indptr[:-1, None] + torch.arange(CELL_EDGES, device=matrix.device)
    near = matrix.indices[torch.minimum(places, matrix.indptr[1:, None] - 1).clamp(min=0)]
    cells = torch.full((n,), N_CELLS, device=matrix.device)
    cells[torch.linspace(0, n - 1, N_CELLS, device=matrix.device).long()] = torch.arange(N_CELLS, device=matrix.device)
    for _ in range(CELL_ROUNDS):
        cells = torch.where(cells == N_CELLS, cells[near].amin(dim=1), cells)
    return cells
