"""Fills missing coordinates with their expectation given the known ones of the row.

A fill f that adds nothing to any distance does not exist in Euclidean coordinates: to a row with z it adds (f − z)².
The sum over the rows is least for the mean of z, and among rows with the same known values for the mean given these.
The best linear form of that is ``E[z_M | z_K] = C_MK C_KK⁻¹ z_K`` for centered z with covariance C. What it still adds
is the variance of z that the other columns do not explain; between two rows that lack the same value it is nothing
but the difference of their known columns once more, as far as they predict it.
"""

from __future__ import annotations

import numpy as np

from afcm._typing import Floats

# Eigenvalues of the covariance below this share of the largest are raised to it: pairs of columns are known in
# different rows, and coordinates of a category depend on each other.
LEAST_EIGENVALUE = 1e-6


def estimate_covariance(coordinates: Floats) -> Floats:
    """Return ``E[z_j z_k]`` over the rows that know both, made positive definite; 0 where no row does."""
    known = ~np.isnan(coordinates)
    if known.all():
        covariance = coordinates.T @ coordinates / coordinates.shape[0]
    else:
        values, counted = np.where(known, coordinates, 0.0), known.astype(np.float64)
        covariance = (values.T @ values) / np.maximum(counted.T @ counted, 1)
    roots, vectors = np.linalg.eigh(covariance)
    roots = np.maximum(roots, LEAST_EIGENVALUE * max(float(roots[-1]), np.finfo(float).tiny))
    return (vectors * roots) @ vectors.T


def fill_missing(coordinates: Floats, covariance: Floats | None, limits: Floats) -> Floats:
    """Replace NaN by the expectation given the rest of the row, by 0 (the mean) if there is no covariance.

    Known values count in this up to ``±limits``, so that an outlier in one column does not become one in another.
    """
    missing = np.isnan(coordinates)
    rows = np.flatnonzero(missing.any(axis=1))
    if rows.size == 0:
        return coordinates
    filled = coordinates.copy()
    if covariance is None:
        filled[missing] = 0.0
        return filled
    patterns, which = np.unique(missing[rows], axis=0, return_inverse=True)
    for i, lost in enumerate(patterns):
        same = rows[which.ravel() == i]
        given = np.clip(coordinates[np.ix_(same, ~lost)], -limits[~lost], limits[~lost])
        slopes = np.linalg.solve(covariance[np.ix_(~lost, ~lost)], covariance[np.ix_(~lost, lost)])
        filled[np.ix_(same, lost)] = given @ slopes
    return filled
