"""``afcm compare``: fit several methods to one table and show them side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from afcm._util.messages import to_one_line
from afcm.cli import methods, options, outcome
from afcm.cli.console import collect_warnings, make_console, report_errors, say
from afcm.cli.progress import Stages, show_progress
from afcm.cli.samples import Samples, Source, fit_steps, load_samples
from afcm.tabular import write_table

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
    scale: options.Scaling = options.Scale.table,
    weight: options.Weights = None,
    missing: options.MissingValues = None,
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
    with report_errors(console), collect_warnings(console), show_progress(console, f"reading {data}") as stages:
        outcome.check_table_file(out)
        names = [methods.find_class(name).__name__ for name in options.split_names(method)] or list(methods.METHODS)
        source = Source(data, format, delimiter, encoding, header)
        holes, weights = options.choose_missing(missing, scale), options.parse_weights(weight, scale)
        mixed = scale is options.Scale.table
        samples = load_samples(source, holes, console, mixed=mixed, columns=columns, drop=drop, id=id, label=label)
        fit_steps(samples, scale, holes, console, weights)
        count = choose_count(clusters, samples, console)
        rows = fit_methods(names, count, samples, seed, stages)
        if out is not None:
            write_table(pa.Table.from_pylist(rows), out)
    if json:
        outcome.print_json({"n_clusters": count, "methods": rows, "files": [] if out is None else [str(out)]})
    else:
        print_table(rows, count)


def choose_count(clusters: str, samples: Samples, console: Console) -> int:
    if not clusters and samples.label is not None:
        say(console, f"note: {samples.n_classes} clusters, as many as --label has classes (oracle)")
        return samples.n_classes
    count = options.parse_count(clusters or "auto")
    return methods.count_clusters(samples.X) if count == "auto" else int(count)


def fit_methods(names: list[str], count: int, samples: Samples, seed: int, stages: Stages) -> list[dict[str, Any]]:
    """Return a row a method; one that fails is a row with the reason."""
    from afcm.report.verdict import Verdict

    rows: list[dict[str, Any]] = []
    for name in names:
        try:
            estimator = methods.make_estimator(name, count, seed)
            seconds = methods.fit_estimator(estimator, samples.X, stages)
            verdict = Verdict.on(estimator, samples.get_column(samples.label))
        except ValueError as error:
            rows.append({"method": name, "remark": to_one_line(error)})
            continue
        rows.append(
            {
                "method": name,
                "seconds": seconds,
                **outcome.format_scores(verdict.scores),
                "small": int(verdict.sizes.min()),
                "large": int(verdict.sizes.max()),
                "ambiguous": len(verdict.ambiguous),
                "memberships": verdict.fit.state,
            }
        )
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return [{key: row.get(key) for key in columns} for row in rows]


def print_table(rows: list[dict[str, Any]], count: int) -> None:
    table = Table(title=f"{count} clusters", title_justify="left", box=SIMPLE)
    for name in rows[0]:
        words = name in ("method", "memberships", "remark")
        table.add_column(name, justify="left" if words else "right", no_wrap=name != "remark")
    for row in rows:
        cells = ("" if value is None else value for value in row.values())
        table.add_row(*(f"{value:.3f}" if isinstance(value, float) else str(value) for value in cells))
    Console(width=max(Console().width, WIDTH)).print(table)
