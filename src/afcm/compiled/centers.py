"""One pass over all samples of a graph-free model, compiled by Numba: `afcm.equations.paper.expectation`, fused.

A tile of samples is transposed so that loops run along samples (SIMD), and its distances, memberships and statistics
stay in the nearest cache: samples are read once, and the n×c matrix never reaches memory. Chunks of rows are summed in
their order, so that the result does not depend on the number of threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from afcm._util.threads import for_each, one_blas_thread
from afcm.compiled.jit import compile_numba
from afcm.equations import fuzzy_c_means, paper
from afcm.equations.paper import Statistics

# Bytes of a column of a tile, so that all of a tile fits the nearest caches; rows that a thread takes at a time.
TILE_BYTES, CHUNK_ROWS = 1024, 65_536
# The change of the memberships is watched on so many samples, spread evenly; a run ends only if it holds for all.
WATCHED_ROWS = 8_192
WATCHED_ENTRIES = 1 << 19
# With more columns matrix products are faster; fewer elementary steps in a pass are done before Numba is loaded.
MOST_COLUMNS, WORTH_COMPILING = 128, 30_000_000

# Exponentials below these are 0.
LEAST_64, LEAST_32 = -708.0, -87.0


# SIMD needs sums in any order; but where a number is rounded by adding a large constant, that must stay as written.
compile_loose = partial(compile_numba, fastmath={"reassoc", "contract", "nsz"})
compile_strict = partial(compile_numba, fastmath={"contract"})


@compile_strict
def exponentiate_64(values: Any, bits: Any) -> None:
    """``exp`` of numbers up to 0, in place, to two units in the last place; 0 below `LEAST_64`."""
    scales = bits.view(np.float64)
    for i in range(values.size):
        scales[i] = max(values[i], LEAST_64) * 1.4426950408889634 + 6755399441055744.0  # rounds to an integer
    for i in range(values.size):
        count = scales[i] - 6755399441055744.0
        rest = max(values[i], LEAST_64) - count * 0.6931471803691238 - count * 1.9082149292705877e-10
        power = 2.08767569878681e-09 * rest + 2.505210838544172e-08
        power = power * rest + 2.755731922398589e-07
        power = power * rest + 2.755731922398589e-06
        power = power * rest + 2.48015873015873e-05
        power = power * rest + 1.984126984126984e-04
        power = power * rest + 1.388888888888889e-03
        power = power * rest + 8.333333333333333e-03
        power = power * rest + 4.1666666666666664e-02
        power = power * rest + 1.6666666666666666e-01
        power = ((power * rest + 0.5) * rest + 1.0) * rest + 1.0
        values[i] = power if values[i] > LEAST_64 else 0.0
    for i in range(values.size):
        bits[i] = (bits[i] << 52) + 4607182418800017408  # 2^count
    for i in range(values.size):
        values[i] *= scales[i]


@compile_strict
def exponentiate_32(values: Any, bits: Any) -> None:
    """`exponentiate_64` in single precision."""
    scales = bits.view(np.float32)
    least = np.float32(LEAST_32)
    for i in range(values.size):
        scales[i] = max(values[i], least) * np.float32(1.442695) + np.float32(12582912.0)
    for i in range(values.size):
        count = scales[i] - np.float32(12582912.0)
        rest = max(values[i], least) - count * np.float32(0.693359375) + count * np.float32(2.12194440e-4)
        power = np.float32(1.9841270e-4) * rest + np.float32(1.3888889e-3)
        power = power * rest + np.float32(8.3333333e-3)
        power = power * rest + np.float32(4.1666667e-2)
        power = power * rest + np.float32(1.6666667e-1)
        power = ((power * rest + np.float32(0.5)) * rest + np.float32(1.0)) * rest + np.float32(1.0)
        values[i] = power if values[i] > least else np.float32(0.0)
    for i in range(values.size):
        bits[i] = (bits[i] << 23) + 1065353216
    for i in range(values.size):
        values[i] *= scales[i]


@compile_loose
def transpose_tile(points: Any, reference: Any, columns: Any) -> None:
    """Write a tile of samples about the reference, each column contiguous."""
    for i in range(points.shape[0]):
        for k in range(points.shape[1]):
            columns[k, i] = points[i, k] - reference[k]


@compile_loose
def measure_distances(columns: Any, target: Any, costs: Any) -> None:
    """Squared distances of a tile to one center (from differences: no digits cancel)."""
    n_columns, size = target.size, costs.size
    costs[:] = 0
    whole = n_columns - n_columns % 4
    for k in range(0, whole, 4):
        a, b, c, d = columns[k], columns[k + 1], columns[k + 2], columns[k + 3]
        p, q, r, s = target[k], target[k + 1], target[k + 2], target[k + 3]
        for i in range(size):
            costs[i] += (a[i] - p) ** 2 + (b[i] - q) ** 2 + (c[i] - r) ** 2 + (d[i] - s) ** 2
    for k in range(whole, n_columns):
        a, p = columns[k], target[k]
        for i in range(size):
            costs[i] += (a[i] - p) ** 2


@compile_loose
def add_moments(columns: Any, shares: Any, moments: Any) -> None:
    """Add ``Σ_i share_i x_i`` of a tile."""
    n_columns, size = moments.size, shares.size
    zero = shares.dtype.type(0)
    whole = n_columns - n_columns % 4
    for k in range(0, whole, 4):
        a, b, c, d = columns[k], columns[k + 1], columns[k + 2], columns[k + 3]
        p, q, r, s = zero, zero, zero, zero
        for i in range(size):
            p += shares[i] * a[i]
            q += shares[i] * b[i]
            r += shares[i] * c[i]
            s += shares[i] * d[i]
        moments[k] += p
        moments[k + 1] += q
        moments[k + 2] += r
        moments[k + 3] += s
    for k in range(whole, n_columns):
        a, p = columns[k], zero
        for i in range(size):
            p += shares[i] * a[i]
        moments[k] += p


@compile_loose
def soften_tile(costs: Any, precision: Any, lowest: Any, degrees: Any, spread: Any, bits: Any) -> None:  # noqa: PLR0917
    """Memberships of a tile (the softmax of `paper.memberships`), and the sums they were divided by."""
    spread[:] = 0
    for j in range(costs.shape[0]):
        row = degrees[j]
        for i in range(lowest.size):
            row[i] = precision * (lowest[i] - costs[j, i])
        if row.itemsize == 8:
            exponentiate_64(row, bits.view(np.int64))
        else:
            exponentiate_32(row, bits.view(np.int32))
        for i in range(lowest.size):
            spread[i] += row[i]
    for j in range(costs.shape[0]):
        for i in range(lowest.size):
            degrees[j, i] /= spread[i]


@compile_loose
def sharpen_tile(costs: Any, lowest: Any, degrees: Any, spread: Any) -> None:
    """FCM's memberships of a tile with m = 2; centers at distance 0 share a sample equally."""
    spread[:] = 0
    for j in range(costs.shape[0]):
        for i in range(lowest.size):
            cost = costs[j, i]
            degrees[j, i] = lowest[i] / cost if lowest[i] > 0 else cost == 0
            spread[i] += degrees[j, i]
    for j in range(costs.shape[0]):
        for i in range(lowest.size):
            degrees[j, i] /= spread[i]


