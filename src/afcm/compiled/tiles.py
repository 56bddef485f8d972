"""Loops over tiles of samples for `centers.NumbaPass`: distances, memberships and their sums, compiled by Numba.

A tile is transposed so that loops run along samples (SIMD), and what is computed of it stays in the nearest cache. Two
clusters and four columns are done at a time, so that what is loaded serves several products; zeros fill up the rest.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from afcm.compiled.jit import compile_numba, compile_overload

# Bytes of a column of a tile, so that all of a tile fits the nearest caches.
TILE_BYTES = 1024
# Clusters and columns that are done at a time.
CLUSTERS_AT_ONCE, COLUMNS_AT_ONCE = 2, 4
# Powers of two below these are 0: they are not normal numbers. Coefficients of the powers are those of Taylor's series.
LEAST_64, LEAST_32, LOG2_E = -1022.0, -126.0, 1 / math.log(2)
SERIES_64, SERIES_32 = ([math.log(2) ** k / math.factorial(k) for k in range(degree, -1, -1)] for degree in (12, 7))
# For numbers of so many bits: their type and that of their bits, bits of a fraction, least exponent, coefficients.
FORMATS: dict[int, tuple[Any, ...]] = {
    64: (np.float64, np.int64, 52, LEAST_64, SERIES_64),
    32: (np.float32, np.int32, 23, LEAST_32, SERIES_32),
}


# SIMD needs sums in any order; but where a number is rounded by adding a large constant, that must stay as written.
compile_loose = partial(compile_numba, fastmath={"reassoc", "contract", "nsz"})
compile_strict = partial(compile_numba, fastmath={"contract"})


def raise_two(exponent: Any) -> Any:
    """``2^exponent`` of an exponent up to 0, to two units in the last place; 0 below `LEAST_64` or `LEAST_32`."""
    raise NotImplementedError("for compiled loops only")


@partial(compile_overload, raise_two, fastmath={"contract"})
def choose_precision(exponent: Any) -> Any:
    """`raise_two` for the type of the exponent: ``2^count · 2^rest`` with |rest| ≤ 1/2."""
    real, integer, bits, least, series = FORMATS[exponent.bitwidth]
    rounder, lowest, none = real(1.5 * 2**bits), real(least), real(least - 1)
    coefficients, shift = np.array(series, real), integer(bits)

    def compute(exponent: Any) -> Any:
        exponent = exponent if exponent >= lowest else none
        count = exponent + rounder  # rounds to an integer, which is then in the lowest bits
        rest = exponent - (count - rounder)
        power = coefficients[0]
        for k in range(1, len(coefficients)):
            power = power * rest + coefficients[k]
        return integer(real(power).view(integer) + integer(real(count).view(integer) << shift)).view(real)

    return compute


@compile_loose
def transpose_tile(points: Any, reference: Any, columns: Any) -> None:
    """Write a tile of samples about the reference, each column contiguous; zeros fill up the columns."""
    size, n_columns = points.shape
    whole = size - size % 8
    for i in range(0, whole, 8):
        for k in range(n_columns):
            origin = reference[k]
            for ahead in range(8):
                columns[k, i + ahead] = points[i + ahead, k] - origin
    for i in range(whole, size):
        for k in range(n_columns):
            columns[k, i] = points[i, k] - reference[k]
    columns[n_columns:] = 0


@compile_loose
def measure_distances(columns: Any, targets: Any, costs: Any) -> None:
    """Squared distances of a tile to the centers (from differences: no digits cancel)."""
    costs[:] = 0
    for j in range(0, targets.shape[0], CLUSTERS_AT_ONCE):
        first, second = costs[j], costs[j + 1]
        for k in range(0, targets.shape[1], COLUMNS_AT_ONCE):
            a, b, c, d = columns[k], columns[k + 1], columns[k + 2], columns[k + 3]
            p, q, r, s = targets[j, k], targets[j, k + 1], targets[j, k + 2], targets[j, k + 3]
            t, u, v, w = targets[j + 1, k], targets[j + 1, k + 1], targets[j + 1, k + 2], targets[j + 1, k + 3]
            for i in range(first.size):
                x, y, z, o = a[i], b[i], c[i], d[i]
                first[i] += (x - p) ** 2 + (y - q) ** 2 + (z - r) ** 2 + (o - s) ** 2
                second[i] += (x - t) ** 2 + (y - u) ** 2 + (z - v) ** 2 + (o - w) ** 2


@compile_loose
def add_moments(columns: Any, shares: Any, moments: Any) -> None:
    """Add ``Σ_i share_ij x_i`` of a tile."""
    zero = shares.dtype.type(0)
    for j in range(0, shares.shape[0], CLUSTERS_AT_ONCE):
        first, second, one, two = shares[j], shares[j + 1], moments[j], moments[j + 1]
        for k in range(0, columns.shape[0], COLUMNS_AT_ONCE):
            a, b, c, d = columns[k], columns[k + 1], columns[k + 2], columns[k + 3]
            p, q, r, s, t, u, v, w = zero, zero, zero, zero, zero, zero, zero, zero
            for i in range(first.size):
                x, y, z, o, f, g = a[i], b[i], c[i], d[i], first[i], second[i]
                p, q, r, s = p + f * x, q + f * y, r + f * z, s + f * o
                t, u, v, w = t + g * x, u + g * y, v + g * z, w + g * o
            one[k], one[k + 1], one[k + 2], one[k + 3] = one[k] + p, one[k + 1] + q, one[k + 2] + r, one[k + 3] + s
            two[k], two[k + 1], two[k + 2], two[k + 3] = two[k] + t, two[k + 1] + u, two[k + 2] + v, two[k + 3] + w


@compile_loose
def find_lowest(costs: Any, lowest: Any) -> None:
    """The smallest cost of each sample."""
    lowest[:] = math.inf
    for j in range(costs.shape[0]):
        for i in range(lowest.size):
            lowest[i] = min(lowest[i], costs[j, i])


@compile_loose
def soften_tile(costs: Any, precision: float, lowest: Any, spread: Any, scatter: Any) -> None:
    """Turn costs of a tile into ``e_ij = exp(γ (min_l d²_il − d²_ij))`` in place; ``Σ_j e_ij`` and ``Σ_j e_ij d²_ij``.

    Memberships are ``e_ij / Σ_l e_il`` (`paper.memberships`).
    """
    scale = lowest.dtype.type(precision * LOG2_E)
    spread[:], scatter[:] = 0, 0
    for j in range(costs.shape[0]):
        row = costs[j]
        for i in range(lowest.size):
            power = raise_two(scale * (lowest[i] - row[i]))
            spread[i] += power
            scatter[i] += power * row[i]
            row[i] = power


@compile_loose
def sharpen_tile(costs: Any, lowest: Any, spread: Any, scatter: Any) -> None:
    """Turn costs of a tile into ``q_ij = min_l d²_il / d²_ij`` in place; ``Σ_j q_ij`` and ``Σ_j q²_ij d²_ij``.

    FCM's memberships with m = 2 are ``q_ij / Σ_l q_il``; centers at distance 0 share a sample equally.
    """
    tiny = np.finfo(costs.dtype).tiny
    spread[:] = 0
    for j in range(costs.shape[0]):
        row = costs[j]
        for i in range(lowest.size):
            row[i] = max(lowest[i], tiny) / max(row[i], tiny)
            spread[i] += row[i]
    for i in range(lowest.size):
        scatter[i] = lowest[i] * spread[i]


@compile_loose
def write_memberships(degrees: Any, spread: Any, memberships: Any) -> None:
    """Write ``e_ij / Σ_l e_il`` (or of q) of a tile."""
    for j in range(degrees.shape[0]):
        for i in range(spread.size):
            memberships[j, i] = degrees[j, i] / spread[i]


@compile_loose
def weigh_samples(spread: Any, masses: Any, fuzzy: bool, scatter: Any, weights: Any) -> float:
    """Factors from e_ij (or q²_ij) to shares, ``m_i / Σ_j e_ij`` (or ``m_i / (Σ_j q_ij)²``); returns the scatter."""
    for i in range(spread.size):
        inverse = 1 / spread[i]
        weights[i] = inverse * inverse if fuzzy else inverse
    if masses.size:
        for i in range(spread.size):
            weights[i] *= masses[i]
    total = weights.dtype.type(0)  # in the samples' own precision
    for i in range(spread.size):
        total += scatter[i] * weights[i]
    return total


@compile_loose
def weigh_memberships(degrees: Any, weights: Any, fuzzy: bool, totals: Any) -> None:
    """Turn e_ij or q_ij of a tile into shares (u or u², times the mass) in place, and add them up."""
    for j in range(degrees.shape[0]):
        row, total = degrees[j], weights.dtype.type(0)
        for i in range(weights.size):
            row[i] *= row[i] * weights[i] if fuzzy else weights[i]
            total += row[i]
        totals[j] += total


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
def sum_energy(lowest: Any, spread: Any, precision: float, masses: Any) -> float:
    """``Σ_i m_i (γ min_j d²_ij − log Σ_j exp(…))`` of a tile."""
    energy = 0.0
    if masses.size:
        for i in range(lowest.size):
            energy += masses[i] * (precision * lowest[i] - math.log(spread[i]))
        return energy
    for i in range(lowest.size):
        energy += precision * lowest[i]
    return energy - sum_logs(spread)


@compile_loose
def scan_samples(  # noqa: PLR0917
    points: Any,
    masses: Any,
    targets: Any,
    reference: Any,
    precision: float,
    fuzzy: bool,
    totals: Any,
    moments: Any,
    memberships: Any,
) -> tuple[float, float]:
    """Add the totals and moments (about the reference) of some samples; returns their scatter and free energy.

    ``targets`` are the centers about the reference, filled up with zeros; ``moments`` are filled up too. Memberships
    are written, a row for each cluster, unless there is no room for them.
    """
    tile, (n_rows, n_columns) = TILE_BYTES // points.itemsize, targets.shape
    room = np.empty((n_rows + n_columns + 4) * tile, points.dtype)
    scatter, energy = 0.0, 0.0
    for start in range(0, points.shape[0], tile):
        some, weight = points[start : start + tile], masses[start : start + tile]
        size = some.shape[0]
        numbers = room[: 4 * size].reshape(4, size)
        columns = room[4 * size : (4 + n_columns) * size].reshape(n_columns, size)
        costs = room[(4 + n_columns) * size : (4 + n_columns + n_rows) * size].reshape(n_rows, size)
        lowest, spread, heat, weights, degrees = numbers[0], numbers[1], numbers[2], numbers[3], costs[: totals.size]
        transpose_tile(some, reference, columns)
        measure_distances(columns, targets, costs)
        find_lowest(degrees, lowest)
        if fuzzy:
            sharpen_tile(degrees, lowest, spread, heat)
        else:
            soften_tile(degrees, precision, lowest, spread, heat)
            energy += sum_energy(lowest, spread, precision, weight)
        if memberships.size:
            write_memberships(degrees, spread, memberships[:, start:])
        scatter += weigh_samples(spread, weight, fuzzy, heat, weights)
        weigh_memberships(degrees, weights, fuzzy, totals)
        add_moments(columns, costs, moments)
    return scatter, energy
