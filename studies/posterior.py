"""Are memberships the probabilities of the clusters? Families of clusters whose probabilities are known.

The parts are ``known``, ``halves``, ``cost`` and ``pictures``; all but the last write a table, and the page shows them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import HDBSCAN
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture

from afcm import AFCM, FCM, PlainAFCM
from afcm.plots.colors import PALETTE, cluster_colors, marker, mix_colors
from studies.calibration import calibration_error
from studies.common import show, write_csv
from studies.cost import compare_costs
from studies.posterior_page import METHODS, RIGHT, average, read_rows, write_page
from studies.posteriors import FAMILIES, Known

SMALLEST = (5, 15, 40, 100)  # min_cluster_size of HDBSCAN, of which the true posterior chooses
SHOWN = 700  # samples in a picture
LEAST = 1e-6  # log loss counts no smaller probability
DRAWN = ("2 apart", "unequal", "t, 3 degrees", "moons .18", "rings .10")  # of two clusters in the plane


@dataclass(frozen=True)
class Plan:
    """How much to run."""

    families: tuple[str, ...] = tuple(FAMILIES)
    seeds: tuple[int, ...] = (0, 1, 2)
    new_seeds: tuple[int, ...] = (100, 101, 102)  # not looked at while the forms of densities were chosen
    n_samples: int = 1500
    sizes: tuple[tuple[int, int], ...] = ((10_000, 5), (100_000, 3))  # samples, rounds
    drawn: tuple[str, ...] = DRAWN


QUICK = Plan(("3 apart", "moons .12"), (0,), (100,), 300, ((300, 1),), ("3 apart",))


def match_columns(truth: Any, memberships: Any) -> Any:
    """Memberships with their columns in the order of the true clusters; what is left over is left out."""
    columns = max(truth.shape[1], memberships.shape[1])
    padded = [np.pad(part, ((0, 0), (0, columns - part.shape[1]))) for part in (truth, memberships)]
    _, order = linear_sum_assignment(-(padded[0].T @ padded[1]))
    return padded[1][:, order[: truth.shape[1]]]


def brier(truth: Any, memberships: Any) -> float:
    """Mean over the samples of the squared differences, summed over the clusters; columns are matched already."""
    return float(((truth - memberships) ** 2).sum(axis=1).mean())


def judge(known: Known, memberships: Any) -> dict[str, float]:
    """Brier score against the true posterior; accuracy, log loss, ECE and AUC against the clusters drawn from."""
    matched = match_columns(known.posterior, memberships)
    own = matched[np.arange(len(known.y)), known.y]
    right, confidence = matched.argmax(axis=1) == known.y, matched.max(axis=1)
    return {
        "brier": brier(known.posterior, matched),
        "log_loss": -float(np.log(np.maximum(own, LEAST)).mean()),
        "ece": calibration_error(confidence, right),
        "auc": float(roc_auc_score(right, confidence)) if 0 < right.sum() < right.size else math.nan,
        "accuracy": float(right.mean()),
    }


def spread_probabilities(labels: Any, probabilities: Any) -> Any:
    """Columns from one probability for each sample: others have the rest in equal parts, and noise is undecided."""
    c = max(int(labels.max()) + 1, 1)
    rest = (1 - probabilities) / max(c - 1, 1)
    found = np.where(np.arange(c) == labels[:, None], probabilities[:, None], rest[:, None])
    return np.where(labels[:, None] < 0, 1 / c, found)


def soften_hdbscan(X: Any, size: int) -> Any:
    """Soft clustering of the package hdbscan, or what the probabilities of scikit-learn's HDBSCAN tell."""
    if not find_spec("hdbscan"):
        found = HDBSCAN(min_cluster_size=size, copy=True).fit(X)
        return spread_probabilities(found.labels_, found.probabilities_)
    import hdbscan

    found = hdbscan.HDBSCAN(min_cluster_size=size, prediction_data=True).fit(X)
    if found.labels_.max() < 1:
        return spread_probabilities(found.labels_, found.probabilities_)
    vectors = hdbscan.all_points_membership_vectors(found)
    total = vectors.sum(axis=1, keepdims=True)
    return np.where(total > 0, vectors / np.where(total > 0, total, 1), 1 / vectors.shape[1])


def find_memberships(known: Known) -> dict[str, Any]:
    """Memberships of all methods, n×c or, of HDBSCAN, as many columns as it finds."""
    c, X = known.posterior.shape[1], known.X
    model = AFCM(c, random_state=0).fit(X)
    condensed = [soften_hdbscan(X, size) for size in SMALLEST]
    found = [
        model.memberships_,
        model.paper_memberships_,
        PlainAFCM(c, random_state=0).fit(X).memberships_,
        GaussianMixture(c, n_init=5, random_state=0).fit(X).predict_proba(X),
        min(condensed, key=lambda soft: brier(known.posterior, match_columns(known.posterior, soft))),
        FCM(c, random_state=0).fit(X).memberships_,
        known.posterior,
    ]
    return dict(zip(METHODS, found, strict=True))


def run_known(plan: Plan) -> list[dict[str, Any]]:
    """A row for each family, seed and method."""
    rows = []
    for name, seed in product(plan.families, plan.seeds + plan.new_seeds):
        family = FAMILIES[name]
        known = family.draw(plan.n_samples, seed)
        for method, memberships in find_memberships(known).items():
            row = {"family": name, "gaussian": int(family.gaussian), "seed": seed, "seen": int(seed in plan.seeds)}
            rows.append(row | {"method": method} | judge(known, memberships))
        print(f"{name} {seed}  ", end="", flush=True)
    print()
    return rows


