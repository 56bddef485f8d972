"""Starts of a mixture: memberships of the different samples, one set for each run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from afcm.equations import generalized_gaussian, paper
from afcm.estimators import validation
from afcm.fitting import starts
from afcm.graph.duplicates import DistinctRows
from afcm.models.mixture import MixtureProblem, MixtureState, Parameters


def make_starters(
    model: Any, problem: MixtureProblem, origin: Any, given: Callable[[], Any], random: np.random.RandomState
) -> list[Callable[[], MixtureState]]:
    """Functions that make the states from which the runs start; ``given()`` are memberships of the user's own."""
    shape = 1.0 if problem.learn_shape else float(model.shape)
    if model.warm_start and hasattr(model, "scatters_"):
        return [lambda: problem.at(continue_from(model, problem, origin))]
    if not isinstance(model.init, str):
        return [lambda: problem.from_memberships(given(), shape)]
    memberships = partial(draw, problem, model.n_clusters, model.init, random)
    return [lambda: problem.from_memberships(memberships(), shape)] * model.n_init


def draw(problem: MixtureProblem, n_clusters: int, init: str, random: np.random.RandomState) -> Any:
    """Random memberships, or hard ones by k-means or by the nearest of k-means++ centers."""
    points, masses = problem.points, problem.masses
    if init == "random":
        return starts.draw_memberships(points.shape[0], n_clusters, random)
    if init == "k-means":
        return starts.one_hot(starts.k_means(points, n_clusters, masses, random), n_clusters)
    return assign_to_nearest(points, starts.seed_centers(points, n_clusters, masses, random))


def read_given(init: Any, n_clusters: int, X: Any, weights: Any, samples: DistinctRows) -> Any:
    """Memberships from an array of memberships (of all samples) or of centers."""
    kind, array = validation.check_init_array(init, X.shape[0], n_clusters, X.shape[1])
    if kind == "memberships":
        return merge_memberships(array, weights, samples)
    return assign_to_nearest(X[samples.rows].astype(np.float64), array)


def assign_to_nearest(points: Any, centers: Any) -> Any:
    """Hard memberships: the nearest center."""
    labels = np.argmin(paper.squared_distances(points, centers), axis=1)
    return starts.one_hot(labels, centers.shape[0])


def merge_memberships(memberships: Any, weights: Any, samples: DistinctRows) -> Any:
    """Memberships of the different samples: the mean over equal ones, by weight."""
    if samples.masses is None or isinstance(samples.inverse, slice):
        return memberships
    sums = np.zeros((samples.rows.size, memberships.shape[1]))
    kept = samples.inverse >= 0
    np.add.at(sums, samples.inverse[kept], paper.weighted(memberships, weights)[kept])
    return sums / samples.masses[:, None]


def continue_from(model: Any, problem: MixtureProblem, origin: Any) -> Parameters:
    """The parameters of the fit before, about another origin and with a fixed shape as it is wanted now."""
    structure, centers = problem.structure, model.cluster_centers_
    one = np.shape(structure.geometry.moment(problem.points[:1], np.ones(1)))
    validation.check_warm_start(centers.shape, (model.n_clusters, problem.points.shape[1]))
    validation.check_warm_start(model.scatters_.shape, one if structure.tied else (model.n_clusters, *one))
    usual = (model.scatters_ == 1).all() if structure.identity else model.scale_ == generalized_gaussian.GAUSSIAN_SCALE
    if not usual:
        raise ValueError(
            f"warm_start=True, but the fit before was not of covariance_type={model.covariance_type!r}; fit with "
            "warm_start=False, or give init"
        )
    parameters = model._parameters()
    shapes = parameters.shapes if problem.learn_shape else np.full(model.n_clusters, float(model.shape))
    return replace(parameters, centers=centers - origin, shapes=np.array(shapes))
