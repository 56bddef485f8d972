"""Scatter matrices by kind: full, diagonal, spherical; one per component or one for all.

A geometry knows one scatter (d×d, d numbers, one number) and the residuals ``x_i − v`` of its component; a `Structure`
says whether components share theirs. Stacks of scatters always have a first axis of length c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class SingularScatterError(ValueError):
    """A scatter matrix has no inverse."""


class Geometry(Protocol):
    """What one kind of scatter matrix can do."""

    def squared_lengths(self, residuals: Any, scatter: Any, /) -> Any:
        """``rᵀ Σ⁻¹ r`` for each row r (n)."""

    def log_determinant(self, scatter: Any, dimension: int, /) -> float:
        """``log |Σ|``."""

    def moment(self, residuals: Any, coefficients: Any, /) -> Any:
        """``Σ_i a_i r_i r_iᵀ`` (its diagonal, the mean of its diagonal)."""

    def floored(self, scatter: Any, least: float, /) -> Any:
        """Σ with no variance below ``least``: the best Σ ⪰ least·I where the best of all was the given one."""

    def coloured(self, noise: Any, scatter: Any, /) -> Any:
        """``A s`` for each row s, with ``A Aᵀ = Σ``."""

    def n_parameters(self, dimension: int, /) -> int:
        """Free numbers in Σ."""


class Full:
    """A d×d matrix."""

    def squared_lengths(self, residuals: Any, scatter: Any) -> Any:
        """By Cholesky: Σ = L Lᵀ, and the length of L⁻¹ r."""
        white = residuals @ np.linalg.inv(cholesky(scatter)).T
        return np.einsum("ij,ij->i", white, white)

    def log_determinant(self, scatter: Any, dimension: int) -> float:
        """From the diagonal of the Cholesky factor."""
        del dimension
        return 2 * float(np.sum(np.log(np.diag(cholesky(scatter)))))

    def moment(self, residuals: Any, coefficients: Any) -> Any:
        """``Rᵀ diag(a) R``."""
        return (residuals * coefficients[:, None]).T @ residuals

    def floored(self, scatter: Any, least: float) -> Any:
        """Eigenvalues below ``least`` become ``least``; nothing else is touched."""
        values, vectors = np.linalg.eigh(scatter)
        if values[0] >= least:
            return scatter
        return (vectors * np.maximum(values, least)) @ vectors.T

    def coloured(self, noise: Any, scatter: Any) -> Any:
        """With the Cholesky factor."""
        return noise @ cholesky(scatter).T

    def n_parameters(self, dimension: int) -> int:
        """The lower triangle."""
        return dimension * (dimension + 1) // 2


class Diagonal:
    """The d numbers on the diagonal."""

    def squared_lengths(self, residuals: Any, scatter: Any) -> Any:
        """``Σ_k r_k² / σ_k``."""
        return np.square(residuals) @ (1 / positive(scatter))

    def log_determinant(self, scatter: Any, dimension: int) -> float:
        """``Σ_k log σ_k``."""
        del dimension
        return float(np.sum(np.log(positive(scatter))))

    def moment(self, residuals: Any, coefficients: Any) -> Any:
        """The diagonal of the full moment."""
        return coefficients @ np.square(residuals)

    def floored(self, scatter: Any, least: float) -> Any:
        """Entry by entry."""
        return np.maximum(scatter, least)

    def coloured(self, noise: Any, scatter: Any) -> Any:
        """Column by column."""
        return noise * np.sqrt(scatter)

    def n_parameters(self, dimension: int) -> int:
        """One per feature."""
        return dimension


class Spherical:
    """One number: Σ = σ I."""

    def squared_lengths(self, residuals: Any, scatter: Any) -> Any:
        """``‖r‖² / σ``."""
        return np.einsum("ij,ij->i", residuals, residuals) / positive(scatter)

    def log_determinant(self, scatter: Any, dimension: int) -> float:
        """``d log σ``."""
        return dimension * float(np.log(positive(scatter)))

    def moment(self, residuals: Any, coefficients: Any) -> Any:
        """The mean of the diagonal of the full moment."""
        return coefficients @ np.einsum("ij,ij->i", residuals, residuals) / residuals.shape[1]

    def floored(self, scatter: Any, least: float) -> Any:
        """The larger of two numbers."""
        return np.maximum(scatter, least)

    def coloured(self, noise: Any, scatter: Any) -> Any:
        """A multiple."""
        return noise * np.sqrt(scatter)

    def n_parameters(self, dimension: int) -> int:
        """One."""
        del dimension
        return 1


@dataclass(frozen=True)
class Structure:
    """A geometry, and what the components share."""

    geometry: Geometry
    tied: bool = False  # one Σ for all
    identity: bool = False  # Σ = I for all: the scale m is learned in its place

    @property
    def pooled(self) -> bool:
        """The components have one size between them."""
        return self.tied or self.identity

    def shared(self, moments: Any, totals: Any) -> Any:
        """Moments (c×…) divided by masses (c), or their sum by the sum of masses where Σ is tied."""
        if self.tied:
            return np.broadcast_to(moments.sum(axis=0) / totals.sum(), moments.shape)
        return moments / along(totals, moments)

    def n_parameters(self, n_components: int, dimension: int) -> int:
        """Free numbers in all scatters together (the scale m, for the identity)."""
        return self.geometry.n_parameters(dimension) * (1 if self.pooled else n_components)


STRUCTURES = {
    "full": Structure(Full()),
    "tied": Structure(Full(), tied=True),
    "diag": Structure(Diagonal()),
    "spherical": Structure(Spherical()),
    "identity": Structure(Spherical(), identity=True),
}


def along(numbers: Any, stack: Any) -> Any:
    """Numbers (c), shaped to multiply a stack (c×…)."""
    return np.reshape(numbers, (-1,) + (1,) * (stack.ndim - 1))


def cholesky(scatter: Any) -> Any:
    """The lower factor, or a `SingularScatterError`."""
    try:
        return np.linalg.cholesky(scatter)
    except np.linalg.LinAlgError as error:
        raise SingularScatterError("a scatter matrix is singular") from error


def positive(scatter: Any) -> Any:
    """The numbers themselves, or a `SingularScatterError`."""
    if not np.min(scatter) > 0:
        raise SingularScatterError("a variance is zero")
    return scatter
