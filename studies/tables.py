"""Tables with categories: how much a category should count, and what `TableScaler` gives against other scalings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import minmax_scale

from afcm import AFCM
from afcm.metrics import adjusted_rand, clustering_accuracy
from afcm.tables import TableScaler
from afcm.tables.relations import neighbor_agreement
from studies.common import SIDE, load_ten, show, standardize, write_csv

PARTS = ("rule", "customers", "real")
# Probabilities of "yes" lie this far from 1/2 in the groups: from chance to an exact mark.
STRENGTHS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.47, 0.5)
# Factor of the coordinates of a category by its agreement a.
RULES: dict[str, Callable[[float], float]] = {
    "left out": lambda _: 0.0,
    "equal": lambda _: 1.0,
    "√a": np.sqrt,
    "a": lambda a: a,
    "a²": lambda a: a**2,
    "a⁴": lambda a: a**4,
}
SMALL = ("iris", "breast", "vehicle")


def main(data: Path | None, out: Path, part: str = "") -> None:
    """Print and write the tables of docs/tables.md."""
    if part in ("", "rule"):
        compare_rules(out)
    if part in ("", "customers"):
        count_customers(out)
    if part in ("", "real"):
        compare_scalings(data, out)


def draw_groups(n_groups: int, gap: float, seed: int, n: int = 400) -> tuple[Any, Any, Any]:
    """Groups ``gap`` standard deviations apart in two of three columns of numbers, with uniform numbers between 0 and 1
    that decide a yes/no column."""
    random = np.random.default_rng(seed)
    groups = random.integers(0, n_groups, n)
    noise = random.normal(size=(n, 3))
    noise[:, 0] += gap * groups
    noise[:, 1] += gap * ((2 * groups) % n_groups)
    return standardize(noise), groups, random.random(n)


def compare_rules(out: Path) -> None:
    """ARI of AFCM for each rule: the seeds below 100 settled it, the others report it."""
    rows: list[dict[str, Any]] = []
    for strength in STRENGTHS:
        for name, seeds in (("settled on", range(2)), ("reported on", range(100, 103))):
            problems = [(k, gap, seed) for k in (2, 3) for gap in (2.2, 3.3) for seed in seeds]
            found = np.mean([score_rules(*problem, strength) for problem in problems], axis=0)
            rows.append({"strength": strength, "seeds": name, **dict(zip(RULES, found.tolist(), strict=True))})
    for name in ("settled on", "reported on"):
        mean = {rule: float(np.mean([row[rule] for row in rows if row["seeds"] == name])) for rule in RULES}
        rows.append({"strength": "mean", "seeds": name, **mean})
    show(list(rows[0]), [list(row.values()) for row in rows], 2)
    write_csv(out / "rules.csv", rows)


def score_rules(n_groups: int, gap: float, seed: int, strength: float) -> list[float]:
    numbers, groups, chance = draw_groups(n_groups, gap, seed)
    yes = chance < 0.5 + strength * np.where(groups == 1, 1, -1)
    column = standardize(yes[:, None].astype(float))
    agreement = neighbor_agreement(column, numbers)
    tables = [np.hstack([numbers, rule(agreement) * column]) for rule in RULES.values()]
    return [adjusted_rand(groups, AFCM(n_groups, random_state=0).fit(X).labels_) for X in tables]


def draw_customers(seed: int, n: int = 400) -> tuple[dict[str, Any], Any]:
    """Three groups 10 years, 20,000 in income and 4 visits apart, a yes/no column by chance, 5 % of incomes missing."""
    random = np.random.default_rng(seed)
    groups = random.integers(0, 3, n)
    table = {
        "age": random.normal(30 + 10 * groups, 4),
        "income": random.normal(30_000 + 20_000 * groups, 6000),
        "visits": random.poisson(4 + 4 * groups),
        "member": random.random(n) < 0.5,
    }
    table["income"][random.random(n) < 0.05] = np.nan
    return table, groups


def count_customers(out: Path) -> None:
    """Clusters that are counted, and ARI with 3 clusters, by the scaling."""
    rows = []
    for seed in range(20):
        table, groups = draw_customers(seed)
        mean = np.where(np.isnan(table["income"]), np.nanmean(table["income"]), table["income"])
        numbers = np.column_stack([table["age"], mean, table["visits"], table["member"]])
        scaled = {
            "raw": numbers[:, :3],
            "minmax": minmax_scale(numbers),
            "standard": standardize(numbers),
            "equal": TableScaler(categories="equal").fit_transform(table),
            "TableScaler": TableScaler().fit_transform(table),
        }
        row: dict[str, Any] = {"seed": seed}
        for name, X in scaled.items():
            row[f"{name} count"] = AFCM("auto", random_state=0).fit(X).n_clusters_
            row[f"{name} ARI"] = adjusted_rand(groups, AFCM(3, random_state=0).fit(X).labels_)
        rows.append(row)
    show(list(rows[0]), [list(row.values()) for row in rows], 2)
    for name in scaled:
        right = sum(row[f"{name} count"] == 3 for row in rows)
        print(f"{name}: 3 clusters in {right} of {len(rows)}, ARI {np.mean([row[f'{name} ARI'] for row in rows]):.2f}")
    write_csv(out / "customers.csv", rows)


def compare_scalings(data: Path | None, out: Path) -> None:
    """ACC of AFCM with the true number of clusters, on tables of numbers."""
    problems = [(problem.name, problem.X, problem.y) for problem in load_ten(data) if problem.name in SMALL]
    problems += [(name, *load(return_X_y=True)) for name, load in SIDE.items() if name != "iris"]
    rows = []
    for name, X, y in problems:
        row: dict[str, Any] = {"set": name}
        scalings = {"minmax": minmax_scale, "standard": standardize, "TableScaler": TableScaler().fit_transform}
        for scaling, scale in scalings.items():
            labels = AFCM(len(np.unique(y)), random_state=0).fit(scale(X)).labels_
            row[scaling] = 100 * clustering_accuracy(y, labels)
        rows.append(row)
    show(list(rows[0]), [list(row.values()) for row in rows])
    write_csv(out / "real.csv", rows)
