"""Random weights on anchors."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def random_rows(n, m, k, rng):
    """A sparse row-stochastic matrix with k entries a row."""
    dense = np.zeros((n, m))
    for row in dense:
        row[rng.choice(m, k, replace=False)] = rng.dirichlet(np.ones(k))
    return sp.csr_array(dense)


def dense_factors(weights, masses):
    """Q, the diagonal of M and that of Λ⁻¹ (0 for an anchor of no sample)."""
    rows = weights.toarray()
    mass = np.ones(len(rows)) if masses is None else masses
    sizes = rows.T @ mass
    return rows, mass, np.divide(1, sizes, out=np.zeros_like(sizes), where=sizes > 0)
