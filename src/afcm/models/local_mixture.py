"""Probabilities inside given clusters: Gaussians in each cluster and a background around all.

``fit_local_mixture`` learns a mixture that starts from the labels of a clustering. It tells how probable each cluster
is for a sample, and how probable it is that the sample belongs to none. A background is accepted only where it explains
the samples better (BIC), holds at most half of them, and the clusters stand out of it.

With too few samples for full Gaussians, or without points, the distances to neighbors speak alone: see
``afcm.models.distance_background``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from afcm._typing import Floats, Integers, Masks
from afcm.equations import local_mixture as equations
from afcm.equations.local_mixture import Background, Parameters, Statistics
from afcm.models.cluster_gaussians import MAX_STEPS, alternate, choose_gaussians
from afcm.models.distance_background import DistanceBackground, Distances, finite, fit_distance_background
from afcm.models.learning_sample import Boxes, Frame, dense_core, draw_rows, rows_by_cluster

# The joint EM: most entries of log densities in all its steps.
MAX_WORK = 4e8
# The background is at most this share, and the clusters, with their weights, are this much denser on (log) average.
MAX_SHARE, MIN_CONTRAST = 0.5, math.log(5.0)
# Without weights: shapes in noise have at least 1.07. A wide Gaussian is also what heavy tails ask for, where the
# excess grows with the dimension: at most 1.14 in 2 and 1.72 in 5 dimensions, against 1.34 for shapes in 2.
MIN_EXCESS, MIN_WIDE_EXCESS = 1.0, 0.6
# Entries of a table of features that a fit, or a block of new samples, may make.
MAX_FEATURES, BLOCK_FEATURES = 2e7, 1e6

Share = float | Literal["auto"] | None


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

    def posterior(self, points: Floats) -> tuple[Floats, Floats]:
        """Probabilities of the clusters, given that a sample is in one (m×c, rows sum to 1), and outlier scores (m).

        An outlier score is the probability that the sample is background.
        """
        points = np.asarray(points, dtype=np.float64)
        memberships, scores = np.zeros((len(points), self.n_clusters)), np.zeros(len(points))
        parameters, frame = self.parameters, Frame(self.columns, self.center, self.scale)
        coefficients, peaks = equations.joint_coefficients(parameters)
        size = max(64, int(BLOCK_FEATURES / (coefficients.shape[1] + len(peaks))))
        of_clusters = np.eye(self.n_clusters)[self.owners]
        for start in range(0, len(points), size):
            block = slice(start, start + size)
            scaled = frame.apply(points[block])
            boxes = equations.box_log_densities(scaled, self.log_volumes, self.low, self.high)
            features = equations.quadratic_features(scaled)
            joint = equations.log_joint(features, coefficients, peaks, boxes, parameters.background)
            inside, log_clusters = equations.normalize(joint[: len(self.owners)])
            memberships[block] = inside.T @ of_clusters
            if parameters.background is not None:
                log_all = np.logaddexp(log_clusters, np.logaddexp.reduce(joint[len(self.owners) :], axis=0))
                scores[block] = -np.expm1(np.minimum(log_clusters - log_all, 0.0))
        return memberships, scores

    def outlier_scores(
        self,
        points: Floats,
        labels: Integers | None = None,
        log_distances: Floats | None = None,
    ) -> Floats:
        """The probability of each sample to be background; labels and distances are not needed."""
        return self.posterior(points)[1]

    @property
    def parameters(self) -> Parameters:
        """The mixture as the equations take it."""
        background = None
        if self.share > 0.0:
            background = Background(self.background_weights, self.wide_mean, self.wide_variances)
        return Parameters(self.weights, self.means, self.covariances, background)


def fit_local_mixture(
    points: Any,
    labels: Integers,
    n_clusters: int,
    log_distances: Floats,
    masses: Floats | None = None,
    *,
    share: Share = "auto",
) -> LocalMixture | DistanceBackground:
    """Learn the densities of clusters and background from samples with labels.

    ``points`` (n×d, or None or sparse), ``labels`` in 0 … c − 1, ``log_distances`` to the k-th neighbor and ``masses``
    have a row for each sample. ``share`` is the weight of the background: "auto" finds it (and may find none), None
    means no background, a number in (0, 1) is kept.
    """
    labels, log_distances = np.asarray(labels), np.asarray(log_distances, dtype=np.float64)
    masses = np.ones(len(labels)) if masses is None else np.asarray(masses, dtype=np.float64)
    dense = None if points is None or sparse.issparse(points) else np.asarray(points)
    n_features = 0 if dense is None else dense.shape[1]
    rows, factors = draw_rows(labels, n_clusters, sample_limit(n_clusters, n_features))
    if dense is not None:
        learned = np.asarray(dense[rows], dtype=np.float64)
        order = np.lexsort(learned.T[::-1])  # results do not depend on the order of the samples
        rows, factors, learned = rows[order], factors[order], learned[order]
    labels, log_distances, masses = labels[rows], log_distances[rows], masses[rows] * factors
    core = dense_core(labels, n_clusters, log_distances, masses)
    if dense is not None:
        frame = Frame.around(learned, core, masses)
        if can_learn_gaussians(len(frame.columns), n_clusters, masses):
            sample = Sample.from_points(frame.apply(learned), labels, n_clusters, core, masses)
            return as_local_mixture(*sample.fit(share), frame, sample)
    return fit_distance_background(Distances(labels, n_clusters, finite(log_distances), masses), core, share)


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


@dataclass(frozen=True)
class Sample:
    """Scaled samples as the equations take them."""

    points: Floats
    features: Floats
    masses: Floats
    core: Masks
    members: Sequence[Integers]  # rows of each cluster
    boxes: Boxes
    box_densities: Floats

    @classmethod
    def from_points(cls, points: Floats, labels: Integers, n_clusters: int, core: Masks, masses: Floats) -> Sample:
        """Features, boxes and members of scaled points."""
        boxes = Boxes.around(points, core)
        features, members = equations.quadratic_features(points), rows_by_cluster(labels, n_clusters)
        return cls(points, features, masses, core, members, boxes, equations.box_log_densities(points, *boxes))

    @property
    def dimension(self) -> int:
        """d, the number of columns that are not constant."""
        return self.points.shape[1]

    def fit(self, share: Share) -> tuple[Parameters, Integers]:
        """The accepted parameters, and the cluster of each Gaussian."""
        if share is None:
            return self.fit_plain()[1:]
        if share != "auto":
            return self.fit_with_background(share)[1:]
        criterion, plain, owners = self.fit_plain()
        new_criterion, found, new_owners = self.fit_with_background(None)
        if new_criterion < criterion:
            if not equations.has_background(found):  # the start from the core found better Gaussians
                return equations.without_background(found), new_owners
            if self.stands_out(found):
                return found, new_owners
        return plain, owners

    def fit_plain(self) -> tuple[float, Parameters, Integers]:
        """BIC, parameters and owners of Gaussians that hold all samples."""
        start, owners, spherical = self.start(np.ones(len(self.masses), dtype=bool))
        return *self.maximize_likelihood(start, spherical, None), owners

    def fit_with_background(self, share: float | None) -> tuple[float, Parameters, Integers]:
        """BIC, parameters and owners of Gaussians that start from the core, with a background."""
        start, owners, spherical = self.start(self.core)
        return *self.maximize_likelihood(self.with_background(start), spherical, share), owners

    def start(self, kept: Masks) -> tuple[Statistics, Integers, Masks]:
        """Sums of each cluster's own Gaussians, learned from the kept samples; owners; which are spherical."""
        moments, owners, spherical = [], [], []
        for cluster, members in enumerate(self.members):
            rows = members[kept[members]]
            if self.masses[rows].sum() < self.dimension + 2:
                rows = members
            if len(rows) == 0:
                continue
            moments.append(self.cluster_moments(rows))
            owners += [cluster] * len(moments[-1])
            spherical += [bool(self.masses[rows].sum() < self.dimension + 2)] * len(moments[-1])
        return Statistics(np.concatenate(moments), np.zeros(equations.N_BOXES)), np.array(owners), np.array(spherical)

    def cluster_moments(self, rows: Integers) -> Floats:
        """Sums of the features of a cluster's samples by its own Gaussians."""
        features, masses = self.features[:, rows], self.masses[rows]
        parameters = choose_gaussians(self.points[rows], features, masses)
        if parameters is None:
            return (features @ masses)[None]
        return equations.expected_statistics(features, np.zeros((2, len(rows))), masses, parameters)[0].moments

    def with_background(self, start: Statistics) -> Statistics:
        """Samples outside the core, a third of each in each part of the background."""
        outside = np.where(self.core, 0.0, self.masses) / 3.0
        moments = np.vstack([start.moments, self.features @ outside])
        return Statistics(moments, np.full(equations.N_BOXES, outside.sum()))

    def maximize_likelihood(self, start: Statistics, spherical: Masks, share: float | None) -> tuple[float, Parameters]:
        """EM from the sums of a start, in few steps where each is expensive: BIC and parameters."""
        steps = int(min(MAX_STEPS, max(3, MAX_WORK / (len(self.masses) * (len(spherical) + 3)))))
        found, log_likelihood = alternate(
            self.features, self.box_densities, self.masses, start, spherical, share=share, steps=steps
        )
        total = float(self.masses.sum())
        return equations.bayesian_criterion(log_likelihood, equations.n_parameters(found), total), found

    def stands_out(self, parameters: Parameters) -> bool:
        """Whether the background is the lesser part, and the clusters are clearly denser."""
        background = parameters.background
        share = 0.0 if background is None else float(background.weights.sum())
        if background is None or share > MAX_SHARE:
            return False
        contrast = equations.cluster_contrast(self.features, self.box_densities, self.masses, parameters)
        excess = contrast - math.log((1.0 - share) / share)
        mostly_wide = background.weights[0] > 0.5 * share
        least = MIN_EXCESS * max(1.0, MIN_WIDE_EXCESS * self.dimension) if mostly_wide else MIN_EXCESS
        return contrast >= MIN_CONTRAST and excess >= least


def as_local_mixture(parameters: Parameters, owners: Integers, frame: Frame, sample: Sample) -> LocalMixture:
    """The fit as plain arrays."""
    d = sample.dimension
    background = parameters.background or Background(np.zeros(3), np.zeros(d), np.ones(d))
    return LocalMixture(
        share=float(background.weights.sum()),
        n_clusters=len(sample.members),
        **frame._asdict(),
        owners=owners,
        weights=parameters.weights,
        means=parameters.means,
        covariances=parameters.covariances,
        background_weights=background.weights,
        wide_mean=background.mean,
        wide_variances=background.variances,
        **sample.boxes._asdict(),
    )
