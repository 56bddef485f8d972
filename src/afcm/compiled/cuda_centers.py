"""One look at all samples of a graph-free model on a CUDA device: `afcm.equations.paper.expectation`, fused.

Distances, memberships and statistics of a tile of samples stay in registers; the n×c matrix never reaches memory.
Samples and centres are sums of two halves (scaled about the mean), so that their products have the digits of float32 at
the speed of half precision; memberships weigh in the moments with half precision, in numerator and denominator alike.
"""

# mypy: disable-error-code="import-not-found,no-untyped-def,untyped-decorator"
# ruff: noqa: PLR0917, SIM108 (kernels take many arguments, and know no ternary operator)

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl

from afcm.equations.paper import Statistics

# Samples in a tile and warps that work on it; more columns or clusters than these do not fit into registers.
SAMPLES, WARPS, MOST_COLUMNS, MOST_CLUSTERS = 64, 4, 128, 128
# Programs for each multiprocessor: each keeps its own sums.
PROGRAMS = 2
# The memberships' change is watched on so many samples, and confirmed on all before a run ends.
WATCHED, WATCHED_TILE = 32_768, 32
# Coordinates are scaled to this size: halves of products neither overflow nor vanish. Centres may lie farther out.
REACH, FARTHEST = 2.0**10, 2.0**14
# A squared distance (scaled) for clusters that are padding.
FAR = 1e30
# Shares (at most 1) are multiplied by this, so that small ones are not lost in half precision.
SHARE = tl.constexpr(1024.0)
# Fewer products of a coordinate than this are done before a kernel pays, and by plain functions more exactly.
WORTH_FUSING = 20_000_000


@triton.jit
def _costs(x_high, x_low, x_squared, high, low, squared, fuzzy: tl.constexpr):
    """Squared distances of a tile, from products of two halves; the centres come times −2.

    The softmax needs no ‖x‖², so it is left out there.
    """
    costs = tl.dot(x_high, tl.trans(high))
    costs = tl.dot(x_high, tl.trans(low), costs)
    costs = tl.dot(x_low, tl.trans(high), costs) + squared[None, :]
    if fuzzy:
        costs = tl.maximum(costs + x_squared[:, None], 0.0)
    return costs


@triton.jit
def _powers(costs, steepness, fuzzy: tl.constexpr):
    """Memberships before they are divided by their sum, and the smallest cost; ``steepness`` is γ log2 e."""
    nearest = tl.min(costs, axis=1)
    if fuzzy:
        zero = tl.where(costs == 0.0, 1.0, 0.0)
        powers = tl.where(nearest[:, None] > 0, nearest[:, None] / tl.maximum(costs, 1e-30), zero)
    else:
        powers = tl.exp2((steepness * nearest)[:, None] - steepness * costs)
    return powers, nearest


@triton.jit
def _scan(
    points, masses, mean, scale, high, low, squared, steepness, totals, moments, sums, n_samples, width,
    weighted: tl.constexpr, fuzzy: tl.constexpr, D: tl.constexpr, C: tl.constexpr, SAMPLES: tl.constexpr,
):  # fmt: skip
    """Each program's sums over its tiles (fetching the next tile early was tried: its registers cost more)."""
    program, dims, clusters, ones = tl.program_id(0), tl.arange(0, D), tl.arange(0, C), tl.arange(0, 16)
    inside, samples = dims < width, tl.arange(0, SAMPLES)
    origin = tl.load(mean + dims, mask=inside, other=0.0)
    cells = clusters[:, None] * D + dims[None, :]
    v_high, v_low, v_squared = tl.load(high + cells), tl.load(low + cells), tl.load(squared + clusters)
    unit = tl.full((SAMPLES, 16), 1.0, tl.float16)
    total, moment = tl.zeros((C, 16), dtype=tl.float32), tl.zeros((C, D), dtype=tl.float32)
    scatter, energy = tl.zeros((SAMPLES,), tl.float32), tl.zeros((SAMPLES,), tl.float32)
    stride = tl.num_programs(0) * SAMPLES
    rows = (program * SAMPLES + samples).to(tl.int64)
    for _ in range(program * SAMPLES, n_samples, stride):
        there = rows < n_samples
        near = there[:, None] & inside[None, :]
        x = tl.load(points + rows[:, None] * width + dims[None, :], mask=near, other=0.0)
        x = (x - origin[None, :]) * scale
        x_high = x.to(tl.float16)
        x_low = (x - x_high.to(tl.float32)).to(tl.float16)
        length = tl.sum(x * x, axis=1)
        costs = _costs(x_high, x_low, length, v_high, v_low, v_squared, fuzzy)
        powers, nearest = _powers(costs, steepness, fuzzy)
        spread = tl.sum(powers, axis=1)
        if weighted:
            mass = tl.load(masses + rows, mask=there, other=0.0)
        else:
            mass = tl.where(there, 1.0, 0.0)
        if fuzzy:
            powers = powers * powers
            weight = mass / (spread * spread)
            scatter += weight * tl.sum(powers * costs, axis=1)
        else:
            weight = mass / spread
            scatter += weight * tl.sum(powers * costs, axis=1) + mass * length
            energy += mass * (steepness * (nearest + length) - tl.log2(spread))
        shares = tl.trans((powers * (weight * SHARE)[:, None]).to(tl.float16))
        moment = tl.dot(shares, x_high, moment)
        moment = tl.dot(shares, x_low, moment)
        total = tl.dot(shares, unit, total)
        rows += stride
    tl.store(totals + program * C * 16 + clusters[:, None] * 16 + ones[None, :], total)
    tl.store(moments + program * C * D + cells, moment)
    tl.store(sums + program * 2 * SAMPLES + samples, scatter)
    tl.store(sums + program * 2 * SAMPLES + SAMPLES + samples, energy)


