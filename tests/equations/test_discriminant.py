"""The linear discriminant, against Gaussian densities one by one."""

from __future__ import annotations

import numpy as np
from scipy.stats import multivariate_normal

from afcm.equations.discriminant import class_posterior, fit_discriminant


def test_posteriors_are_those_of_gaussians_with_a_common_covariance():
    random = np.random.default_rng(0)
    labels = np.array([0, 0, 0, 2, 2, 2, 2, 3, 3])
    points = random.standard_normal((9, 3)) + labels[:, None]
    within = sum(np.cov(points[labels == j].T, bias=True) * (labels == j).sum() for j in (0, 2, 3))
    covariance = within / (9 - 3) + 0.2 * np.eye(3)
    new = random.standard_normal((5, 3))
    densities = np.zeros((5, 4))
    for j in (0, 2, 3):
        densities[:, j] = multivariate_normal(points[labels == j].mean(0), covariance).pdf(new)
    found = class_posterior(new, fit_discriminant(points, labels, 0.2), 4)
    np.testing.assert_allclose(found, densities / densities.sum(axis=1, keepdims=True), rtol=1e-9)


def test_single_samples_of_each_class_are_told_by_distance():
    points = np.array([[0.0, 0.0], [2.0, 0.0]])
    found = class_posterior(np.array([[0.9, 5.0], [1.1, -3.0]]), fit_discriminant(points, np.array([0, 1]), 1.0), 2)
    assert found.argmax(axis=1).tolist() == [0, 1]