def run_halves(plan: Plan) -> list[dict[str, Any]]:
    """Predict one half by a fit of the other, and compare with a fit of its own."""
    rows = []
    for name, seed in product(plan.families, plan.seeds + plan.new_seeds):
        known = FAMILIES[name].draw(plan.n_samples, seed)
        half, c = plan.n_samples // 2, FAMILIES[name].n_clusters
        truth = known.posterior[half:]
        predicted = AFCM(c, random_state=0).fit(known.X[:half]).predict_proba(known.X[half:])
        fitted = AFCM(c, random_state=0).fit(known.X[half:]).memberships_
        predicted, fitted = (match_columns(truth, found) for found in (predicted, fitted))
        best = (truth.argmax(axis=1) == known.y[half:]).mean()
        accuracies = [(found.argmax(axis=1) == known.y[half:]).mean() for found in (predicted, fitted)]
        row: dict[str, Any] = {"family": name, "seed": seed, "seen": int(seed in plan.seeds)}
        row |= {"right": int(min(accuracies) >= best - RIGHT), "between": brier(predicted, fitted)}
        rows.append(row | {"predicted": brier(truth, predicted), "fitted": brier(truth, fitted)})
    return rows


def run_cost(plan: Plan) -> list[dict[str, Any]]:
    """Time a fit with probabilities against one with the paper's memberships, in turns."""
    models = {
        "probabilities": AFCM(10, noise=None, random_state=0),
        "paper": AFCM(10, noise=None, memberships="paper", random_state=0),
    }
    return compare_costs(models, plan.sizes)


def draw_maps(plan: Plan, path: Path) -> None:
    """Draw samples in the mixed colors of their memberships: families down, methods across."""
    columns = {"true": "best possible"} | {name: name for name in ("AFCM", "GaussianMixture", "HDBSCAN", "FCM")}
    figure = Figure(figsize=(2.3 * len(columns), 2.1 * len(plan.drawn)), layout="constrained")
    grid = figure.subplots(len(plan.drawn), len(columns), squeeze=False)
    for axes_of_row, name in zip(grid, plan.drawn, strict=True):
        known = FAMILIES[name].draw(plan.n_samples, plan.seeds[0])
        found = find_memberships(known)
        low, high = np.quantile(known.X, [0.002, 0.998], axis=0)
        for axes, (title, method) in zip(axes_of_row, columns.items(), strict=True):
            matched = match_columns(known.posterior, found[method])
            colors = mix_colors(matched / np.maximum(matched.sum(axis=1, keepdims=True), LEAST), cluster_colors(2))
            axes.scatter(*known.X[:SHOWN].T, c=colors[:SHOWN], s=6, linewidths=0)
            axes.set(xticks=[], yticks=[], xlim=(low[0], high[0]), ylim=(low[1], high[1]))
            axes.set_xlabel("" if title == "true" else f"Brier {brier(known.posterior, matched):.3f}", fontsize=9)
            axes.spines[:].set_visible(False)
            if name == plan.drawn[0]:
                axes.set_title(title, fontsize=11)
        axes_of_row[0].set_ylabel(name, fontsize=11)
    figure.savefig(path, dpi=80)


def draw_scores(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the mean Brier score of each method for each family, on a logarithmic axis."""
    families = list(dict.fromkeys(row["family"] for row in rows))[::-1]
    figure = Figure(figsize=(7.2, 0.32 * len(families) + 1.2), layout="constrained")
    axes = figure.subplots()
    drawn = [method for method in METHODS if method not in ("best possible", "AFCM, paper's")]
    for number, method in enumerate(drawn):
        scores = [max(average(rows, "brier", family=name, method=method), 1e-5) for name in families]
        style = {"color": PALETTE[number], "marker": marker(number), "markersize": 9 if method == "AFCM" else 6}
        axes.plot(scores, range(len(families)), linestyle="none", label=method, alpha=0.9, **style)
    axes.axvline(0.006, color="#6b6b6b", linestyle=":", linewidth=1)
    axes.set(xscale="log", yticks=range(len(families)), yticklabels=families, xlabel="Brier score against the truth")
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, 1.0 + 1.3 / len(families)), ncols=5, frameon=False, fontsize=9)
    figure.savefig(path, dpi=110)


TABLES = {"known": run_known, "halves": run_halves, "cost": run_cost}
PARTS = (*TABLES, "pictures")


def main(data: Path | None, out: Path, part: str | None = None, plan: Plan | None = None) -> None:
    """Run all parts or one; write their tables, the page that shows all tables there are, and the pictures."""
    del data
    plan, folder, images = plan or Plan(), out / "posterior", out / "images"
    for path in (folder, images):
        path.mkdir(parents=True, exist_ok=True)
    for name in [part] if part in TABLES else [] if part else TABLES:
        write_csv(folder / f"{name}.csv", TABLES[name](plan), digits=6)
    if part in (None, "pictures"):
        draw_maps(plan, images / "posterior-maps.png")
        draw_scores(read_rows(folder / "known.csv"), images / "posterior-scores.png")
    for table in write_page(folder, out / "posterior-results.md"):
        print(f"\n{table.title}")
        show(table.columns, table.lines, 4)
