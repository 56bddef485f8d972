"""Gaussians inside one cluster: EM from a start, and how many Gaussians the cluster needs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from afcm._typing import Floats, Integers, Masks
from afcm.equations import local_mixture as equations
from afcm.equations.cluster_forms import GAUSSIANS, Form, n_numbers
from afcm.equations.local_mixture import Parameters, Statistics

# EM: most steps, and the least gain of the log likelihood a sample.
MAX_STEPS, TOL = 50, 1e-5
# Numbers of Gaussians that a cluster may have.
SIZES = (1, 2, 4, 8, 12)
# Samples of a cluster among which the number is chosen, steps of EM for each number, steps of k-means before.
MAX_CHOICE_SAMPLES, CHOICE_STEPS, KMEANS_STEPS = 600, 15, 10
# Entries of the table of features from which on several runs of EM are worth a thread each: steps of less are so short
# that the threads wait for each other.
WORTH_THREADS = 150_000


def alternate(
    features: Floats,
    boxes: Floats,
    masses: Floats,
    statistics: Statistics,
    spherical: Masks,
    *,
    share: float | None = None,
    steps: int = MAX_STEPS,
    tol: float = TOL,
    form: Form = GAUSSIANS,
    goal: float = -math.inf,
) -> tuple[Parameters, float]:
    """EM: M-step and E-step in turn until the log likelihood hardly rises; parameters and their log likelihood.

    It is given up where the steps that are left, each with the gain of this one, would not reach the ``goal``.
    """
    total, variances, old = features @ masses, equations.robust_variances(features, masses), -math.inf
    for left in reversed(range(steps)):
        parameters = equations.maximize(statistics, total, variances, spherical, share, form=form)
        statistics, log_likelihood = equations.expected_statistics(features, boxes, masses, parameters)
        gain = log_likelihood - old
        if gain < tol * total[0] or log_likelihood + left * gain < goal:
            break
        old = log_likelihood
    return parameters, log_likelihood


def choose_gaussians(
    points: Floats,
    features: Floats,
    masses: Floats,
    *,
    sizes: Sequence[int] = SIZES,
    most: int = MAX_CHOICE_SAMPLES,
    steps: int = CHOICE_STEPS,
) -> Parameters | None:
    """Gaussians of one cluster, their number by BIC; None where there are too few samples for one.

    ``sizes`` are the numbers to choose from, in rising order; at most ``most`` samples are used, in ``steps`` steps of
    EM for each number.
    """
    random = np.random.RandomState(0)
    if len(points) > most:
        rows = np.sort(random.permutation(len(points))[:most])
        points, features, masses = points[rows], features[:, rows], masses[rows]
    total, d = float(masses.sum()), points.shape[1]
    best, least, reached, boxes = None, math.inf, -math.inf, np.zeros((equations.N_BOXES, len(points)))
    for size in sizes:
        if total < size * 2 * (d + 2):
            break
        cells = split(points, masses, size, random)
        moments = (np.eye(size)[cells] * masses[:, None]).T @ features.T
        start = Statistics(moments[moments[:, 0] > 0.0], np.zeros(equations.N_BOXES))
        round_ones = np.zeros(len(start.moments), dtype=bool)
        n_free = n_numbers(GAUSSIANS, len(round_ones), d)
        goal = 0.5 * (equations.bayesian_criterion(0.0, n_free, total) - least)  # to be the best so far
        n_steps = steps if size > 1 else 1  # a single one is known after the first
        found, log_likelihood = alternate(features, boxes, masses, start, round_ones, steps=n_steps, goal=goal)
        criterion = equations.bayesian_criterion(log_likelihood, n_free, total)
        if criterion < least:
            best, least, reached = found, criterion, log_likelihood - n_free
        elif best is not None:
            alone = len(best.weights) == 1 and log_likelihood - n_free < reached  # one is best, by AIC too
            if alone or size > 2 * len(best.weights):
                break
    return best


def split(points: Floats, masses: Floats, n_cells: int, random: np.random.RandomState) -> Integers:
    """k-means: cells of samples, from centers drawn far from each other (k-means++), after a few steps."""
    if n_cells == 1:
        return np.zeros(len(points), dtype=np.intp)
    centers = draw_centers(points, masses, n_cells, random)
    cells = nearest(points, centers)
    weighted = points * masses[:, None]
    for _ in range(KMEANS_STEPS):
        chosen = np.eye(n_cells)[cells].T
        sizes = chosen @ masses
        centers = np.where(sizes[:, None] > 0, chosen @ weighted / np.maximum(sizes, 1e-300)[:, None], centers)
        old, cells = cells, nearest(points, centers)
        if (old == cells).all():
            break
    return dissolve_small_cells(points, masses, centers, cells)


def dissolve_small_cells(points: Floats, masses: Floats, centers: Floats, cells: Integers) -> Integers:
    """Samples of cells too small for a covariance go to the nearest other cell: a Gaussian of one sample is a spike."""
    large = np.bincount(cells, masses, len(centers)) >= points.shape[1] + 2
    return cells if large.all() or not large.any() else np.flatnonzero(large)[nearest(points, centers[large])]


def draw_centers(points: Floats, masses: Floats, n_centers: int, random: np.random.RandomState) -> Floats:
    """k-means++: each next center is a sample drawn by its mass times its squared distance to the nearest center."""
    centers = np.empty((n_centers, points.shape[1]))
    squared = np.ones(len(points))
    for i in range(n_centers):
        sums = np.cumsum(masses * squared)
        at = min(int(np.searchsorted(sums, random.random_sample() * sums[-1])), len(points) - 1)
        centers[i] = points[at]
        own = ((points - centers[i]) ** 2).sum(axis=1)
        squared = own if i == 0 else np.minimum(squared, own)
    return centers


def nearest(points: Floats, centers: Floats) -> Integers:
    """The nearest center of each sample."""
    return ((centers**2).sum(axis=1) - 2.0 * points @ centers.T).argmin(axis=1)
