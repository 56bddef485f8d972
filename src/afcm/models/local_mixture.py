"""Probabilities inside given clusters: Gaussians in each cluster and a background around all.

``fit_local_mixture`` learns a mixture that starts from the labels of a clustering. It tells how probable each cluster
is for a sample, and how probable it is that the sample belongs to none. A background is accepted only where it explains
the samples better (BIC), holds at most half of them, and the clusters stand out of it.

With too few samples for full Gaussians, or without points, the distances to neighbors speak alone: see
``afcm.models.distance_background``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from scipy import sparse

from afcm._typing import Floats, Integers
from afcm._util.threads import for_each, one_blas_thread, without_threads
from afcm.arrays import from_host, is_tensor
from afcm.equations import local_mixture as equations
from afcm.equations.local_mixture import Background, Parameters
from afcm.equations.quadratic import quadratic_features
from afcm.models.cluster_mixture import Fit, Sample, Share, has_one_each
from afcm.models.distance_background import DistanceBackground, Distances, finite, fit_distance_background
from afcm.models.learning_sample import Frame, dense_core, draw_rows, find_varying_columns
from afcm.models.one_each import choose_form

# Entries of a table of features that a fit, or a block of new samples, may make on the host and on a device.
MAX_FEATURES, BLOCK_FEATURES, DEVICE_FEATURES = 2e7, 1e6, 3e7
# The largest share of samples that may have the same value in a column.
MOST_EQUAL = 0.25
# The mean probability of another cluster below which clusters do not overlap.
LEAST_DOUBT = 2e-3


@dataclass(frozen=True)
class LocalMixture:
    """Gaussians of each cluster and a background, in the unit of ``center`` and ``scale``.

    ``share`` is the weight of the background; 0 means that there is none. ``owners`` are the clusters of the
    Gaussians.
    """

    share: float
    n_clusters: int
    columns: Integers
    center: Floats
    scale: Floats
    owners: Integers
    weights: Floats
    means: Floats
    covariances: Floats
    background_weights: Floats  # of the wide Gaussian, the box of all samples and the box of the core
    wide_mean: Floats
    wide_variances: Floats
    log_volumes: Floats  # of both boxes
    low: Floats  # the box of the core
    high: Floats
    degrees: float = math.inf  # of freedom: finite ones make the Gaussians t-distributions
    n_free: int = 0  # numbers that were learned, as BIC counts them

    @property
    def one_each(self) -> bool:
        """Whether no cluster has several Gaussians."""
        return has_one_each(self.owners)

    def posterior(self, points: Floats) -> tuple[Floats, Floats]:
        """Probabilities of the clusters, given that a sample is in one (m×c, rows sum to 1), and outlier scores (m).

        An outlier score is the probability that the sample is background. Both are where the points are.
        """
        points = points if is_tensor(points) else np.asarray(points)
        coefficients, peaks, of_clusters = (
            from_host(part, points)
            for part in (*equations.joint_coefficients(self.parameters), np.eye(self.n_clusters)[self.owners])
        )
        xp, n = array_namespace(points), points.shape[0]
        memberships, scores = (
            xp.zeros(shape, dtype=xp.float64, device=device(points)) for shape in ((n, self.n_clusters), n)
        )

        def work(block: slice) -> None:
            joint = self._log_joint(xp.astype(points[block], xp.float64), coefficients, peaks)
            inside, log_clusters = equations.normalize(joint[: len(self.owners)])
            memberships[block] = inside.T @ of_clusters
            if self.share > 0.0:
                log_all = xp.logaddexp(log_clusters, reduce(xp.logaddexp, joint[len(self.owners) :]))
                scores[block] = -xp.expm1(xp.clip(log_clusters - log_all, None, 0.0))

        most = DEVICE_FEATURES if is_tensor(points) else BLOCK_FEATURES
        size = max(64, int(most / (coefficients.shape[1] + len(peaks))))
        with without_threads() if is_tensor(points) else one_blas_thread():
            for_each(work, (slice(start, start + size) for start in range(0, n, size)))
        return memberships, scores

    def _log_joint(self, points: Floats, coefficients: Floats, peaks: Floats) -> Floats:
        frame = Frame(self.columns, self.center, self.scale)
        scaled = frame.apply(points)
        boxes = equations.box_log_densities(scaled, self.log_volumes, self.low, self.high)
        background, features = self.parameters.background, quadratic_features(scaled)
        return equations.log_joint(features, coefficients, peaks, boxes, background, degrees=self.degrees)

    def outlier_scores(
        self,
        points: Floats,
        labels: Integers | None = None,
        log_distances: Floats | None = None,
    ) -> Floats:
        """The probability of each sample to be background; labels and distances are not needed."""
        if self.share > 0.0:
            return self.posterior(points)[1]
        xp = array_namespace(points)
        return xp.zeros(points.shape[0], dtype=xp.float64, device=device(points))

    @property
    def parameters(self) -> Parameters:
        """The mixture as the equations take it."""
        background = None
        if self.share > 0.0:
            background = Background(self.background_weights, self.wide_mean, self.wide_variances)
        return Parameters(self.weights, self.means, self.covariances, background, self.degrees)


def fit_local_mixture(
    points: Any,
    labels: Integers,
    n_clusters: int,
    log_distances: Floats,
    masses: Floats | None = None,
    *,
    share: Share = "auto",
    refine: bool = False,
) -> LocalMixture | DistanceBackground:
    """Learn the densities of clusters and background from samples with labels.

    ``points`` (n×d, or None or sparse), ``labels`` in 0 … c − 1, ``log_distances`` to the k-th neighbor and ``masses``
    have a row for each sample. ``share`` is the weight of the background: "auto" finds it (and may find none), None
    means no background, a number in (0, 1) is kept. ``refine``: where there is no background, one density for each
    cluster is tried in all forms, so that the probabilities of the clusters are as good as can be.
    """
    labels, log_distances = np.asarray(labels), np.asarray(log_distances, dtype=np.float64)
    masses = np.ones(len(labels)) if masses is None else np.asarray(masses, dtype=np.float64)
    dense = None if points is None or sparse.issparse(points) else np.asarray(points)
    n_features = 0 if dense is None else dense.shape[1]
    rows, factors = draw_rows(labels, n_clusters, sample_limit(n_clusters, n_features))
    if dense is not None:
        learned = np.asarray(dense[rows], dtype=np.float64)
        order = order_rows(learned)  # results do not depend on the order of the samples
        rows, factors, learned = rows[order], factors[order], learned[order]
    labels, log_distances, masses = labels[rows], log_distances[rows], masses[rows] * factors
    core = dense_core(labels, n_clusters, log_distances, masses)
    if dense is not None:
        columns = find_varying_columns(learned)
        if can_learn_gaussians(len(columns), n_clusters, masses) and has_density(learned, columns, masses):
            frame = Frame.around(learned, core, masses)
            sample = Sample.from_points(frame.apply(learned), labels, n_clusters, core, masses)
            fit = sample.fit(share)
            if refine and n_clusters > 1 and fit.parameters.background is None:
                fit = refine_fit(fit, sample, frame.unit)
            return as_local_mixture(fit, frame, sample)
    return fit_distance_background(Distances(labels, n_clusters, finite(log_distances), masses), core, share)


def order_rows(points: Floats) -> Integers:
    """The order of the rows by their first column, ties by the second, and so on."""
    order = np.argsort(points[:, 0], kind="stable")
    first = points[order, 0]
    return np.lexsort(points.T[::-1]) if (first[1:] == first[:-1]).any() else order


def measure_fit(mixture: LocalMixture, points: Floats, masses: Floats) -> float:
    """BIC of a mixture for samples of these masses, for each sample and in the unit of the samples: lower is better."""
    parameters, frame = mixture.parameters, Frame(mixture.columns, mixture.center, mixture.scale)
    scaled = frame.apply(np.asarray(points, dtype=np.float64))
    boxes = equations.box_log_densities(scaled, mixture.log_volumes, mixture.low, mixture.high)
    features, total = quadratic_features(scaled), float(masses.sum())
    _, log_likelihood = equations.expected_statistics(features, boxes, masses, parameters)
    log_likelihood -= total * float(np.log(mixture.scale).sum())
    return equations.bayesian_criterion(log_likelihood, mixture.n_free, total) / total


def refine_fit(fit: Fit, sample: Sample, unit: Floats) -> Fit:
    """One density for each cluster if BIC prefers that, else several Gaussians that stay near the labels.

    Where hardly a sample is in doubt no form could change its label, and none is tried.
    """
    sure = sample.doubt(fit) < LEAST_DOUBT
    best = fit if sure else min(fit, choose_form(sample, unit), key=lambda found: found.criterion)
    return best if best.one_each else sample.fit_near_labels()


def sample_limit(n_clusters: int, n_features: int) -> int:
    """The most samples to learn from: enough for a Gaussian in each cluster, if their features fit in memory."""
    n_free = (n_features + 1) * (n_features + 2)
    enough = n_clusters * n_free
    return max(4000, 200 * n_clusters, enough if enough * n_free / 2 <= MAX_FEATURES else 0)


def can_learn_gaussians(n_columns: int, n_clusters: int, masses: Floats) -> bool:
    """Whether the mass of the samples suffices for a full Gaussian in each cluster."""
    n_free = (n_columns + 1) * (n_columns + 2)
    fits = len(masses) * n_free / 2 <= 2 * MAX_FEATURES
    return n_columns > 0 and fits and float(masses.sum()) >= n_clusters * n_free


def has_density(points: Floats, columns: Integers, masses: Floats) -> bool:
    """Whether no value of a column is shared by many samples: a column of a few values has no density."""
    return all(largest_value_mass(points[:, j], masses) <= MOST_EQUAL * masses.sum() for j in columns)


def largest_value_mass(values: Floats, masses: Floats) -> float:
    """The largest sum of masses of samples that share a value."""
    ordered = np.sort(values)
    if (ordered[1:] > ordered[:-1]).all():
        return float(masses.max())
    return float(np.bincount(np.unique(values, return_inverse=True)[1], masses).max())


def as_local_mixture(fit: Fit, frame: Frame, sample: Sample) -> LocalMixture:
    """The fit as plain arrays."""
    d, parameters = sample.dimension, fit.parameters
    background = parameters.background or Background(np.zeros(3), np.zeros(d), np.ones(d))
    return LocalMixture(
        share=float(background.weights.sum()),
        n_clusters=len(sample.members),
        **frame._asdict(),
        owners=fit.owners,
        weights=parameters.weights,
        means=parameters.means,
        covariances=parameters.covariances,
        background_weights=background.weights,
        wide_mean=background.mean,
        wide_variances=background.variances,
        **sample.boxes._asdict(),
        degrees=parameters.degrees,
        n_free=fit.n_free,
    )
