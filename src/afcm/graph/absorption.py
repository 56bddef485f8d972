"""Where a random walk over the graph ends if it ends at every node whose cluster is known."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace

from afcm.graph.affinity import Graph
from afcm.linalg.conjugate_gradients import solve_columns
from afcm.linalg.ratios import ratio


def absorb(graph: Graph, held: Any, values: Any, stop: float) -> Any:
    """``F_i = r_i`` at nodes that are held, else ``F_i = s r_i + (1 − s) Σ_j p_ij F_j``; rows of F sum to 1.

    ``values`` (r, n×c, rows that sum to 1) are what a walk finds where it ends: at a node that is ``held`` (n, bool)
    for certain, at any other with probability ``stop`` (s), and else it goes on with the random walk ``P = D⁻¹ W M``.
    A node without neighbors keeps its row.
    """
    xp = array_namespace(values)
    free = xp.astype(~held, values.dtype)[:, None]
    scale = xp.sqrt(graph.volumes)[:, None]  # P = scale⁻¹ S scale, so that the system is symmetric in scale · F
    scaled = values * scale

    def apply(columns: Any) -> Any:
        return columns - (1 - stop) * free * (graph.operator @ (free * columns))

    arriving = graph.operator @ ((1 - free) * scaled)
    found = solve_columns(apply, free * (stop * scaled + (1 - stop) * arriving), free * scaled)
    spread = xp.clip(ratio(found, scale, values), 0.0, None)
    spread = ratio(spread, xp.sum(spread, axis=1, keepdims=True), values)
    return xp.where(held[:, None], values, spread)
