"""Clusters that overlap, from the Gaussians of a fine mixture that share samples.

A cut across the neck of a thin shape is cheaper than one along a long and shallow valley, so a graph of neighbors loses
shapes that overlap. A mixture of many more Gaussians than clusters follows such a valley. Two of its Gaussians are as
similar as they share samples, and the clusters are groups of Gaussians that hang together.

This is a second opinion, because it loses thin and tiny shapes: `afcm.models.graph_problem` keeps the one that cuts the
graph less.
"""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace
from sklearn.metrics import adjusted_rand_score

from afcm._typing import Floats, Integers
from afcm.arrays import from_host, is_tensor, take_rows, to_host
from afcm.equations import local_mixture as equations
from afcm.equations.local_mixture import Parameters
from afcm.equations.quadratic import quadratic_features
from afcm.linalg.pivoting import assign_by_pivots
from afcm.linalg.ratios import inverse_sqrt
from afcm.models.cluster_gaussians import choose_gaussians
from afcm.models.learning_sample import Frame
from afcm.models.local_mixture import can_learn_gaussians, has_density, order_rows

# Gaussians for each cluster; BIC chooses.
MULTIPLES = (1, 2, 3, 4, 6, 8, 12)
# The mixture is learned from at most so many samples, in so many steps.
MOST_SAMPLES, STEPS = 2000, 40
# Entries of the table of log densities that a block of samples makes on a device.
DEVICE_ENTRIES = 1 << 22
# Labels with a larger adjusted Rand index say much the same: the mixture inside the clusters mends the rest.
SAME = 0.9


def find_overlapping(
    points: Floats, labels: Integers, n_clusters: int, masses: Floats | None = None
) -> Integers | None:
    """Other labels, by groups of Gaussians that share samples; they are where the points are.

    None where samples are too few for Gaussians, or where these labels are much the same as the given ones.
    """
    drawn = np.random.RandomState(0).permutation(points.shape[0])[:MOST_SAMPLES]
    sample = to_host(take_rows(points, drawn))
    order = order_rows(sample)  # results do not depend on the order of the samples
    drawn, sample = drawn[order], np.asarray(sample[order], dtype=np.float64)
    own = to_host(take_rows(labels, drawn))
    weights = np.ones(len(drawn)) if masses is None else to_host(take_rows(masses, drawn))
    frame = Frame.around(sample, np.ones(len(drawn), dtype=bool), weights)
    if not can_learn_gaussians(len(frame.columns), n_clusters, weights):
        return None
    if not has_density(sample, frame.columns, weights):
        return None
    scaled = frame.apply(sample)
    features = quadratic_features(scaled)
    sizes = [n_clusters * multiple for multiple in MULTIPLES]
    fine = choose_gaussians(scaled, features, weights, sizes=sizes, most=MOST_SAMPLES, steps=STEPS)
    if fine is None or len(fine.weights) < n_clusters:
        return None
    shares = responsibilities(features, fine)
    groups = np.eye(n_clusters)[group_gaussians(shares, weights, n_clusters)]
    if adjusted_rand_score(own, (groups.T @ shares).argmax(axis=0)) > SAME:
        return None
    entries = DEVICE_ENTRIES if is_tensor(points) else equations.BLOCK_ENTRIES
    blocks = (points[block] for block in equations.row_blocks(points.shape[0], len(groups), entries))
    return array_namespace(points).concat([label_points(block, frame, fine, groups) for block in blocks])


def label_points(points: Floats, frame: Frame, fine: Parameters, groups: Floats) -> Integers:
    """The group of Gaussians with the largest share in each sample; ``groups`` is M×c, one 1 a row."""
    xp = array_namespace(points)
    features = quadratic_features(frame.apply(xp.astype(points, xp.float64)))
    return xp.argmax(from_host(groups.T, points) @ responsibilities(features, fine), axis=0)


def responsibilities(features: Floats, parameters: Parameters) -> Floats:
    """The share of each Gaussian in each sample, M×n."""
    coefficients, peaks = (from_host(part, features) for part in equations.gaussian_coefficients(*parameters[:3]))
    joint = equations.log_joint(features, coefficients, peaks, np.empty((equations.N_BOXES, 0)), None)
    return equations.normalize(joint)[0]


def group_gaussians(shares: Floats, masses: Floats, n_clusters: int) -> Integers:
    """The cluster of each Gaussian: a spectral clustering by the samples that Gaussians share."""
    common = (shares * masses) @ shares.T
    np.fill_diagonal(common, 0.0)
    common += np.finfo(np.float64).eps * masses.sum()
    scale = inverse_sqrt(common.sum(axis=1))
    vectors = np.linalg.eigh(scale[:, None] * common * scale)[1]
    return assign_by_pivots(vectors[:, -n_clusters:])
