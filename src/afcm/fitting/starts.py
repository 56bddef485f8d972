"""Where the sweeps begin: spectral, k-means++, random. Draws happen on the host, so that seeds agree everywhere."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.random import sample_without_replacement

from afcm._typing import Floats, Integers
from afcm.arrays import is_tensor, like, rows, to_host
from afcm.graph import components
from afcm.graph.affinity import Graph, normalized_cut
from afcm.graph.duplicates import distinct
from afcm.graph.eigenvectors import indicator, null_space
from afcm.linalg.operator import Eigenpairs
from afcm.linalg.ratios import inverse_sqrt, ratio

# Random restarts of k-means on the rows of the spectral embedding (cheap: c columns).
KMEANS_RESTARTS = 5
# k-means++ looks at this many samples at the most.
SEED_SAMPLE = 50_000
# Of more rows than this a sample is drawn without shuffling all their numbers.
LONG = 10_000_000
# A start with a normalised cut below this, per cluster, needs no rival; a rival wins with less than this share of it.
CLEAN, DECISIVE = 1e-3, 0.25


def random_memberships(n_samples: int, n_clusters: int, random: np.random.RandomState) -> Floats:
    """The paper's start: uniform numbers, rows divided by their sum."""
    return as_memberships(random.random_sample((n_samples, n_clusters)))


def as_memberships(draws: Any) -> Any:
    """Numbers from 0 to 1 as memberships: rows divided by their sum."""
    draws = draws + np.finfo(float).tiny
    return draws / draws.sum(axis=1, keepdims=True)


def one_hot(labels: Integers, n_clusters: int) -> Floats:
    """Hard memberships; a negative label is an undecided sample with 1/c everywhere."""
    hard = indicator(labels, n_clusters)
    hard[labels < 0] = 1 / n_clusters
    return hard


def seeded_centers(points: Any, n_clusters: int, masses: Floats | None, random: np.random.RandomState) -> Floats:
    """k-means++ on at most `SEED_SAMPLE` of the different samples, each with its mass."""
    home = points
    if points.shape[0] > SEED_SAMPLE:
        sample = drawn_rows(points.shape[0], SEED_SAMPLE, random)
        points, masses = rows(points, sample), None if masses is None else rows(masses, sample)
    points, masses = to_host(points), to_host(masses)
    kept, weights, _ = distinct(points, masses)
    centers, _ = kmeans_plusplus(points[kept], n_clusters, sample_weight=weights, random_state=random)
    return like(np.asarray(centers, dtype=points.dtype), home)


def drawn_rows(n_rows: int, size: int, random: np.random.RandomState) -> Integers:
    """Numbers of some of the rows, in rising order; of very many without a list of all."""
    if n_rows <= LONG:
        return np.sort(random.choice(n_rows, size, replace=False))
    return np.sort(sample_without_replacement(n_rows, size, random_state=random)).astype(np.intp)


def spectral_start(
    graph: Graph,
    n_clusters: int,
    points: Any,
    random: np.random.RandomState,
    *,
    solve: Callable[[int], Eigenpairs],
    n_runs: int = KMEANS_RESTARTS,
) -> tuple[Eigenpairs, Floats]:
    """Leading eigenvectors of S, and hard memberships from k-means on their rows scaled to length one.

    Where one cluster is tiny, directions mislead: then k-means on the random walk's eigenvectors, in which a small
    cluster lies far out, is taken if it cuts the graph far better. A graph of at least c components needs none of this:
    its null vectors are known, and joining what is nearest gives the clusters. Else ``solve`` gives the eigenvectors
    (`leading`, or what remembers them).
    """
    n_components, labels = graph.components
    if n_components >= n_clusters:
        known, volumes = to_host(labels), to_host(graph.volumes)
        sizes = np.bincount(known[known >= 0], weights=volumes[known >= 0]).astype(np.float64)
        labels = like(components.joined(known, sizes, n_clusters, points, random), labels)
        return null_space(graph, labels, n_clusters), one_hot(labels, n_clusters)
    eigen = solve(n_clusters)
    best = one_hot(k_means(unit_rows(eigen.vectors), n_clusters, graph.masses, random, n_runs), n_clusters)
    cut = normalized_cut(graph, best)
    if cut > CLEAN * n_clusters:
        walk = eigen.vectors * inverse_sqrt(graph.volumes)[:, None]
        other = one_hot(k_means(walk, n_clusters, graph.masses, random, n_runs), n_clusters)
        if normalized_cut(graph, other) < DECISIVE * cut:
            best = other
    return eigen, best


def unit_rows(vectors: Floats) -> Floats:
    """Rows scaled to length one; a zero row stays."""
    xp = array_namespace(vectors)
    return ratio(vectors, xp.linalg.vector_norm(vectors, axis=1, keepdims=True), xp.zeros_like(vectors))


def k_means(
    points: Floats, n_clusters: int, masses: Floats | None, random: np.random.RandomState, n_runs: int = KMEANS_RESTARTS
) -> Integers:
    """Labels of the best of several runs of k-means."""
    if is_tensor(points):
        from afcm.fitting import torch_k_means

        if points.shape[0] * points.shape[1] > torch_k_means.HOST_KMEANS:
            return torch_k_means.k_means(points, n_clusters, masses, random, n_runs)
        found = k_means(to_host(points), n_clusters, to_host(masses), random, n_runs)
        return like(found, points)
    model = KMeans(n_clusters, n_init=n_runs, random_state=random)
    with warnings.catch_warnings():  # fewer distinct rows than clusters is no news here
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(model.fit(points, sample_weight=masses).labels_, dtype=np.intp)
