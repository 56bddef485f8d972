"""The options that several commands share, each described once, and how their text is parsed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Scale(StrEnum):
    table = "table"
    minmax = "minmax"
    standard = "standard"
    none = "none"


class Missing(StrEnum):
    fill = "fill"
    error = "error"
    drop = "drop"
    impute = "impute"


Data = Annotated[
    str, typer.Argument(help="CSV, TSV, Parquet, NPY or NPZ file (CSV also .gz), or - for standard input.")
]
Columns = Annotated[
    list[str] | None, typer.Option(help="Columns to cluster by, with commas or repeated. Default: all but ids.")
]
Drop = Annotated[list[str] | None, typer.Option(help="Columns to leave out, likewise.")]
Id = Annotated[str | None, typer.Option("--id", help="Column that names the samples; kept out of the fit.")]
Label = Annotated[str | None, typer.Option(help="Column of known classes; kept out of the fit, used for scores.")]
Known = Annotated[
    str | None,
    typer.Option(
        help="Column of labels known of some rows, empty or -1 for the others (AFCM alone): these rows keep their "
        "label, the others follow."
    ),
]
Scaling = Annotated[
    Scale,
    typer.Option(
        help="table: numbers, dates, yes/no and categories have an equal say. Of columns of numbers alone: minmax "
        "brings them to [0, 1], standard to mean 0 and deviation 1, none leaves them as they are."
    ),
]
MissingValues = Annotated[
    Missing | None,
    typer.Option(
        help="Rows with missing values: fill in what the other columns say (--scale table), refuse, leave without a "
        "label, or impute the column's median. Default: fill, where the scale is not table error."
    ),
]
Weights = Annotated[
    list[str] | None,
    typer.Option("--weight", help="How much a column counts, as income=2; repeat for more (--scale table alone)."),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of everything random.")]
Clusters = Annotated[str, typer.Option(help="Number of clusters, or auto to count them.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]
Format = Annotated[str | None, typer.Option(help="csv, tsv, parquet, npy or npz. Default: by the ending.")]
Delimiter = Annotated[str | None, typer.Option(help="Between fields of a text file. Default: comma, tab for TSV.")]
Encoding = Annotated[str, typer.Option(help="Of a text file, for example latin-1.")]
Header = Annotated[bool | None, typer.Option("--header/--no-header", help="The first line holds names of columns.")]
Out = Annotated[
    Path | None,
    typer.Option(help="The table with labels and memberships: .csv, .tsv, .parquet or .jsonl; - for CSV to stdout."),
]
ModelFile = Annotated[Path | None, typer.Option(help="Model file to write, for afcm predict and afcm.load_model.")]
Checkpoint = Annotated[
    Path | None,
    typer.Option(help="File where a long fit writes down where it is, and goes on from when it is run again."),
]
AlignTo = Annotated[
    Path | None,
    typer.Option(
        help="Model file of an earlier fit: clusters keep the numbers that they have there, new ones get others, and "
        "what became of each is printed."
    ),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="A parameter of the method, as name=value; repeat for more.")
]
Report = Annotated[Path | None, typer.Option(help="HTML page to write.")]

Metric = Annotated[
    str,
    typer.Option(
        help="euclidean, or cosine to compare rows by direction, as embeddings are (AFCM alone; with --scale none "
        "rows are taken as they are). Default: euclidean."
    ),
]
Noise = Annotated[
    str,
    typer.Option(
        help="Background that belongs to no cluster (AFCM alone): auto looks for it, a number between 0 and 1 is its "
        "share, none does not look and writes no outlier_score. Default: auto."
    ),
]
Level = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Join the clusters of the fit until so many are left, and write these (AFCM alone). The report tells "
        "which are joined at every level.",
    ),
]
Views = Annotated[
    str,
    typer.Option(
        help="Other graphs to compare the clusters with (AFCM alone): a number, 0 for none, or auto for 12 where "
        "memberships come from them. They tell how stable each cluster is. Default: auto."
    ),
]


def split_names(values: list[str] | None) -> list[str]:
    """Return ``["a,b", "c"]`` as ``["a", "b", "c"]``; an empty name is a mistake, not everything."""
    parts = [part.strip() for value in values or [] for part in value.split(",")]
    if not all(parts):
        raise ValueError("an option names nothing (an empty variable?); leave it out to have everything")
    return parts


def choose_missing(missing: Missing | None, scale: Scale) -> Missing:
    """Return how missing values are treated: filled by the scaler of tables, or refused unless the option says else."""
    if scale is Scale.table:
        return Missing.fill if missing in (None, Missing.impute) else missing
    if missing is Missing.fill:
        raise ValueError(f"--missing fill needs --scale table, not {scale.value}; use --missing impute for medians")
    return missing or Missing.error


def parse_weights(pairs: list[str] | None, scale: Scale) -> dict[str, float]:
    """Return ``["income=2"]`` as weights by column."""
    if pairs and scale is not Scale.table:
        raise ValueError(f"--weight needs --scale table, not {scale.value}")
    found = {}
    for pair in pairs or []:
        name, _, value = pair.rpartition("=")
        try:
            found[name] = float(value)
        except ValueError:
            name = ""
        if not name:
            raise ValueError(f"--weight {pair} must look like column=number, for example --weight income=2")
    return found


def parse_noise(noise: str) -> float | str | None:
    """Return the parameter ``noise`` of AFCM."""
    if noise in ("auto", "none"):
        return noise if noise == "auto" else None
    try:
        share = float(noise)
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise ValueError(f"--noise {noise} must be auto, none, or a share between 0 and 1 such as 0.1")
    return share


def parse_views(views: str) -> int | str:
    """Return the parameter ``n_views`` of AFCM."""
    if views == "auto":
        return views
    if not views.isdecimal():
        raise ValueError(f"--views {views} must be auto, or a whole number such as 12; 0 compares none")
    return int(views)


def parse_count(clusters: str) -> int | str:
    if clusters == "auto":
        return clusters
    try:
        number = int(clusters)
    except ValueError:
        number = 0
    if number < 1:
        raise ValueError(f"--clusters {clusters} must be a whole number of at least 1, or auto")
    return number
