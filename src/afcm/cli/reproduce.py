"""``afcm reproduce``: run the paper's experiments and compare with the printed numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from afcm._util.messages import to_one_line
from afcm.cli.console import format_command_line, make_console, report_errors, say
from afcm.cli.options import split_names
from afcm.experiments.plan import EXPERIMENTS, Spec, choose_specs
from afcm.experiments.record import Row, RowStore


def reproduce(
    *,
    data: Annotated[
        Path | None, typer.Option(help="Folder with the data sets' archives (else AFCM_DATA, else the cache).")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for rows and report.")] = Path("out/reproduction"),
    only: Annotated[
        list[str] | None, typer.Option(help="A data set; repeat or separate by commas. Default: all.")
    ] = None,
    method: Annotated[list[str] | None, typer.Option(help="A method, likewise.")] = None,
    experiment: Annotated[list[str] | None, typer.Option(help=f"One of {', '.join(EXPERIMENTS)}; likewise.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Runs per grid point. Default: the paper's 10.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes. Default: one per core.")] = None,
) -> None:
    """Run the paper's tables and figures and compare with what it prints.

    Rows are kept in OUT/rows.jsonl as they finish. A run that was stopped goes on where it was.
    """
    console = make_console()
    with report_errors(console, f"stopped; the rows so far are in {out}: the same command goes on from there"):
        from afcm.experiments.report import write_report

        specs = choose_specs(split_names(experiment), split_names(only), split_names(method), seeds)
        check_data(specs, data, console)
        with RowStore(out / "rows.jsonl") as store:
            rows = run_with_progress(specs, store, data, jobs, console)
        written = write_report(rows, out, command=format_command_line())
    typer.echo(str(written[0]))


def check_data(specs: list[Spec], folder: Path | None, console: Console) -> None:
    """Read every data set before the first run: a wrong file is an error, a missing one will be skipped rows."""
    from afcm.datasets import DatasetCorrupt, DatasetNotFound, load_dataset
    from afcm.experiments.methods import TOYS

    if folder is not None and not folder.is_dir():
        raise ValueError(f"--data {folder} is not a folder")
    for name in dict.fromkeys(name for spec in specs for name in spec.datasets if name not in TOYS):
        try:
            load_dataset(name, folder=folder, download=False)
        except DatasetNotFound as error:
            say(console, f"skipping {name}: {to_one_line(error)}")
        except DatasetCorrupt as error:
            raise ValueError(str(error)) from error


def run_with_progress(
    specs: list[Spec], store: RowStore, folder: Path | None, jobs: int | None, console: Console
) -> list[Row]:
    """Run the experiments, with a bar and the time left on a terminal."""
    from afcm.experiments.runner import reproduce as run

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task(f"{len(store.rows)} rows", total=None)

        def on_plan(cost: float) -> None:
            progress.update(bar, total=(progress.tasks[0].total or 0.0) + cost)

        def on_row(row: Row, cost: float) -> None:
            progress.update(bar, advance=cost, description=f"{len(store.rows)} rows, {row.dataset} {row.method}")

        place = None if folder is None else str(folder.resolve())
        return run(specs, store, folder=place, jobs=jobs, on_plan=on_plan, on_row=on_row)
