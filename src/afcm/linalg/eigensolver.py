"""Leading eigenvectors of "sparse graph plus low rank", applied and never formed.

The embedding step of the paper (op8) asks for the q smallest eigenvectors of
``γ (I − U B Uᵀ) + λ (I − S)``. They are the q LARGEST eigenvectors of

    A = λ S + γ G Gᵀ,      G = M^{1/2} U B^{1/2},

a sparse matrix plus one of rank c, so that applying A to a block costs O(n (k + c) q).
``leading_eigenvectors`` is a block Rayleigh–Ritz method: a growing orthonormal basis that always
contains the start, expanded by residuals and restarted thickly. Being a block method it finds
repeated eigenvalues; containing the start it never loses ground; its answer carries a residual.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from afcm._typing import Floats
from afcm._util.threads import one_blas_thread
from afcm.arrays import backend_of, like, moved, to_host
from afcm.linalg.operator import Eigenpairs, GraphPlusLowRank, row_slices

# Up to so many samples, or so many per wanted vector, one dense `eigh` beats dozens of sparse products (make bench).
DENSE_LIMIT, DENSE_PER_VECTOR = 400, 25
# A narrow gap can ask for very many products. Up to DENSE_MOST samples, once n² / DENSE_TRADE columns were multiplied,
# the dense solver is the shorter way to the same answer.
DENSE_MOST, DENSE_TRADE = 6000, 500
# Unit columns shorter than this after orthogonalisation are rounding; a search that can only add such has ended well
# if the residuals are below STALLED.
DROP, STALLED = 1e-12, 1e-9
# The most columns in the search space: thick enough to converge fast, thin enough to stay in cache.
MIN_BASIS, BASIS_BLOCKS = 24, 2
# The Chebyshev filter: log of the gain worth one expansion, log of the spread rounding allows, most products.
FILTER_GAIN, FILTER_SPREAD, MAX_DEGREE = np.log(1e3), np.log(1e8), 60


class DenseSolver:
    """Solves by `dense_eigenvectors`; `eigenbasis.LearningSolver` is one that remembers the graph."""

    knows_graph = False
    n_solves = 0  # so far, where that matters

    def __call__(self, operator: GraphPlusLowRank, n_wanted: int, trace_tol: float, angle_tol: float) -> Eigenpairs:
        """The leading eigenvectors; to rounding, whatever the tolerances."""
        return dense_eigenvectors(operator, n_wanted)


def n_guards(n_wanted: int) -> int:
    """Extra Ritz vectors beyond the wanted ones: they estimate the gap and speed up convergence."""
    return 4 if n_wanted <= 4 else max(2, n_wanted // 5)


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
    """The ``n_wanted`` leading eigenvectors of ``operator``.

    Parameters
    ----------
    operator : GraphPlusLowRank
    start : array of shape (n, at least n_wanted)
        Where to search first; with orthonormal columns the trace ``tr(ZᵀAZ)`` never falls below theirs.
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
        Who solves where the graph is small; it may remember what it learned about this graph.
    """
    solver = DenseSolver() if dense is None else dense
    with one_blas_thread():
        if operator.size <= max(DENSE_LIMIT, DENSE_PER_VECTOR * n_wanted) or solver.knows_graph:
            return _solved(solver, operator, start, n_wanted, (trace_tol, angle_tol))
        found = _search(operator, _SearchSpace(operator, n_wanted, start), extra, (trace_tol, angle_tol, max_steps))
        return _solved(solver, operator, start, n_wanted, (trace_tol, angle_tol)) if found is None else found


def _solved(
    solver: DenseSolver, operator: GraphPlusLowRank, start: Floats, n_wanted: int, limits: tuple[float, float]
) -> Eigenpairs:
    """What is small is solved on the host, wherever the arrays are."""
    found = solver(operator.on_host(), n_wanted, *limits)
    vectors, image = moved((found.vectors, found.graph_image), start)
    return replace(found, vectors=vectors, graph_image=image)


def _search(
    operator: GraphPlusLowRank, space: _SearchSpace, extra: Floats | None, limits: tuple[float, float, int]
) -> Eigenpairs | None:
    """Expand the search space until it is good enough; None if a dense solver gets there sooner."""
    trace_tol, angle_tol, max_steps = limits
    scale = abs(operator.weight) + operator.factor_weight
    if extra is not None:
        space.expand(extra)
    for step in range(max_steps + 1):
        if operator.size <= DENSE_MOST and space.n_products * space.block * DENSE_TRADE > operator.size**2:
            return None
        ritz = space.rayleigh_ritz()
        converged = ritz.trace_error <= trace_tol * scale or ritz.angle <= angle_tol
        if converged or step == max_steps:
            break
        directions, degree = _filtered(operator, ritz, ritz.unconverged(trace_tol * scale))
        space.n_products += degree
        grown = space.expand(directions)
        del directions
        if not grown:  # all that is left is rounding
            converged = bool(ritz.norms[: space.n_wanted].max() <= STALLED * scale)
            break
    return ritz.eigenpairs(operator, space.n_products, bool(converged))


def dense_eigenvectors(operator: GraphPlusLowRank, n_wanted: int) -> Eigenpairs:
    """The same by one dense solve."""
    n = operator.size
    span = [n - n_wanted, n - 1]
    values, vectors = eigh(operator.to_dense().T, subset_by_index=span, overwrite_a=True, check_finite=False)
    vectors = np.ascontiguousarray(vectors[:, ::-1])
    return Eigenpairs(vectors, values[::-1], operator.graph @ vectors, 0.0, 0.0, 0, True)


def _filtered(operator: GraphPlusLowRank, ritz: Ritz, block: Floats) -> tuple[Floats, int]:
    """``p(A) @ block`` with a Chebyshev polynomial that is small on the unwanted part of the spectrum.

    The unwanted part is [−weight, `Ritz.unwanted`]; the three-term recurrence is scaled to be 1 at the
    largest Ritz value, so it cannot overflow however large γ/λ is.
    """
    low, high, top = -abs(operator.weight), ritz.unwanted, float(ritz.values[0])
    center, half = (high + low) / 2, max((high - low) / 2, float(np.finfo(float).tiny))
    degree = _degree((ritz.values - center) / half, ritz.n_wanted)
    ratio = half / (top - center)
    previous, scaling = block, ratio
    current: Floats = (operator @ block - center * block) * (ratio / half)
    for _ in range(degree - 1):
        following = 1 / (2 / ratio - scaling)
        image = operator @ current
        for rows in row_slices(image):
            image[rows] -= center * current[rows]
            image[rows] *= 2 * following / half
            image[rows] -= (scaling * following) * previous[rows]
        previous, current, scaling = current, image, following
    return current, degree


def _degree(mapped: Floats, n_wanted: int) -> int:
    """How high a Chebyshev degree pays off, from Ritz values mapped so that the unwanted lie in [−1, 1]."""
    growth = np.arccosh(np.maximum(mapped, 1.0))  # log-growth per degree
    slowest, fastest = growth[min(n_wanted, growth.size) - 1], growth[0]
    useful = FILTER_GAIN / max(slowest, FILTER_GAIN / MAX_DEGREE)
    harmless = FILTER_SPREAD / max(fastest - slowest, FILTER_SPREAD / MAX_DEGREE)
    return int(np.clip(min(useful, harmless), 1, MAX_DEGREE))


@dataclass(frozen=True)
class Ritz:
    """Ritz pairs of the current search space: the wanted ones first, then the guards. The numbers are on the host."""

    vectors: Floats
    values: Floats
    norms: Floats  # ‖A z − θ z‖
    n_wanted: int
    others: Floats  # the Ritz values below the guards, falling

    @property
    def unwanted(self) -> float:
        """The upper end of the unwanted spectrum: the last guard, or the first value below a tie with the wanted."""
        lower = np.concatenate([self.values[-1:], self.others])
        clear = lower[lower < self.values[min(self.n_wanted, self.values.size) - 1] - 10 * self.norms.max()]
        return float(clear[0] if clear.size else lower[-1])

    @property
    def gaps(self) -> Floats:
        """Distance of each wanted value to the first unwanted one, never below its own residual."""
        q = self.n_wanted
        unwanted = self.values[q] if self.values.size > q else -np.inf
        return np.maximum(self.values[:q] - unwanted, self.norms[:q])

    @property
    def trace_error(self) -> float:
        """Bound on how much Σθ can still grow: residuals squared over gaps."""
        return float(_ratio(self.norms[: self.n_wanted] ** 2, self.gaps).sum())

    @property
    def angle(self) -> float:
        """Bound on the angle to the true subspace: residuals over gaps."""
        return float(np.sqrt((_ratio(self.norms[: self.n_wanted], self.gaps) ** 2).sum()))

    def unconverged(self, trace_tol: float) -> Floats:
        """Ritz vectors still worth a product."""
        share = 1e-2 * trace_tol / self.n_wanted
        gaps = np.concatenate([self.gaps, np.repeat(self.gaps[-1:], self.norms.size - self.n_wanted)])
        wanting = _ratio(self.norms**2, np.maximum(gaps, self.norms)) > share
        return self.vectors if wanting.all() else self.vectors[:, like(np.flatnonzero(wanting), self.vectors)]

    def eigenpairs(self, operator: GraphPlusLowRank, n_products: int, converged: bool) -> Eigenpairs:
        """The wanted pairs as a result."""
        q = self.n_wanted
        largest = max(float(np.abs(self.values).max()), np.finfo(float).tiny)
        vectors = backend_of(self.vectors).contiguous(self.vectors[:, :q])
        return Eigenpairs(
            vectors,
            self.values[:q],
            operator.graph @ vectors,
            float(self.norms[:q].max()) / largest,
            self.trace_error,
            n_products,
            converged,
        )


class _SearchSpace:
    """An orthonormal basis Q and the projected operator Qᵀ A Q.

    Images of the basis are not kept: one more product an iteration costs less than twice the memory.
    """

    def __init__(self, operator: GraphPlusLowRank, n_wanted: int, start: Floats) -> None:
        self.operator = operator
        self.n_wanted = n_wanted
        self.block = max(start.shape[1], n_wanted + n_guards(n_wanted))
        self.capacity = min(max(MIN_BASIS, BASIS_BLOCKS * self.block), operator.size)
        self.basis = backend_of(start).empty_basis(operator.size, self.capacity, start)
        self.projected = np.empty((self.capacity, self.capacity))
        self.width = 0
        self.n_products = 0
        self.expand(start)

    def expand(self, directions: Floats) -> int:
        """Add what is new in ``directions``; the number of columns added."""
        if self.width + directions.shape[1] > self.capacity:
            self._restart(directions.shape[1])
        room = self.capacity - self.width
        old = self.basis[:, : self.width]
        new = orthonormal_complement(directions[:, :room], old)
        if not new.shape[1]:
            return 0
        self._append(new)
        return int(new.shape[1])

    def _append(self, new: Floats) -> None:
        end = self.width + new.shape[1]
        self.basis[:, self.width : end] = new
        columns = to_host(self.basis[:, :end].T @ (self.operator @ new))
        self.n_products += 1
        self.projected[:end, self.width : end] = columns
        self.projected[self.width : end, :end] = columns.T
        self.width = end

    def _rotation(self, n_columns: int) -> tuple[Floats, Floats]:
        """All Ritz values, falling, and the coefficients of the first ``n_columns`` Ritz vectors."""
        values, coefficients = eigh(self.projected[: self.width, : self.width])
        return values[::-1], coefficients[:, : -n_columns - 1 : -1]

    def rayleigh_ritz(self) -> Ritz:
        """The best approximations to the wanted eigenvectors and guards in the search space."""
        everything, coefficients = self._rotation(self.block)
        values, others = everything[: self.block], everything[self.block :]
        vectors = self.basis[:, : self.width] @ like(coefficients, self.basis)
        residuals = self.operator @ vectors
        self.n_products += 1
        factors = like(values, self.basis)
        for rows in row_slices(residuals):
            residuals[rows] -= vectors[rows] * factors
        return Ritz(vectors, values, column_lengths(residuals), self.n_wanted, others)

    def _restart(self, n_new: int) -> None:
        """Keep the best Ritz vectors and leave room for what comes."""
        keep = min(max(self.block, self.capacity - max(n_new, self.capacity // 2)), self.width)
        values, coefficients = self._rotation(keep)
        rotation = like(coefficients, self.basis)
        for rows in row_slices(self.basis):
            self.basis[rows, :keep] = self.basis[rows, : self.width] @ rotation
        self.projected[:keep, :keep] = np.diag(values[:keep])
        self.width = keep


def orthonormal_complement(directions: Floats, basis: Floats) -> Floats:
    """Orthonormal columns that span ``directions`` outside the span of the orthonormal ``basis``.

    Directions already inside (to rounding) are dropped. Two passes of projection and Gram-matrix
    orthonormalisation: products of matrices only, and twice is enough.
    """
    block = backend_of(directions).copied(directions)
    _scale_columns(block, column_lengths(block))
    for _ in range(2):
        if basis.shape[1]:
            inside = basis.T @ block
            for rows in row_slices(block):
                block[rows] -= basis[rows] @ inside
        lengths = column_lengths(block)
        if (lengths <= DROP).any():
            kept = np.flatnonzero(lengths > DROP)
            block, lengths = block[:, like(kept, block)], lengths[kept]
        if not block.shape[1]:
            break
        _scale_columns(block, lengths)
        weights, rotation = eigh(to_host(block.T @ block))
        block = block @ like(rotation[:, weights > DROP] / np.sqrt(weights[weights > DROP]), block)
    return block


def column_lengths(block: Floats) -> Floats:
    """‖·‖ of each column, on the host."""
    return np.asarray(backend_of(block).column_lengths(block))


def _scale_columns(block: Floats, lengths: Floats) -> None:
    """Columns to length one, in place; a zero column stays."""
    block *= like(np.where(lengths > 0, 1 / np.where(lengths > 0, lengths, 1.0), 0.0), block)


def _ratio(top: Floats, bottom: Floats) -> Floats:
    """top / bottom with 0 / 0 = 0."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
