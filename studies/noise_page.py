"""The page docs/noise-results.md: tables made from the files that the parts of the noise study write."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from trust.pages import format_table

ALARM = 0.02  # from this estimated share of background on, clean data count as a false alarm
LOSS = 0.05  # a fall of ARI that is named
CLUSTERERS = ("AFCM", "AFCM, no densities", "SpectralClustering", "HDBSCAN (oracle)", "Genie")
DETECTORS = ("AFCM", "LocalOutlierFactor", "IsolationForest", "10th neighbor")
BEST = "best possible"

Rows = list[dict[str, Any]]


class Table(NamedTuple):
    """Cells of a table, and what is said about them."""

    title: str
    columns: Sequence[str]
    lines: Sequence[Sequence[Any]]
    text: str = ""


def read_rows(path: Path) -> Rows:
    """Rows of a table; numbers become numbers."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{key: parse_value(value) for key, value in row.items()} for row in csv.DictReader(file)]


def parse_value(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def average(rows: Iterable[dict[str, Any]], column: str, **given: Any) -> float:
    """Mean of a column over the rows with the given values, without those that are not numbers."""
    values = [row[column] for row in rows if all(row[key] == value for key, value in given.items())]
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else np.nan


def list_values(rows: Iterable[dict[str, Any]], column: str) -> list[Any]:
    """Different values of a column, in the order in which they appear."""
    return list(dict.fromkeys(row[column] for row in rows))


def name_seeds(rows: Rows) -> dict[str, int]:
    """Title of the seeds that were looked at, and of the others → value of their column ``seen``."""
    seeds = {seen: [int(row["seed"]) for row in rows if row["seen"] == seen] for seen in (1, 0)}
    first, new = (f"seeds {min(found)}–{max(found)}" for found in seeds.values())
    return {first: 1, f"{new} (new)": 0}


def tabulate(title: str, rows: Rows, methods: Sequence[str], by: str, text: str) -> Table:
    """Methods down; across, the values of ``by`` for both groups of seeds."""
    values, groups = list_values(rows, by), name_seeds(rows)
    columns = [f"{format_name(value)}, {seeds}" for seeds in groups for value in values]
    lines = [
        [method, *(average(rows, method, seen=seen, **{by: value}) for seen in groups.values() for value in values)]
        for method in methods
    ]
    return Table(title, ["", *columns], lines, text)


def format_name(value: Any) -> str:
    """Shares in percent, names as they are."""
    return f"{100 * value:.0f} %" if isinstance(value, float) else str(value)


def transpose(table: Table) -> Table:
    """Exchange rows and columns."""
    cells = list(zip(*[table.columns, *table.lines], strict=True))
    return table._replace(columns=cells[0], lines=cells[1:])


def describe_clusters(rows: Rows) -> list[Table]:
    """Tables of ARI by share, by kind and by shape."""
    noisy = [row for row in rows if row["share"]]
    text = (
        "ARI on the clean samples, mean over shapes, kinds of background and seeds, by the number of background "
        "samples relative to the clean ones. HDBSCAN is given no number of clusters but the best of three "
        "`min_cluster_size` (5, 15, 30), chosen by the labels for each data set; what it calls noise counts as "
        "one more cluster. SpectralClustering has 10 nearest neighbors, Genie a Gini threshold of 0.3."
    )
    tables = [tabulate("Clusters under background", rows, CLUSTERERS, "share", text)]
    text = "ARI on the clean samples, mean over all shares above 0."
    tables.append(tabulate("Clusters by kind of background", noisy, CLUSTERERS, "kind", text))
    tables.append(
        transpose(tabulate("Clusters by shape", noisy, CLUSTERERS, "shape", text + " " + count_changes(rows)))
    )
    return tables


def count_changes(rows: Rows) -> str:
    """Say how often densities change ARI by more than a little."""
    sentences = []
    for seeds, seen in name_seeds(rows).items():
        gains = np.array([row["AFCM"] - row["AFCM, no densities"] for row in rows if row["seen"] == seen])
        up, down = int(np.sum(gains > LOSS)), int(np.sum(gains < -LOSS))
        sentences.append(
            f"With {seeds}, densities raise ARI by more than {LOSS} in {up} of {gains.size} fits and lower it in "
            f"{down} (by {max(0.0, -gains.min()):.2f} at most)."
        )
    return " ".join(sentences)


def describe_outliers(rows: Rows) -> list[Table]:
    """Tables of AUC by share, with the best possible where it is known, by shape, and of the estimated share."""
    noisy = [row for row in rows if row["share"]]
    text = (
        "Area under the curve of `outlier_scores_` and of other scores, background against clean samples, mean over "
        "shapes, kinds and seeds. Background that falls into a cluster cannot be told from it."
    )
    tables = [tabulate("Finding background samples", noisy, DETECTORS, "share", text)]
    known = [row for row in noisy if not np.isnan(row[BEST])]
    if known:
        text = "The same where both densities have a formula; their ratio is the best possible score."
        tables.append(tabulate("Beside the best possible score", known, (*DETECTORS, BEST), "share", text))
    tables.append(transpose(tabulate("Finding background samples by shape", noisy, (*DETECTORS, BEST), "shape", "")))
    return [*tables, compare_shares(rows)]


def compare_shares(rows: Rows) -> Table:
    """Estimated beside true shares of background among all samples."""
    groups, lines = name_seeds(rows), []
    errors = [row | {"error": abs(row["noise_share"] - row["true_share"])} for row in rows]
    for share, kind in dict.fromkeys((row["share"], row["kind"]) for row in rows):
        given = {"share": share, "kind": kind}
        line = [f"{format_name(share)}, {kind}", average(rows, "true_share", **given)]
        for column in ("noise_share", "error"):
            line += [average(errors, column, seen=seen, **given) for seen in groups.values()]
        lines.append(line)
    columns = [f"{name}, {seeds}" for name in ("mean estimate", "mean error") for seeds in groups]
    text = "`noise_share_` beside the true share of background among all samples; the error is the absolute difference."
    return Table("Estimated share of background", ["background", "true", *columns], lines, text)


def describe_alarms(rows: Rows) -> list[Table]:
    """Count false alarms for each kind of data, and all."""
    lines: list[list[Any]] = []
    for name, group in groupby(rows, lambda row: row["data"]):
        shares, alarms = zip(*((row["noise_share"], row["alarm"]) for row in group), strict=True)
        lines.append([name, len(shares), int(sum(alarms)), max(shares)])
    total = ["all", len(rows), int(sum(row["alarm"] for row in rows)), max(row["noise_share"] for row in rows)]
    text = (
        f"Data without background, and how often more than {100 * ALARM:.0f} % of them are said to be background. "
        "Nobody has marked background in the real sets, but they may hold odd samples."
    )
    return [Table("False alarms", ["data", "draws", "alarms", "largest share"], [*lines, total], text)]


def describe_cost(rows: Rows) -> list[Table]:
    text = (
        "Blobs of spread 4 in 16 dimensions, c = 10: the default against `noise=None, density_strength=0`, fitted in "
        "turns; medians in seconds, their ratio, and the ratio of processor time."
    )
    lines = [[f"{row['n_samples']:,.0f}", int(row["rounds"]), *list(row.values())[2:]] for row in rows]
    return [Table("Cost", ["n", "rounds", "default", "without", "ratio", "processor"], lines, text)]


def describe_shapes(rows: Rows) -> list[Table]:
    lines = [[row["set"], row["default"], row["without"], row["default"] - row["without"]] for row in rows]
    mean = ["mean", *(float(np.mean([line[i] for line in lines])) for i in (1, 2, 3))]
    worse = [line[0] for line in lines if line[3] < -LOSS]
    text = (
        "ARI on the batteries fcps, graves and other of the clustering benchmark suite v1 (M. Gagolewski), by its "
        "protocol: noise points are clustered with the rest and not scored, and the best of several reference "
        f"labellings counts. These are development data: no seed makes them new. "
        f"Sets that lose more than {LOSS} by densities: {', '.join(worse) or 'none'}."
    )
    return [Table("Public shapes", ["set", "AFCM", "AFCM, no densities", "difference"], [*lines, mean], text)]


SECTIONS: dict[str, Callable[[Rows], list[Table]]] = {
    "clusters": describe_clusters,
    "outliers": describe_outliers,
    "alarms": describe_alarms,
    "cost": describe_cost,
    "shapes": describe_shapes,
}
HEAD = """# Background noise: the numbers

Made by `make study NAME=noise` (`NAME=noise:suite`, `noise:alarms`, `noise:cost` or `noise:shapes` for a part); do not
edit by hand. The tables behind are in [noise/](noise).

Seeds 0 and 1 were looked at while the constants were chosen, the seeds marked as new were not; they draw the
same shapes again. AFCM has its defaults but for the number of clusters and the seed;
"no densities" is AFCM with `density_strength=0`."""


def format_cell(value: Any, digits: int) -> str:
    if isinstance(value, float):
        return "–" if np.isnan(value) else f"{value:.{digits}f}"
    return str(value)


def format_page(tables: Iterable[Table], head: str, digits: int = 3) -> str:
    """Markdown of a heading, a text and a table for each."""
    parts = [head]
    for table in tables:
        cells = [[format_cell(value, digits) for value in line] for line in table.lines]
        parts += [f"## {table.title}", table.text, format_table(table.columns, cells, numbers=True)]
    return "\n\n".join(part for part in parts if part) + "\n"


def write_page(folder: Path, page: Path) -> list[Table]:
    """Write the page from the tables in a folder; give its tables."""
    there = {name: folder / f"{name}.csv" for name in SECTIONS}
    tables = [table for name, path in there.items() if path.exists() for table in SECTIONS[name](read_rows(path))]
    page.write_text(format_page(tables, HEAD), encoding="utf-8")
    return tables
