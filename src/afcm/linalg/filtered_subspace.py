"""Many leading eigenvectors of a graph at once: a subspace is filtered in single precision until it is good enough.

A block of vectors a little wider than wanted is multiplied by a Chebyshev polynomial of S that is small on the unwanted
part of the spectrum; then Rayleigh–Ritz. Where the unwanted part ends is estimated first, from the spectral measures of
a few random vectors, so that the first filter is already a good one. Nothing but the block is kept, and single
precision halves the memory that each product reads: for wide blocks this is several times faster than the search space
of `eigensolver`, which keeps what it found before and reaches rounding. It can go on from here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace
from scipy.linalg import eigh, eigh_tridiagonal

from afcm._typing import Floats
from afcm._util.threads import one_blas_thread
from afcm.arrays import backend_of, from_host, to_host
from afcm.linalg import tall
from afcm.linalg.chebyshev import log_growth
from afcm.linalg.operator import Eigenpairs
from afcm.linalg.products import to_single_precision

# Vectors beyond the wanted ones, at least and as a share of them: the wider the block, the faster the last converge.
FEWEST_GUARDS, GUARDS = 6, 4
# The most that a filter may magnify one eigenvector over another (the first filter, later ones), and its degree. Later
# filters do no more than is missing, times a margin.
FIRST_SPREAD, SPREAD, MOST_DEGREE, MARGIN = 1e5, 1e6, 60, 4.0
# Random vectors and steps of the estimate of the spectrum; the unwanted part is not believed to end closer to 1.
N_PROBES, PROBE_STEPS, CLOSEST = 4, 30, 1e-4
MOST_ROUNDS = 8
# Residuals below this are rounding of single precision.
ROUNDING = 2e-6


class RoughPairs(NamedTuple):
    """Ritz vectors (wanted ones and guards), their values, falling, and residuals."""

    vectors: Floats
    values: Floats
    norms: Floats

    def angles(self, first_unwanted: int) -> Floats:
        """``residual / gap`` of each vector before the first unwanted one, to that one."""
        gaps = np.maximum(self.values[:first_unwanted] - self.values[first_unwanted], self.norms[:first_unwanted])
        return self.norms[:first_unwanted] / np.maximum(gaps, np.finfo(np.float64).tiny)


def block_width(n_wanted: int) -> int:
    """Columns of a block: the wanted and their guards."""
    return n_wanted + max(FEWEST_GUARDS, n_wanted // GUARDS)


@one_blas_thread()
def filter_subspace(
    graph: Any,
    start: Floats,
    measure_lack: Callable[[RoughPairs], Floats],
    most_rounds: int = MOST_ROUNDS,
    *,
    near: bool = False,
    unwanted: float | None = None,
) -> RoughPairs:
    """Leading eigenvectors of a sparse S with eigenvalues in [−1, 1], as many as ``start`` has columns.

    ``measure_lack`` says by which factor each of the first vectors is too far from its place. Ends when none is above
    1, when residuals are rounding, or after some rounds. ``near``: all columns of the start lie near the wanted space,
    and their Ritz values tell where the unwanted part of the spectrum ends. Else ``unwanted`` does, or it is estimated;
    from the second round on it is known.
    """
    single, block = to_single_precision(graph, start.shape[1]), backend_of(start).to_single(start)
    if near:
        pairs = rayleigh_ritz(single, fill(tall.orthonormalize(block), block.shape[1], most_rounds))
        lack = measure_lack(pairs)
        if lack.max() <= 1:
            return pairs
        unwanted = min(float(pairs.values[-1]), 1 - CLOSEST)
        block, degree = pairs.vectors, choose_degree(pairs, lack, unwanted)
    else:
        unwanted = estimate_eigenvalue(single, block.shape[1]) if unwanted is None else unwanted
        degree = largest_degree(unwanted, FIRST_SPREAD)
    for number in range(most_rounds):
        filtered = tall.orthonormalize(apply_filter(single, block, unwanted, degree))
        pairs = rayleigh_ritz(single, fill(filtered, block.shape[1], number))
        lack, block, unwanted = measure_lack(pairs), pairs.vectors, float(pairs.values[-1])
        if lack.max() <= 1 or pairs.norms.max() < ROUNDING:
            break
        degree = choose_degree(pairs, lack, unwanted)
    return pairs


def fill(block: Floats, width: int, seed: int) -> Floats:
    """Orthonormal columns with random ones in the place of those that were rounding."""
    missing = width - block.shape[1]
    if not missing:
        return block
    drawn = backend_of(block).draw_normal((block.shape[0], missing), seed, block, "float32")
    return tall.orthonormalize(array_namespace(block).concat([block, drawn], axis=1))


def largest_degree(unwanted: float, spread: float) -> int:
    """The degree of the filter that magnifies the eigenvalue 1 by ``spread``."""
    growth = log_growth(np.ones(1), (-1.0, unwanted))[0]
    return int(np.clip(np.log(spread) / growth, 2, MOST_DEGREE))


def choose_degree(pairs: RoughPairs, lack: Floats, unwanted: float) -> int:
    """The degree of the filter that brings each vector nearer by what it lacks, times `MARGIN`."""
    growth = np.maximum(log_growth(pairs.values[: lack.size], (-1.0, unwanted)), np.finfo(np.float64).tiny)
    needed = np.where(lack > 1, np.arccosh(np.maximum(MARGIN * lack, 1.0)) / growth, 0.0)
    return int(np.clip(np.ceil(needed.max()), 2, largest_degree(unwanted, SPREAD)))


def apply_filter(graph: Any, block: Floats, unwanted: float, degree: int) -> Floats:
    """``p(S) block`` with a Chebyshev polynomial of this degree that is small on [−1, unwanted] and 1 at 1."""
    center, half = (unwanted - 1) / 2, max((unwanted + 1) / 2, float(np.finfo(np.float32).tiny))
    ratio = half / (1 - center)
    before, scaling, xp = block, ratio, array_namespace(block)
    current, spare = xp.empty_like(block), xp.empty_like(block)
    graph.recur(block, block, (ratio / half, -center * ratio / half, 0.0), current)
    for _ in range(degree - 1):
        following = 1 / (2 / ratio - scaling)
        factors = (2 * following / half, -2 * following * center / half, -scaling * following)
        graph.recur(current, before, factors, spare)
        used = xp.empty_like(block) if before is block else before
        before, current, spare, scaling = current, spare, used, following
    return current


def rayleigh_ritz(graph: Any, block: Floats) -> RoughPairs:
    """Ritz pairs in the span of orthonormal columns."""
    image = graph @ block
    projected = tall.inner_products(block, image, np.float32)
    values, rotation = eigh((projected + projected.T) / 2)
    values, rotation = values[::-1], rotation[:, ::-1]
    vectors, residuals = tall.combine_columns(block, rotation), tall.combine_columns(image, rotation)
    tall.subtract_scaled(residuals, vectors, values)
    return RoughPairs(vectors, values, tall.column_lengths(residuals))


def probe_spectrum(graph: Any) -> tuple[Floats, Floats]:
    """Diagonals and links of the tridiagonal matrices of a few random vectors (Lanczos), a row for each vector."""
    n, backend = graph.shape[0], backend_of(graph)
    vectors = backend.draw_signs((n, N_PROBES), 0, graph) / float(np.float32(np.sqrt(n)))
    xp = array_namespace(vectors)
    before, diagonals, links = xp.zeros_like(vectors), [], [xp.zeros_like(vectors[0])]
    for _ in range(min(PROBE_STEPS, n)):
        image = graph @ vectors - before * links[-1]
        diagonals.append(backend.column_dots(image, vectors))
        image -= vectors * diagonals[-1]
        links.append(xp.linalg.vector_norm(image, axis=0))
        before, vectors = vectors, image / xp.clip(links[-1], float(np.finfo(np.float32).tiny), None)
    return np.transpose(to_host(xp.stack(diagonals))), np.transpose(to_host(xp.stack(links[1:])))[:, :-1]


def estimate_eigenvalue(graph: Any, number: int) -> float:
    """About the ``number``-th largest eigenvalue, from the spectral measures of a few random vectors."""
    n, values, masses = graph.shape[0], [], []
    for diagonal, link in zip(*probe_spectrum(graph), strict=True):
        nodes, bases = eigh_tridiagonal(diagonal.astype(np.float64), link.astype(np.float64))
        values.append(nodes)
        masses.append(bases[0] ** 2 * n / N_PROBES)
    nodes, falling = np.concatenate(values), np.argsort(-np.concatenate(values))
    at = int(np.searchsorted(np.cumsum(np.concatenate(masses)[falling]), number))
    return min(float(nodes[falling[min(at, falling.size - 1)]]), 1 - CLOSEST)


def to_eigenpairs(pairs: RoughPairs, graph: Any, n_wanted: int, *, converged: bool) -> Eigenpairs:
    """The wanted vectors, orthonormal in double precision."""
    xp = array_namespace(pairs.vectors)
    vectors = tall.orthonormalize(xp.astype(pairs.vectors[:, :n_wanted], xp.float64))
    image = graph @ vectors
    projected = tall.inner_products(vectors, image)
    values, rotation = eigh((projected + projected.T) / 2)
    values, rotation = values[::-1], rotation[:, ::-1]
    vectors, image = tall.combine_columns(vectors, rotation), tall.combine_columns(image, rotation)
    residual = float(tall.column_lengths(image - vectors * from_host(values, vectors)).max())
    angles = pairs.angles(n_wanted)
    error = float((pairs.norms[:n_wanted] * angles).sum())
    return Eigenpairs(vectors, values, image, residual, error, 0, converged)
