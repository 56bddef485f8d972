"""Exact nearest neighbours on a CUDA device, without the distance matrix ever reaching memory.

A group is what 64 tiles of columns have at the same place. One kernel goes through the tiles and keeps the smallest
distance of every group: the k nearest lie in the k groups with the smallest minima. A second kernel measures the
members of the best groups from differences. Candidates come from half-precision products (scaled, about the mean), so
a bound on their rounding tells for which rows they are proven complete; others are searched again with products of two
halves.
"""

# mypy: disable-error-code="import-not-found,no-untyped-def,untyped-decorator"
# ruff: noqa: PLR0917 (kernels take many arguments)

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl

from afcm.compiled import torch_neighbors

# Rows and columns of a tile, and tiles that share a group (smaller tables: fewer, so that there are groups enough).
ROWS, COLUMNS, TILES = 128, 64, 64
# Groups measured beyond k: rounding may hide a neighbour behind so many. Candidates kept for float64.
SPARE_GROUPS, SPARE = 5, 4
# Coordinates are scaled to this size: products of half precision then neither overflow nor vanish.
REACH = 2.0**13
# Sums in float32 err by at most this share of the largest squared length in sight.
SUMMATION = 2.0**-20
# Elements of the matrix of minima that are there at a time (4 bytes each).
MINIMA = 1 << 29
# A neighbour that was missed matters if it could be nearer by more than this share (squared distance).
MISS_TOLERANCE = 1e-4


