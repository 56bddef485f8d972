"""Chooses the number of clusters: six criteria in one table, weighed against the pieces of the graph.

One graph and one eigen-solve serve a whole range of numbers.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils import check_array, check_random_state

from afcm._typing import Floats
from afcm._util.messages import format_about
from afcm.estimators import validation
from afcm.estimators.column_faults import explain_text, refuse_missing
from afcm.estimators.inputs import DTYPES
from afcm.estimators.mixture import GeneralizedGaussianMixture
from afcm.estimators.plain import PlainAFCM
from afcm.graph import eigenvectors
from afcm.graph.affinity import Graph, normalize_graph
from afcm.graph.counting import Parts
from afcm.graph.duplicates import merge_duplicates
from afcm.graph.prepared import count_clusters, search_for_counting
from afcm.graph.similarity import agreement_weights
from afcm.linalg.ratios import normalize_rows
from afcm.metrics import adjusted_rand, fuzzy_silhouette, xie_beni
from afcm.models.background import find_clear_background
from afcm.selection.weighing import weigh_criteria

# Criteria that fit a model on X look at no more samples than this.
MODEL_SAMPLES = 3000
# How often the samples are halved, and the clusterings of the halves compared.
STABILITY_ROUNDS = 4


class Criterion(NamedTuple):
    """A column of the table: its meaning, and whether the highest value is the best."""

    meaning: str
    highest: bool


CRITERIA = {
    "eigengap": Criterion("gap after the c-th eigenvalue of the graph", True),
    "stability": Criterion("agreement (ARI) of clusterings learned on two halves of the spectral rows", True),
    "fuzzy_silhouette": Criterion("of PlainAFCM on X", True),
    "xie_beni": Criterion("compactness over separation, PlainAFCM on X", False),
    "plain_bic": Criterion("BIC of PlainAFCM on X: equal, spherical Gaussians", False),
    "mixture_bic": Criterion("BIC of a Gaussian mixture on X with a variance for each column", False),
}


@dataclass(frozen=True)
class Selection:
    """The numbers of clusters that were looked at, and which to take.

    Attributes
    ----------
    n_clusters : int
        The recommendation; 1 if the data have no clusters.
    reason : str
        Why, in words.
    table : list of dict
        For each number of clusters ``n_clusters`` and the criteria of `afcm.selection.choosing.CRITERIA`; NaN where
        a criterion says nothing.
    votes : dict
        The number each criterion would choose by itself.
    parts : Parts
        The pieces of the graph, on which the recommendation rests.
    background_share : float
        Share of the samples that look like background and had no part in the count.
    alternative : int or None
        The number that competes with the recommendation, if half of the criteria or more say so.
    agreement : str
        How many criteria agree, and with what the others compete, in words.

    Examples
    --------
    >>> from afcm import select_n_clusters
    >>> from afcm.datasets import make_rings
    >>> selection = select_n_clusters(make_rings(random_state=0)[0], range(1, 5), random_state=0)
    >>> selection.n_clusters, len(selection.table), len(selection.votes)
    (3, 4, 6)
    """

    n_clusters: int
    reason: str
    table: list[dict[str, float]]
    votes: dict[str, int]
    parts: Parts
    background_share: float = 0.0
    alternative: int | None = None
    agreement: str = ""

    def __str__(self) -> str:
        names = ["n_clusters", *CRITERIA]
        lines = ["  ".join(f"{name:>16}" for name in names)]
        for row in self.table:
            marks = ["*" if self.votes.get(name) == row["n_clusters"] else " " for name in names]
            lines.append("  ".join(f"{row[name]:>15.6g}{mark}" for name, mark in zip(names, marks, strict=True)))
        lines += ["* the choice of the column", self.agreement, self.remark]
        lines.append(f"n_clusters = {self.n_clusters}: {self.reason}")
        return "\n".join(line for line in lines if line)

    @property
    def remark(self) -> str:
        """A sentence about background that was not counted, empty if there was none."""
        if not self.background_share:
            return ""
        return f"{format_about(self.background_share)} of the samples look like background and were not counted"

    @property
    def curves(self) -> dict[str, Floats]:
        """Each criterion over the table, 0 at its worst number and 1 at its best, NaN if it says nothing.

        Criteria that are the same for all numbers are left out.
        """
        curves = {}
        for name in self.votes:
            values = np.array([row[name] for row in self.table]) * (1 if CRITERIA[name].highest else -1)
            spread = np.nanmax(values) - np.nanmin(values)
            if spread > 0:
                curves[name] = (values - np.nanmin(values)) / spread
        return curves

    def plot(self, axes: Any = None) -> Any:
        """Draw the criteria over the number of clusters, each scaled to its own range; returns the matplotlib axes."""
        from afcm.plots.selection import SelectionDisplay

        return SelectionDisplay.from_selection(self, ax=axes).ax_


def select_n_clusters(
    X: Any, n_clusters: Iterable[int] = range(1, 13), *, sample_weight: Any = None, random_state: Any = None
) -> Selection:
    """Compare numbers of clusters for X, and recommend one.

    The recommendation counts the pieces of a neighbor graph that are separated by valleys deeper than chance makes
    them (`afcm.graph.counting`). It finds clusters of any shape, and says 1 if there are none. The six criteria of the
    table are weighed against it, though most of them assume round clusters, and few can say 1: where half of them
    agree on another number, that one is named as the ``alternative``, and where four do and the valleys are shallow,
    it is recommended (`afcm.selection.weighing`). Clear background, samples that belong to no cluster, is not counted
    (`afcm.models.background`); the six criteria see it.

    Parameters
    ----------
    X : array (n_samples, n_features)
    n_clusters : iterable of int, default=range(1, 13)
        The numbers to tabulate. The recommendation is the nearest of them to what was counted.
    sample_weight : array (n_samples,), optional
        For the graph; the criteria that fit a model on X do without.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    Selection

    Raises
    ------
    ValueError
        If ``n_clusters`` is empty, or holds a number below 1 or above n_samples − 2.

    Examples
    --------
    >>> from afcm import select_n_clusters
    >>> from afcm.datasets import make_rings
    >>> X, _ = make_rings(random_state=0)
    >>> select_n_clusters(X, range(1, 7), random_state=0).n_clusters
    3
    """
    given = X
    with explain_text(X):
        X = check_array(X, dtype=DTYPES, ensure_min_samples=3, ensure_all_finite=False)
    refuse_missing(X, getattr(given, "columns", None))
    counts = check_counts(n_clusters, X.shape[0])
    nodes = merge_duplicates(X, validation.check_sample_weight(sample_weight, X.shape[0]))
    points = nodes.take(X)
    found, k = search_for_counting(points, "auto")
    weights = agreement_weights(found, k)
    stray = find_clear_background(points, nodes.masses)
    parts = count_clusters(points, weights, nodes.masses, stray, "auto")
    graph = normalize_graph(weights, nodes.masses)
    table = tabulate(X, graph, counts, check_random_state(random_state))
    votes = collect_votes(table)
    weighed = weigh_criteria(*recommend(parts, counts), parts, votes, counts[-1])
    share = 0.0 if stray is None else float(np.average(stray, weights=nodes.masses))
    best, reason, alternative, agreement = weighed
    return Selection(best, reason, table, votes, parts, share, alternative, agreement)


def check_counts(n_clusters: Iterable[int], n_samples: int) -> list[int]:
    """Return different integers from 1 to n − 2, rising, or refuse those given."""
    counts = sorted(set(n_clusters))
    if not counts:
        raise ValueError("n_clusters is empty; give at least one number, such as range(1, 13)")
    for count in counts:
        validation.check_integer("n_clusters", count)
    if counts[-1] > n_samples - 2:
        raise ValueError(
            f"n_clusters goes up to {counts[-1]}, too many for n_samples={n_samples}; use at most {n_samples - 2}"
        )
    return counts


def tabulate(X: Any, graph: Graph, counts: list[int], random: np.random.RandomState) -> list[dict[str, float]]:
    most = min(counts[-1] + 1, graph.degrees.size)
    eigen = eigenvectors.solve_leading(graph, most)
    values = np.append(eigen.values, np.full(counts[-1] + 1 - most, -1.0))
    sample = X if X.shape[0] <= MODEL_SAMPLES else X[np.sort(random.choice(X.shape[0], MODEL_SAMPLES, replace=False))]
    table = []
    for count, gap in zip(counts, eigengaps(values, counts), strict=True):
        row = {"n_clusters": count, **dict.fromkeys(CRITERIA, math.nan), "eigengap": gap}
        if 1 < count <= most:
            row["stability"] = stability(eigen.vectors, count, random)
        with warnings.catch_warnings():  # a poor fit is a poor figure, not news
            warnings.simplefilter("ignore")
            for judge in (judge_plain, judge_mixture):
                with suppress(ValueError):  # a model may not fit: too few different samples, say
                    found = judge(sample, count, random)
                    row |= {name: float(value) for name, value in found.items() if math.isfinite(value)}
        table.append(row)
    return table


def eigengaps(values: Floats, counts: list[int]) -> list[float]:
    """``θ_c − θ_{c+1}`` of the falling eigenvalues of S."""
    return [float(values[c - 1] - values[c]) for c in counts]


def stability(vectors: Floats, n_clusters: int, random: np.random.RandomState) -> float:
    """Mean ARI over all samples of two clusterings, each learned by k-means on its own half of the unit-length rows."""
    rows = normalize_rows(vectors[:, :n_clusters])
    agreements = np.zeros(STABILITY_ROUNDS)
    for i in range(STABILITY_ROUNDS):
        halves = np.array_split(random.permutation(rows.shape[0]), 2)
        if min(half.size for half in halves) >= n_clusters:
            fits = [KMeans(n_clusters, n_init=1, random_state=random.randint(2**31)).fit(rows[half]) for half in halves]
            agreements[i] = adjusted_rand(fits[0].predict(rows), fits[1].predict(rows))
    return float(agreements.mean())


def judge_plain(X: Any, n_clusters: int, random: np.random.RandomState) -> dict[str, float]:
    model = PlainAFCM(n_clusters, random_state=random).fit(X)
    found = {"plain_bic": model.bic(X)}
    if n_clusters > 1:
        found["xie_beni"] = xie_beni(X, model.memberships_, model.cluster_centers_)
        found["fuzzy_silhouette"] = fuzzy_silhouette(X, model.memberships_)
    return found


def judge_mixture(X: Any, n_clusters: int, random: np.random.RandomState) -> dict[str, float]:
    model = GeneralizedGaussianMixture(
        n_clusters, covariance_type="diag", shape=1.0, max_iter=100, tol=1e-4, random_state=random
    )
    return {"mixture_bic": model.fit(X).bic(X)}


def collect_votes(table: list[dict[str, float]]) -> dict[str, int]:
    chosen = {}
    for name, criterion in CRITERIA.items():
        known = [row for row in table if math.isfinite(row[name])]
        if known:
            best = (max if criterion.highest else min)(known, key=lambda row: row[name])
            chosen[name] = int(best["n_clusters"])
    return chosen


def recommend(parts: Parts, counts: list[int]) -> tuple[int, str]:
    count = max(parts.count, 1)
    best = min(counts, key=lambda c: (abs(c - count), c))
    outside = "" if best == count else f"; {count} is not among the numbers asked for, {best} is the nearest"
    if count == 1:
        share = f"{parts.deepest_within:.0%}"
        return best, f"no clusters: the deepest valley in the graph has {share} of the depth chance reaches{outside}"
    weakest = min(parts.between, key=lambda valley: valley.depth - valley.needed)
    if math.isinf(weakest.depth):
        return best, f"the neighbor graph falls into {count} pieces{outside}"
    witness = ", and a mixture of Gaussians sees the same groups on its two sides" if weakest.witnessed else ""
    return best, (
        f"the neighbor graph has {count} pieces; the shallowest valley between them is {weakest.depth:.1f} standard "
        f"deviations deep where chance reaches {weakest.needed:.1f}{witness}{outside}"
    )
