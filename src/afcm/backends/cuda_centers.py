"""One look at all samples of a graph-free model on a CUDA device: `afcm.updates.expectation`, fused.

Distances, memberships and statistics of a tile of samples stay in registers; the n×c matrix never reaches memory. The
products are of two halves each (scaled about the mean), which is float32 to about one digit, at the speed of half
precision. The change of the memberships is found by computing the old ones again, which costs less than keeping them.
"""

# mypy: disable-error-code="import-not-found,no-untyped-def,untyped-decorator"
# ruff: noqa: PLR0915, PLR0917, SIM108 (kernels take many arguments, and know no ternary operator)

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl

from afcm.updates import Statistics

# Samples in a tile; more columns or clusters than these do not fit into registers.
SAMPLES, MOST_COLUMNS, MOST_CLUSTERS = 128, 128, 128
# Programs for each multiprocessor: each keeps its own sums.
PROGRAMS = 1
# Coordinates are scaled to this size: halves of products neither overflow nor vanish. Centres may lie farther out.
REACH, FARTHEST = 2.0**10, 2.0**14
# A squared distance (scaled) for clusters that are padding.
FAR = 1e30


@triton.jit
def _costs(x_high, x_low, x_squared, high, low, squared):
    """Squared distances of a tile, from products of two halves; the centres come times −2."""
    costs = tl.dot(x_high, tl.trans(high))
    costs = tl.dot(x_high, tl.trans(low), costs)
    costs = tl.dot(x_low, tl.trans(high), costs)
    return tl.maximum(costs + x_squared[:, None] + squared[None, :], 0.0)


@triton.jit
def _memberships(costs, steepness):
    """softmax(−γ d²) with its sums; ``steepness`` is γ log2 e."""
    nearest = tl.min(costs, axis=1)
    powers = tl.exp2(steepness * (nearest[:, None] - costs))
    spread = tl.sum(powers, axis=1)
    return powers * (1.0 / spread)[:, None], nearest, spread


@triton.jit
def _look(
    points, masses, mean, scale, high, low, squared, steepness, old_high, old_low, old_squared, old_steepness,
    totals, moments, sums, n_samples, width,
    weighted: tl.constexpr, compare: tl.constexpr, D: tl.constexpr, C: tl.constexpr, SAMPLES: tl.constexpr,
):  # fmt: skip
    program, dims, clusters, ones = tl.program_id(0), tl.arange(0, D), tl.arange(0, C), tl.arange(0, 16)
    inside, samples = dims < width, tl.arange(0, SAMPLES)
    origin = tl.load(mean + dims, mask=inside, other=0.0)
    cells = clusters[:, None] * D + dims[None, :]
    v_high, v_low, v_squared = tl.load(high + cells), tl.load(low + cells), tl.load(squared + clusters)
    if compare:
        w_high, w_low, w_squared = tl.load(old_high + cells), tl.load(old_low + cells), tl.load(old_squared + clusters)
    unit = tl.full((SAMPLES, 16), 1.0, tl.float16)
    total, moment = tl.zeros((C, 16), dtype=tl.float32), tl.zeros((C, D), dtype=tl.float32)
    zeros = tl.zeros((SAMPLES,), tl.float32)
    scatter, energy, change = zeros, zeros, zeros
    n_tiles, stride = tl.cdiv(n_samples, SAMPLES), tl.num_programs(0)
    rows = (program * SAMPLES + samples).to(tl.int64)
    near = (rows < n_samples)[:, None] & inside[None, :]
    coming = tl.load(points + rows[:, None] * width + dims[None, :], mask=near, other=0.0)
    for tile in range(program, n_tiles, stride):
        rows = (tile * SAMPLES + samples).to(tl.int64)
        there = rows < n_samples
        x = (coming - origin[None, :]) * scale
        later = rows + stride * SAMPLES
        near = (later < n_samples)[:, None] & inside[None, :]
        coming = tl.load(points + later[:, None] * width + dims[None, :], mask=near, other=0.0)
        x_high = x.to(tl.float16)
        x_low = (x - x_high.to(tl.float32)).to(tl.float16)
        x_squared = tl.sum(x * x, axis=1)
        costs = _costs(x_high, x_low, x_squared, v_high, v_low, v_squared)
        degrees, nearest, spread = _memberships(costs, steepness)
        if weighted:
            mass = tl.load(masses + rows, mask=there, other=0.0)
        else:
            mass = tl.where(there, 1.0, 0.0)
        energy += mass * (steepness * nearest - tl.log2(spread))
        scatter += mass * tl.sum(degrees * costs, axis=1)
        if compare:
            old_costs = _costs(x_high, x_low, x_squared, w_high, w_low, w_squared)
            old_degrees, _, _ = _memberships(old_costs, old_steepness)
            moved = tl.max(tl.abs(degrees - old_degrees), axis=1)
            change = tl.maximum(change, tl.where(there, moved, 0.0))
        shares = degrees * mass[:, None]
        s_high = shares.to(tl.float16)
        s_low = (shares - s_high.to(tl.float32)).to(tl.float16)
        s_high, s_low = tl.trans(s_high), tl.trans(s_low)
        moment = tl.dot(s_high, x_high, moment)
        total = tl.dot(s_high, unit, total)
        total = tl.dot(s_low, unit, total)
        moment = tl.dot(s_low, x_high, moment)
        moment = tl.dot(s_high, x_low, moment)
    tl.store(totals + program * C * 16 + clusters[:, None] * 16 + ones[None, :], total)
    tl.store(moments + program * C * D + cells, moment)
    tl.store(sums + program * 3 * SAMPLES + samples, scatter)
    tl.store(sums + program * 3 * SAMPLES + SAMPLES + samples, energy)
    tl.store(sums + program * 3 * SAMPLES + 2 * SAMPLES + samples, change)


