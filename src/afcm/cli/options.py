"""The options that several commands share, each described once, and how their text is parsed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Scale(StrEnum):
    minmax = "minmax"
    standard = "standard"
    none = "none"


class Missing(StrEnum):
    error = "error"
    drop = "drop"
    impute = "impute"


Data = Annotated[
    str, typer.Argument(help="CSV, TSV, Parquet, NPY or NPZ file (CSV also .gz), or - for standard input.")
]
Columns = Annotated[
    list[str] | None, typer.Option(help="Columns to cluster by, with commas or repeated. Default: all of numbers.")
]
Drop = Annotated[list[str] | None, typer.Option(help="Columns to leave out, likewise.")]
Id = Annotated[str | None, typer.Option("--id", help="Column that names the samples; kept out of the fit.")]
Label = Annotated[str | None, typer.Option(help="Column of known classes; kept out of the fit, used for scores.")]
Scaling = Annotated[Scale, typer.Option(help="Bring columns to [0, 1], to mean 0 and deviation 1, or not at all.")]
MissingValues = Annotated[
    Missing,
    typer.Option(help="Rows with missing values: refuse, leave without a label, or fill in the column's median."),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of everything random.")]
Clusters = Annotated[str, typer.Option(help="Number of clusters, or auto to count them.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]
Format = Annotated[str | None, typer.Option(help="csv, tsv, parquet, npy or npz. Default: by the ending.")]
Delimiter = Annotated[str | None, typer.Option(help="Between fields of a text file. Default: comma, tab for TSV.")]
Encoding = Annotated[str, typer.Option(help="Of a text file, for example latin-1.")]
Header = Annotated[bool | None, typer.Option("--header/--no-header", help="The first line holds names of columns.")]
Report = Annotated[Path | None, typer.Option(help="HTML page to write.")]

Noise = Annotated[
    str,
    typer.Option(
        help="Background that belongs to no cluster (AFCM alone): auto looks for it, a number between 0 and 1 is its "
        "share, none does not look and writes no outlier_score. Default: auto."
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