@compile_strict
def sum_logs(values: Any) -> float:
    """``Σ log`` of numbers from 1 to a few thousand, from logarithms of their products."""
    total, product = 0.0, 1.0
    for i in range(values.size):
        product *= values[i]
        if i % 64 == 63:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@compile_loose
def scan_samples(  # noqa: PLR0917
    points: Any, masses: Any, centers: Any, reference: Any, precision: Any, fuzzy: bool, totals: Any, moments: Any
) -> tuple[float, float]:
    """Add the totals and moments (about the reference) of some samples; returns their scatter and free energy."""
    n_clusters, n_columns = centers.shape
    targets, tile = centers - reference, TILE_BYTES // points.itemsize
    columns = np.empty((n_columns, tile), points.dtype)
    costs, degrees = np.empty((n_clusters, tile), points.dtype), np.empty((n_clusters, tile), points.dtype)
    lowest, spread, bits = np.empty(tile, points.dtype), np.empty(tile, points.dtype), np.empty(tile, np.int64)
    scatter, energy = 0.0, 0.0
    for start in range(0, points.shape[0], tile):
        size = min(tile, points.shape[0] - start)
        transpose_tile(points[start : start + size], reference, columns)
        near, sums = lowest[:size], spread[:size]
        for j in range(n_clusters):
            measure_distances(columns, targets[j], costs[j, :size])
            for i in range(size):
                near[i] = costs[j, i] if j == 0 else min(near[i], costs[j, i])
        if fuzzy:
            sharpen_tile(costs, near, degrees, sums)
        else:
            soften_tile(costs, precision, near, degrees, sums, bits)
            energy += sum_energy(near, sums, precision, masses[start : start + size])
        for j in range(n_clusters):
            shares = degrees[j, :size]
            scatter += weigh_memberships(shares, costs[j], masses[start : start + size], fuzzy, totals[j : j + 1])
            add_moments(columns, shares, moments[j])
    return scatter, energy


