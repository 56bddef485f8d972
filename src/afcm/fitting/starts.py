"""Starting points of the sweeps: spectral, k-means++, random, and the γ of k-means clusters.

Draws happen on the host, so that seeds agree everywhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning

from afcm._typing import Floats, Integers
from afcm.arrays import from_host, is_tensor, take_rows, to_host
from afcm.arrays.sampling import draw_few_rows, draw_rows
from afcm.fitting.loop import run
from afcm.graph import components
from afcm.graph.affinity import Graph
from afcm.graph.cuts import cut_labels
from afcm.graph.duplicates import merge_duplicates
from afcm.graph.eigenvectors import indicator, null_space
from afcm.graph.prepared import PreparedGraph
from afcm.linalg.operator import Eigenpairs
from afcm.linalg.pivoting import find_pivots
from afcm.linalg.ratios import inverse_sqrt, normalize_rows
from afcm.models.fuzzy import EntropyProblem
from afcm.models.plain import PlainProblem

# Random restarts of k-means on the rows of the spectral embedding (cheap: c columns).
KMEANS_RESTARTS = 5
# From so many entries on (rows × columns) seeding costs more than k-means itself: then it starts from pivots, and so
# often from seeds that were drawn among so many rows, or so many for each cluster; all in single precision.
MANY_ENTRIES, FEW_RESTARTS, LEAST_ROWS, ROWS_PER_CLUSTER = 250_000, 1, 2000, 20
# k-means++ sees at most this many samples.
SEED_SAMPLE = 50_000
# A start with a normalized cut below this, per cluster, needs no rival; a rival wins with less than this share of it.
CLEAN, DECISIVE = 1e-3, 0.25
# The run of k-means that γ is estimated from need not be finished: its scatter hardly changes any more.
SCALE_SWEEPS, SCALE_TOL = 30, 1e-4


def draw_memberships(n_samples: int, n_clusters: int, random: np.random.RandomState) -> Floats:
    """The paper's start: uniform numbers, rows divided by their sum."""
    return to_memberships(random.random_sample((n_samples, n_clusters)))


def to_memberships(draws: Any) -> Any:
    """Numbers from 0 to 1, rows divided by their sum; a row of zeros becomes 1/c."""
    draws = draws + np.finfo(float).tiny
    return draws / draws.sum(axis=1, keepdims=True)


def one_hot(labels: Integers, n_clusters: int) -> Floats:
    """Hard memberships; a negative label is an undecided sample with 1/c everywhere."""
    hard = indicator(labels, n_clusters)
    hard[labels < 0] = 1 / n_clusters
    return hard


