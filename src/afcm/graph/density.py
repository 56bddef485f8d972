"""Gives sparse nodes little mass, so that a haze of stray samples is no bridge between clusters.

Kernels that scale themselves divide density out: a thin haze connects two clusters as well as a dense ridge connects
the halves of one. Here density comes back. A node that is sparser than its surroundings gets a small mass, and the
clusters, γ and the embedding are learned from the others. The similarities are then balanced, so that a node of small
mass still has an ordinary place in the embedding and an ordinary label.

With l the logarithm of the distance to the k-th neighbor and m its mean over the surroundings,

    r_i = max(0, (l_i − m_i) − Q(l − m)),    mass_i ∝ exp(−p r_i),

Q the first quartile: how much sparser a node is than its surroundings, and nothing for the dense part of the nodes.

A piece of the graph that hangs together with nothing else is no haze between clusters. If it is large enough for a
cluster it keeps its mass, however sparse it is: masses then only move weight between its own nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace

from afcm._typing import Floats, Integers, Masks
from afcm._util.optional import is_loaded, is_usable
from afcm._util.threads import map_in_threads
from afcm.arrays import backend_of, from_host, is_tensor, take_rows, to_host
from afcm.arrays.sampling import draw_rows
from afcm.linalg.ratios import inverse_sqrt
from afcm.neighbors import exact, find_neighbors

# p, the quantile Q and the surroundings were settled on the noise suite's first seeds, the shapes and our tables, among
# some 35 settings; docs/noise.md says how.
STRENGTH = 8.0
QUANTILE = 0.25
# The surroundings are about n/c nodes: the so many nearest of a random sample of so many for each cluster.
SURROUNDINGS = 64
# With very many clusters each has fewer in the sample: about so many in all, and at least so many for each cluster.
MOST_SAMPLED, FEWEST_SURROUNDINGS = 4096, 16
# No mass is smaller: a far node must not disappear in rounding.
LEAST_MASS = 1e-6
# A piece of the graph keeps its mass if it has at least this share of the mean cluster size n/c.
LEAST_PIECE = 0.5
# Rows that are compared with the sample at a time; up to how many drawn nodes all distances are taken, and how many of
# them at a time.
BLOCK_ROWS, FEW_SAMPLED, BLOCK_ENTRIES = 65_536, 1024, 1 << 17
# The same for compiled loops, and the distances from which on it pays to load Numba for them.
LOOP_ROWS, WORTH_LOADING = 512, 50_000_000
# Squared distances that differ by less than this, in units of squared lengths, may be equal but for rounding.
ROUNDING: dict[type, float] = {np.float32: 2e-6, np.float64: 1e-13}


def density_masses(
    points: Any, squared: Floats, n_clusters: int, strength: float, counts: Floats | None = None
) -> Floats:
    """Masses of the nodes, given their squared distances to the k-th neighbor (n).

    Their mean over all samples is 1 (``counts``: how many each node stands for), so that masses move weight between
    samples and the number of samples stays what it is.
    """
    logs = log_distances(squared)
    masses = to_masses(logs - average_surroundings(points, logs, n_clusters), strength)
    xp = array_namespace(masses)
    total, mass = (masses.shape[0], masses) if counts is None else (xp.sum(counts), counts * masses)
    return masses * (total / xp.sum(mass))


def log_distances(squared: Floats) -> Floats:
    """Half the logarithm of squared distances; 0 counts as the smallest distance above 0."""
    xp = array_namespace(squared)
    positive = squared[squared > 0]
    least = xp.min(positive) if positive.shape[0] else xp.ones_like(squared[0])
    return xp.log(xp.where(squared > 0, squared, least)) / 2


def neighbor_log_distances(points: Any, k: int, queries: Any = None) -> Floats:
    """Logarithm of the distance of each point, or each query, to its k-th nearest other point.

    A query that is identical to a point does not count that one.
    """
    if queries is None:
        return log_distances(find_neighbors(points, k).squared[:, -1])
    squared = find_neighbors(points, min(k + 1, points.shape[0]), queries).squared
    xp, at = array_namespace(squared), min(k, squared.shape[1]) - 1
    return log_distances(xp.where(squared[:, 0] == 0, squared[:, -1], squared[:, at]))


def average_surroundings(points: Any, values: Floats, n_clusters: int) -> Floats:
    """Mean of a value over the surroundings of each node."""
    xp, n = array_namespace(values), points.shape[0]
    each = min(SURROUNDINGS, max(MOST_SAMPLED // n_clusters, FEWEST_SURROUNDINGS))
    if n <= each * n_clusters:
        sample, n_near = np.arange(n), min(each, max(round(n / n_clusters), 2), n)
    else:
        sample, n_near = draw_rows(n, each * n_clusters, np.random.RandomState(0)), each
    drawn, theirs = take_rows(points, sample), take_rows(values, sample)
    if is_tensor(points):
        from afcm.compiled import torch_neighbors

        return torch_neighbors.average_nearest(drawn, theirs, n_near, points)
    few = len(sample) <= FEW_SAMPLED or is_worth_compiling(n, len(sample), n_near)
    if few and isinstance(drawn, np.ndarray):
        return average_nearest(drawn, theirs, n_near, points)
    blocks = (slice(begin, begin + BLOCK_ROWS) for begin in range(0, n, BLOCK_ROWS))
    return xp.concat([average_at(theirs, find_neighbors(drawn, n_near, points[rows]).indices) for rows in blocks])


def average_at(values: Floats, places: Integers) -> Floats:
    """Mean of the values at the places of each row, which may be in any order: added in theirs."""
    xp = array_namespace(values)
    return xp.mean(values[xp.sort(places, axis=1)], axis=1)


def is_worth_compiling(n_points: int, n_drawn: int, n_near: int) -> bool:
    """Whether compiled loops over all distances to drawn points are there and pay."""
    at_hand = is_loaded("numba", "fast") or (n_points * n_drawn >= WORTH_LOADING and is_usable("numba", "fast"))
    return at_hand and exact.has_groups(n_drawn, n_near + 1)


def average_nearest(drawn: Floats, values: Floats, n_near: int, points: Floats, precision: type = np.float32) -> Floats:
    """Mean of the values of the nearest drawn points to each point, by all distances.

    Where rounding may decide which are the nearest, double precision does, and then `find_neighbors`.
    """
    if n_near == len(drawn):
        return np.full(points.shape[0], values.mean())
    compiled = precision is np.float32 and len(drawn) > FEW_SAMPLED
    means, doubtful = (average_by_loops if compiled else average_by_tables)(drawn, values, n_near, points, precision)
    if doubtful.any():
        rest = points[doubtful]
        if precision is np.float32 and not compiled:
            means[doubtful] = average_nearest(drawn, values, n_near, rest, np.float64)
        else:
            means[doubtful] = average_at(values, find_neighbors(drawn, n_near, rest).indices)
    return means


def average_by_tables(
    drawn: Floats, values: Floats, n_near: int, points: Floats, precision: type
) -> tuple[Floats, Masks]:
    """`average_nearest` in one precision, and where it may be wrong; for few drawn points."""
    center = drawn.mean(axis=0, dtype=np.float64)  # far from the origin products lose digits
    shifted = drawn - center
    scale = 1 / (float(np.abs(shifted).max()) or 1.0)
    near = (shifted * scale).astype(precision)
    lengths = np.einsum("ij,ij->i", near, near)

    def average(rows: slice) -> tuple[Floats, Masks]:
        own = ((points[rows] - center) * scale).astype(precision)
        costs = own @ (-2 * near.T)
        costs += lengths
        parted = np.partition(costs, n_near, axis=1)
        last = parted[:, :n_near].max(axis=1)
        error = ROUNDING[precision] * (lengths.max() + np.einsum("ij,ij->i", own, own))
        means = (costs <= last[:, None]) @ values / n_near
        return means, ~(parted[:, n_near] - last > error)  # also where not a number

    size = max(1, BLOCK_ENTRIES // len(drawn))
    blocks = [slice(begin, begin + size) for begin in range(0, points.shape[0], size)]
    with np.errstate(over="ignore", invalid="ignore"):
        return join_parts(map_in_threads(average, blocks))


def average_by_loops(drawn: Floats, values: Floats, n_near: int, points: Floats, _: type) -> tuple[Floats, Masks]:
    """`average_by_tables` in single precision, by compiled loops for which many drawn points are not too many."""
    frame = exact.make_frame(drawn, np.arange(len(drawn)), drawn.mean(axis=0, dtype=np.float64))
    longest = float(frame.norms.max())

    def average(rows: slice) -> tuple[Floats, Masks]:
        own = frame.transform(points[rows])
        found, last = exact.select_columns(frame, own, n_near + 1, 2)
        error = ROUNDING[np.float32] * (longest + np.einsum("ij,ij->i", own, own))
        return average_at(values, found[:, :n_near]), ~(last[:, 1] - last[:, 0] > error)

    blocks = [slice(begin, begin + LOOP_ROWS) for begin in range(0, points.shape[0], LOOP_ROWS)]
    return join_parts(map_in_threads(average, blocks))


def join_parts(parts: list[tuple[Floats, Masks]]) -> tuple[Floats, Masks]:
    means, doubtful = (np.concatenate(part) for part in zip(*parts, strict=True))
    return means, doubtful


def to_masses(excess: Floats, strength: float) -> Floats:
    """``exp(−p max(0, e − Q(e)))``, at least `LEAST_MASS`."""
    xp = array_namespace(excess)
    dense = float(np.quantile(to_host(excess), QUANTILE))
    return xp.exp(-xp.clip(strength * (excess - dense), 0.0, -np.log(LEAST_MASS)))


def keep_pieces(density: Floats, pieces: Integers, n_clusters: int, counts: Floats | None = None) -> Floats:
    """Scale masses so that each large piece of the graph has as much mass as samples, and no piece has more.

    ``pieces`` numbers the connected component of each node; −1 (isolated) stays as it is.
    """
    number, mass = to_host(pieces), to_host(density)
    inside, samples = number >= 0, np.ones(mass.size) if counts is None else to_host(counts)
    if number.max(initial=0) == 0:
        return density
    sizes = np.bincount(number[inside], samples[inside])
    masses = np.bincount(number[inside], (samples * mass)[inside])
    large = sizes >= LEAST_PIECE * samples.sum() / n_clusters
    factors = np.append(np.where(large, sizes, np.minimum(sizes, masses)) / masses, 1.0)  # the last is for −1
    return density * from_host(factors[number], density)


def balance(weights: Any, masses: Floats) -> tuple[Any, Floats]:
    """``h_i w_ij h_j`` with ``h = (W m)^{-1/2}``, and h: degrees come close to each other whatever the masses are.

    The result may take the place of the weights, which must not be used again.
    """
    scale = inverse_sqrt(weights @ masses)
    return backend_of(weights).scale_rows_and_columns(weights, scale, spare=True), scale
