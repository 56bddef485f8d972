"""Small random graphs, and their eigenvectors by a dense solve."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def random_weights(rng, n):
    weights = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.4), 1)
    return sp.csr_array(weights + weights.T)


def dense_normalized(weights, masses=None):
    """``(M/D)^{1/2} W (M/D)^{1/2}`` of a dense W, and the degrees."""
    mass = np.ones(len(weights)) if masses is None else masses
    degrees = weights @ mass
    scale = np.sqrt(np.divide(mass, degrees, out=np.zeros_like(degrees), where=degrees > 0))
    return scale[:, None] * weights * scale, degrees


def dense_leading(affinity, n_wanted):
    """Leading eigenvalues and eigenvectors of a dense matrix."""
    values, vectors = np.linalg.eigh(affinity)
    return values[::-1][:n_wanted], vectors[:, ::-1][:, :n_wanted]
