"""``afcm compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from afcm._util.messages import one_line
from afcm.cli import methods, options, outcome
from afcm.cli.console import guarded, make_console, say, told
from afcm.cli.progress import Stages, working
from afcm.cli.samples import Samples, Source, Wanted, load, prepared
from afcm.tabular import write_table
from afcm.tabular.writing import find_writer

# Characters that the table needs, whatever the terminal.
WIDTH = 110


def compare(
    data: options.Data,
    *,
    clusters: Annotated[
        str, typer.Option(help="Number of clusters, or auto. Default: the number of classes of --label, else auto.")
    ] = "",
    method: Annotated[list[str] | None, typer.Option(help="Methods, with commas or repeated. Default: all.")] = None,
    out: Annotated[Path | None, typer.Option(help="The table as .csv, .tsv, .parquet or .jsonl.")] = None,
    columns: options.Columns = None,
    drop: options.Drop = None,
    id: options.Id = None,
    label: options.Label = None,
    scale: options.Scaling = options.Scale.minmax,
    missing: options.MissingValues = options.Missing.error,
    seed: options.Seed = 0,
    json: options.Json = False,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    header: options.Header = None,
) -> None:
    """Fit all methods with their defaults and show them side by side.

    Example: afcm compare data.csv --label y
    """
    console = make_console()
    with guarded(console), told(console), working(console, f"reading {data}") as stages:
        outcome.check_folder("--out", out)
        if out is not None:
            find_writer(out)
        names = [methods.method_class(name).__name__ for name in options.split(method)] or list(methods.METHODS)
        wanted = Wanted(options.split(columns), options.split(drop), id, label)
        samples = load(Source(data, format, delimiter, encoding, header), wanted, missing, console)
        prepared(samples, scale, missing)
        count = number(clusters, samples, console)
        rows = compared(names, count, samples, seed, stages)
        if out is not None:
            write_table(pa.Table.from_pylist(rows), out)
    if json:
        outcome.print_json({"n_clusters": count, "methods": rows, "files": [] if out is None else [str(out)]})
    else:
        show(rows, count)


def number(clusters: str, samples: Samples, console: Console) -> int:
    """The number of clusters for all methods."""
    if not clusters and samples.label is not None:
        say(console, f"note: {samples.n_classes} clusters, as many as --label has classes (oracle)")
        return samples.n_classes
    count_or_auto = options.count(clusters or "auto")
    return methods.counted(samples.X) if count_or_auto == "auto" else int(count_or_auto)


def compared(names: list[str], count: int, samples: Samples, seed: int, stages: Stages) -> list[dict[str, Any]]:
    """A row a method; one that fails is a row with the reason."""
    rows = []
    for name in names:
        try:
            estimator = methods.make(name, count, seed, {})
            seconds = methods.fitted(estimator, samples.X, stages)
            rows.append({"method": name, "seconds": seconds, **figures(estimator, samples)})
        except ValueError as error:
            rows.append({"method": name, "remark": one_line(error)})
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return [{key: row.get(key) for key in columns} for row in rows]


def figures(estimator: Any, samples: Samples) -> dict[str, Any]:
    """What can be compared between methods."""
    verdict = outcome.judged(estimator, samples)
    return {
        **outcome.scored(verdict.scores),
        "small": int(verdict.sizes.min()),
        "large": int(verdict.sizes.max()),
        "ambiguous": len(verdict.ambiguous),
        "memberships": verdict.fit.state,
    }


def show(rows: list[dict[str, Any]], count: int) -> None:
    """The table on standard output."""
    table = Table(title=f"{count} clusters", title_justify="left", box=SIMPLE)
    for name in rows[0]:
        words = name in ("method", "memberships", "remark")
        table.add_column(name, justify="left" if words else "right", no_wrap=name != "remark")
    for row in rows:
        table.add_row(*map(shown, row.values()))
    Console(width=max(Console().width, WIDTH)).print(table)


def shown(value: Any) -> str:
    """A cell."""
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)
