"""Describe a fit as JSON, and check beforehand that result files can be written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from afcm.cli.samples import Samples
from afcm.tabular.columns import join_names
from afcm.tabular.writing import find_writer

if TYPE_CHECKING:
    from afcm.report.verdict import Scores, Verdict


def check_file(option: str, path: Path | None) -> None:
    """Refuse a path that cannot be written, as far as one can tell before the work is done."""
    if path is None or str(path) == "-":
        return
    if path.is_dir():
        raise ValueError(f"{option} {path} is a folder; give a file")
    if not path.parent.is_dir():
        raise ValueError(f"{option} {path}: the folder {path.parent} does not exist; make it first")


def check_table_file(out: Path | None, *, json: bool = False) -> None:
    """Check the file of ``--out``, its ending too."""
    if out is None:
        return
    check_file("--out", out)
    find_writer(out)
    if json and str(out) == "-":
        raise ValueError("--json and --out - both write to standard output; give --out a file")


def format_scores(scores: Scores | None) -> dict[str, float]:
    if scores is None:
        return {}
    return {name: round(value, 6) for name, value in zip(("ACC", "NMI", "ARI"), scores[:3], strict=True)}


def describe_fit(verdict: Verdict, estimator: Any, samples: Samples) -> dict[str, Any]:
    """Return the facts about a fit that ``--json`` prints."""
    found: dict[str, Any] = {
        "method": type(estimator).__name__,
        "n_samples": verdict.n_samples,
        "columns": samples.columns,
        "n_clusters": verdict.n_clusters,
        "sizes": verdict.sizes.tolist(),
        "ambiguous": len(verdict.ambiguous),
    }
    if verdict.fit.outlier_scores is not None:
        found["outliers"] = len(verdict.outliers)
    memberships = ("membership_method_", "membership_state_", "crispness_")
    for name in ("noise_share_", "objective_", "gamma_", *memberships, "converged_", "n_iter_"):
        if hasattr(estimator, name):
            found[name.rstrip("_")] = to_json_value(getattr(estimator, name))
    if verdict.fit.stability is not None:
        found["stability"] = [round(value, 6) for value in verdict.fit.stability.tolist()]
    if hasattr(estimator, "known_source_"):
        found |= {"known_source": estimator.known_source_, "cluster_names": estimator.cluster_names_.tolist()}
    return found | {"scores": format_scores(verdict.scores)}


def describe_known(estimator: Any) -> list[str]:
    """Return a sentence about the clusters that known labels name, if there are any."""
    names = getattr(estimator, "cluster_names_", [])
    named = [f"{number} is {name}" for number, name in enumerate(names) if name]
    if not named:
        return []
    follow = {"clusters": "the clusters", "discriminant": "a linear discriminant", "both": "clusters and discriminant"}
    others = follow[estimator.known_source_]
    return [f"Known labels: cluster {join_names(named)}. Rows without a known label follow {others}."]


def to_json_value(value: Any) -> Any:
    """Return NumPy's numbers as Python's; NaN and infinity, which JSON lacks, are None."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


def print_json(found: dict[str, Any]) -> None:
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False))
