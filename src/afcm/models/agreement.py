"""How far other labels of the same nodes agree with those of a fit, and memberships that tell it.

Labels from another graph (a view) are renamed so that as many nodes as possible keep their cluster. The share of views
that put a node into a cluster is its *vote* for it. Votes alone know few values, and a walk over the graph alone does
not know how much it should doubt; so a walk spreads the votes, and it is as long as makes a walk from the fit's own
labels leave them as often as the views do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace
from scipy.optimize import brentq, linear_sum_assignment

from afcm._typing import Floats, Integers
from afcm.graph.affinity import Graph
from afcm.graph.diffusion import diffuse, step
from afcm.graph.eigenvectors import indicator
from afcm.linalg.ratios import ratio

# A walk returns to its start with a probability in this range: it is one to twenty steps long. Of .02, .05 and .09 the
# first has the least calibration error, and the last tells right from wrong samples best; this is between them.
LEAST_RESTART, MOST_RESTART = 0.05, 0.95
# So many steps decide how long it is: after them a walk has returned with a probability of 99.9 %.
WATCHED_STEPS = 135

# A label that neighbors outvote keeps this much more than they have.
TIE = 1e-5


class Agreement(NamedTuple):
    """Votes of the views, and how far they find the clusters of a fit again."""

    votes: Floats  # n×c: the share of views that put a node into a cluster
    of_nodes: Floats  # n: the vote for the node's own cluster
    of_clusters: Floats  # c: mean over the views of |A ∩ B| / |A ∪ B|, A the cluster and B the one that it became
    views: Integers  # n×views: the cluster of each node in each view, by the fit's numbers


def count_common(labels: Integers, others: Integers, n_clusters: int, masses: Floats | None = None) -> Floats:
    """The mass of the nodes in cluster i by ``labels`` and j by ``others``, c×c."""
    pairs = np.asarray(labels) * n_clusters + np.asarray(others)
    return np.bincount(pairs, masses, n_clusters**2).astype(np.float64).reshape(n_clusters, n_clusters)


def match_clusters(common: Floats) -> Integers:
    """The column of each row, each used once, with the largest sum of ``common``."""
    return np.asarray(linear_sum_assignment(common, maximize=True)[1], dtype=np.intp)


def overlap_matched(common: Floats, matched: Integers) -> Floats:
    """``|A ∩ B| / |A ∪ B|`` of each row's cluster A and its matched one B; two empty clusters are the same."""
    inside = common[np.arange(len(matched)), matched]
    union = common.sum(axis=1) + common.sum(axis=0)[matched] - inside
    return np.where(union > 0, inside / np.where(union > 0, union, 1.0), 1.0)


def measure_agreement(
    labels: Integers, views: list[Integers], n_clusters: int, masses: Floats | None = None
) -> Agreement:
    """Compare the labels of a fit with those of views, on the host."""
    votes, overlaps, found = np.zeros((len(labels), n_clusters)), np.zeros(n_clusters), []
    for view in views:
        common = count_common(labels, view, n_clusters, masses)
        matched = match_clusters(common)
        renamed = np.argsort(matched)[view]
        votes[np.arange(len(labels)), renamed] += 1 / len(views)
        overlaps += overlap_matched(common, matched) / len(views)
        found.append(renamed.astype(np.int32))
    return Agreement(votes, votes[np.arange(len(labels)), labels], overlaps, np.stack(found, axis=1))


def count_views(labels: Integers, views: Integers, n_clusters: int, masses: Floats | None = None) -> Floats:
    """`count_common` of the labels with each view (a column of ``views``), views×c×c."""
    return np.stack([count_common(labels, view, n_clusters, masses) for view in views.T])


def measure_stability(common: Floats, groups: Integers) -> Floats:
    """`Agreement.of_clusters` of groups of clusters that are joined in all views alike; ``common`` of `count_views`."""
    origins = np.eye(int(groups.max()) + 1)[groups]
    joined, own = origins.T @ common @ origins, np.arange(origins.shape[1])
    return np.mean([overlap_matched(view, own) for view in joined], axis=0)


def measure_group(common: Floats, members: Integers) -> float:
    """`measure_stability` of one group alone."""
    rows = common[:, members]
    inside = rows[:, :, members].sum(axis=(1, 2))
    union = rows.sum(axis=(1, 2)) + common[:, :, members].sum(axis=(1, 2)) - inside
    return float(ratio(inside, union, np.ones_like(union)).mean())


def spread_votes(graph: Graph, labels: Any, votes: Any, counts: Floats | None = None) -> Any:
    """Votes after a walk whose length fits them; ``counts``: how many samples each node stands for."""
    own = indicator(labels, votes.shape[1])
    target = average((votes * own).sum(axis=1), counts)
    return diffuse(graph, votes, find_restart(watch_walk(graph, own, counts), target))


def keep_labels(walked: Any, own: Any) -> Any:
    """Memberships after a walk; a sample whose neighbors outvote its label is left in doubt between the two."""
    xp = array_namespace(walked)
    hard = indicator(xp.argmax(own, axis=1), own.shape[1])
    lacking = xp.max(walked, axis=1, keepdims=True) - xp.sum(walked * hard, axis=1, keepdims=True)
    share = xp.where(lacking > 0, lacking / (1 + lacking) + TIE, xp.zeros_like(lacking))
    return (1 - share) * walked + share * hard


def watch_walk(graph: Graph, own: Any, counts: Floats | None = None, n_steps: int = WATCHED_STEPS) -> Floats:
    """The probability that a walk is in the cluster it began in, after 0, 1, … n steps, on average over the samples."""
    spread, seen = own, []
    for _ in range(n_steps + 1):
        seen.append(average((spread * own).sum(axis=1), counts))
        spread = step(graph, spread, own)
    return np.array(seen)


def find_restart(seen: Floats, target: float) -> float:
    """The restart r with ``r Σ_t (1 − r)^t seen_t = target``, or the end of its range that comes nearest."""

    def lacking(restart: float) -> float:
        return stay_probability(seen, restart) - target

    if lacking(LEAST_RESTART) >= 0:
        return LEAST_RESTART
    return MOST_RESTART if lacking(MOST_RESTART) <= 0 else float(brentq(lacking, LEAST_RESTART, MOST_RESTART))


def stay_probability(seen: Floats, restart: float) -> float:
    """``r Σ_{t<T} (1 − r)^t seen_t + (1 − r)^T seen_T``."""
    left = (1 - restart) ** np.arange(len(seen))
    return float(restart * (left[:-1] @ seen[:-1]) + left[-1] * seen[-1])


def average(values: Any, counts: Floats | None) -> float:
    xp = array_namespace(values)
    return float(xp.mean(values) if counts is None else xp.sum(values * counts) / xp.sum(counts))
