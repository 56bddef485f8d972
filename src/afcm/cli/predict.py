"""``afcm predict``: label the rows of a table by a model that was fitted before."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from afcm._util.pipelines import last_step, transform_before_last_step
from afcm.cli import options, outcome
from afcm.cli.console import collect_warnings, make_console, report_errors
from afcm.cli.progress import show_progress
from afcm.cli.samples import Samples, Source
from afcm.tabular import TableError, choose_columns, iterate_results, name_result_columns, write_table
from afcm.tabular.columns import join_names


def predict(
    model: Annotated[Path, typer.Argument(help="Model file from afcm fit or afcm.save_model.")],
    data: options.Data,
    *,
    out: Annotated[Path, typer.Option(help="As for afcm fit.")],
    label: options.Label = None,
    missing: Annotated[options.Missing | None, typer.Option(help="As for afcm fit. Default: as the model.")] = None,
    json: options.Json = False,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    header: options.Header = None,
) -> None:
    """Label the rows of a table by a model that was fitted before; the model is not changed.

    The columns are those of afcm fit.

    Example: afcm predict model.afcm new.csv --out labelled.csv
    """
    console = make_console()
    warned, shown = collect_warnings(console), show_progress(console, f"reading {data}")
    with report_errors(console), warned as notes, shown as stages:
        from afcm.modelfiles import load_model, read_info

        outcome.check_table_file(out, json=json)
        fitted, about = load_model(model), dict(read_info(model).info)
        samples = load_for_model(fitted, about, Source(data, format, delimiter, encoding, header), label)
        usual = options.Missing(about.get("missing", "fill" if samples.mixed else "error"))
        samples = samples.handle_missing(missing or usual, console)
        stages.begin("labelling")
        found = label_samples(fitted, samples, out)
    if json:
        outcome.print_json(found | {"notes": notes})
    elif str(out) != "-":
        sizes = ", ".join(str(size) for size in found["sizes"])
        outliers = f"; {found['outliers']} look like background" if found.get("outliers") else ""
        typer.echo(f"{found['n_samples']} samples in clusters of {sizes}; {found['ambiguous']} ambiguous{outliers}")
        typer.echo(f"written: {out}")


def load_for_model(fitted: Any, about: dict[str, Any], source: Source, label: str | None) -> Samples:
    """Read samples with the model's columns, in its order."""
    return choose_for_model(fitted, about, source.read(), source.path, label)


def choose_for_model(fitted: Any, about: dict[str, Any], table: pa.Table, where: str, label: str | None) -> Samples:
    """Choose the model's columns of a table, in its order; errors call the table what ``where`` says."""
    names = list(about.get("columns") or getattr(fitted, "feature_names_in_", []))
    absent = [name for name in names if name not in table.column_names]
    if absent:
        known = join_names(table.column_names)
        raise TableError(f"{where} lacks the model's column {absent[0]!r}; it has {known}")
    mixed = takes_tables(fitted)
    names = choose_columns(table, names, label=label, constant=True, mixed=mixed).names
    if len(names) != fitted.n_features_in_:  # a model from Python, fitted on a plain array
        raise TableError(
            f"{where} has {len(names)} columns of numbers, the model {fitted.n_features_in_} features; leave the "
            "other columns out of the file"
        )
    return Samples.read(table, names, mixed=mixed, label=label)


def takes_tables(fitted: Any) -> bool:
    """Whether a model begins with a scaler that takes columns of any kind."""
    from afcm.tables import TableScaler

    return isinstance(getattr(fitted, "steps", [(None, None)])[0][1], TableScaler)


def transform_for_model(fitted: Any, samples: Samples) -> Any:
    """Return the samples as the last step of a model takes them."""
    with warnings.catch_warnings():  # the columns were chosen by their names
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return transform_before_last_step(fitted, samples.features if samples.mixed else samples.X)


def label_samples(fitted: Any, samples: Samples, out: Path) -> dict[str, Any]:
    """Write the table with labels and memberships by the model; return the findings."""
    from afcm.metrics.ambiguity import ambiguity, is_ambiguous
    from afcm.models.background import CLEAR
    from afcm.report.verdict import name_classes, score_labels

    estimator, X = last_step(fitted), transform_for_model(fitted, samples)
    labels = estimator.predict(X)
    soft = hasattr(estimator, "predict_proba")
    memberships = estimator.predict_proba(X) if soft else np.eye(estimator.n_clusters)[labels]
    doubt = ambiguity(memberships)
    scores = np.asarray(estimator.outlier_scores(X)) if hasattr(estimator, "outlier_scores_") else None
    write_table(iterate_results(samples.table, labels, memberships, doubt, samples.rows, outlier_scores=scores), out)
    classes = samples.get_column(samples.label)
    found = {
        "method": type(estimator).__name__,
        "n_samples": len(labels),
        "n_clusters": memberships.shape[1],
        "sizes": np.bincount(labels, minlength=memberships.shape[1]).tolist(),
        "ambiguous": int(is_ambiguous(doubt).sum()),
        "scores": outcome.format_scores(None if classes is None else score_labels(name_classes(classes), labels)),
        "added_columns": name_result_columns(samples.table, memberships, scored=scores is not None),
        "files": [str(out)],
    }
    return found if scores is None else found | {"outliers": int((scores >= CLEAR).sum())}
