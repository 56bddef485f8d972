"""``afcm predict``."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from afcm._util.pipelines import last_step, seen_by_last_step
from afcm.cli import options, outcome
from afcm.cli.console import guarded, make_console, told
from afcm.cli.progress import working
from afcm.cli.samples import Samples, Source
from afcm.metrics.ambiguity import ambiguity, honest_memberships, is_ambiguous
from afcm.report.verdict import known_classes, scores_of
from afcm.tabular import TableError, choose_columns, iterate_results, name_result_columns, write_table
from afcm.tabular.columns import to_matrix
from afcm.tabular.errors import join_names
from afcm.tabular.writing import find_writer


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

    Example: afcm predict model.afcm new.csv --out labelled.csv
    """
    console = make_console()
    with guarded(console), told(console) as notes, working(console, f"reading {data}") as stages:
        outcome.check_folder("--out", out)
        find_writer(out)
        if json and str(out) == "-":
            raise ValueError("--json and --out - both write to standard output; give --out a file")
        fitted, about = opened(model)
        samples = load_for(fitted, about, Source(data, format, delimiter, encoding, header), label)
        samples = samples.complete(missing or options.Missing(about.get("missing", "error")), console)
        stages.begin("labelling")
        found = labelled(fitted, samples, out)
    if json:
        outcome.print_json(found | {"notes": notes})
    elif str(out) != "-":
        sizes = ", ".join(str(size) for size in found["sizes"])
        typer.echo(f"{found['n_samples']} samples in clusters of {sizes}; {found['ambiguous']} ambiguous")
        typer.echo(f"written: {out}")


def opened(path: Path) -> tuple[Any, dict[str, Any]]:
    """A model, and what was noted when it was saved."""
    from afcm.modelfiles import load_model, read_info

    return load_model(path), dict(read_info(path).info)


def load_for(fitted: Any, about: dict[str, Any], source: Source, label: str | None) -> Samples:
    """The samples with the model's columns, in its order."""
    table = source.read()
    names = list(about.get("columns") or getattr(fitted, "feature_names_in_", []))
    absent = [name for name in names if name not in table.column_names]
    if absent:
        raise TableError(
            f"{source.path} lacks the model's column {absent[0]!r}; it has {join_names(table.column_names)}"
        )
    names = choose_columns(table, names, label=label, constant=True).names
    if len(names) != fitted.n_features_in_:  # a model from Python, fitted on a plain array
        raise TableError(
            f"{source.path} has {len(names)} columns of numbers, the model {fitted.n_features_in_} features; leave the "
            "other columns out of the file"
        )
    return Samples(table, names, to_matrix(table, names), label=label)


def labelled(fitted: Any, samples: Samples, out: Path) -> dict[str, Any]:
    """Memberships of the samples, written with their table."""
    estimator, X = last_step(fitted), transformed(fitted, samples.X)
    labels, memberships = estimator.predict(X), memberships_of(estimator, X)
    soft = hasattr(estimator, "memberships_")
    doubt = ambiguity(honest_memberships(estimator, X) if soft else memberships)
    write_table(iterate_results(samples.table, labels, memberships, doubt, samples.rows), out)
    classes = samples.column(samples.label)
    return {
        "method": type(estimator).__name__,
        "n_samples": len(labels),
        "n_clusters": memberships.shape[1],
        "sizes": np.bincount(labels, minlength=memberships.shape[1]).tolist(),
        "ambiguous": int(is_ambiguous(doubt).sum()),
        "scores": outcome.scored(None if classes is None else scores_of(known_classes(classes), labels)),
        "added_columns": name_result_columns(samples.table, memberships.shape[1]),
        "files": [str(out)],
    }


def memberships_of(estimator: Any, X: Any) -> Any:
    """Memberships of new samples; of a hard method 0 and 1."""
    if hasattr(estimator, "predict_proba"):
        return estimator.predict_proba(X)
    return np.eye(estimator.n_clusters)[estimator.predict(X)]


def transformed(model: Any, X: Any) -> Any:
    """Samples as the clusterer of a pipeline sees them."""
    with warnings.catch_warnings():  # the columns were chosen by their names
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return seen_by_last_step(model, X)
