"""The page docs/posterior-results.md: tables made from the files that the parts of the posterior study write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from studies.noise_page import Rows, Table, average, format_page, list_values, name_seeds, read_rows

METHODS = ("AFCM", "AFCM, paper's", "PlainAFCM", "GaussianMixture", "HDBSCAN", "FCM", "best possible")
RIVALS = METHODS[:-1]
RIGHT = 0.02  # labels are right where their accuracy is at most so much below that of the best possible ones
LIMIT = 1.5  # times the Brier score of a Gaussian mixture, on Gaussian clusters
CHANCE = 0.001  # a difference of Brier scores that does not count


def has_right_labels(rows: Rows, family: str, **given: Any) -> bool:
    """Whether the labels of AFCM are about as accurate as the best possible ones, on the mean of the seeds."""
    best, own = (average(rows, "accuracy", family=family, method=name, **given) for name in ("best possible", "AFCM"))
    return own >= best - RIGHT


def describe_known(rows: Rows) -> list[Table]:
    """Brier scores by family, all scores by method, and ratios to a Gaussian mixture."""
    return [compare_brier(rows), compare_scores(rows), compare_with_mixture(rows)]


def compare_brier(rows: Rows) -> Table:
    """Families down, methods across, and the means of both groups of seeds."""
    lines: list[list[Any]] = []
    families = list_values(rows, "family")
    for family in families:
        scores = [average(rows, "brier", family=family, method=method) for method in RIVALS]
        lines.append([family, "yes" if has_right_labels(rows, family) else "no", *scores])
    for seeds, seen in name_seeds(rows).items():
        right = [family for family in families if has_right_labels(rows, family, seen=seen)]
        for title, kept in (("all", families), (f"{len(right)} with right labels", right)):
            means = [
                np.mean([average(rows, "brier", family=family, method=method, seen=seen) for family in kept])
                for method in RIVALS
            ]
            lines.append([f"{title}, {seeds}", "", *map(float, means)])
    text = (
        "Mean over samples and seeds of `Σ_j (u_ij − p_ij)²` with p the true posterior, for the best matching of the "
        "columns; 0 is best. *Labels right*: the accuracy of AFCM's labels is at most two points below that of the "
        "largest true probability, on the mean of the seeds. GaussianMixture has full covariances, the true number of "
        "clusters and the best of five starts. HDBSCAN is the soft clustering of the package hdbscan with the best of "
        "four `min_cluster_size` (5, 15, 40, 100), chosen by the true posterior (an oracle)."
    )
    return Table("Distance from the true posterior (Brier score)", ["family", "labels right", *RIVALS], lines, text)


def compare_scores(rows: Rows) -> Table:
    """All scores by method, on the families with right labels and on all."""
    families = list_values(rows, "family")
    right = [family for family in families if has_right_labels(rows, family)]
    columns, lines = ("brier", "log_loss", "ece", "auc", "accuracy"), []
    for title, kept in ((f"{len(right)} with right labels", right), ("all", families)):
        for method in METHODS:
            chosen = [row for row in rows if row["family"] in kept and row["method"] == method]
            lines.append([method, title, *(average(chosen, column) for column in columns)])
    text = (
        "Means over families and seeds. Log loss, expected calibration error (15 bins) and accuracy are against the "
        "clusters that the samples were drawn from; AUC tells how well the largest membership separates samples with "
        "right labels from those with wrong ones. No probability counts as less than 1e-6 in the log loss."
    )
    names = ["method", "families", "Brier", "log loss", "ECE", "AUC", "accuracy"]
    return Table("All scores", names, lines, text)


def compare_with_mixture(rows: Rows) -> Table:
    """Gaussian families: AFCM beside the mixture that has the right model."""
    lines, worse = [], []
    for family in list_values([row for row in rows if row["gaussian"]], "family"):
        pair = [average(rows, "brier", family=family, method=name) for name in ("AFCM", "GaussianMixture")]
        lines.append([family, *pair, pair[0] / pair[1]])
        for seed in list_values(rows, "seed"):
            own, other = (
                average(rows, "brier", family=family, method=name, seed=seed) for name in ("AFCM", "GaussianMixture")
            )
            if own > LIMIT * other:
                worse.append((family, int(seed), own, other))
    beyond = sum(own > LIMIT * other + CHANCE for _, _, own, other in worse)
    named = "; ".join(f"{family}, seed {seed}: {own:.4f} against {other:.4f}" for family, seed, own, other in worse)
    text = (
        "Families of Gaussians, where the mixture has the right model; means of the seeds. Single draws with more "
        f"than {LIMIT} times its score: {named or 'none'}. Of these, {beyond} exceed it by more than {CHANCE}."
    )
    return Table("Beside a Gaussian mixture on Gaussians", ["family", "AFCM", "GaussianMixture", "ratio"], lines, text)


def describe_halves(rows: Rows) -> list[Table]:
    lines: list[list[Any]] = []
    for family in list_values(rows, "family"):
        right = average(rows, "right", family=family)
        scores = [average(rows, column, family=family) for column in ("between", "predicted", "fitted")]
        lines.append([family, f"{100 * right:.0f} %", *scores])
    for seeds, seen in name_seeds(rows).items():
        given = {"right": 1, "seen": seen}
        scores = [average(rows, column, **given) for column in ("between", "predicted", "fitted")]
        lines.append([f"right labels, {seeds}", "", *scores])
    text = (
        "One half of the samples fitted, the other half predicted; beside it, the other half fitted alone. *Between* "
        "is the Brier score between the two answers, then each against the truth. *Labels right*: the share of draws "
        "where both have about the accuracy of the best possible labels."
    )
    return [Table("New samples", ["family", "labels right", "between", "predicted", "fitted"], lines, text)]


def describe_cost(rows: Rows) -> list[Table]:
    text = (
        "Blobs of spread 4 in 16 dimensions, c = 10, `noise=None`: the default memberships against "
        '`memberships="paper"`, '
        "fitted in turns; medians in seconds, their ratio, and the ratio of processor time. The walk over the graph "
        "takes most of the difference. Wall times are of a busy machine: trust the processor's."
    )
    lines = [[f"{row['n_samples']:,.0f}", int(row["rounds"]), *list(row.values())[2:]] for row in rows]
    return [Table("Cost", ["n", "rounds", "probabilities", "paper", "ratio", "processor"], lines, text)]


SECTIONS: dict[str, Callable[[Rows], list[Table]]] = {
    "known": describe_known,
    "halves": describe_halves,
    "cost": describe_cost,
}
HEAD = """# Memberships beside known probabilities: the numbers

Made by `make study NAME=posterior` (`NAME=posterior:known`, `posterior:halves`, `posterior:cost` or
`posterior:pictures` for a part); do not edit by hand. The tables behind are in [posterior/](posterior), the families in
`studies/posteriors.py`. All have 1,500 samples. Numbers behind a family are distances of centers in standard
deviations, ratios of axes, or the noise about a curve.

The first seeds were looked at while the forms of densities were chosen, the seeds marked as new were not; they draw the
same families again. AFCM has its defaults but for the number of clusters and the seed."""


def write_page(folder: Path, page: Path) -> list[Table]:
    """Write the page from the tables in a folder; give its tables."""
    there = {name: folder / f"{name}.csv" for name in SECTIONS}
    tables = [table for name, path in there.items() if path.exists() for table in SECTIONS[name](read_rows(path))]
    page.write_text(format_page(tables, HEAD, digits=4), encoding="utf-8")
    return tables