@triton.jit
def _change(
    points, mean, scale, high, low, squared, steepness, old_high, old_low, old_squared, old_steepness, changes,
    n_samples, width, fuzzy: tl.constexpr, D: tl.constexpr, C: tl.constexpr, SAMPLES: tl.constexpr,
):  # fmt: skip
    """The largest change of a membership in one tile of samples."""
    dims, clusters = tl.arange(0, D), tl.arange(0, C)
    rows, inside = tl.program_id(0) * SAMPLES + tl.arange(0, SAMPLES), dims < width
    near, cells = (rows < n_samples)[:, None] & inside[None, :], clusters[:, None] * D + dims[None, :]
    x = tl.load(points + rows[:, None] * width + dims[None, :], mask=near, other=0.0)
    x = (x - tl.load(mean + dims, mask=inside, other=0.0)[None, :]) * scale
    x_high = x.to(tl.float16)
    x_low = (x - x_high.to(tl.float32)).to(tl.float16)
    length = tl.sum(x * x, axis=1)
    costs = _costs(
        x_high, x_low, length, tl.load(high + cells), tl.load(low + cells), tl.load(squared + clusters), fuzzy
    )
    degrees, _ = _powers(costs, steepness, fuzzy)
    degrees = degrees / tl.sum(degrees, axis=1)[:, None]
    w_high, w_low, w_squared = tl.load(old_high + cells), tl.load(old_low + cells), tl.load(old_squared + clusters)
    before, _ = _powers(_costs(x_high, x_low, length, w_high, w_low, w_squared, fuzzy), old_steepness, fuzzy)
    before = before / tl.sum(before, axis=1)[:, None]
    moved = tl.where(rows < n_samples, tl.max(tl.abs(degrees - before), axis=1), 0.0)
    tl.store(changes + tl.program_id(0), tl.max(moved, axis=0))


class Halves(NamedTuple):
    """Centres about the mean, scaled, padded, times −2, as sums of two half-precision numbers; and ‖·‖²."""

    high: Any
    low: Any
    squared: Any


