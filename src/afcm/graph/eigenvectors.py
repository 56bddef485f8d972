"""Solves for the leading eigenvectors of a graph; those of its components are known without solving."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.linalg import norm

from afcm._typing import Floats, Integers
from afcm.arrays import backend_of, from_host, to_host
from afcm.graph.affinity import Graph
from afcm.linalg import eigensolver, filtered_subspace
from afcm.linalg.operator import Eigenpairs, GraphPlusLowRank
from afcm.linalg.products import arrange_rows, is_stored
from afcm.linalg.search_space import n_guards

# A start needs the right subspace, not its last digits (radians).
START_ANGLE = 1e-2
# Smaller angles than this are out of reach in single precision.
SINGLE_ANGLE = 1e-5
# To tell whether an edge leads out of a cluster: the largest angle of the first eigenvectors to what lies beyond the
# guards, and the mean angle of all (radians): among many with nearly the same eigenvalue all are as good as each other.
# Where the unwanted part of the spectrum ends is not estimated first, unless the block is wide and the graph many times
# taller: that costs as much as a round of a narrow block, which tells it.
CLEAR_ANGLE, ROUGH_ANGLE, UNWANTED, WIDE, TIMES_TALLER = 0.05, 0.8, 0.7, 100, 40
# A column of a hint of which less than this share of its length is new says nothing new.
HARDLY = 0.3
# A graph has at least so many nodes, and so many for each vector of a block, where that block is filtered.
FILTERED, TALL = 1000, 8


def indicator(labels: Any, n_groups: int) -> Any:
    """The matrix with a 1 at each row's label (n×g); a negative label counts from the end."""
    xp = array_namespace(labels)
    return xp.eye(n_groups, dtype=xp.float64, device=device(labels))[labels]


def solve_leading(
    graph: Graph,
    n_wanted: int,
    angle_tol: float = START_ANGLE,
    *,
    dense: eigensolver.DenseSolver | None = None,
    hint: Floats | None = None,
    max_steps: int = 2000,
) -> Eigenpairs:
    """The leading eigenvectors of S, by default as accurate as a start needs; ``hint`` is where to search for them."""
    if angle_tol >= SINGLE_ANGLE and is_worth_filtering(graph, n_wanted):

        def measure_lack(found: filtered_subspace.RoughPairs) -> Floats:
            angles = found.angles(n_wanted)
            return angles / max(angles.max(), np.finfo(np.float64).tiny) * (norm(angles) / angle_tol)

        pairs = filter_leading(graph, n_wanted, hint, measure_lack)
        if norm(pairs.angles(n_wanted)) <= angle_tol:
            return filtered_subspace.to_eigenpairs(pairs, graph.operator, n_wanted, converged=True)
        hint = pairs.vectors
    operator, block = GraphPlusLowRank(graph.operator), search_block(graph, n_wanted, hint)
    return eigensolver.leading_eigenvectors(
        operator, block, n_wanted, angle_tol=angle_tol, max_steps=max_steps, dense=dense
    )


def solve_roughly(graph: Graph, n_clear: int, n_wanted: int) -> Floats:
    """Leading eigenvectors of S in single precision, good enough to tell neighbors apart; see `is_worth_filtering`.

    The first ``n_clear`` are well placed, the others roughly. A few more than wanted, which are less good: all are a
    place to search for those of a graph that is much the same.
    """

    def measure_lack(found: filtered_subspace.RoughPairs) -> Floats:
        angles = found.angles(-1)[:n_wanted]
        lack = np.full(n_wanted, angles.mean() / ROUGH_ANGLE)
        lack[:n_clear] = np.maximum(lack[:n_clear], angles[:n_clear] / CLEAR_ANGLE)
        return lack

    wide = n_wanted >= WIDE and graph.degrees.shape[0] >= TIMES_TALLER * n_wanted
    return filter_leading(graph, n_wanted, None, measure_lack, None if wide else UNWANTED).vectors


def filter_leading(
    graph: Graph,
    n_wanted: int,
    hint: Floats | None,
    measure_lack: Callable[[filtered_subspace.RoughPairs], Floats],
    unwanted: float | None = None,
) -> filtered_subspace.RoughPairs:
    """Filter a block a little wider than wanted until nothing is lacking (`filtered_subspace.filter_subspace`)."""
    width = backend_of(graph.affinity).pad_width(filtered_subspace.block_width(n_wanted), graph.affinity)
    block = search_block(graph, n_wanted, hint, width, "float32")
    begin: dict[str, Any] = {"near": hint is not None and hint.shape[1] >= width, "unwanted": unwanted}
    matrix, order = arrange_rows(graph.affinity, width)
    if order is None:
        return filtered_subspace.filter_subspace(matrix, block, measure_lack, **begin)
    pairs = filtered_subspace.filter_subspace(matrix, block[order], measure_lack, **begin)
    block[order] = pairs.vectors
    return pairs._replace(vectors=block)


def is_worth_filtering(graph: Graph, n_wanted: int) -> bool:
    """Whether the graph has sparse similarities, is large, and much taller than the block of wanted vectors."""
    n_nodes = graph.degrees.shape[0]
    return is_stored(graph.affinity) and n_nodes >= max(FILTERED, TALL * filtered_subspace.block_width(n_wanted))


def search_block(
    graph: Graph, n_clusters: int, hint: Floats | None = None, width: int | None = None, dtype: str = "float64"
) -> Floats:
    """The block that an eigen-solve starts from: known eigenvectors, the hint, then random columns of a fixed seed.

    Of the hint only what the known ones lack: its first columns are those of components, too, and a block without room
    for the others would not find them.
    """
    n_components, labels = graph.components
    xp = array_namespace(labels)
    parts = [null_space(graph, labels, n_components).vectors[:, :n_clusters]]
    width = n_clusters + n_guards(n_clusters) if width is None else width
    if hint is not None:
        parts.append(drop_known(hint, parts[0])[:, : width - parts[0].shape[1]])
    missing = width - sum(part.shape[1] for part in parts)
    parts.append(backend_of(labels).draw_normal((labels.shape[0], missing), 0, labels, dtype))
    return xp.concat([xp.astype(part, getattr(xp, dtype), copy=False) for part in parts], axis=1)


def drop_known(hint: Floats, known: Floats) -> Floats:
    """The columns of a hint outside the span of known orthonormal ones, but for those that are hardly outside."""
    xp = array_namespace(hint)
    known = xp.astype(known, hint.dtype)
    rest = hint - known @ (known.T @ hint)
    lengths, given = (to_host(xp.linalg.vector_norm(part, axis=0)) for part in (rest, hint))
    return rest[:, from_host(np.flatnonzero(lengths > HARDLY * given), rest)]


def null_space(graph: Graph, labels: Integers, n_groups: int) -> Eigenpairs:
    """``(M D)^{1/2} 1`` on each group of components: the exact eigenvectors of S with eigenvalue 1."""
    xp = array_namespace(labels)
    groups = indicator(labels, n_groups) * xp.sqrt(graph.volumes)[:, None]
    vectors = groups / xp.linalg.vector_norm(groups, axis=0)
    return Eigenpairs(vectors, np.ones(n_groups), vectors, 0.0, 0.0, 0, True)
