"""Where the sweeps begin: spectral, k-means++, random. Draws happen on the host, so that seeds agree everywhere."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.random import sample_without_replacement

from afcm import components, spectral
from afcm.backends import backend_of, is_tensor, like, rows, to_host
from afcm.graph import Graph, distinct, inverse_sqrt, normalized_cut, ratio

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.intp]

# Random restarts of k-means on the rows of the spectral embedding (cheap: c columns).
KMEANS_RESTARTS = 5
# k-means++ looks at this many samples at the most.
SEED_SAMPLE = 50_000
# Of more rows than this a sample is drawn without shuffling all their numbers.
LONG = 10_000_000
# The start needs the right subspace, not its last digits (radians).
START_ANGLE = 1e-2
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


def indicator(labels: Any, n_groups: int) -> Any:
    """1 at each label (n×g); a negative label counts from the end."""
    xp = array_namespace(labels)
    return xp.eye(n_groups, dtype=xp.float64, device=device(labels))[labels]


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
    solve: Callable[[int], spectral.Eigenpairs],
    n_runs: int = KMEANS_RESTARTS,
) -> tuple[spectral.Eigenpairs, Floats]:
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


def leading(
    graph: Graph,
    n_wanted: int,
    angle_tol: float = START_ANGLE,
    *,
    dense: spectral.DenseSolver | None = None,
    hint: Floats | None = None,
    max_steps: int = 2000,
) -> spectral.Eigenpairs:
    """The leading eigenvectors of S; by default accurate enough to start from."""
    operator, block = spectral.GraphPlusLowRank(graph.operator), search_block(graph, n_wanted, hint)
    return spectral.leading_eigenvectors(
        operator, block, n_wanted, angle_tol=angle_tol, max_steps=max_steps, dense=dense
    )


def search_block(graph: Graph, n_clusters: int, hint: Floats | None = None) -> Floats:
    """Where a first eigen-solve searches: the known null vectors, a hint, then directions from a seed of their own."""
    n_components, labels = graph.components
    xp = array_namespace(labels)
    known = null_space(graph, labels, n_components).vectors[:, :n_clusters]
    width = n_clusters + spectral.n_guards(n_clusters)
    if hint is not None:
        known = xp.concat([known, hint], axis=1)[:, :width]
    drawn = np.random.RandomState(0).standard_normal((labels.shape[0], width - known.shape[1]))
    return xp.concat([known, like(drawn, labels)], axis=1)


def null_space(graph: Graph, labels: Integers, n_groups: int) -> spectral.Eigenpairs:
    """``(M D)^{1/2} 1`` on each group of components: eigenvectors of S with eigenvalue 1, exactly."""
    xp = array_namespace(labels)
    groups = indicator(labels, n_groups) * xp.sqrt(graph.volumes)[:, None]
    groups[labels < 0] = 0
    vectors = groups / xp.linalg.vector_norm(groups, axis=0)
    return spectral.Eigenpairs(vectors, np.ones(n_groups), vectors, 0.0, 0.0, 0, True)


def unit_rows(vectors: Floats) -> Floats:
    """Rows scaled to length one; a zero row stays."""
    xp = array_namespace(vectors)
    return ratio(vectors, xp.linalg.vector_norm(vectors, axis=1, keepdims=True), xp.zeros_like(vectors))


def k_means(
    points: Floats, n_clusters: int, masses: Floats | None, random: np.random.RandomState, n_runs: int = KMEANS_RESTARTS
) -> Integers:
    """Labels of the best of several runs of k-means."""
    if is_tensor(points):
        tensors = backend_of(points)
        if points.shape[0] * points.shape[1] > tensors.HOST_KMEANS:
            return tensors.k_means(points, n_clusters, masses, random, n_runs)
        found = k_means(to_host(points), n_clusters, to_host(masses), random, n_runs)
        return like(found, points)
    model = KMeans(n_clusters, n_init=n_runs, random_state=random)
    with warnings.catch_warnings():  # fewer distinct rows than clusters is no news here
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(model.fit(points, sample_weight=masses).labels_, dtype=np.intp)
