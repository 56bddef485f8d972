"""Softens memberships by a random walk over the graph that returns to its start again and again.

The learned γ makes almost every membership 0 or 1, whether a sample lies in the middle of its cluster or between two.
The graph knows the difference: a walk that starts between two clusters soon visits both.
"""

from __future__ import annotations

import math
from typing import Any

from array_api_compat import array_namespace

from afcm.arrays import backend_of
from afcm.graph.affinity import Graph
from afcm.linalg.products import arrange_rows, is_stored, is_worth_compiling, to_single_precision
from afcm.linalg.ratios import ratio

# The walk returns to its start with this probability after each step, so it is about ten steps long. Of .5, .2, .1 and
# .05 this gives the lowest calibration error without making clear clusters look doubtful (docs/label-free.md).
RESTART = 0.1
# The sum is known when no bound on the error of memberships is above this.
TOLERANCE = 1e-5


def diffuse(graph: Graph, memberships: Any, restart: float = RESTART) -> Any:
    """``r Σ_t (1 − r)^t P^t U`` with the random walk ``P = D⁻¹ W M``; rows still sum to 1.

    The sum solves ``x = r U + (1 − r) P x``. Chebyshev's polynomials, ``x ← ω (r U + (1 − r) P x − x') + x'`` with the
    x' of the step before, need a third of the products that the sum itself needs. A node without neighbors keeps its
    row.
    """
    xp = array_namespace(memberships)
    scale = xp.sqrt(graph.volumes)[:, None]
    fixed = memberships * scale  # P = (MD)^{-1/2} S (MD)^{1/2}
    width = memberships.shape[1]
    single = is_stored(graph.affinity) and is_worth_compiling(graph.affinity, width)
    alternate = _alternate_single if single else _alternate
    walked = xp.clip(ratio(alternate(graph, fixed, restart), scale, memberships), 0.0, 1.0)
    return walked / xp.sum(walked, axis=1, keepdims=True)


def _alternate(graph: Graph, fixed: Any, restart: float) -> Any:
    """``x ← ω (r F + (1 − r) S x − x') + x'`` until x is known."""
    rate, weight = 1 - restart, 2.0
    before, current = fixed, restart * fixed + rate * (graph.operator @ fixed)
    for _ in range(count_steps(rate) - 1):
        weight = 1 / (1 - rate**2 * weight / 4)
        image = graph.operator @ current
        image *= rate
        image += restart * fixed
        image -= before
        image *= weight
        image += before
        before, current = current, image
    return current


def _alternate_single(graph: Graph, fixed: Any, restart: float) -> Any:
    """`_alternate` in single precision, a step in one pass over the memory."""
    xp, rate, weight = array_namespace(fixed), 1 - restart, 2.0
    matrix, order = arrange_rows(graph.affinity, fixed.shape[1])
    matrix, single = to_single_precision(matrix, fixed.shape[1]), backend_of(fixed).to_single(fixed)
    single = single if order is None else single[order]
    before, current, spare = single, xp.empty_like(single), xp.empty_like(single)
    matrix.recur(single, single, (rate, restart, 0.0), current)
    for _ in range(count_steps(rate) - 1):
        weight = 1 / (1 - rate**2 * weight / 4)
        matrix.recur(current, before, (weight * rate, weight * restart, 1 - weight), spare, single)
        used = xp.empty_like(single) if before is single else before
        before, current, spare = current, spare, used
    result = xp.empty_like(fixed)
    result[slice(None) if order is None else order] = xp.astype(current, fixed.dtype)
    return result


def count_steps(rate: float) -> int:
    """Steps after which Chebyshev's polynomial of an operator with spectral radius ``rate`` is below the tolerance."""
    return math.ceil(math.acosh(1 / TOLERANCE) / math.acosh(1 / rate)) if rate > 0 else 1


def step(graph: Graph, values: Any, alone: Any) -> Any:
    """``P values``: the mean of the values where a walk is after one step; ``alone`` for a node without neighbors."""
    scale = array_namespace(values).sqrt(graph.volumes)[:, None]
    return ratio(graph.operator @ (values * scale), scale, alone)  # P = (MD)^{-1/2} S (MD)^{1/2}
