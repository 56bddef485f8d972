"""The backend for PyTorch tensors on any device, with a sparse matrix of tensors."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch

from afcm.arrays import numpy_arrays

# As in `afcm.arrays.numpy_arrays`; larger, because every step on a device costs a launch.
BLOCK_ROWS = 1 << 18
BLOCK_EDGES = 1 << 19
# Up to so many random numbers are drawn on the host, so that seeds agree everywhere; drawing more takes too long there.
HOST_DRAWS = 1 << 20
# Edges of each node that components are first looked for with.
FIRST_EDGES = 2


def to_host(array: Any) -> Any:
    if isinstance(array, SparseTensor):
        return array.scipy_matrix
    return array.detach().cpu().numpy() if isinstance(array, torch.Tensor) else array


def from_host(array: Any, reference: Any) -> Any:
    if array is None or isinstance(array, torch.Tensor):
        return array
    return torch.as_tensor(np.asarray(array, order="C"), device=reference.device)


def to_device_of(value: Any, reference: Any) -> Any:
    """Move an array, tensor or sparse matrix to the device of ``reference``, to the host if that is no tensor."""
    if not isinstance(reference, torch.Tensor):
        return to_host(value)
    if isinstance(value, torch.Tensor):
        return value.to(reference.device)
    if sp.issparse(value):
        return SparseTensor.from_scipy(value, reference.device)
    return from_host(value, reference) if isinstance(value, np.ndarray) and value.dtype != object else value


def take_rows(array: Any, numbers: Any) -> Any:
    return array if isinstance(numbers, slice) else array[from_host(numbers, array)]


def is_drawn_on_host(shape: tuple[int, int], reference: Any) -> bool:
    return reference.device.type == "cpu" or shape[0] * shape[1] <= HOST_DRAWS


def draw_normal(shape: tuple[int, int], seed: int, reference: Any, dtype: str = "float64") -> Any:
    """Normal numbers of a fixed seed, drawn where ``reference`` is if they are many."""
    if is_drawn_on_host(shape, reference):
        return from_host(numpy_arrays.draw_normal(shape, seed, reference, dtype), reference)
    generator = torch.Generator(device=reference.device).manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=getattr(torch, dtype), device=reference.device)


def draw_signs(shape: tuple[int, int], seed: int, reference: Any) -> Any:
    """−1 or 1 in single precision, of a fixed seed, drawn where ``reference`` is if they are many."""
    if is_drawn_on_host(shape, reference):
        return from_host(numpy_arrays.draw_signs(shape, seed, reference), reference)
    generator = torch.Generator(device=reference.device).manual_seed(seed)
    draws = torch.rand(shape, generator=generator, device=reference.device)
    return torch.where(draws < 0.5, -1.0, 1.0)


def split_rows(n_rows: int) -> Iterator[slice]:
    """All rows at once, because every step on a device costs a launch."""
    return iter((slice(0, n_rows),))


def allocate_basis(n_rows: int, n_columns: int, reference: Any) -> Any:
    return torch.empty((n_rows, n_columns), dtype=torch.float64, device=reference.device)


def copy_rows(block: Any) -> Any:
    """A copy in row order."""
    return block.clone(memory_format=torch.contiguous_format)


def make_contiguous(block: Any) -> Any:
    return block.contiguous()


def pad_width(width: int, reference: Any) -> int:
    """The width of a block that products with a matrix like best: large rows begin at multiples of 64 bytes."""
    return width if is_drawn_on_host((reference.shape[0], width), reference) else -(-width // 16) * 16


def to_single(block: Any) -> Any:
    """The block in rows of single precision."""
    return block.to(torch.float32).contiguous()


@contextmanager
def whole_products() -> Iterator[None]:
    """Products of float32 in float32, even where the user allows fewer digits (TF32)."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def inner_products(left: Any, right: Any) -> Any:
    """``leftᵀ right`` in float64, on the host."""
    total = torch.zeros((left.shape[1], right.shape[1]), dtype=torch.float64, device=left.device)
    for first in range(0, left.shape[0], BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        part = left[rows].double()
        total.addmm_(part.T, part if left is right else right[rows].double())
    return to_host(total)


def combine_columns(block: Any, coefficients: Any) -> Any:
    """``block @ coefficients`` in the precision of the block."""
    with whole_products():
        return block @ from_host(coefficients, block).to(block.dtype)


def column_dots(left: Any, right: Any) -> Any:
    """The inner products of columns with the same number."""
    return torch.linalg.vecdot(left, right, dim=0)


def column_norms(block: Any) -> Any:
    return to_host(torch.linalg.vector_norm(block, dim=0, dtype=torch.float64))


def sum_squares(array: Any) -> float:
    """The sum of all squares in float64."""
    return float(torch.linalg.vector_norm(array, dtype=torch.float64)) ** 2


@dataclass(frozen=True)
class SparseTensor:
    """A CSR matrix of tensors, with the operations that a graph needs."""

    data: Any
    indices: Any
    indptr: Any
    shape: tuple[int, int]

    on_device: ClassVar[bool] = True

    @classmethod
    def from_scipy(cls, matrix: Any, device: Any) -> SparseTensor:
        csr = sp.csr_array(matrix)
        indices, offsets = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
        data, indices, offsets = (torch.as_tensor(part, device=device) for part in (csr.data, indices, offsets))
        return cls(data, indices, offsets, csr.shape)

    @classmethod
    def from_edges(cls, rows: Any, columns: Any, data: Any, shape: tuple[int, int]) -> SparseTensor:
        """From entries in any order; entries at the same place are added."""
        return cls.from_places(rows * shape[1] + columns, data, shape)

    @classmethod
    def from_places(cls, places: Any, data: Any, shape: tuple[int, int]) -> SparseTensor:
        """From entries in any order, at the places ``row · n + column``; entries at the same place are added."""
        keys, order = torch.sort(places, stable=True)
        first = torch.ones_like(keys, dtype=torch.bool)
        torch.ne(keys[1:], keys[:-1], out=first[1:])
        data, kept = data[order], keys[first]
        if kept.shape[0] < keys.shape[0]:
            number = torch.cumsum(first, dim=0) - 1
            data = torch.zeros(kept.shape[0], dtype=data.dtype, device=data.device).index_add_(0, number, data)
        starts = torch.arange(shape[0] + 1, device=data.device) * shape[1]
        return cls(data, kept % shape[1], torch.searchsorted(kept, starts), shape)

    @property
    def nnz(self) -> int:
        return int(self.data.shape[0])

    @property
    def device(self) -> Any:
        return self.data.device

    @cached_property
    def rows(self) -> Any:
        """The row of each entry."""
        counts = self.indptr[1:] - self.indptr[:-1]
        return torch.repeat_interleave(torch.arange(self.shape[0], device=self.device), counts)

    @cached_property
    def _matrix(self) -> Any:
        with warnings.catch_warnings():  # the format is called beta
            warnings.simplefilter("ignore", UserWarning)
            parts = (self.indptr, self.indices, self.data)
            return torch.sparse_csr_tensor(*parts, size=self.shape, check_invariants=False)

    @cached_property
    def scipy_matrix(self) -> Any:
        parts = (to_host(self.data), to_host(self.indices), to_host(self.indptr))
        return sp.csr_array(parts, shape=self.shape)

    def __matmul__(self, block: Any) -> Any:
        product = self._matrix @ (block if block.ndim == 2 else block[:, None]).contiguous()
        return product if block.ndim == 2 else product[:, 0]

    def toarray(self) -> Any:
        """The dense matrix, on the host."""
        return self.scipy_matrix.toarray()

    def with_data(self, data: Any) -> SparseTensor:
        """The matrix with other entries at the same places."""
        made = SparseTensor(data, self.indices, self.indptr, self.shape)
        if "rows" in self.__dict__:  # one table of them for all
            made.__dict__["rows"] = self.rows
        return made


def build_directed(weights: Any, indices: Any, n_nodes: int) -> SparseTensor:
    """The sparse matrix with ``weights`` at the neighbors of each row."""
    n_rows, k = weights.shape
    numbers = torch.arange(n_rows, device=weights.device).repeat_interleave(k)
    stored = weights.ravel() != 0
    return SparseTensor.from_edges(
        numbers[stored], indices[:, :k].ravel()[stored], weights.ravel()[stored], (n_rows, n_nodes)
    )


def symmetrize(weights: SparseTensor) -> SparseTensor:
    """``(W + Wᵀ) / 2``."""
    n, half = weights.shape[1], weights.data * 0.5
    places = torch.cat([weights.rows * n + weights.indices, weights.indices * n + weights.rows])
    return SparseTensor.from_places(places, torch.cat([half, half]), weights.shape)


def square_root(weights: SparseTensor) -> SparseTensor:
    """``√w_ij``."""
    return weights.with_data(torch.sqrt(weights.data))


def square(weights: SparseTensor) -> SparseTensor:
    """``w_ij²``."""
    return weights.with_data(weights.data * weights.data)


def scale_rows_and_columns(weights: SparseTensor, scale: Any, *, spare: bool = False) -> SparseTensor:  # noqa: ARG001
    """``s_i w_ij s_j`` in float64."""
    return weights.with_data(weights.data.double() * scale[weights.rows] * scale[weights.indices])


def normalize_rows(weights: SparseTensor, masses: Any) -> SparseTensor:
    """``m_j w_ij`` divided by the sums of the rows; ``masses`` of None are all 1."""
    data = weights.data if masses is None else weights.data * masses[weights.indices]
    totals = torch.zeros(weights.shape[0], dtype=data.dtype, device=data.device).index_add_(0, weights.rows, data)
    return weights.with_data(data / totals[weights.rows])


def multiply_edges(weights: SparseTensor, measure: Callable[[Any, Any], Any]) -> SparseTensor:
    """Symmetric weights times ``measure(rows, columns)`` of their edges, which is symmetric too; no diagonal.

    Each edge is measured from both ends: that costs less than to bring its two entries together.
    """
    factors = measure(weights.rows, weights.indices)
    return weights.with_data(weights.data * factors * (weights.rows != weights.indices))


def find_components(affinity: SparseTensor, isolated: Any) -> tuple[int, Any]:
    """Number of connected components among nodes that are not isolated, and each node's component (isolated: −1).

    A few edges of each node join most of the nodes. Only edges between what they joined are looked at again (Afforest).
    """
    offsets = affinity.indptr
    places = [offsets[:-1] + number for number in range(FIRST_EDGES)]
    few = torch.cat([place[place < offsets[1:]] for place in places])
    parent = join_ends(affinity.rows[few], affinity.indices[few], affinity.shape[0])
    begin, end = parent[affinity.rows], parent[affinity.indices]
    apart = begin != end
    parent = join_ends(begin[apart], end[apart], affinity.shape[0])[parent]
    labels = torch.full_like(parent, -1)
    kept, labels[~isolated] = torch.unique(parent[~isolated], return_inverse=True)
    return int(kept.shape[0]), labels


def join_ends(rows: Any, columns: Any, n_nodes: int) -> Any:
    """The smallest node that each node is connected with by these edges, which count both ways.

    FastSV: every node points to the smallest node among the pointers of its own pointer and of its neighbors' pointers.
    """
    rows, columns = torch.cat([rows, columns]), torch.cat([columns, rows])
    parent = torch.arange(n_nodes, device=rows.device)
    while True:
        grand = parent[parent]
        heard = grand[columns]
        following = torch.minimum(parent, grand)
        following = following.scatter_reduce(0, rows, heard, "amin")
        following = following.scatter_reduce(0, parent[rows], heard, "amin")
        if torch.equal(following, parent):
            return parent
        parent = following


def may_have_equal_rows(points: Any) -> bool:
    """Could two rows be equal? Equal rows have equal 64-bit keys, and different rows hardly ever."""
    bits = (points + 0.0).contiguous().view(torch.int32 if points.dtype == torch.float32 else torch.int64)
    factors = np.random.default_rng(0).integers(1, 2**62, size=points.shape[1]) * 2 + 1
    keys = torch.zeros(points.shape[0], dtype=torch.int64, device=points.device)
    for column, factor in zip(bits.T, factors.tolist(), strict=True):
        mixed = (column.long() ^ factor) * factor
        keys = (keys ^ mixed ^ (mixed >> 29)) * -7046029254386353131
    return int(torch.unique(keys).shape[0]) < points.shape[0]
