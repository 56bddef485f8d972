"""The mixture of all clusters' Gaussians with or without a background, and which of both is accepted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from afcm._typing import Floats, Integers, Masks
from afcm._util.threads import map_in_threads, threads_if
from afcm.equations import local_mixture as equations
from afcm.equations.cluster_forms import GAUSSIANS, Form
from afcm.equations.local_mixture import Parameters, Statistics
from afcm.equations.quadratic import quadratic_features
from afcm.models.cluster_gaussians import (
    MAX_CHOICE_SAMPLES,
    MAX_STEPS,
    TOL,
    WORTH_THREADS,
    alternate,
    choose_gaussians,
)
from afcm.models.learning_sample import Boxes, rows_by_cluster

# The joint EM: most entries of log densities in all its steps.
MAX_WORK = 4e8
# The background is at most this share, and the clusters, with their weights, are this much denser on (log) average.
MAX_SHARE, MIN_CONTRAST = 0.5, math.log(5.0)
# The same without weights: shapes in noise have at least 0.95. A wide Gaussian is also what heavy tails ask for: there
# the excess is at most 1.14 in 2 dimensions and 1.72 in 5, against at least 1.34 for shapes in noise in 2.
MIN_EXCESS, MIN_WIDE_EXCESS = 0.8, 0.6  # the latter for each dimension

# Without a background EM ends earlier: where clusters overlap, the last bits of likelihood fit chance.
PLAIN_TOL = 1e-4
# Several Gaussians of a cluster may as well hold samples of the next: nothing but the labels says whose they are, and
# with more steps of EM they drift away from these.
NEAR_STEPS = 8
Share = float | Literal["auto"] | None


class Start(NamedTuple):
    """Sums of features by Gaussians, the clusters of these, and which are spherical."""

    statistics: Statistics
    owners: Integers
    spherical: Masks

    @classmethod
    def from_moments(cls, moments: Sequence[Floats], groups: Sequence[tuple[int, bool]]) -> Start:
        """All clusters together; ``groups`` has the number of each and whether it is too small for a covariance."""
        sizes = [len(own) for own in moments]
        owners, spherical = (np.repeat(values, sizes) for values in zip(*groups, strict=True))
        return cls(Statistics(np.concatenate(moments), np.zeros(equations.N_BOXES)), owners, spherical)


def has_one_each(owners: Integers) -> bool:
    """Whether no number occurs twice among the clusters of Gaussians."""
    return len(owners) == len(np.unique(owners))


class Fit(NamedTuple):
    """BIC of a mixture, its parameters, the cluster of each Gaussian, and how many numbers were learned."""

    criterion: float
    parameters: Parameters
    owners: Integers
    n_free: int

    @property
    def one_each(self) -> bool:
        """Whether no cluster has several Gaussians."""
        return has_one_each(self.owners)

    @property
    def background_weights(self) -> Floats:
        """Weights of the three parts of the background; 0 where there is none."""
        background = self.parameters.background
        return np.zeros(3) if background is None else background.weights


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
        features, members = quadratic_features(points), rows_by_cluster(labels, n_clusters)
        return cls(points, features, masses, core, members, boxes, equations.box_log_densities(points, *boxes))

    @property
    def dimension(self) -> int:
        """d, the number of columns that are not constant."""
        return self.points.shape[1]

    def fit(self, share: Share) -> Fit:
        """The accepted mixture; ``share`` as in ``fit_local_mixture``."""
        if share is None:
            return self.fit_plain()
        if share != "auto":
            return self.leave_out_parts(*self.fit_with_background(share), share)
        plain = self.fit_plain()
        if not self.has_unlikely_samples(plain):
            return plain
        found, start = self.fit_with_background(None)
        if found.criterion < plain.criterion:
            if not equations.has_background(found.parameters):  # the start from the core found better Gaussians
                return found._replace(parameters=equations.without_background(found.parameters))
            if self.stands_out(found.parameters):
                return self.leave_out_parts(found, start, None)
        return plain

    def fit_plain(self) -> Fit:
        """Gaussians that hold all samples."""
        starts = self.starts(np.ones(len(self.masses), dtype=bool))
        return min((self.maximize_likelihood(start, None) for start in starts), key=lambda fit: fit.criterion)

    def fit_near_labels(self) -> Fit:
        """Gaussians that hold all samples, several where a cluster asks for them, after few steps from the labels."""
        start, *_ = self.starts(np.ones(len(self.masses), dtype=bool))
        return self.alternate(start, tol=0.0, steps=NEAR_STEPS)

    def fit_with_background(self, share: float | None) -> tuple[Fit, Start]:
        """Gaussians that start from the core, with all parts of a background; and their start."""
        starts = [start._replace(statistics=self.with_background(start.statistics)) for start in self.starts(self.core)]
        fits = [(self.maximize_likelihood(start, share), start) for start in starts]
        return min(fits, key=lambda pair: pair[0].criterion)

    def has_unlikely_samples(self, plain: Fit) -> bool:
        """Whether the densities of a background, beside the clusters' own, could be worth a single number to BIC.

        Each sample may choose the part of the background that suits it best. Where a cluster has several Gaussians, one
        of them may hold background already; there each sample may choose its share s ≤ 1/2 of a density b as well,
        which raises its log likelihood by at most log(1 + b / 2p).
        """
        statistics = self.with_background(self.start_one_each().statistics)
        variances = equations.robust_variances(self.features, self.masses)
        spread = equations.best_background(statistics, self.features @ self.masses, variances, None)[0]
        wide = Parameters(np.ones(1), spread.mean[None], np.diag(spread.variances)[None], None)
        own, others = (
            equations.log_densities(self.features, self.box_densities, parameters)
            for parameters in (plain.parameters, wide)
        )
        log_ratios = np.maximum(others, self.box_densities.max(axis=0)) - own
        if plain.one_each:
            gain = equations.likelihood_gain(log_ratios, self.masses, MAX_SHARE)
        else:
            gain = float(np.logaddexp(0.0, log_ratios + math.log(MAX_SHARE)) @ self.masses)
        return 2.0 * gain >= math.log(max(float(self.masses.sum()), 2.0))

    def doubt(self, fit: Fit) -> float:
        """The mean probability of the samples to be in another cluster than their label says; no background."""
        labels, sure = np.empty(len(self.masses), dtype=np.intp), 0.0
        for cluster, rows in enumerate(self.members):
            labels[rows] = cluster
        coefficients, peaks = equations.joint_coefficients(fit.parameters)
        for block in equations.row_blocks(len(labels), len(peaks)):
            features, boxes = self.features[:, block], self.box_densities[:, block]
            shares, _ = equations.normalize(equations.log_joint(features, coefficients, peaks, boxes, None))
            shares *= fit.owners[:, None] == labels[block]
            sure += float(shares.sum(axis=0) @ self.masses[block])
        return 1.0 - sure / float(self.masses.sum())

    def leave_out_parts(self, best: Fit, start: Start, share: float | None) -> Fit:
        """Without the parts of the background that BIC does not ask for: EM is slow to empty them."""
        for part in (equations.WIDE, equations.CORE_BOX):
            if best.background_weights[part] > equations.USED_WEIGHT:
                fewer = equations.without_part(best.parameters, part)
                statistics, _ = equations.expected_statistics(self.features, self.box_densities, self.masses, fewer)
                other = self.maximize_likelihood(start._replace(statistics=statistics), share)
                best = other if other.criterion < best.criterion else best
        return best

    def starts(self, kept: Masks) -> list[Start]:
        """From the kept samples of each cluster: several Gaussians where it asks for them, and one each.

        A cluster that is cut from overlapping ones asks for several, which the whole then does not need.
        """
        rows = [members[kept[members]] for members in self.members]
        rows = [members if self.is_small(few) else few for few, members in zip(rows, self.members, strict=True)]
        there = [(cluster, own) for cluster, own in enumerate(rows) if len(own)]
        groups = [(cluster, self.is_small(own)) for cluster, own in there]
        with threads_if(len(self.features) * MAX_CHOICE_SAMPLES >= WORTH_THREADS):
            several = map_in_threads(self.cluster_moments, [own for _, own in there])
        single = [moments.sum(axis=0, keepdims=True) for moments in several]
        kinds = [several, single] if len(np.concatenate(several)) > len(single) else [single]
        return [Start.from_moments(moments, groups) for moments in kinds]

    def start_one_each(self) -> Start:
        """One Gaussian for each cluster, from all its samples."""
        there = [(cluster, rows) for cluster, rows in enumerate(self.members) if len(rows)]
        moments = [self.sums[cluster][None] for cluster, _ in there]
        return Start.from_moments(moments, [(cluster, self.is_small(rows)) for cluster, rows in there])

    @cached_property
    def sums(self) -> Floats:
        """Sums of the features of each cluster's samples."""
        weights = np.zeros((len(self.masses), len(self.members)))
        for cluster, rows in enumerate(self.members):
            weights[rows, cluster] = self.masses[rows]
        return (self.features @ weights).T

    def is_small(self, rows: Integers) -> bool:
        """Whether samples are too few for a covariance."""
        return bool(self.masses[rows].sum() < self.dimension + 2)

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

    def maximize_likelihood(self, start: Start, share: float | None) -> Fit:
        """EM from the sums of a start."""
        plain = len(start.statistics.moments) == len(start.owners)
        return self.alternate(start, share=share, tol=PLAIN_TOL if plain else TOL)

    def alternate(
        self,
        start: Start,
        *,
        share: float | None = None,
        tol: float = TOL,
        steps: int = MAX_STEPS,
        form: Form = GAUSSIANS,
    ) -> Fit:
        """EM from the sums of a start, in few steps where each is expensive."""
        statistics, owners, spherical = start
        steps = int(min(steps, max(3, MAX_WORK / (len(self.masses) * (len(spherical) + 3)))))
        found, log_likelihood = alternate(
            self.features,
            self.box_densities,
            self.masses,
            statistics,
            spherical,
            share=share,
            steps=steps,
            tol=tol,
            form=form,
        )
        n_free, total = equations.n_parameters(found, form), float(self.masses.sum())
        return Fit(equations.bayesian_criterion(log_likelihood, n_free, total), found, owners, n_free)

    def stands_out(self, parameters: Parameters) -> bool:
        """Whether the background is the lesser part, and the clusters are clearly denser."""
        background = parameters.background
        share = 0.0 if background is None else float(background.weights.sum())
        if background is None or share > MAX_SHARE:
            return False
        contrast = equations.cluster_contrast(self.features, self.box_densities, self.masses, parameters)
        excess = contrast - math.log((1.0 - share) / share)
        mostly_wide = background.weights[equations.WIDE] > 0.5 * share
        least = max(MIN_EXCESS, MIN_WIDE_EXCESS * self.dimension) if mostly_wide else MIN_EXCESS
        return contrast >= MIN_CONTRAST and excess >= least
