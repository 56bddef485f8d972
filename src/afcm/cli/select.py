"""``afcm select``: recommend a number of clusters for a table."""

from __future__ import annotations

from typing import Annotated

import typer

from afcm.cli import methods, options, outcome
from afcm.cli.console import collect_warnings, format_command_line, make_console, report_errors
from afcm.cli.fit import FittedModel
from afcm.cli.progress import show_progress
from afcm.cli.samples import Source, fit_steps, load_samples


def select(
    data: options.Data,
    *,
    most: Annotated[int, typer.Option("--max", min=1, help="The largest number of clusters to look at.")] = 12,
    report: options.Report = None,
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
    """How many clusters a table has: a recommendation with its reason, weighed against six criteria.

    Where the criteria disagree, it says so and names the other answer.

    Samples that look like background, which belongs to no cluster, are not counted; the criteria see them.

    With --report the page also shows an AFCM fit with the recommended number.

    Example: afcm select data.csv --report report.html
    """
    console = make_console()
    warned, shown = collect_warnings(console, aloud=False), show_progress(console, f"reading {data}")
    with report_errors(console), warned, shown as stages:
        from afcm.selection import select_n_clusters

        outcome.check_file("--report", report)
        source = Source(data, format, delimiter, encoding, header)
        holes, weights = options.choose_missing(missing, scale), options.parse_weights(weight, scale)
        mixed = scale is options.Scale.table
        samples = load_samples(source, holes, console, mixed=mixed, columns=columns, drop=drop, id=id, label=label)
        steps = fit_steps(samples, scale, holes, console, weights)
        stages.begin("looking at numbers of clusters")
        counts = range(1, max(min(most, samples.X.shape[0] - 2), 1) + 1)
        selection = select_n_clusters(samples.X, counts, random_state=seed)
        if report is not None:
            estimator = methods.make_estimator("AFCM", selection.n_clusters, seed)
            methods.fit_estimator(estimator, samples.X, stages)
            settings = {"command": format_command_line(), "file": data, "scale": scale.value, "seed": str(seed)}
            FittedModel(estimator, steps, samples, settings).write_page(report, selection=selection)
    if json:
        table = [{name: outcome.to_json_value(value) for name, value in row.items()} for row in selection.table]
        found = {"n_clusters": selection.n_clusters, "reason": selection.reason, "alternative": selection.alternative}
        found["agreement"] = selection.agreement
        found |= {"background_share": selection.background_share, "votes": selection.votes, "table": table}
        outcome.print_json(found | {"notes": samples.remarks})
    else:
        typer.echo(str(selection) if report is None else f"{selection}\nwritten: {report}")