@triton.jit
def _tile(
    queries, points, at, row, width: tl.constexpr, depth: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """Products of a tile, a few coordinates at a time."""
    costs = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for first in range(0, width, depth):
        dims = first + tl.arange(0, depth)
        left = tl.load(queries + row[:, None] * width + dims[None, :])
        right = tl.load(points + at[:, None] * width + dims[None, :])
        costs = tl.dot(left, tl.trans(right), costs)
    return costs


@triton.jit
def _group_minima(
    queries, queries_rest, points, points_rest, norms, minima, bundles, n_groups, tiles,
    width: tl.constexpr, depth: tl.constexpr, precise: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """``min_t (‖y‖² − 2 x·y)`` over the tiles of a group, for each row and group; and over a bundle of groups."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    columns = tl.arange(0, COLUMNS)
    first = tl.program_id(1) * tiles * COLUMNS
    best = tl.full((ROWS, COLUMNS), float("inf"), dtype=tl.float32)
    if width == depth:
        dims = tl.arange(0, depth)
        left = tl.load(queries + row[:, None] * width + dims[None, :])
        for tile in range(tiles):
            at = (first + tile * COLUMNS + columns).to(tl.int64)
            right = tl.load(points + at[:, None] * width + dims[None, :])
            costs = tl.dot(left, tl.trans(right))
            if precise:
                rest = tl.load(points_rest + at[:, None] * width + dims[None, :])
                costs = tl.dot(left, tl.trans(rest), costs)
                left_rest = tl.load(queries_rest + row[:, None] * width + dims[None, :])
                costs = tl.dot(left_rest, tl.trans(right), costs)
            best = tl.minimum(best, costs + tl.load(norms + at)[None, :])
    else:
        for tile in range(tiles):
            at = (first + tile * COLUMNS + columns).to(tl.int64)
            costs = _tile(queries, points, at, row, width, depth, ROWS, COLUMNS)
            if precise:
                costs += _tile(queries, points_rest, at, row, width, depth, ROWS, COLUMNS)
                costs += _tile(queries_rest, points, at, row, width, depth, ROWS, COLUMNS)
            best = tl.minimum(best, costs + tl.load(norms + at)[None, :])
    tl.store(minima + row[:, None] * n_groups + (tl.program_id(1) * COLUMNS + columns)[None, :], best)
    tl.store(bundles + row * tl.num_programs(1) + tl.program_id(1), tl.min(best, axis=1))


@triton.jit
def _member_distances(
    queries, grouped, groups, squared, own, n_points, n_chosen, width,
    tiles: tl.constexpr, depth: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Squared distances from a row to all members of its groups, from differences; infinite to itself."""
    row = tl.program_id(0).to(tl.int64)
    members, dims = tl.arange(0, tiles), tl.arange(0, depth)
    myself = tl.load(own + row)
    for chosen in range(n_chosen):
        group = tl.load(groups + row * n_chosen + chosen)
        total = tl.zeros((tiles,), dtype=tl.float32)
        for first in range(0, width, depth):
            inside = first + dims < width
            mine = tl.load(queries + row * width + first + dims, mask=inside, other=0.0)
            at = (group * tiles + members)[:, None] * width + (first + dims)[None, :]
            difference = tl.load(grouped + at, mask=inside[None, :], other=0.0) - mine[None, :]
            total += tl.sum(difference * difference, axis=1)
        number = (group // COLUMNS) * (tiles * COLUMNS) + members * COLUMNS + group % COLUMNS
        total = tl.where((number < n_points) & (number != myself), total, float("inf"))
        tl.store(squared + (row * n_chosen + chosen) * tiles + members, total)


class Halves(NamedTuple):
    """Scaled rows as sums of two half-precision numbers, with what rounding did to them."""

    high: Any
    low: Any
    squared: Any  # ‖·‖² of the high part
    whole: Any  # ‖·‖² of the row
    lost: Any  # ‖row − high‖


@dataclass(frozen=True)
class Table:
    """Points ready to be searched: about their mean, scaled, padded, and once more with groups side by side."""

    points: Any
    tiles: int

    @classmethod
    def of(cls, points: Any, count: int) -> Table:
        """With groups as large as leaves enough of them."""
        per_tile = points.shape[0] // (8 * (count + SPARE_GROUPS))
        tiles = 1 << max(min(per_tile, TILES), 1).bit_length() - 1
        return cls(points, max(tiles, 1))

    @cached_property
    def mean(self) -> Any:
        """Origin of the scaled points."""
        return self.points.double().mean(dim=0).to(self.points.dtype)

    @cached_property
    def scale(self) -> float:
        """Makes the largest coordinate `REACH`."""
        low, high = torch.aminmax(self.points, dim=0)
        reach = float(torch.maximum(high - self.mean, self.mean - low).max())
        return REACH / reach if reach > 0 else 1.0

    @cached_property
    def width(self) -> int:
        """Padded number of columns: a power of two up to 128, then whole pieces of 64."""
        columns = self.points.shape[1]
        return max(16, triton.next_power_of_2(columns)) if columns <= 128 else 64 * triton.cdiv(columns, 64)

    @cached_property
    def n_padded(self) -> int:
        """Points with padding: whole bundles of groups."""
        chunk = self.tiles * COLUMNS
        return triton.cdiv(self.points.shape[0], chunk) * chunk

    @property
    def n_groups(self) -> int:
        """Groups, those of padding too."""
        return self.n_padded // self.tiles

    def scaled(self, rows: Any, n_rows: int) -> Any:
        """Rows about the mean in float32, scaled, padded by zeros."""
        padded = torch.zeros((n_rows, self.width), dtype=torch.float32, device=rows.device)
        padded[: rows.shape[0], : rows.shape[1]] = (rows - self.mean) * self.scale
        return padded

    def halves(self, scaled: Any) -> Halves:
        """Scaled rows for the kernel."""
        high = scaled.half()
        rest = scaled - high
        full = high.float()
        lengths = torch.linalg.vecdot(full, full), torch.linalg.vecdot(scaled, scaled)
        return Halves(high, rest.half(), *lengths, torch.linalg.vector_norm(rest, dim=1))

    @cached_property
    def columns(self) -> Halves:
        """All points; what is padded is infinitely far."""
        found = self.halves(self.scaled(self.points, self.n_padded))
        found.squared[self.points.shape[0] :] = found.whole[self.points.shape[0] :] = float("inf")
        return found

    @cached_property
    def reach(self) -> float:
        """The length of the longest scaled row."""
        return float(self.columns.squared[: self.points.shape[0]].max().sqrt())

    @cached_property
    def grouped(self) -> Any:
        """Scaled points, each group's members side by side."""
        scaled = self.scaled(self.points, self.n_padded)[:, : self.points.shape[1]]
        return scaled.view(-1, self.tiles, COLUMNS, scaled.shape[1]).transpose(1, 2).contiguous()

    def minima(self, queries: Halves, precise: bool) -> tuple[Any, Any]:
        """Smallest ``‖y‖² − 2 x·y`` of each group and of each bundle; queries come padded and times −2."""
        n_rows, points = queries.high.shape[0], self.columns
        norms = points.whole if precise else points.squared
        n_bundles, depth = self.n_groups // COLUMNS, self.width if self.width <= 128 else 64
        found = torch.empty((n_rows, self.n_groups), dtype=torch.float32, device=queries.high.device)
        bundles = torch.empty((n_rows, n_bundles), dtype=torch.float32, device=queries.high.device)
        _group_minima[(n_rows // ROWS, n_bundles)](
            queries.high, queries.low, points.high, points.low, norms, found, bundles, self.n_groups, self.tiles,
            self.width, depth, precise, ROWS, COLUMNS, num_warps=4, num_stages=3 if depth == self.width else 2,
        )  # fmt: skip
        return found, bundles

    def distances(self, scaled: Any, groups: Any, own: Any) -> Any:
        """Scaled squared distances of rows to all members of their groups."""
        n_rows, width = groups.shape[0], self.points.shape[1]
        found = torch.empty((n_rows, groups.shape[1] * self.tiles), dtype=torch.float32, device=scaled.device)
        depth = min(triton.next_power_of_2(width), 64)
        _member_distances[(n_rows,)](
            scaled[:, :width].contiguous(), self.grouped, groups, found, own, self.points.shape[0], groups.shape[1],
            width, self.tiles, depth, COLUMNS, num_warps=4,
        )  # fmt: skip
        return found

    def number(self, groups: Any, places: Any) -> Any:
        """Row numbers of members, from their place in the list of their row's groups."""
        group = torch.gather(groups, 1, places // self.tiles)
        return (group // COLUMNS) * (self.tiles * COLUMNS) + (places % self.tiles) * COLUMNS + group % COLUMNS


def best_groups(minima: Any, bundles: Any, count: int) -> tuple[Any, Any]:
    """The ``count`` groups with the smallest minima, and the smallest minimum of the others.

    They lie in the bundles with the smallest minima: the same argument once more.
    """
    wanted = min(count + 1, minima.shape[1])
    chosen = torch.topk(bundles, min(wanted, bundles.shape[1]), largest=False, sorted=False).indices
    inside = torch.gather(minima.unflatten(1, (-1, COLUMNS)), 1, chosen[:, :, None].expand(-1, -1, COLUMNS)).flatten(1)
    values, places = torch.topk(inside, wanted, largest=False)
    groups = torch.gather(chosen, 1, places // COLUMNS) * COLUMNS + places % COLUMNS
    if wanted <= count:
        return groups, torch.full_like(values[:, 0], float("inf"))
    return groups[:, :count].contiguous(), values[:, count]


def search_fused(points: Any, k: int, queries: Any = None) -> tuple[Any, Any]:
    """The k nearest rows and their squared distances (float64), as `afcm.neighbors.find_neighbors` gives them."""
    table, asked = Table.of(points, k), points if queries is None else queries
    own = torch.arange(asked.shape[0], device=points.device)
    own = own if queries is None else torch.full_like(own, -1)
    indices, squared, doubtful = _search(table, asked, own, k, precise=False)
    for attempt in (_search_precisely, _search_plainly):
        if not doubtful.numel():
            break
        indices[doubtful], squared[doubtful], left = attempt(table, asked[doubtful], own[doubtful], k)
        doubtful = doubtful[left]
    return indices, squared


def _search_precisely(table: Table, asked: Any, own: Any, k: int) -> tuple[Any, Any, Any]:
    return _search(table, asked, own, k, precise=True)


def _search(table: Table, asked: Any, own: Any, k: int, *, precise: bool) -> tuple[Any, Any, Any]:
    """Neighbours of these rows, and which rows are not proven."""
    size = max(ROWS, MINIMA // table.n_groups // ROWS * ROWS)
    parts = [
        _search_block(table, asked[first : first + size], own[first : first + size], k, precise)
        for first in range(0, asked.shape[0], size)
    ]
    indices, squared, proven = (torch.cat(part) for part in zip(*parts, strict=True))
    return indices, squared, torch.nonzero(~proven).ravel()


def _search_block(table: Table, asked: Any, own: Any, k: int, precise: bool) -> tuple[Any, Any, Any]:
    n_rows = asked.shape[0]
    scaled = table.scaled(asked, triton.cdiv(n_rows, ROWS) * ROWS)
    halves = table.halves(scaled)
    doubled = halves._replace(high=-2 * halves.high, low=-2 * halves.low)
    minima, bundles = table.minima(doubled, precise)
    groups, beyond = best_groups(minima[:n_rows], bundles[:n_rows], min(k + 1 + SPARE_GROUPS, table.n_groups))
    del minima
    distances = table.distances(scaled[:n_rows], groups, own)
    keep = min(k + SPARE, distances.shape[1])
    values, places = torch.topk(distances, keep, largest=False, sorted=False)
    numbers = torch.where(torch.isinf(values), table.points.shape[0], table.number(groups, places))
    indices, squared = torch_neighbors.measure_candidates(table.points, asked, numbers, k, own)
    least = _lower_bound(table, halves, beyond, n_rows, precise)
    return indices, squared, squared[:, -1] * (1 - MISS_TOLERANCE) <= least


def _lower_bound(table: Table, halves: Halves, beyond: Any, n_rows: int, precise: bool) -> Any:
    """A lower bound on the squared distance to every point that was not measured."""
    length = (halves.whole if precise else halves.squared)[:n_rows]
    slack = SUMMATION * (length.sqrt() + table.reach) ** 2
    least = (beyond + length - slack).clamp(min=0).sqrt()
    if not precise:
        least = (least - halves.lost[:n_rows] - table.columns.lost.max()).clamp(min=0)
    return (least.double() / table.scale) ** 2


def _search_plainly(table: Table, asked: Any, own: Any, k: int) -> tuple[Any, Any, Any]:
    """All distances in float64, a few rows at a time; one more, in case a row finds itself."""
    candidates, _ = torch_neighbors.search_blocked(table.points, min(k + 1, table.points.shape[0]), asked)
    indices, squared = torch_neighbors.measure_candidates(table.points, asked, candidates, k, own)
    return indices, squared, torch.zeros(0, dtype=torch.int64, device=own.device)
