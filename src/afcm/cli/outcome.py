"""What a command found: words, JSON, a table, a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import typer

from afcm.cli.samples import Samples
from afcm.doubt import AMBIGUOUS, ambiguity, honest_memberships
from afcm.metrics import adjusted_rand, clustering_accuracy, normalized_mutual_info

SCORES = {"ACC": clustering_accuracy, "NMI": normalized_mutual_info, "ARI": adjusted_rand}


def check_folder(option: str, path: Path | None) -> None:
    """A file that is asked for can be written, as far as one can tell before."""
    if path is None or str(path) == "-":
        return
    if path.is_dir():
        raise ValueError(f"{option} {path} is a folder; give a file")
    if not path.parent.is_dir():
        raise ValueError(f"{option} {path}: the folder {path.parent} does not exist; make it first")


def memberships_of(estimator: Any, X: Any = None) -> Any:
    """Memberships of the fitted samples, or of X; of hard methods as 0 and 1."""
    if X is None and hasattr(estimator, "memberships_"):
        return estimator.memberships_
    if X is not None and hasattr(estimator, "predict_proba"):
        return estimator.predict_proba(X)
    labels = estimator.labels_ if X is None else estimator.predict(X)
    return np.eye(int(estimator.labels_.max()) + 1)[labels]


def doubts(estimator: Any, X: Any = None) -> Any:
    """Ambiguity of each sample, fitted or in X; hard methods have none."""
    soft = hasattr(estimator, "memberships_")
    return ambiguity(honest_memberships(estimator, X) if soft else memberships_of(estimator, X))


def scores(samples: Samples, labels: Any) -> dict[str, float]:
    """Agreement with the known classes, over the rows that have one."""
    classes = samples.column(samples.label)
    if classes is None:
        return {}
    known = [i for i, value in enumerate(classes) if value is not None]
    if not known:
        raise ValueError(f"--label {samples.label}: the column has no value; leave the option out")
    truth = np.unique([str(classes[i]) for i in known], return_inverse=True)[1]
    return {name: round(float(score(truth, np.asarray(labels)[known])), 6) for name, score in SCORES.items()}


def described(estimator: Any, samples: Samples, doubt: Any) -> dict[str, Any]:
    """What a fit found, for JSON."""
    sizes = np.bincount(estimator.labels_, minlength=memberships_of(estimator).shape[1])
    found: dict[str, Any] = {
        "method": type(estimator).__name__,
        "n_samples": len(estimator.labels_),
        "columns": samples.columns,
        "n_clusters": len(sizes),
        "sizes": sizes.tolist(),
        "ambiguous": int((doubt >= AMBIGUOUS).sum()),
    }
    for name in ("objective_", "gamma_", "crispness_", "membership_state_", "converged_", "n_iter_"):
        if hasattr(estimator, name):
            found[name.rstrip("_")] = plain(getattr(estimator, name))
    return found | {"scores": scores(samples, estimator.labels_)}


def plain(value: Any) -> Any:
    """Numbers that JSON knows."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


def print_json(found: dict[str, Any]) -> None:
    """One object on standard output."""
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False))
