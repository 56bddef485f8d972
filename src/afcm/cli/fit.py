"""``afcm fit``: cluster the rows of a table and write labels, a model file and a report page."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from afcm.cli import aligning, methods, options, outcome
from afcm.cli.console import collect_warnings, format_command_line, make_console, report_errors
from afcm.cli.progress import show_progress
from afcm.cli.samples import Samples, Source, fit_steps, load_samples
from afcm.tabular import iterate_results, name_result_columns, write_table


def fit(
    data: options.Data,
    *,
    clusters: options.Clusters = "auto",
    level: options.Level = None,
    out: options.Out = None,
    model: options.ModelFile = None,
    report: options.Report = None,
    checkpoint: options.Checkpoint = None,
    align_to: options.AlignTo = None,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(methods.METHODS)}.")] = "AFCM",
    set: options.Settings = None,
    metric: options.Metric = "",
    noise: options.Noise = "",
    views: options.Views = "",
    columns: options.Columns = None,
    drop: options.Drop = None,
    id: options.Id = None,
    label: options.Label = None,
    known: options.Known = None,
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
    """Cluster the rows of a table: labels, memberships and an ambiguity score for each, with AFCM an outlier score too.

    Example: afcm fit data.csv --clusters 3 --out result.parquet --model model.afcm --report report.html
    """
    console = make_console()
    warned, shown = collect_warnings(console, aloud=False), show_progress(console, f"reading {data}")
    with report_errors(console), warned as notes, shown as stages:
        began = time.perf_counter()
        for option, path in (("--checkpoint", checkpoint), ("--model", model), ("--report", report)):
            outcome.check_file(option, path)
        outcome.check_table_file(out, json=json)
        methods.check_level(level, method, options.parse_count(clusters))
        changes = methods.add_noise(methods.parse_settings(set), method, noise)
        changes = methods.add_metric(methods.add_views(changes, method, views), method, metric)
        estimator = methods.make_estimator(method, options.parse_count(clusters), seed, changes)
        aligning.check_option(align_to, estimator, known)
        source = Source(data, format, delimiter, encoding, header)
        holes, weights = options.choose_missing(missing, scale), options.parse_weights(weight, scale)
        mixed = scale is options.Scale.table
        kept = {"id": id, "label": label, "known": known}
        samples = load_samples(source, holes, console, mixed=mixed, columns=columns, drop=drop, **kept)
        labels, steps = samples.read_known(method), fit_steps(samples, scale, holes, console, weights)
        old = None if align_to is None else aligning.OldClusters.read(align_to, samples)
        fit_seconds = methods.fit_estimator(estimator, samples.X, stages, checkpoint, known=labels)
        estimator = methods.take_level(estimator, level)
        aligned = None if old is None else old.align(estimator)
        stages.begin("writing")
        settings = {"command": format_command_line(), "file": data, "scale": scale.value}
        settings |= {"missing": holes.value, "seed": str(seed)}
        estimator = estimator if aligned is None else aligned.model
        found, summary = write_outputs(FittedModel(estimator, steps, samples, settings), out, model, report)
        if old is not None and aligned is not None:
            found["alignment"], summary = aligned.table, [*summary, *old.describe(aligned)]
        found |= {
            "notes": [*samples.remarks, *notes],
            "fit_seconds": fit_seconds,
            "seconds": round(time.perf_counter() - began, 3),
        }
    if json:
        outcome.print_json(found)
    elif str(out) != "-":
        typer.echo("\n".join([*summary, *(f"written: {path}" for path in found["files"])]))


@dataclass(frozen=True)
class FittedModel:
    """A fitted estimator, the steps before it, its samples and the options it was made with."""

    estimator: Any
    steps: list[tuple[str, Any]]
    samples: Samples
    settings: dict[str, str]

    def save(self, path: Path) -> None:
        """Write a model file, with the facts that `afcm predict` needs."""
        from sklearn.pipeline import Pipeline

        from afcm.modelfiles import save_model

        estimator, samples = self.estimator, self.samples
        if not hasattr(estimator, "predict"):
            raise ValueError(f"--model: {type(estimator).__name__} cannot label new samples; leave the option out")
        if not self.steps:
            estimator.feature_names_in_ = np.array(samples.columns, dtype=object)
        model = Pipeline([*self.steps, ("cluster", estimator)]) if self.steps else estimator
        about = {"columns": samples.columns, "id": samples.id, "label": samples.label, **self.settings}
        save_model(model, path, info=about)

    def write_page(self, report: Path, model: Path | None = None, selection: Any = None) -> None:
        """Write the report page, with features in the table's units."""
        from afcm.report import Findings, write_report

        samples = self.samples
        findings = Findings.of(
            self.estimator,
            samples.X,
            features=samples.features,
            feature_names=samples.columns,
            ids=samples.get_column(samples.id),
            id_name=samples.id or "row",
            classes=samples.get_column(samples.label),
            title=f"{self.settings['file']}: {type(self.estimator).__name__}",
            settings=self.settings,
            selection=selection,
            model_file=None if model is None else model.name,
        )
        write_report(findings, report)


def write_outputs(
    fitted: FittedModel, out: Path | None, model: Path | None, report: Path | None
) -> tuple[dict[str, Any], list[str]]:
    """Write the files that were asked for; return the findings for machines and for people."""
    from afcm.report.verdict import Verdict

    samples = fitted.samples
    if report is None:  # X is not needed any more, and the result needs the memory
        samples.X = samples.X[:0].copy()
    verdict = Verdict.on(fitted.estimator, samples.get_column(samples.label))
    found = outcome.describe_fit(verdict, fitted.estimator, samples)
    if model is not None:
        fitted.save(model)
    if report is not None:
        fitted.write_page(report, model)
    if out is not None:
        results, scores = (verdict.fit.labels, verdict.fit.memberships, verdict.ambiguity), verdict.fit.outlier_scores
        write_table(iterate_results(samples.table, *results, samples.rows, outlier_scores=scores), out)
        names = name_result_columns(samples.table, verdict.fit.memberships, scored=scores is not None)
        found["added_columns"] = names
    found["files"] = [str(path) for path in (out, model, report) if path is not None]
    return found, [*verdict.summary, *outcome.describe_known(fitted.estimator)]
