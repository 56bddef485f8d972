"""What a command found: words, JSON, a table, a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import typer

from afcm.cli.samples import Samples
from afcm.report.verdict import Scores, Verdict


def check_folder(option: str, path: Path | None) -> None:
    """A file that is asked for can be written, as far as one can tell before."""
    if path is None or str(path) == "-":
        return
    if path.is_dir():
        raise ValueError(f"{option} {path} is a folder; give a file")
    if not path.parent.is_dir():
        raise ValueError(f"{option} {path}: the folder {path.parent} does not exist; make it first")


def judged(estimator: Any, samples: Samples) -> Verdict:
    """The fit as the report sees it."""
    return Verdict.on(estimator, samples.X, samples.column(samples.label))


def scored(scores: Scores | None) -> dict[str, float]:
    """Agreement with the known classes, for JSON."""
    if scores is None:
        return {}
    return {name: round(value, 6) for name, value in zip(("ACC", "NMI", "ARI"), scores[:3], strict=True)}


def described(verdict: Verdict, estimator: Any, samples: Samples) -> dict[str, Any]:
    """What a fit found, for JSON."""
    found: dict[str, Any] = {
        "method": type(estimator).__name__,
        "n_samples": verdict.n_samples,
        "columns": samples.columns,
        "n_clusters": verdict.n_clusters,
        "sizes": verdict.sizes.tolist(),
        "ambiguous": len(verdict.ambiguous),
    }
    for name in ("objective_", "gamma_", "crispness_", "membership_state_", "converged_", "n_iter_"):
        if hasattr(estimator, name):
            found[name.rstrip("_")] = plain(getattr(estimator, name))
    return found | {"scores": scored(verdict.scores)}


def plain(value: Any) -> Any:
    """Numbers that JSON knows."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


def print_json(found: dict[str, Any]) -> None:
    """One object on standard output."""
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False))