@compile_loose
def weigh_memberships(degrees: Any, costs: Any, masses: Any, fuzzy: bool, total: Any) -> float:
    """Turn memberships of a cluster into shares (u or u², times the mass) in place; add them up, return the scatter."""
    count = degrees.dtype.type(0)  # in the samples' own precision
    scatter = count
    if fuzzy:
        for i in range(degrees.size):
            degrees[i] *= degrees[i]
    if masses.size:
        for i in range(degrees.size):
            degrees[i] *= masses[i]
    for i in range(degrees.size):
        count += degrees[i]
        scatter += degrees[i] * costs[i]
    total[0] += count
    return scatter


@compile_loose
def sum_energy(lowest: Any, spread: Any, precision: Any, masses: Any) -> float:
    """``Σ_i m_i (γ min_j d²_ij − log Σ_j exp(…))`` of a tile."""
    energy = 0.0
    if masses.size:
        for i in range(lowest.size):
            energy += masses[i] * (precision * lowest[i] - math.log(spread[i]))
        return energy
    for i in range(lowest.size):
        energy += precision * lowest[i]
    return energy - sum_logs(spread)


@dataclass(frozen=True)
class NumbaPass:
    """Passes over these samples: statistics at given centers (and γ), and the change of memberships.

    ``fuzzy``: the memberships are those of FCM with m = 2.
    """

    points: Any
    masses: Any
    fuzzy: bool = False
    _last: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)  # centers, their memberships

    partial: ClassVar[bool] = True  # the change covers the watched samples only

    def is_worthwhile(self, points: Any, n_clusters: int) -> bool:
        """Is there enough to do, and are there few enough columns to beat matrix products?"""
        return points.shape[1] <= MOST_COLUMNS and points.size * n_clusters >= WORTH_COMPILING

    def is_accurate_for(self, centers: Any) -> bool:
        return True

    def __call__(self, centers: Any, precision: Any, before: Any = None) -> tuple[Statistics, float]:
        """Statistics of all samples; and the largest change of a watched membership since ``before`` (centers, γ)."""
        with one_blas_thread():  # its idle threads would spin
            change = math.inf if before is None else self._watched_change(centers, precision, *before)
            return self.statistics(centers, precision), change

    def statistics(self, centers: Any, precision: Any) -> Statistics:
        dtype = self.points.dtype
        centers = np.ascontiguousarray(centers, dtype=dtype)
        reference, gamma = centers.mean(axis=0), dtype.type(1.0 if precision is None else precision)
        cuts = range(0, self.points.shape[0], CHUNK_ROWS)
        totals, moments = np.zeros((len(cuts), len(centers))), np.zeros((len(cuts), *centers.shape))
        sums = np.zeros((len(cuts), 2))

        def work(number: int) -> None:
            rows = slice(cuts[number], cuts[number] + CHUNK_ROWS)
            masses = np.empty(0, dtype=dtype) if self.masses is None else self.masses[rows]
            chunk = np.ascontiguousarray(self.points[rows])
            sums[number] = scan_samples(
                chunk, masses, centers, reference, gamma, self.fuzzy, totals[number], moments[number]
            )

        for_each(work, range(len(cuts)))
        total, moved = totals.sum(axis=0), moments.sum(axis=0)
        about = moved - total[:, None] * (centers.astype(np.float64) - reference)
        scatter, energy = sums.sum(axis=0)
        return Statistics(total.astype(dtype), about.astype(dtype), scatter, energy)

    @cached_property
    def watched(self) -> Any:
        """Samples spread evenly over all that have positive weight."""
        if self.masses is None:
            return np.ascontiguousarray(self.points[:: max(self.points.shape[0] // WATCHED_ROWS, 1)])
        present = np.flatnonzero(self.masses)
        return self.points[present[:: max(present.size // WATCHED_ROWS, 1)]]

    def _watched_change(self, centers: Any, precision: Any, old_centers: Any, old_precision: Any) -> float:
        known = self._last and self._last[0] is old_centers
        old = self._last[1] if known else self._memberships(old_centers, old_precision)
        new = self._memberships(centers, precision)
        self._last[:] = [centers, new]
        return float(np.abs(new - old).max())

    def _memberships(self, centers: Any, precision: Any) -> Any:
        step = -(-len(self.watched) * len(centers) // WATCHED_ENTRIES)  # fewer samples of very many clusters
        costs = paper.squared_distances(self.watched[::step], centers)
        return fuzzy_c_means.fuzzy_memberships(costs, 2.0) if self.fuzzy else paper.memberships(costs, precision)
