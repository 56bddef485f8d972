"""``afcm fit``."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from afcm.cli import methods, options, outcome
from afcm.cli.console import guarded, make_console, told, typed
from afcm.cli.progress import working
from afcm.cli.samples import Samples, Source, Wanted, load, prepared
from afcm.report.verdict import Verdict
from afcm.tabular import iterate_results, name_result_columns, write_table
from afcm.tabular.writing import find_writer


def fit(
    data: options.Data,
    *,
    clusters: options.Clusters = "auto",
    out: Annotated[
        Path | None,
        typer.Option(
            help="The table with labels and memberships: .csv, .tsv, .parquet or .jsonl; - for CSV to stdout."
        ),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Model file to write, for afcm predict and afcm.load_model.")
    ] = None,
    report: options.Report = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="File where a long fit writes down where it is, and goes on from when it is run again."),
    ] = None,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(methods.METHODS)}.")] = "AFCM",
    set: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the method, as name=value; repeat for more.")
    ] = None,
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
    """Cluster the rows of a table: labels, memberships and an ambiguity score for each.

    Example: afcm fit data.csv --clusters 3 --out result.parquet --model model.afcm --report report.html
    """
    console = make_console()
    with guarded(console), told(console, aloud=False) as notes, working(console, f"reading {data}") as stages:
        began = time.perf_counter()
        outcome.check_folder("--checkpoint", checkpoint)
        check_outputs(out, model, report, json)
        estimator = methods.make(method, options.count(clusters), seed, methods.settings(set))
        wanted = Wanted(options.split(columns), options.split(drop), id, label)
        samples = load(Source(data, format, delimiter, encoding, header), wanted, missing, console)
        steps = prepared(samples, scale, missing)
        fit_seconds = methods.fitted(estimator, samples.X, stages, checkpoint)
        stages.begin("writing")
        settings = {"command": typed(), "file": data, "scale": scale.value, "missing": missing.value, "seed": str(seed)}
        found = written(Fitted(estimator, steps, samples, settings), out, model, report)
        found |= {"notes": notes, "fit_seconds": fit_seconds, "seconds": round(time.perf_counter() - began, 3)}
    words = found.pop("words")
    if json:
        outcome.print_json(found)
    elif str(out) != "-":
        typer.echo("\n".join([words, *(f"written: {path}" for path in found["files"])]))


def check_outputs(out: Path | None, model: Path | None, report: Path | None, json: bool) -> None:
    """Everything about the files that can be wrong before the work is done."""
    for option, path in (("--out", out), ("--model", model), ("--report", report)):
        outcome.check_folder(option, path)
    if out is not None:
        find_writer(out)
    if json and str(out) == "-":
        raise ValueError("--json and --out - both write to standard output; give --out a file")


@dataclass(frozen=True)
class Fitted:
    """A fit and where it came from."""

    estimator: Any
    steps: list[tuple[str, Any]]
    samples: Samples
    settings: dict[str, str]

    @property
    def model(self) -> Any:
        """The estimator, with the steps before it."""
        from sklearn.pipeline import Pipeline

        return Pipeline([*self.steps, ("cluster", self.estimator)]) if self.steps else self.estimator


def written(fit: Fitted, out: Path | None, model: Path | None, report: Path | None) -> dict[str, Any]:
    """Write what was asked for; returns what was found, for people and machines."""
    if report is None:
        fit.samples.release()
    verdict = outcome.judged(fit.estimator, fit.samples)
    found = outcome.described(verdict, fit.estimator, fit.samples)
    if model is not None:
        save(fit, model)
    if report is not None:
        write_page(fit, report, model)
    if out is not None:
        found["added_columns"] = write_result(out, fit.samples, verdict)
    found["words"] = "\n".join(verdict.summary)
    return found | {"files": [str(path) for path in (out, model, report) if path is not None]}


def write_result(out: Path, samples: Samples, verdict: Verdict) -> list[str]:
    """The table with its new columns, whose names are returned."""
    found = verdict.fit.labels, verdict.fit.memberships, verdict.ambiguity
    write_table(iterate_results(samples.table, *found, samples.rows), out)
    return name_result_columns(samples.table, verdict.n_clusters)


def save(fit: Fitted, path: Path) -> None:
    """The model file, with what `afcm predict` must know."""
    from afcm.modelfiles import save_model

    if not hasattr(fit.estimator, "predict"):
        raise ValueError(f"--model: {type(fit.estimator).__name__} cannot label new samples; leave the option out")
    if not fit.steps:
        fit.estimator.feature_names_in_ = np.array(fit.samples.columns, dtype=object)
    about = {"columns": fit.samples.columns, "id": fit.samples.id, "label": fit.samples.label, **fit.settings}
    save_model(fit.model, path, info=about)


def write_page(fit: Fitted, report: Path, model: Path | None = None, selection: Any = None) -> None:
    """The report page."""
    from afcm.report import Findings, write_report

    samples = fit.samples
    findings = Findings.of(
        fit.estimator,
        samples.X,
        features=samples.features(),
        feature_names=samples.columns,
        ids=samples.column(samples.id),
        id_name=samples.id or "row",
        classes=samples.column(samples.label),
        title=f"{fit.settings['file']}: {type(fit.estimator).__name__}",
        settings=fit.settings,
        selection=selection,
        model_file=None if model is None else model.name,
    )
    write_report(findings, report)
