"""Scatter matrices by kind: full, diagonal, spherical; one per component or one for all.

A geometry works on one scatter (d×d, d numbers, one number) and the residuals ``x_i − v`` of its component; a
`Structure` says whether components share theirs. Stacks of scatters always have a first axis of length c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class SingularScatterError(ValueError):
    """A scatter matrix has no inverse."""


class Geometry(Protocol):
    """Operations on one kind of scatter matrix Σ."""

    def squared_lengths(self, residuals: Any, scatter: Any, /) -> Any:
        """``rᵀ Σ⁻¹ r`` for each row r (n)."""

    def log_determinant(self, scatter: Any, dimension: int, /) -> float:
        """``log |Σ|``."""

    def moment(self, residuals: Any, coefficients: Any, /) -> Any:
        """``Σ_i a_i r_i r_iᵀ``; its diagonal, or the mean of its diagonal, for the compact kinds."""

    def floor_variances(self, scatter: Any, least: float, /) -> Any:
        """Σ with no variance below ``least``: the best Σ ⪰ least·I where the best of all was the given one."""

    def color_noise(self, noise: Any, scatter: Any, /) -> Any:
        """``A s`` for each row s, with ``A Aᵀ = Σ``."""

    def n_parameters(self, dimension: int, /) -> int:
        """Free numbers in Σ."""


class Full:
    """Σ is any positive definite d×d matrix."""

    def squared_lengths(self, residuals: Any, scatter: Any) -> Any:
        white = residuals @ np.linalg.inv(cholesky(scatter)).T
        return np.einsum("ij,ij->i", white, white)

    def log_determinant(self, scatter: Any, dimension: int) -> float:
        return 2 * float(np.sum(np.log(np.diag(cholesky(scatter)))))

    def moment(self, residuals: Any, coefficients: Any) -> Any:
        return (residuals * coefficients[:, None]).T @ residuals

    def floor_variances(self, scatter: Any, least: float) -> Any:
        values, vectors = np.linalg.eigh(scatter)
        if values[0] >= least:
            return scatter
        return (vectors * np.maximum(values, least)) @ vectors.T

    def color_noise(self, noise: Any, scatter: Any) -> Any:
        return noise @ cholesky(scatter).T

    def n_parameters(self, dimension: int) -> int:
        return dimension * (dimension + 1) // 2


class Diagonal:
    """Σ is diagonal, given by the d numbers on it."""

    def squared_lengths(self, residuals: Any, scatter: Any) -> Any:
        return np.square(residuals) @ (1 / check_positive(scatter))

    def log_determinant(self, scatter: Any, dimension: int) -> float:
        return float(np.sum(np.log(check_positive(scatter))))

    def moment(self, residuals: Any, coefficients: Any) -> Any:
        return coefficients @ np.square(residuals)

    def floor_variances(self, scatter: Any, least: float) -> Any:
        return np.maximum(scatter, least)

    def color_noise(self, noise: Any, scatter: Any) -> Any:
        return noise * np.sqrt(scatter)

    def n_parameters(self, dimension: int) -> int:
        return dimension


class Spherical:
    """Σ = σ I, given by the number σ."""

    def squared_lengths(self, residuals: Any, scatter: Any) -> Any:
        return np.einsum("ij,ij->i", residuals, residuals) / check_positive(scatter)

    def log_determinant(self, scatter: Any, dimension: int) -> float:
        return dimension * float(np.log(check_positive(scatter)))

    def moment(self, residuals: Any, coefficients: Any) -> Any:
        return coefficients @ np.einsum("ij,ij->i", residuals, residuals) / residuals.shape[1]

    def floor_variances(self, scatter: Any, least: float) -> Any:
        return np.maximum(scatter, least)

    def color_noise(self, noise: Any, scatter: Any) -> Any:
        return noise * np.sqrt(scatter)

    def n_parameters(self, dimension: int) -> int:
        return 1


@dataclass(frozen=True)
class Structure:
    """A geometry, and whether the components share one scatter."""

    geometry: Geometry
    tied: bool = False  # one Σ for all
    identity: bool = False  # Σ = I for all: the scale m is learned in its place

    @property
    def is_pooled(self) -> bool:
        """Do the components have one size in common?"""
        return self.tied or self.identity

    def divide_moments(self, moments: Any, totals: Any) -> Any:
        """Moments (c×…) divided by masses (c), or their sum by the sum of masses where Σ is tied."""
        if self.tied:
            return np.broadcast_to(moments.sum(axis=0) / totals.sum(), moments.shape)
        return moments / reshape_like(totals, moments)

    def n_parameters(self, n_components: int, dimension: int) -> int:
        """Free numbers in all scatters together (the scale m, for the identity)."""
        return self.geometry.n_parameters(dimension) * (1 if self.is_pooled else n_components)


STRUCTURES = {
    "full": Structure(Full()),
    "tied": Structure(Full(), tied=True),
    "diag": Structure(Diagonal()),
    "spherical": Structure(Spherical()),
    "identity": Structure(Spherical(), identity=True),
}


def reshape_like(numbers: Any, stack: Any) -> Any:
    """Numbers (c), reshaped to multiply a stack (c×…)."""
    return np.reshape(numbers, (-1,) + (1,) * (stack.ndim - 1))


def cholesky(scatter: Any) -> Any:
    """The lower factor; a `SingularScatterError` if there is none."""
    try:
        return np.linalg.cholesky(scatter)
    except np.linalg.LinAlgError as error:
        raise SingularScatterError("a scatter matrix is singular") from error


def check_positive(scatter: Any) -> Any:
    """The given numbers; a `SingularScatterError` if one is not positive."""
    if not np.min(scatter) > 0:
        raise SingularScatterError("a variance is zero")
    return scatter
