"""Leading eigenvectors of "sparse graph plus low rank", applied and never formed.

The embedding step of the paper (op8) asks for the q smallest eigenvectors of
``γ (I − U B Uᵀ) + λ (I − S)``. They are the q LARGEST eigenvectors of

    A = λ S + γ G Gᵀ,      G = M^{1/2} U B^{1/2},

a sparse matrix plus one of rank c, so that applying A to a block costs O(n (k + c) q).
``leading_eigenvectors`` is a block Rayleigh–Ritz method: a growing orthonormal basis that always
contains the start, expanded by filtered Ritz vectors and restarted thickly. Being a block method it finds
repeated eigenvalues; containing the start it never loses ground; its answer carries a residual.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import eigh

from afcm._typing import Floats
from afcm._util.threads import one_blas_thread
from afcm.arrays import to_device_of
from afcm.linalg.chebyshev import apply_filter, log_growth
from afcm.linalg.dominant_factor import solve_outweighed
from afcm.linalg.operator import Eigenpairs, GraphPlusLowRank
from afcm.linalg.search_space import RitzPairs, SearchSpace

# Up to so many samples, or so many per wanted vector, one dense `eigh` beats dozens of sparse products (make bench).
DENSE_LIMIT, DENSE_PER_VECTOR = 400, 25
# A narrow gap can ask for very many products. Up to DENSE_MOST samples, once n² / DENSE_TRADE columns were multiplied,
# the dense solver is the shorter way to the same answer.
DENSE_MOST, DENSE_TRADE = 6000, 500
# A search that can add nothing but rounding has ended well if the residuals are below this.
STALLED = 1e-9
# The Chebyshev filter: log of the gain worth one expansion, log of the spread rounding allows, most products.
FILTER_GAIN, FILTER_SPREAD, MAX_DEGREE = np.log(1e3), np.log(1e8), 60


class DenseSolver:
    """Solves by `dense_eigenvectors`; `eigenbasis.LearningSolver` is one that remembers the graph."""

    has_basis = False
    n_solves = 0  # so far, for a solver that counts them

    def __call__(self, operator: GraphPlusLowRank, n_wanted: int, trace_tol: float, angle_tol: float) -> Eigenpairs:
        """The leading eigenvectors; to rounding, whatever the tolerances."""
        return dense_eigenvectors(operator, n_wanted)


def leading_eigenvectors(
    operator: GraphPlusLowRank,
    start: Floats,
    n_wanted: int,
    *,
    extra: Floats | None = None,
    trace_tol: float = 1e-12,
    angle_tol: float = 1e-4,
    max_steps: int = 2000,
    dense: DenseSolver | None = None,
) -> Eigenpairs:
    """Find the ``n_wanted`` leading eigenvectors of ``operator``.

    Parameters
    ----------
    operator : GraphPlusLowRank
    start : array of shape (n, at least n_wanted)
        First search space; with orthonormal columns the trace ``tr(ZᵀAZ)`` never falls below theirs.
    n_wanted : int
    extra : array of shape (n, any), optional
        Further directions to put into the first search space (the low-rank factor, say).
    trace_tol, angle_tol : float
        Done when Σθ is within ``trace_tol · (|weight| + factor_weight)`` of its maximum, or the subspace within
        about ``angle_tol`` radians of the true one. Both bounds use the gap θ_q − θ_{q+1}, so a
        narrow gap asks for more work, and an exact tie (any basis will do) for no more than it must.
    max_steps : int
        Block products at the most; the result then says ``converged=False``.
    dense : DenseSolver, optional
        Solver for a small graph; it may remember what it learned about this graph.
    """
    solver = DenseSolver() if dense is None else dense
    with one_blas_thread():
        found = solve_outweighed(operator, n_wanted)
        large = operator.size > max(DENSE_LIMIT, DENSE_PER_VECTOR * n_wanted)
        if found is None and large and not solver.has_basis:
            found = _search(SearchSpace(operator, n_wanted, start), extra, (trace_tol, angle_tol), max_steps)
        if found is None:  # solved on the host, wherever the arrays are
            found = solver(operator.to_host(), n_wanted, trace_tol, angle_tol)
            vectors, image = to_device_of((found.vectors, found.graph_image), start)
            found = replace(found, vectors=vectors, graph_image=image)
    return found


def _search(
    space: SearchSpace, extra: Floats | None, tolerances: tuple[float, float], max_steps: int
) -> Eigenpairs | None:
    """Expand the search space until it is good enough; None if a dense solver gets there sooner."""
    operator = space.operator
    trace_tol, angle_tol = tolerances[0] * operator.scale, tolerances[1]
    if extra is not None:
        space.expand(extra)
    space.fill()
    for step in range(max_steps + 1):
        if operator.size <= DENSE_MOST and space.n_products * space.block * DENSE_TRADE > operator.size**2:
            return None
        ritz = space.rayleigh_ritz()
        converged = ritz.trace_error <= trace_tol or ritz.angle <= angle_tol
        if converged or step == max_steps:
            break
        directions, degree = _apply_filter(operator, ritz, ritz.unconverged(trace_tol))
        space.n_products += degree
        grown = space.expand(directions)
        del directions
        if not grown:  # all that is left is rounding
            converged = bool(ritz.norms[: space.n_wanted].max() <= STALLED * operator.scale)
            break
    return ritz.to_eigenpairs(operator, space.n_products, bool(converged))


def dense_eigenvectors(operator: GraphPlusLowRank, n_wanted: int) -> Eigenpairs:
    """Find the leading eigenvectors by one dense solve."""
    n = operator.size
    span = [n - n_wanted, n - 1]
    values, vectors = eigh(operator.to_dense().T, subset_by_index=span, overwrite_a=True, check_finite=False)
    if vectors.shape[1] < n_wanted:  # LAPACK's search by index may find none where very many eigenvalues are equal
        values, vectors = (part[..., -n_wanted:] for part in eigh(operator.to_dense(), driver="evd"))
    vectors = np.ascontiguousarray(vectors[:, ::-1])
    return Eigenpairs(vectors, values[::-1], operator.graph @ vectors, 0.0, 0.0, 0, True)


def _apply_filter(operator: GraphPlusLowRank, ritz: RitzPairs, block: Floats) -> tuple[Floats, int]:
    """``p(A) @ block`` and the degree of p, which is small from −|weight| to `RitzPairs.unwanted`."""
    unwanted = (-abs(operator.weight), ritz.unwanted)
    degree = _filter_degree(log_growth(ritz.values, unwanted), ritz.n_wanted)
    return apply_filter(operator, block, unwanted, float(ritz.values[0]), degree), degree


def _filter_degree(growth: Floats, n_wanted: int) -> int:
    """The Chebyshev degree that pays off, from the log-growth of each Ritz value with the degree."""
    slowest, fastest = growth[min(n_wanted, growth.size) - 1], growth[0]
    useful = FILTER_GAIN / max(slowest, FILTER_GAIN / MAX_DEGREE)
    harmless = FILTER_SPREAD / max(fastest - slowest, FILTER_SPREAD / MAX_DEGREE)
    return max(1, int(min(useful, harmless)))
