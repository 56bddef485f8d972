"""The paper's Algorithm 1 as it is printed, dense and slow: the oracle of tests and the rival of benchmarks."""

from __future__ import annotations

from types import SimpleNamespace

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


def dense_sweep(affinity, masses, graph_weight, memberships, precision):
    """One sweep of Algorithm 1 with sample masses, sample by sample from the equations: Z, V, γ, U and J.

    The cap on γ is that of a scatter of 1e-8 of ``tr(Zᵀ M Z)``.
    """
    n, c = memberships.shape
    masses = np.ones(n) if masses is None else masses
    totals = masses @ memberships
    matrix = graph_weight * affinity
    for j in range(c):
        column = np.sqrt(masses) * memberships[:, j]
        matrix = matrix + precision * np.outer(column, column) / totals[j]
    vectors = np.linalg.eigh(matrix)[1][:, ::-1][:, :c]
    return dense_clusters(affinity, masses, graph_weight, memberships, vectors)


def dense_clusters(affinity, masses, graph_weight, memberships, vectors):
    """The part of `dense_sweep` after the eigenvectors, whose rows are those of Z times the roots of the masses."""
    (n, c), q = memberships.shape, vectors.shape[1]
    z = vectors / np.sqrt(masses)[:, None]
    totals = masses @ memberships
    v = np.array([sum(masses[i] * memberships[i, j] * z[i] for i in range(n)) / totals[j] for j in range(c)])
    d2 = np.array([[sum((z[i] - v[j]) ** 2) for j in range(c)] for i in range(n)])
    scatter = sum(masses[i] * memberships[i, j] * d2[i, j] for i in range(n) for j in range(c))
    half = 0.5 * masses.sum() * q
    gamma = half / max(scatter, 1e-8 * q)
    scores = np.exp(-gamma * (d2 - d2.min(axis=1, keepdims=True)))
    new = scores / scores.sum(axis=1, keepdims=True)
    logs = np.log(np.where(new > 0, new, 1))
    free = sum(masses[i] * (gamma * new[i] @ d2[i] + new[i] @ logs[i]) for i in range(n))
    rough = np.trace(vectors.T @ (np.eye(n) - affinity) @ vectors)
    return SimpleNamespace(
        memberships=new,
        precision=gamma,
        centers=v,
        embedding=z,
        vectors=vectors,
        smoothed=affinity @ vectors,
        objective=free - half * np.log(gamma) + graph_weight * rough,
    )


def same_signs(found, expected):
    """-1 or 1 for each column: eigenvectors have no sign."""
    return np.sign(np.sum(found * expected, axis=0))
