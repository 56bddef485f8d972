"""The paper's Algorithm 1 as it is printed, dense and slow: the oracle of tests and the rival of benchmarks."""

from __future__ import annotations

import numpy as np


def dense_paper_run(affinity, memberships, graph_weight, cap, n_sweeps):
    """J after each sweep, with a full eigen-decomposition of ``γ (I − U B Uᵀ) + λ L̂`` (errata E3 and E4 fixed)."""
    n, c = memberships.shape
    laplacian = np.eye(n) - affinity
    precision, values = 1.0, []
    for _ in range(n_sweeps):
        b = np.diag(1 / memberships.sum(axis=0))
        matrix = precision * (np.eye(n) - memberships @ b @ memberships.T) + graph_weight * laplacian
        z = np.linalg.eigh(matrix)[1][:, :c]
        v = b @ memberships.T @ z
        d2 = ((z[:, None, :] - v[None]) ** 2).sum(axis=2)
        precision = min(n * c / 2 / (memberships * d2).sum(), cap)
        scores = np.exp(-precision * (d2 - d2.min(axis=1, keepdims=True)))
        memberships = scores / scores.sum(axis=1, keepdims=True)
        logs = np.log(np.where(memberships > 0, memberships, 1))
        values.append(
            precision * (memberships * d2).sum()
            + (memberships * logs).sum()
            - n * c / 2 * np.log(precision)
            + graph_weight * np.trace(z.T @ laplacian @ z)
        )
    return np.array(values)
