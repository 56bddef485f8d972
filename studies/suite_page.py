"""The page docs/suite-results.md: public shapes, overlap, counting and small clusters, from their tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from studies.common import show, write_csv
from studies.noise_page import Rows, Table, average, format_page, list_values, read_rows

HEAD = """# Public shapes, overlap, counting and small clusters: the numbers

Made by `make study NAME=suite DATA=FOLDER`, `NAME=overlap`, `NAME=counting` and `NAME=small`; do not edit by hand. The
tables behind are in [suite/](suite).

What was tuned on what: the constants of the graph, of the second opinion where clusters touch and of counting were
settled on the 27 public shapes of this page, on our own generators with other seeds and on half of the paper's ten
sets. About 45 settings were looked at with labels visible for densities and the second opinion, 10 for counting. So
the figures of the 27 shapes are those of development data. Of overlap and counting the families were looked at, with
other seeds than these (100 to 102); the study of noise draws its shapes with the same ones. The neighbors in small
clusters were settled among about 30 settings, with labels visible, on blobs with other seeds and on those five of
the ten sets that have small classes."""
FIRST = ("set", "n", "d", "clusters")
FOUND = ("counted", "fewest", "most", "exact", "within 1", "in range")
MARK = ", published"
CONVERGED = "converged: `tol=1e-6, max_iter=1000` in place of scikit-learn's `1e-3` and 100"


def publish(name: str, rows: Rows, out: Path) -> None:
    """Write the table of a study, the page of all tables there are, and print those of this study."""
    folder = out / "suite"
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(folder / f"{name}.csv", rows)
    there = {key: folder / f"{key}.csv" for key in SECTIONS}
    tables = {key: SECTIONS[key](read_rows(path)) for key, path in there.items() if path.exists()}
    page = format_page([table for made in tables.values() for table in made], HEAD)
    (out / "suite-results.md").write_text(page, encoding="utf-8")
    for table in tables[name]:
        print(f"\n{table.title}\n{table.text}")
        show(table.columns, table.lines, 3)


def format_share(rows: Rows, column: str) -> str:
    """How many rows have a 1, of how many."""
    count = int(sum(row[column] for row in rows))
    return f"{count} of {len(rows)} ({100 * count / len(rows):.0f} %)"


def format_count(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else value


def describe_benchmarks(rows: Rows) -> list[Table]:
    """Scores of every set, published ones beside them, and the counts."""
    ours = [key for key in rows[0] if key not in (*FIRST, *FOUND) and not key.endswith(MARK)]
    theirs = [key for key in rows[0] if key.endswith(MARK)]
    text = (
        "ARI by the protocol of the clustering benchmark suite v1 (M. Gagolewski): the reference number of clusters is "
        "given, noise points are clustered and not scored, the best over the reference labellings counts, columns as "
        f"they are. {len(rows)} sets. SpectralClustering has 10 nearest neighbors, GaussianMixture full covariances "
        f"and 5 starts ({CONVERGED}), k-means 10 starts, Genie a Gini threshold of 0.3."
    )
    tables = [Table("Public shapes", [*FIRST, *ours], list_scores(rows, ours, FIRST), text)]
    if theirs:
        columns = ["set", "AFCM", *(key.removesuffix(MARK) for key in theirs)]
        text = "ARI of AFCM beside the scores in the folder's `published.csv`."
        tables.append(Table("Beside published results", columns, list_scores(rows, ["AFCM", *theirs], ("set",)), text))
    lines = [
        [row["set"], format_count(row["clusters"]), *(format_count(row[key]) for key in FOUND[:3])] for row in rows
    ]
    text = (
        f'`AFCM("auto")`: exact on {format_share(rows, "exact")}, within one on {format_share(rows, "within 1")}; '
        f"`n_clusters_range_` holds the number of a reference on {format_share(rows, 'in range')}. With several "
        "references the number of any of them is right."
    )
    return [*tables, Table("Counts of public shapes", ["set", "clusters", *FOUND[:3]], lines, text)]


def list_scores(rows: Rows, methods: list[str], first: tuple[str, ...]) -> list[list[Any]]:
    """A line for each row, and the means."""
    lines = [[*(format_count(row[key]) for key in first), *(row[key] for key in methods)] for row in rows]
    return [*lines, ["mean", *[""] * (len(first) - 1), *(average(rows, key) for key in methods)]]


def describe_overlap(rows: Rows) -> list[Table]:
    """Means over the seeds for every family."""
    methods = [key for key in rows[0] if key not in ("family", "seed")]
    lines = [[name, *(average(rows, key, family=name) for key in methods)] for name in list_values(rows, "family")]
    seeds = ", ".join(format_count(seed) for seed in list_values(rows, "seed"))
    text = f"ARI to the labels of the true posterior, n = 1,500, mean over the seeds {seeds}. "
    text += f"GaussianMixture has full covariances and 5 starts ({CONVERGED})."
    means = ["mean", *(average(rows, key) for key in methods)]
    return [Table("Clusters that overlap", ["family", *methods], [*lines, means], text)]


def describe_counting(rows: Rows) -> list[Table]:
    """Shares of right numbers for every kind of data."""
    lines = []
    for kind, name in dict.fromkeys((row["kind"], row["name"]) for row in rows):
        lines.append(share_line(f"{kind}: {name}", [row for row in rows if (row["kind"], row["name"]) == (kind, name)]))
    for kind in list_values(rows, "kind"):
        lines.append(share_line(f"all {kind}", [row for row in rows if row["kind"] == kind]))
    text = (
        'Shares of draws on which `AFCM("auto")` counts the clusters that were drawn. Where there are none, 1 is '
        "right. Clusters that overlap much have no valley of density between them, so not all can be counted."
    )
    return [Table("Counting", ["data", "draws", "exact", "within one", "range holds it"], lines, text)]


def share_line(name: str, rows: Rows) -> list[Any]:
    return [name, len(rows), *(average(rows, key) for key in FOUND[3:])]


def describe_small(rows: Rows) -> list[Table]:
    """The default, the best fixed graph by the labels, and the difference."""
    lines: list[list[Any]] = []
    for columns, spread in dict.fromkeys((row["columns"], row["spread"]) for row in rows):
        line = [f"{columns:g} columns, spread {spread:g}"]
        for metric in ("ACC", "ARI"):
            given = {"columns": columns, "spread": spread}
            means = {name: average(rows, metric, graph=name, **given) for name in list_values(rows, "graph")}
            ours = means.pop("AFCM")
            best = max(means, key=lambda name: means[name])
            line += [ours, means[best], best, ours - means[best]]
        lines.append(line)
    columns = [
        f"{metric}{word}" for metric in ("ACC", "ARI") for word in ("", ", best fixed", ", which", ", difference")
    ]
    seeds = len(list_values(rows, "seed"))
    text = (
        f"100 blobs of 20 samples, mean over {seeds} seeds, in percent: AFCM's default, and spectral clustering "
        "with the best of the adaptive and local kernels with 6, 10, 14 and 20 neighbors, chosen by labels "
        "for each line (oracle)."
    )
    return [Table("Many small clusters", ["blobs", *columns], lines, text)]


SECTIONS: dict[str, Callable[[Rows], list[Table]]] = {
    "benchmarks": describe_benchmarks,
    "overlap": describe_overlap,
    "counting": describe_counting,
    "small": describe_small,
}
