"""Embeds samples by coefficients on their anchors and clusters: ``Z = Q a + U b``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from afcm._typing import Floats
from afcm.graph.anchors.affinity import CoarseGraph
from afcm.linalg.operator import Eigenpairs
from afcm.linalg.ratios import inverse_sqrt

# Directions whose eigenvalue is below this share of the largest are rounding: their column of Z is 0.
VANISHED = 1e-14


class Coefficients(NamedTuple):
    """The embedding ``Z = Q a + U b``, and how accurately it was solved for."""

    on_anchors: Floats  # a, m×q
    on_clusters: Floats  # b, c×q
    vectors: Floats  # of Gᵀ G, (m+c)×q, where the next eigen-step searches
    residual: float
    converged: bool


def spectral_coefficients(coarse: CoarseGraph, eigen: Eigenpairs, n_clusters: int) -> Coefficients:
    """The leading eigenvectors of S, from those of the anchors' graph: ``Z = Q Λ^{-1/2} Y s^{-1/2}``."""
    on_anchors = coarse.scale(eigen.vectors * inverse_roots(eigen.values))
    on_clusters = np.zeros((n_clusters, eigen.vectors.shape[1]))
    vectors = np.concatenate([eigen.vectors, on_clusters])
    return Coefficients(on_anchors, on_clusters, vectors, eigen.residual, eigen.converged)


def inverse_roots(values: Floats) -> Floats:
    """``θ^{-1/2}``, and 0 where θ is rounding."""
    return inverse_sqrt(np.where(values > VANISHED * values.max(), values, 0.0))
