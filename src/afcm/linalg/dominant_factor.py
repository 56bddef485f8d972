"""Leading eigenvectors of "graph plus low rank" where the low-rank part outweighs the graph.

Of ``A = λ S + γ G Gᵀ`` with ``‖S‖ ≤ 1`` all eigenvalues but as many as G has columns are at most λ (Weyl). Once γ has
grown far beyond λ, which is so from the first sweeps after a spectral start on, the wanted ones lie near γ: the gap is
known and wide, a block as narrow as G needs no guards, and G itself is a good start. A few products reach rounding.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.linalg import eigh

from afcm._typing import Floats
from afcm.arrays import from_host, to_host
from afcm.linalg import tall
from afcm.linalg.chebyshev import apply_filter, log_growth
from afcm.linalg.operator import Eigenpairs, GraphPlusLowRank
from afcm.linalg.search_space import column_lengths

# The smallest eigenvalue of γ GᵀG over λ, at least.
OUTWEIGHS = 4.0
# γ is learned from distances far smaller than this angle to the right space (radians).
ANGLE = 1e-10
# The most that a filter may magnify one eigenvector over another, as a logarithm, and its degree; rounds of filter and
# Rayleigh–Ritz. Residuals below this, relative to the largest eigenvalue, are rounding.
SPREAD, MOST_DEGREE, MOST_ROUNDS, ROUNDING = np.log(1e6), 24, 6, 1e-14


def solve_outweighed(operator: GraphPlusLowRank, n_wanted: int) -> Eigenpairs | None:
    """The leading eigenvectors, to rounding; None if the factor does not outweigh the graph enough."""
    factor, bound = operator.factor, abs(operator.weight)
    if factor is None or factor.shape[1] != n_wanted or operator.factor_weight <= OUTWEIGHS * bound:
        return None
    weights, rotation = eigh(to_host(tall.inner(factor, factor)))
    if operator.factor_weight * weights[0] <= OUTWEIGHS * bound:
        return None
    block, n_products = tall.combine(factor, from_host(rotation / np.sqrt(weights), factor)), 0
    for _ in range(MOST_ROUNDS):
        pairs, n_products = rayleigh_ritz(operator, block), n_products + 1
        gap = float(pairs.values[-1]) - bound
        angle = np.sqrt(pairs.trace_error / gap)
        if angle <= ANGLE or pairs.residual <= ROUNDING:
            return replace(pairs, n_products=n_products)
        degree = choose_degree(pairs.values, bound, np.log(angle / ANGLE))
        block = apply_filter(operator, pairs.vectors, (-bound, bound), float(pairs.values[0]), degree)
        block, n_products = tall.orthonormalize(block), n_products + degree
    return None


def choose_degree(values: Floats, bound: float, gain: float) -> int:
    """The degree that reduces the angle by ``gain`` (a logarithm), or as far as rounding allows."""
    growth = log_growth(values, (-bound, bound))
    useful, harmless = gain / growth[-1], SPREAD / max(growth[0] - growth[-1], SPREAD / MOST_DEGREE)
    return max(1, math.ceil(min(useful, harmless, MOST_DEGREE)))


def rayleigh_ritz(operator: GraphPlusLowRank, block: Floats) -> Eigenpairs:
    """Ritz pairs in the span of orthonormal columns; errors are bounded by the gap to ``|weight|``."""
    image, inner = operator.graph @ block, to_host(operator.project(block))
    projected = operator.weight * to_host(tall.inner(block, image)) + operator.factor_weight * inner.T @ inner
    values, rotation = eigh((projected + projected.T) / 2)
    values, rotation = values[::-1], np.ascontiguousarray(rotation[:, ::-1])
    vectors, image = (tall.combine(part, from_host(rotation, part)) for part in (block, image))
    residuals = operator.weight * image
    tall.subtract_scaled(residuals, vectors, values)
    operator.add_factor(residuals, from_host(operator.factor_weight * inner @ rotation, block))
    norms = column_lengths(residuals)
    error = float((norms**2 / np.maximum(values - abs(operator.weight), norms)).sum())
    return Eigenpairs(vectors, values, image, float(norms.max() / abs(values[0])), error, 0, True)
