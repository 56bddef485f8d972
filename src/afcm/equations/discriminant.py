"""A linear discriminant: Gaussians of a common covariance around the means of the classes, from a few known samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from afcm._typing import Floats, Integers


class Discriminant(NamedTuple):
    """The classes that were seen, and the linear scores of a sample x: ``x · slopes + offsets``."""

    classes: Integers
    slopes: Floats  # p×m
    offsets: Floats  # m


def fit_discriminant(points: Floats, labels: Integers, ridge: float) -> Discriminant:
    """The discriminant of labeled points, with equal probabilities of the classes.

    Its covariance is ``W + ridge · I``, W the scatter within the classes divided by the points less the classes.
    """
    classes, numbers = np.unique(labels, return_inverse=True)
    means = np.array([points[numbers == j].mean(axis=0) for j in range(len(classes))])
    around = points - means[numbers]
    covariance = around.T @ around / max(len(points) - len(classes), 1)
    covariance[np.diag_indices_from(covariance)] += ridge
    slopes = np.linalg.solve(covariance, means.T)
    return Discriminant(classes, slopes, -np.sum(means.T * slopes, axis=0) / 2)


def class_posterior(points: Floats, discriminant: Discriminant, n_classes: int) -> Floats:
    """Probabilities of the classes, n×c; 0 for a class that was not seen."""
    scores = points @ discriminant.slopes + discriminant.offsets
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    posterior = np.zeros((len(points), n_classes))
    posterior[:, discriminant.classes] = scores / scores.sum(axis=1, keepdims=True)
    return posterior
