"""Does a membership of 0.8 mean that 8 of 10 such samples are in the right cluster?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import confusion_matrix, roc_auc_score

from afcm import AFCM
from afcm.graph.diffusion import diffuse
from afcm.plots.colors import PALETTE
from studies.common import Problem, load_ten, show, write_csv

SEEDS = range(3)
BINS = 15
# λ per sample, and how often the random walk goes home.
WEIGHTS, RESTARTS = (3.0, 100.0, 1e3, 1e4, 1e5), (0.5, 0.2, 0.1, 0.05)
# Memberships that are all 1 have one point, and it must not hide under another's.
MARKERS = (("s", 11), ("D", 4), ("o", 4))
DRAWN = ("paper_memberships_, λ = 3n", "paper_memberships_, λ = 1000n", "memberships_")


def match_classes(y: Any, labels: Any) -> Any:
    """Whether each sample's cluster is its class, under the best matching of the two."""
    classes = np.unique(y, return_inverse=True)[1]
    counts = confusion_matrix(classes, labels)
    true, found = linear_sum_assignment(-counts)
    class_of = np.empty(counts.shape[1], dtype=int)
    class_of[found] = true
    return class_of[labels] == classes


def count_bins(confidence: Any, right: Any, n_bins: int = BINS) -> tuple[Any, Any, Any]:
    """Samples, mean confidence and share of right ones in equal bins of confidence from 0 to 1 (NaN: empty)."""
    places = np.minimum((np.asarray(confidence) * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(places, minlength=n_bins)
    sums = (np.bincount(places, np.asarray(v, dtype=float), n_bins) for v in (confidence, right))
    with np.errstate(invalid="ignore"):
        return counts, *(total / counts for total in sums)


def calibration_error(confidence: Any, right: Any, n_bins: int = BINS) -> float:
    """Expected calibration error: |confidence − share of right ones|, averaged over the samples."""
    counts, claimed, true = count_bins(confidence, right, n_bins)
    filled = counts > 0
    return float(np.sum(counts[filled] * np.abs(claimed - true)[filled]) / counts.sum())


def fit_variants(problem: Problem, seed: int) -> dict[str, Any]:
    """Memberships by their names: the default's, the paper's at several λ, and these after a random walk."""
    c, n = problem.n_clusters, len(problem.X)
    prepared = AFCM(c).prepare(problem.X)
    model = AFCM(c, random_state=seed).fit_prepared(prepared)
    nodes = model.paper_memberships_[prepared.nodes.rows]
    found = {"memberships_": model.memberships_}
    for weight in WEIGHTS:
        model = AFCM(c, graph_weight=weight * n, memberships="paper", noise=None, random_state=seed)
        found[f"paper_memberships_, λ = {weight:g}n"] = model.fit_prepared(prepared).memberships_
    for restart in RESTARTS:
        found[f"walk, restart {restart:g}"] = diffuse(prepared.base, nodes, restart)[prepared.nodes.inverse]
    return found


def judge(y: Any, memberships: Any) -> dict[str, Any]:
    """Scores of a soft partition whose labels are its largest memberships."""
    right, confidence = match_classes(y, memberships.argmax(axis=1)), memberships.max(axis=1)
    return {
        "ACC": 100 * float(right.mean()),
        "confidence": 100 * float(confidence.mean()),
        "ECE": 100 * calibration_error(confidence, right),
        "AUC": float(roc_auc_score(right, confidence)) if 0 < right.sum() < right.size else np.nan,
        "bins": np.array(count_bins(confidence, right)),
    }


def average_bins(found: list[dict[str, Any]]) -> tuple[Any, Any, Any]:
    """Share of samples, confidence and share of right ones per bin; every data set weighs the same."""
    bins = [row["bins"] for row in found]
    shares = np.array([counts / counts.sum() for counts, _, _ in bins])
    total = shares.sum(axis=0)
    with np.errstate(invalid="ignore"):
        means = (np.nansum(shares * [b[i] for b in bins], axis=0) / total for i in (1, 2))
        return total / len(bins), *means


def list_bins(curves: dict[str, tuple[Any, Any, Any]]) -> list[dict[str, Any]]:
    """Make a row for each bin that is not empty."""
    return [
        {"memberships": name, "share": share, "confidence": claimed, "right": true}
        for name, bins in curves.items()
        for share, claimed, true in zip(*bins, strict=True)
        if share > 0
    ]


def draw(curves: dict[str, tuple[Any, Any, Any]], path: Path) -> None:
    """Draw the reliability above, and the number of samples below."""
    figure = Figure(figsize=(6.4, 6.4), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    above.plot([0, 1], [0, 1], color="#6b6b6b", linestyle=":", label="what is said is true")
    for (name, (shares, claimed, true)), color, (marker, size) in zip(curves.items(), PALETTE, MARKERS, strict=False):
        seen = shares > 0.002  # a bin with fewer than two in a thousand samples means nothing
        style = {"marker": marker, "markersize": size, "markerfacecolor": "none" if marker == "s" else color}
        above.plot(claimed[seen], true[seen], color=color, label=name, clip_on=False, **style)
        below.step(np.linspace(0, 1, BINS + 1), [shares[0], *shares], where="pre", color=color)
    above.set(ylabel="share in the right cluster", xlim=(0, 1), ylim=(0, 1))
    above.legend(loc="upper left", frameon=False)
    below.set(xlabel="largest membership", ylabel="share of samples", ylim=(0, 1))
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


def main(data: Path | None, out: Path) -> None:
    """Print and write means over the ten sets, the error on each set, and the curve."""
    rows: list[dict[str, Any]] = []
    for problem in load_ten(data):
        for seed in SEEDS:
            for name, memberships in fit_variants(problem, seed).items():
                row = {"dataset": problem.name, "seed": seed, "memberships": name}
                rows.append(row | judge(problem.y, memberships))
        print(f"{problem.name} ", end="", flush=True)
    print()
    names = dict.fromkeys(row["memberships"] for row in rows)
    groups = {name: [row for row in rows if row["memberships"] == name] for name in names}
    figures = ("ACC", "confidence", "ECE", "AUC")
    lines = [
        [name, *(float(np.nanmean([row[key] for row in group])) for key in figures)] for name, group in groups.items()
    ]
    show(["mean of the sets", *figures], lines, 2)
    sets = list(dict.fromkeys(row["dataset"] for row in rows))
    errors = [
        [name, *(float(np.mean([r["ECE"] for r in groups[name] if r["dataset"] == data_set])) for data_set in sets)]
        for name in DRAWN
    ]
    print()
    show(["ECE", *sets], errors)
    write_csv(out / "calibration.csv", [{k: v for k, v in row.items() if k != "bins"} for row in rows])
    curves = {name: average_bins(groups[name]) for name in DRAWN}
    write_csv(out / "reliability.csv", list_bins(curves))
    draw(curves, out / "reliability.png")
