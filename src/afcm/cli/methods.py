"""The clustering methods of the command line by name: make one with its parameters, and fit it."""

from __future__ import annotations

import inspect
import json
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from afcm._util.progress import listen
from afcm.catalogue import CATALOGUE
from afcm.cli.options import parse_noise, parse_views
from afcm.cli.progress import Stages

# From one checkpoint to the next, which does not keep a disk busy.
CHECKPOINT_SECONDS = 10.0
# Name → its module, loaded when it is used.
METHODS = {entry.name: entry.module for entry in CATALOGUE} | {"KMeans": "sklearn.cluster"}


def find_class(name: str) -> Any:
    """Return the estimator of a name in upper or lower case."""
    known = {key.lower(): key for key in METHODS}
    if name.lower() not in known:
        raise ValueError(f"--method {name} is not known; use one of {', '.join(METHODS)}")
    key = known[name.lower()]
    return getattr(import_module(METHODS[key]), key)


def parse_settings(pairs: list[str] | None) -> dict[str, Any]:
    """Return ``["n_neighbors=7", "kernel=local"]`` as parameters; values are JSON, or else text."""
    found = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"--set {pair} must look like name=value, for example --set max_iter=50")
        try:
            found[name.strip()] = json.loads(value)
        except json.JSONDecodeError:
            found[name.strip()] = value
    return found


def add_noise(changes: dict[str, Any], method: str, noise: str) -> dict[str, Any]:
    """Return the parameters with that of ``--noise``, which an empty text leaves as it is."""
    if noise:
        refuse_others("--noise", "noise", changes, method, lack="does not look for background")
        return changes | {"noise": parse_noise(noise)}
    return changes


def add_views(changes: dict[str, Any], method: str, views: str) -> dict[str, Any]:
    """Return the parameters with that of ``--views``, which an empty text leaves as it is."""
    if views:
        refuse_others("--views", "n_views", changes, method, lack="does not compare graphs")
        return changes | {"n_views": parse_views(views)}
    return changes


def add_metric(changes: dict[str, Any], method: str, metric: str) -> dict[str, Any]:
    """Return the parameters with that of ``--metric``, which an empty text leaves as it is."""
    if metric:
        refuse_others("--metric", "metric", changes, method, lack="has no other metric")
        if metric not in ("euclidean", "cosine"):
            raise ValueError(f"--metric {metric} must be euclidean or cosine")
        return changes | {"metric": metric}
    return changes


def check_level(level: int | None, method: str, clusters: int | str) -> None:
    """Refuse a level that the fit will not have, as far as one can tell before it."""
    if level is None:
        return
    name = find_class(method).__name__
    if name != "AFCM":
        raise ValueError(f"--level: {name} has no levels; use --method AFCM, or leave the option out")
    if isinstance(clusters, int) and level > clusters:
        raise ValueError(f"--level {level} must be at most --clusters {clusters}, the clusters that are joined")


def take_level(estimator: Any, level: int | None) -> Any:
    """Return the fitted estimator with so many clusters."""
    if level is None:
        return estimator
    if level > estimator.n_clusters_:
        raise ValueError(f"--level {level} is more than the {estimator.n_clusters_} clusters found; give --clusters")
    return estimator.at(level)


def refuse_others(option: str, parameter: str, changes: dict[str, Any], method: str, *, lack: str) -> None:
    """Raise ValueError if the parameter, which only AFCM has, is not the method's, or is already given."""
    name = find_class(method).__name__
    if name != "AFCM":
        raise ValueError(f"{option}: {name} {lack}; use --method AFCM, or leave the option out")
    if parameter in changes:
        raise ValueError(f"{option} and --set {parameter}=… say the same; give one of them")


def make_estimator(name: str, n_clusters: int | str, seed: int, changes: dict[str, Any] | None = None) -> Any:
    cls, changes = find_class(name), changes or {}
    allowed = set(inspect.signature(cls).parameters) - {"n_clusters", "random_state", "callback"}
    unknown = [key for key in changes if key not in allowed]
    if unknown:
        known = ", ".join(sorted(allowed))
        raise ValueError(f"--set {unknown[0]}: {cls.__name__} has no such parameter; it has {known}")
    return cls(n_clusters, random_state=seed, **changes)


def count_clusters(X: Any) -> int:
    """Count clusters as AFCM does, for methods that cannot."""
    from afcm.estimators.afcm import AFCM

    parts = AFCM("auto").prepare(X).parts
    return max(parts.count, 1) if parts is not None else 1


def fit_estimator(
    estimator: Any, X: Any, stages: Stages, checkpoint: Path | None = None, *, known: Any = None
) -> float:
    """Fit with a bar, and a checkpoint, if the estimator reports its sweeps; return the seconds."""
    name, reports = type(estimator).__name__, "callback" in estimator.get_params()
    if estimator.n_clusters == "auto" and name != "AFCM":
        stages.begin("counting clusters")
        estimator.set_params(n_clusters=count_clusters(X))
    stages.begin(f"fitting {name}")
    began = time.perf_counter()
    if checkpoint is not None and not reports:
        raise ValueError(f"--checkpoint: {name} does not write checkpoints; leave the option out")
    if reports:
        estimator.set_params(callback=make_callback(estimator, stages, checkpoint))
    try:
        with listen(stages.advance):
            estimator.fit(X, known)
    finally:
        if reports:
            estimator.set_params(callback=None)
    return round(time.perf_counter() - began, 3)


def make_callback(estimator: Any, stages: Stages, checkpoint: Path | None) -> Any:
    from afcm.checkpoints import Checkpoint
    from afcm.estimators.centers import DEFAULT_RUNS

    n_runs = estimator.n_init if isinstance(estimator.n_init, int) else DEFAULT_RUNS
    look = stages.follow_sweeps(float(estimator.tol), estimator.max_iter, n_runs)
    return look if checkpoint is None else Checkpoint(checkpoint, every=1, seconds=CHECKPOINT_SECONDS, callback=look)
