"""The search space of the block eigensolver: an orthonormal basis, its Ritz pairs and their error bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from afcm._typing import Floats
from afcm.arrays import backend_of, from_host, to_host
from afcm.linalg import tall
from afcm.linalg.operator import Eigenpairs, GraphPlusLowRank
from afcm.linalg.ratios import ratio
from afcm.linalg.tall import row_slices

# A unit column shorter than this after orthogonalization is rounding.
DROP = 1e-12
# The most columns in the search space: thick enough to converge fast, thin enough to stay in cache.
MIN_BASIS, BASIS_BLOCKS = 24, 2


def n_guards(n_wanted: int) -> int:
    """Number of Ritz vectors beyond the wanted ones: they estimate the gap and speed up convergence."""
    return 4 if n_wanted <= 4 else max(2, n_wanted // 5)


@dataclass(frozen=True)
class RitzPairs:
    """Approximate eigenpairs: the wanted ones first, then the guards. The numbers are on the host."""

    vectors: Floats
    values: Floats
    norms: Floats  # ‖A z − θ z‖
    n_wanted: int
    others: Floats  # the Ritz values below the guards, falling

    @property
    def unwanted(self) -> float:
        """Upper end of the unwanted spectrum: the last guard, or the first value below a tie with the wanted."""
        lower = np.concatenate([self.values[-1:], self.others])
        clear = lower[lower < self.values[min(self.n_wanted, self.values.size) - 1] - 10 * self.norms.max()]
        return float(clear[0] if clear.size else lower[-1])

    @property
    def gaps(self) -> Floats:
        """Distance of each wanted value to the first unwanted one, never below its own residual.

        Where no other value is known the gap may be anything, and only the residual is left.
        """
        q = self.n_wanted
        others = np.concatenate([self.values[q:], self.others, [np.inf]])
        return np.maximum(self.values[:q] - others[0], self.norms[:q])

    @property
    def trace_error(self) -> float:
        """Bound on how much Σθ can still grow: ``Σ residual² / gap``."""
        return float(ratio(self.norms[: self.n_wanted] ** 2, self.gaps, 0.0).sum())

    @property
    def angle(self) -> float:
        """Bound on the angle to the true subspace: ``√Σ (residual / gap)²``."""
        return float(np.sqrt((ratio(self.norms[: self.n_wanted], self.gaps, 0.0) ** 2).sum()))

    def unconverged(self, trace_tol: float) -> Floats:
        """Ritz vectors still worth a product: their part of the trace error is not negligible."""
        share = 1e-2 * trace_tol / self.n_wanted
        gaps = np.concatenate([self.gaps, np.repeat(self.gaps[-1:], self.norms.size - self.n_wanted)])
        wanting = ratio(self.norms**2, np.maximum(gaps, self.norms), 0.0) > share
        return self.vectors if wanting.all() else self.vectors[:, from_host(np.flatnonzero(wanting), self.vectors)]

    def to_eigenpairs(self, operator: GraphPlusLowRank, n_products: int, converged: bool) -> Eigenpairs:
        q = self.n_wanted
        largest = max(float(np.abs(self.values).max()), np.finfo(float).tiny)
        vectors = backend_of(self.vectors).make_contiguous(self.vectors[:, :q])
        residual = float(self.norms[:q].max()) / largest
        image = operator.graph @ vectors
        return Eigenpairs(vectors, self.values[:q], image, residual, self.trace_error, n_products, converged)


class SearchSpace:
    """An orthonormal basis Q and the projected operator Qᵀ A Q.

    Images of the basis are not kept: one more product an iteration costs less than twice the memory.
    """

    def __init__(self, operator: GraphPlusLowRank, n_wanted: int, start: Floats) -> None:
        self.operator = operator
        self.n_wanted = n_wanted
        self.block = max(start.shape[1], n_wanted + n_guards(n_wanted))
        self.capacity = min(max(MIN_BASIS, BASIS_BLOCKS * self.block), operator.size)
        self.basis = backend_of(start).allocate_basis(operator.size, self.capacity, start)
        self.projected = np.empty((self.capacity, self.capacity))
        self.width = 0
        self.n_products = 0
        self.expand(start)

    def expand(self, directions: Floats) -> int:
        """Add the part of ``directions`` outside the space; return the number of columns added."""
        if self.width + directions.shape[1] > self.capacity:
            self._restart(directions.shape[1])
        room = self.capacity - self.width
        new = orthonormal_complement(directions[:, :room], self.basis[:, : self.width])
        if new.shape[1]:
            self._append(new)
        return int(new.shape[1])

    def fill(self) -> None:
        """Add random directions until there is room for the wanted vectors and their guards.

        A start may be narrow, or its columns depend on each other: then some of the wanted would be missing.
        """
        missing = min(self.n_wanted + n_guards(self.n_wanted), self.operator.size) - self.width
        if missing > 0:
            drawn = np.random.RandomState(self.width).standard_normal((self.operator.size, missing))
            self.expand(from_host(drawn, self.basis))

    def _append(self, new: Floats) -> None:
        end = self.width + new.shape[1]
        self.basis[:, self.width : end] = new
        columns = to_host(tall.inner(self.basis[:, :end], self.operator @ new))
        self.n_products += 1
        self.projected[:end, self.width : end] = columns
        self.projected[self.width : end, :end] = columns.T
        self.width = end

    def _solve_projected(self, n_columns: int) -> tuple[Floats, Floats]:
        """All Ritz values, falling, and the coefficients of the first ``n_columns`` Ritz vectors."""
        values, coefficients = eigh(self.projected[: self.width, : self.width])
        return values[::-1], coefficients[:, : -n_columns - 1 : -1]

    def rayleigh_ritz(self) -> RitzPairs:
        """The best approximations to the wanted eigenvectors and guards in the search space."""
        values, coefficients = self._solve_projected(self.block)
        values, others = values[: self.block], values[self.block :]
        vectors = tall.combine(self.basis[:, : self.width], from_host(coefficients, self.basis))
        residuals = self.operator @ vectors
        self.n_products += 1
        factors = from_host(values, self.basis)
        for rows in row_slices(residuals):
            residuals[rows] -= vectors[rows] * factors
        return RitzPairs(vectors, values, column_lengths(residuals), self.n_wanted, others)

    def _restart(self, n_new: int) -> None:
        """Keep the best Ritz vectors and leave room for ``n_new`` columns."""
        keep = min(max(self.block, self.capacity - max(n_new, self.capacity // 2)), self.width)
        values, coefficients = self._solve_projected(keep)
        rotation = from_host(coefficients, self.basis)
        for rows in row_slices(self.basis):
            self.basis[rows, :keep] = self.basis[rows, : self.width] @ rotation
        self.projected[:keep, :keep] = np.diag(values[:keep])
        self.width = keep


def orthonormal_complement(directions: Floats, basis: Floats) -> Floats:
    """Orthonormal columns that span ``directions`` outside the span of the orthonormal ``basis``.

    Directions already inside (to rounding) are dropped. Two passes of projection and Gram-matrix
    orthonormalization: products of matrices only, and twice is enough.
    """
    block = backend_of(directions).copy_rows(directions)
    _scale_columns(block, column_lengths(block))
    for _ in range(2):
        if basis.shape[1]:
            tall.add(block, basis, -tall.inner(basis, block))
        lengths = column_lengths(block)
        if (lengths <= DROP).any():
            kept = np.flatnonzero(lengths > DROP)
            block, lengths = block[:, from_host(kept, block)], lengths[kept]
        if not block.shape[1]:
            break
        _scale_columns(block, lengths)
        weights, rotation = eigh(to_host(tall.inner(block, block)))
        block = tall.combine(block, from_host(rotation[:, weights > DROP] / np.sqrt(weights[weights > DROP]), block))
    return block


def column_lengths(block: Floats) -> Floats:
    """‖·‖ of each column, on the host."""
    return np.asarray(backend_of(block).column_norms(block))


def _scale_columns(block: Floats, lengths: Floats) -> None:
    """Columns to length one, in place; a zero column stays."""
    block *= from_host(ratio(np.ones_like(lengths), lengths, 0.0), block)