def seed_centers(points: Any, n_clusters: int, masses: Floats | None, random: np.random.RandomState) -> Floats:
    """Centers by k-means++ on at most `SEED_SAMPLE` of the different samples, each with its mass."""
    given = points
    if points.shape[0] > SEED_SAMPLE:
        sample = draw_rows(points.shape[0], SEED_SAMPLE, random)
        points, masses = take_rows(points, sample), None if masses is None else take_rows(masses, sample)
    points, masses = to_host(points), to_host(masses)
    kept, weights, _ = merge_duplicates(points, masses)
    centers, _ = kmeans_plusplus(points[kept], n_clusters, sample_weight=weights, random_state=random)
    return from_host(centers, given)


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
    its null vectors are known, and joining the nearest components gives the clusters. Otherwise ``solve(n_clusters)``
    gives the eigenvectors.
    """
    n_components, labels = graph.components
    if n_components >= n_clusters:
        known, volumes = to_host(labels), to_host(graph.volumes)
        sizes = np.bincount(known[known >= 0], weights=volumes[known >= 0]).astype(np.float64)
        labels = from_host(components.join_components(known, sizes, n_clusters, points, random), labels)
        return null_space(graph, labels, n_clusters), one_hot(labels, n_clusters)
    eigen = solve(n_clusters)
    best = k_means(normalize_rows(eigen.vectors), n_clusters, graph.masses, random, n_runs)
    cut, _ = cut_labels(graph, best, n_clusters)
    if cut > CLEAN * n_clusters:
        walk = eigen.vectors * inverse_sqrt(graph.volumes)[:, None]
        few = walk.shape[0] * n_clusters < MANY_ENTRIES  # else pivots alone: a tiny cluster is the first of them
        other = k_means(walk, n_clusters, graph.masses, random, n_runs if few else 1)
        if cut_labels(graph, other, n_clusters)[0] < DECISIVE * cut:
            best = other
    return eigen, one_hot(best, n_clusters)


def k_means(
    points: Floats, n_clusters: int, masses: Floats | None, random: np.random.RandomState, n_runs: int = KMEANS_RESTARTS
) -> Integers:
    """Labels of the best of several runs of k-means."""
    if is_tensor(points):
        from afcm.fitting import torch_k_means

        if points.shape[0] * points.shape[1] > torch_k_means.HOST_KMEANS:
            return torch_k_means.k_means(points, masses, choose_seeds(points, n_clusters, masses, random, n_runs))
        found = k_means(to_host(points), n_clusters, to_host(masses), random, n_runs)
        return from_host(found, points)
    if points.size < MANY_ENTRIES:
        runs = [KMeans(n_clusters, n_init=n_runs, random_state=random)]
    else:  # seeds are cheap, and the pivots are nearly always the best of them
        points = points.astype(np.float32)
        seeds = choose_seeds(points, n_clusters, masses, random, n_runs)
        runs = [KMeans(n_clusters, init=centers, n_init=1, random_state=random) for centers in seeds]
    return label_by_best(runs, points, masses)


def label_by_best(runs: list[KMeans], points: Floats, masses: Floats | None) -> Integers:
    """Labels of the run of k-means that ends with the least scatter."""
    with warnings.catch_warnings():  # fewer distinct rows than clusters is no news here
        warnings.simplefilter("ignore", ConvergenceWarning)
        best = min((model.fit(points, sample_weight=masses) for model in runs), key=lambda model: model.inertia_)
    return np.asarray(best.labels_, dtype=np.intp)


def choose_seeds(
    points: Floats, n_clusters: int, masses: Floats | None, random: np.random.RandomState, n_runs: int
) -> list[Floats]:
    """Centers for a few runs of k-means: the pivots first, then some that are drawn."""
    n_drawn = min(n_runs - 1, FEW_RESTARTS)
    drawn = [from_host(draw_seeds(points, n_clusters, masses, random), points) for _ in range(n_drawn)]
    return [pivot_rows(points, n_clusters), *drawn]


def pivot_rows(points: Floats, n_clusters: int) -> Floats:
    """Rows that point in directions as different as can be."""
    if is_tensor(points):
        from afcm.fitting import torch_k_means

        return torch_k_means.pivot_rows(points, n_clusters)
    return points[find_pivots(points, n_clusters)]


def draw_seeds(points: Floats, n_clusters: int, masses: Floats | None, random: np.random.RandomState) -> Floats:
    """Centers on the host by greedy k-means++ on some of the rows: the best of a few draws each time.

    As scikit-learn's, without its checks, which cost more than the arithmetic where there are many clusters.
    """
    size = min(max(LEAST_ROWS, ROWS_PER_CLUSTER * n_clusters), points.shape[0])
    chosen = draw_few_rows(points.shape[0], size, random) if is_tensor(points) else draw_rows(len(points), size, random)
    weights = np.ones(size) if masses is None else to_host(take_rows(masses, chosen))
    centers = to_host(take_rows(points, chosen))
    rows, picked = centers.astype(np.float32, copy=False), []
    squares, n_trials = np.einsum("ij,ij->i", rows, rows), 2 + int(np.log(n_clusters))
    nearest = np.full(size, np.inf, dtype=np.float32)
    for number in range(n_clusters):
        sums = np.cumsum(weights if number == 0 else weights * nearest)
        draws = random.random_sample(1 if number == 0 else n_trials) * sums[-1]
        trials = np.minimum(np.searchsorted(sums, draws), size - 1)
        squared = squares + squares[trials][:, None] - 2 * (rows[trials] @ rows.T)
        squared = np.minimum(nearest, np.maximum(squared, 0.0, out=squared), out=squared)
        best = int(np.argmin(squared @ weights))
        picked.append(trials[best])
        nearest = squared[best]
    return centers[picked]


def k_means_precision(points: Any, masses: Any, centers: Any) -> float:
    """γ of clusters as wide as those of k-means from these centers (op7 for its scatter).

    k-means is FCM-ER at the cap on γ.
    """
    learned = PlainProblem(points, masses)
    hard = EntropyProblem(points, masses, learned.largest_precision)
    result = run(hard, hard.from_centers(centers), max_iter=SCALE_SWEEPS, tol=SCALE_TOL)
    return learned.precision(float(result.state.statistics.scatter))


def start_prepared(
    prepared: PreparedGraph, n_clusters: int, random: np.random.RandomState, n_runs: int = KMEANS_RESTARTS
) -> tuple[Eigenpairs, Floats]:
    """`spectral_start` on a prepared graph, with the eigenvectors that its fits share."""
    solve = prepared.start_eigenvectors
    return spectral_start(prepared.start_graph, n_clusters, prepared.start_points, random, solve=solve, n_runs=n_runs)
