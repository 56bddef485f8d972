"""`make demo`: k-means, PlainAFCM and AFCM on the paper's two toys and on Iris, as a table, a picture and a page."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.preprocessing import minmax_scale

from afcm.datasets import make_rings, make_spirals
from afcm.estimators.afcm import AFCM
from afcm.estimators.plain import PlainAFCM
from afcm.exceptions import AFCMWarning
from afcm.metrics import adjusted_rand, clustering_accuracy, normalized_mutual_info
from afcm.plots.colors import cluster_colors, opacity, to_rgb
from afcm.plots.layout import project_embedding


class Case(NamedTuple):
    name: str
    X: Any
    y: Any
    n_clusters: int


HEAD = f"{'data':<9}{'method':<11}{'ACC':>7}{'NMI':>8}{'ARI':>8}   {'memberships':<13}{'seconds':>8}"
METHODS: dict[str, Callable[[int], Any]] = {
    "k-means": lambda c: KMeans(c, n_init=10, random_state=0),
    "PlainAFCM": lambda c: PlainAFCM(c, random_state=0),
    "AFCM": lambda c: AFCM(c, random_state=0),
}


def make_cases() -> list[Case]:
    iris, species = load_iris(return_X_y=True)
    return [
        Case("spirals", *make_spirals(random_state=0), 2),
        Case("rings", *make_rings(random_state=0), 3),
        Case("iris", minmax_scale(iris), species, 3),
    ]


def fit_method(case: Case, method: str) -> tuple[Any, str]:
    """Return the fitted model and its line under `HEAD`."""
    model = METHODS[method](case.n_clusters)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AFCMWarning)  # the table says when memberships are hard
        labels = model.fit_predict(case.X)
    seconds = time.perf_counter() - began
    state = f"{getattr(model, 'membership_state_', 'hard')} ({getattr(model, 'crispness_', 1.0):.2f})"
    indices = (clustering_accuracy, normalized_mutual_info, adjusted_rand)
    accuracy, nmi, ari = (100 * index(case.y, labels) for index in indices)
    scores = f"{accuracy:>7.2f}{nmi:>8.2f}{ari:>8.2f}"
    return model, f"{case.name:<9}{method:<11}{scores}   {state:<13}{seconds:>8.2f}"


def draw_points(axes: Any, points: Any, model: Any, title: str) -> None:
    """Draw points colored by label, with the membership as opacity."""
    colors = to_rgb(cluster_colors(model.n_clusters))[model.labels_]
    rgba = np.column_stack([colors, opacity(model.memberships_)])
    axes.scatter(points[:, 0], points[:, 1], c=rgba, s=7, linewidths=0)
    axes.set_title(title, fontsize=10)
    axes.set(xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="datalim")


def draw_figure(cases: list[Case], models: dict[tuple[str, str], Any], path: Path) -> None:
    """Draw the paper's second figure: each toy by PlainAFCM, by AFCM, and in AFCM's embedding."""
    from matplotlib.figure import Figure

    toys = [case for case in cases if case.X.shape[1] == 2]
    figure = Figure(figsize=(10, 3.4 * len(toys)), layout="constrained")
    for line, case in zip(figure.subplots(len(toys), 3), toys, strict=True):
        plain, full = models[case.name, "PlainAFCM"], models[case.name, "AFCM"]
        draw_points(line[0], case.X, plain, f"{case.name}: PlainAFCM")
        draw_points(line[1], case.X, full, f"{case.name}: AFCM")
        wobble = np.random.default_rng(0).normal(scale=0.02 * np.ptp(full.embedding_), size=(len(case.X), 2))
        embedded = project_embedding(full.embedding_) + wobble
        draw_points(line[2], embedded, full, f"{case.name}: AFCM's embedding (jittered)")
    figure.savefig(path, dpi=120)


def write_page(model: Any, path: Path) -> None:
    """Write the report page of AFCM on Iris, with features in centimeters."""
    from afcm.report import Findings, write_report

    iris = load_iris()
    findings = Findings.of(
        model,
        minmax_scale(iris.data),
        features=iris.data,
        feature_names=iris.feature_names,
        id_name="flower",
        ids=range(1, len(iris.data) + 1),
        classes=iris.target_names[iris.target],
        title="Iris: three species of flowers",
        settings={"command": "make demo", "scale": "minmax", "seed": "0"},
    )
    write_report(findings, path)


def main(arguments: list[str] | None = None) -> int:
    """Fit and print; write the picture and the page to the folder of ``--out``."""
    parser = argparse.ArgumentParser(prog="python -m afcm.demo", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("out"), help="folder for demo.png and report.html (default: out)"
    )
    out = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    cases, models, lines = make_cases(), {}, [HEAD, "-" * len(HEAD)]
    steps = [(case, method) for case in cases for method in METHODS]
    for number, (case, method) in enumerate(steps, start=1):
        print(f"[{number}/{len(steps)}] {method} on {case.name} …", file=sys.stderr, flush=True)
        models[case.name, method], line = fit_method(case, method)
        lines.append(line)
    print("\n".join(lines))
    draw_figure(cases, models, out / "demo.png")
    write_page(models["iris", "AFCM"], out / "report.html")
    print(
        f"\nACC, NMI and ARI against the known classes, in percent. Picture: {out / 'demo.png'}; "
        f"a page about AFCM on Iris: {out / 'report.html'}"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
