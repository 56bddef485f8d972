"""Forms of one density for each cluster: covariances with something in common, and tails heavier than a Gaussian's.

Fewer free numbers are learned better from few samples, which matters most where clusters overlap. Samples are scaled
by column; ``unit`` (d) holds the variances that a sphere of the original columns has after that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace

from afcm._typing import Floats


class Form(NamedTuple):
    """A name in ``COVARIANCES``, which says what they have in common, and the degrees of freedom of t-distributions.

    Infinitely many degrees are Gaussians. ``unit`` (d, or 1 number for all columns) is what spheres are made of.
    ``balanced``: all weights are equal.
    """

    covariances: str = "own"
    degrees: float = math.inf
    unit: Floats | float = 1.0
    balanced: bool = False


GAUSSIANS = Form()


def tied(masses: Floats, covariances: Floats, unit: Floats | float) -> Floats:
    """One covariance for all: the mean of all, by their masses."""
    del unit
    mean = np.einsum("j,jab->ab", masses / masses.sum(), covariances)
    return np.broadcast_to(mean, covariances.shape).copy()


def spheres(masses: Floats, covariances: Floats, unit: Floats | float) -> Floats:
    """A sphere for each, by the mean of its variances."""
    del masses
    sizes = (np.einsum("jaa->ja", covariances) / unit).mean(axis=1)
    return sizes[:, None, None] * (np.eye(covariances.shape[1]) * unit)


def equal_spheres(masses: Floats, covariances: Floats, unit: Floats | float) -> Floats:
    """One sphere for all."""
    return tied(masses, spheres(masses, covariances, unit), unit)


def own(masses: Floats, covariances: Floats, unit: Floats | float) -> Floats:
    """Nothing in common."""
    del masses, unit
    return covariances


COVARIANCES: dict[str, Callable[[Floats, Floats, Floats | float], Floats]] = {
    "own": own,
    "tied": tied,
    "spheres": spheres,
    "equal spheres": equal_spheres,
}


def n_numbers(form: Form, n_gaussians: int, dimension: int) -> int:
    """Free numbers of weights (which count as many as there are, or 1), means, covariances and tails."""
    full = dimension * (dimension + 1) // 2
    own_numbers = {"own": n_gaussians * full, "tied": full, "spheres": n_gaussians, "equal spheres": 1}
    weights = 1 if form.balanced else n_gaussians
    return weights + n_gaussians * dimension + own_numbers[form.covariances] + int(math.isfinite(form.degrees))


def peak_change(dimension: int, degrees: float) -> float:
    """How much higher than a Gaussian's the logarithm of a t-distribution's peak is, the matrix being the same."""
    gammas = math.lgamma((degrees + dimension) / 2) - math.lgamma(degrees / 2)
    return gammas + 0.5 * dimension * math.log(2.0 / degrees)


def to_student(gaussians: Floats, peaks: Floats, dimension: int, degrees: float) -> Floats:
    """Logarithms of t-distributions, from those of Gaussians with the same means and matrices and of their peaks."""
    squared = 2.0 * (peaks[:, None] - gaussians)
    fall = 0.5 * (degrees + dimension) * array_namespace(squared).log1p(squared / degrees)
    return (peaks + peak_change(dimension, degrees))[:, None] - fall


def student_factors(students: Floats, peaks: Floats, dimension: int, degrees: float) -> Floats:
    """How much a sample counts for means and matrices, ``(ν + d) / (ν + δ²)`` with δ its distance: far ones count less.

    ``students`` are logarithms of t-distributions; ``peaks`` are still those of Gaussians.
    """
    fall = students - (peaks + peak_change(dimension, degrees))[:, None]
    return (1.0 + dimension / degrees) * np.exp(fall * (2.0 / (degrees + dimension)))
