"""``afcm select``."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from afcm.cli import methods, options, outcome
from afcm.cli.console import guarded, make_console, told, typed
from afcm.cli.fit import Fitted, write_page
from afcm.cli.progress import working
from afcm.cli.samples import Source, Wanted, load, prepared


def select(
    data: options.Data,
    *,
    most: Annotated[int, typer.Option("--max", min=1, help="The largest number of clusters to look at.")] = 12,
    report: options.Report = None,
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
    """How many clusters a table has: a recommendation with its reason, beside seven criteria.

    With --report the page also shows an AFCM fit with the recommended number.

    Example: afcm select data.csv --report report.html
    """
    console = make_console()
    with guarded(console), told(console, aloud=False), working(console, f"reading {data}") as stages:
        outcome.check_folder("--report", report)
        wanted = Wanted(options.split(columns), options.split(drop), id, label)
        samples = load(Source(data, format, delimiter, encoding, header), wanted, missing, console)
        steps = prepared(samples, scale, missing)
        stages.begin("looking at numbers of clusters")
        selection = selected(samples.X, most, seed)
        if report is not None:
            estimator = methods.make("AFCM", selection.n_clusters, seed, {})
            methods.fitted(estimator, samples.X, stages)
            settings = {"command": typed(), "file": data, "scale": scale.value, "seed": str(seed)}
            write_page(Fitted(estimator, steps, samples, settings), report, selection=selection)
    if json:
        outcome.print_json(as_json(selection))
    else:
        typer.echo(str(selection) if report is None else f"{selection}\nwritten: {report}")


def selected(X: Any, most: int, seed: int) -> Any:
    """`select_n_clusters` from 1 to ``most``, or as many as there can be."""
    from afcm.selection import select_n_clusters

    return select_n_clusters(X, range(1, max(min(most, X.shape[0] - 2), 1) + 1), random_state=seed)


def as_json(selection: Any) -> dict[str, Any]:
    """The recommendation, its reason, the criteria and their votes."""
    table = [{name: None if math.isnan(value) else value for name, value in row.items()} for row in selection.table]
    return {
        "n_clusters": selection.n_clusters,
        "reason": selection.reason,
        "votes": selection.votes,
        "table": table,
    }