class Halves(NamedTuple):
    """Centres about the mean, scaled, padded, times −2, as sums of two half-precision numbers; and ‖·‖²."""

    high: Any
    low: Any
    squared: Any


class FusedLook:
    """Samples (float32, n×d) and masses that are looked at again and again."""

    def __init__(self, points: Any, masses: Any = None) -> None:
        self.points, self.masses = points.contiguous(), masses

    @staticmethod
    def fits(points: Any, n_clusters: int) -> bool:
        """Is this a size for the kernel?"""
        return points.shape[1] <= MOST_COLUMNS and n_clusters <= MOST_CLUSTERS and points.dtype == torch.float32

    @cached_property
    def mean(self) -> Any:
        """Where the scaled samples have their origin."""
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

    def halves(self, centers: Any) -> Halves:
        """Centres for the kernel."""
        depth, count = self.padded(centers.shape[0])
        scaled = torch.zeros((count, depth), dtype=torch.float32, device=centers.device)
        scaled[: centers.shape[0], : centers.shape[1]] = (centers - self.mean) * self.scale
        squared = torch.linalg.vecdot(scaled, scaled)
        squared[centers.shape[0] :] = FAR
        doubled = -2 * scaled
        high = doubled.half()
        return Halves(high, (doubled - high).half(), squared)

    def padded(self, n_clusters: int) -> tuple[int, int]:
        """Columns and clusters as the kernel has them."""
        return max(16, triton.next_power_of_2(self.points.shape[1])), max(16, triton.next_power_of_2(n_clusters))

    def reaches(self, centers: Any) -> bool:
        """Are the centres near enough for half precision?"""
        return float((centers - self.mean).abs().max()) * self.scale <= FARTHEST

    def __call__(self, centers: Any, precision: float, before: tuple[Any, float] | None) -> tuple[Statistics, float]:
        """Statistics of all samples, and the largest change of a membership since ``before`` (centres, γ)."""
        depth, count = self.padded(centers.shape[0])
        device, steepness = self.points.device, math.log2(math.e) / self.scale**2
        new, old = self.halves(centers), self.halves(centers if before is None else before[0])
        old_precision = precision if before is None else before[1]
        programs = min(PROGRAMS * multiprocessors(device), triton.cdiv(self.points.shape[0], SAMPLES))
        totals = torch.empty((programs, count, 16), dtype=torch.float32, device=device)
        moments = torch.empty((programs, count, depth), dtype=torch.float32, device=device)
        sums = torch.empty((programs, 3, SAMPLES), dtype=torch.float32, device=device)
        _look[(programs,)](
            self.points, self.shares, self.mean, self.scale, *new, precision * steepness, *old,
            old_precision * steepness, totals, moments, sums, *self.points.shape,
            self.masses is not None, before is not None, depth, count, SAMPLES, num_warps=8, num_stages=2,
        )  # fmt: skip
        return self._gathered(centers, totals, moments, sums, before is not None)

    def _gathered(self, centers: Any, totals: Any, moments: Any, sums: Any, compared: bool) -> tuple[Statistics, float]:
        """The programs' sums in the unit of the samples."""
        rows, columns = centers.shape
        total = totals[:, :rows, 0].sum(dim=0, dtype=torch.float64) * self.heaviest
        scale = self.heaviest / self.scale
        moment = moments.sum(dim=0, dtype=torch.float64)[:rows, :columns] * scale
        moment -= total[:, None] * (centers - self.mean)
        scatter, energy = (sums[:, :2].sum(dim=(0, 2), dtype=torch.float64) * self.heaviest).tolist()
        statistics = Statistics(
            total.to(centers.dtype), moment.to(centers.dtype), scatter / self.scale**2, energy * math.log(2)
        )
        return statistics, float(sums[:, 2].max()) if compared else math.inf


def multiprocessors(device: Any) -> int:
    """How many the device has."""
    return int(torch.cuda.get_device_properties(device).multi_processor_count)