class TritonPass:
    """Samples (float32, n×d) and masses that are looked at again and again; ``fuzzy``: FCM with m = 2."""

    partial = True  # the change is that of the watched samples

    def __init__(self, points: Any, masses: Any = None, fuzzy: bool = False) -> None:
        self.points, self.masses, self.fuzzy = points.contiguous(), masses, fuzzy
        self._known: dict[int, tuple[Any, Halves, bool]] = {}

    def is_worthwhile(self, points: Any, n_clusters: int) -> bool:
        """Is this a size for the kernel, and large enough to pay?"""
        small = points.shape[1] <= MOST_COLUMNS and n_clusters <= MOST_CLUSTERS
        return small and points.dtype == torch.float32 and points.numel() * n_clusters >= WORTH_FUSING

    @cached_property
    def mean(self) -> Any:
        """Origin of the scaled samples."""
        return self.points.mean(dim=0)

    @cached_property
    def scale(self) -> float:
        """Makes the largest coordinate `REACH`."""
        low, high = torch.aminmax(self.points, dim=0)
        return REACH / max(float(torch.maximum(high - self.mean, self.mean - low).max()), 1e-30)

    @cached_property
    def heaviest(self) -> float:
        """The largest mass: shares are then at most 1."""
        return 1.0 if self.masses is None else float(self.masses.max())

    @cached_property
    def shares(self) -> Any:
        """Masses as parts of the largest."""
        return self.points if self.masses is None else self.masses.float() / self.heaviest

    @cached_property
    def watched(self) -> Any:
        """Samples whose memberships are watched, spread evenly over all that have a weight."""
        if self.masses is None:
            return self.points[:: max(1, self.points.shape[0] // WATCHED)].contiguous()
        present = self.masses.nonzero()[:, 0]
        return self.points[present[:: max(1, present.shape[0] // WATCHED)]]

    def padded_shape(self, n_clusters: int) -> tuple[int, int]:
        """Columns and clusters as the kernel has them."""
        return max(16, triton.next_power_of_2(self.points.shape[1])), max(16, triton.next_power_of_2(n_clusters))

    def is_accurate_for(self, centers: Any) -> bool:
        """Are the centres near enough for half precision?"""
        return self._prepare(centers)[1]

    def _prepare(self, centers: Any) -> tuple[Halves, bool]:
        """Centres for the kernel (the last few are remembered), and whether they are near enough."""
        if id(centers) not in self._known:
            while len(self._known) > 1:
                self._known.pop(next(iter(self._known)))
            self._known[id(centers)] = (centers, *self._halves(centers))
        return self._known[id(centers)][1:]

    def _halves(self, centers: Any) -> tuple[Halves, bool]:
        depth, count = self.padded_shape(centers.shape[0])
        scaled = torch.zeros((count, depth), dtype=torch.float32, device=centers.device)
        scaled[: centers.shape[0], : centers.shape[1]] = (centers - self.mean) * self.scale
        squared = torch.linalg.vecdot(scaled, scaled)
        squared[centers.shape[0] :] = FAR
        doubled = -2 * scaled
        high = doubled.half()
        return Halves(high, (doubled - high).half(), squared), float(scaled.abs().max()) <= FARTHEST

    def __call__(
        self, centers: Any, precision: float | None, before: tuple[Any, float | None] | None = None
    ) -> tuple[Statistics, float]:
        """Statistics of all samples, and the largest change of a watched membership since ``before`` (centres, γ)."""
        depth, count = self.padded_shape(centers.shape[0])
        device, halves = self.points.device, self._prepare(centers)[0]
        programs = min(PROGRAMS * count_multiprocessors(device), triton.cdiv(self.points.shape[0], SAMPLES))
        totals = torch.empty((programs, count, 16), dtype=torch.float32, device=device)
        moments = torch.empty((programs, count, depth), dtype=torch.float32, device=device)
        sums = torch.empty((programs, 2, SAMPLES), dtype=torch.float32, device=device)
        _scan[(programs,)](
            self.points, self.shares, self.mean, self.scale, *halves, self._steepness(precision),
            totals, moments, sums, *self.points.shape, self.masses is not None, self.fuzzy, depth, count, SAMPLES,
            num_warps=WARPS, num_stages=1,
        )  # fmt: skip
        change = None if before is None else self._watched_change(halves, precision, *before)
        return self._collect(centers, totals, moments, sums, change)

    def _steepness(self, precision: float | None) -> float:
        return (1.0 if precision is None else precision) * math.log2(math.e) / self.scale**2

    def _watched_change(self, new: Halves, precision: Any, old_centers: Any, old_precision: Any) -> Any:
        count, depth = new.high.shape
        tiles = triton.cdiv(self.watched.shape[0], WATCHED_TILE)
        changes = torch.empty(tiles, dtype=torch.float32, device=self.points.device)
        _change[(tiles,)](
            self.watched, self.mean, self.scale, *new, self._steepness(precision), *self._prepare(old_centers)[0],
            self._steepness(old_precision), changes, *self.watched.shape, self.fuzzy, depth, count, WATCHED_TILE,
            num_warps=4, num_stages=1,
        )  # fmt: skip
        return changes

    def _collect(self, centers: Any, totals: Any, moments: Any, sums: Any, changes: Any) -> tuple[Statistics, float]:
        """The programs' sums in the unit of the samples."""
        rows, columns = centers.shape
        unit = self.heaviest / SHARE.value
        total = totals[:, :rows, 0].sum(dim=0, dtype=torch.float64) * unit
        moment = moments.sum(dim=0, dtype=torch.float64)[:rows, :columns] * (unit / self.scale)
        moment -= total[:, None] * (centers - self.mean)
        known = sums.sum(dim=(0, 2), dtype=torch.float64) * self.heaviest
        largest = known[:1] * math.inf if changes is None else changes.max()[None].double()
        scatter, energy, change = torch.cat([known, largest]).tolist()
        scatter, energy = scatter / self.scale**2, energy * math.log(2)
        statistics = Statistics(
            total.to(centers.dtype), moment.to(centers.dtype), scatter, scatter if self.fuzzy else energy
        )
        return statistics, change


def count_multiprocessors(device: Any) -> int:
    """How many the device has."""
    return int(torch.cuda.get_device_properties(device).multi_processor_count)
