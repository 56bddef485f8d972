"""The methods by name, and one of them made and fitted."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from afcm._util.progress import listening
from afcm.cli.progress import Stages

# From one checkpoint to the next.
CHECKPOINT_SECONDS = 10.0
# Name → where it lives; loaded when it is used.
METHODS = {
    "AFCM": "afcm",
    "PlainAFCM": "afcm",
    "FCM": "afcm",
    "EntropyFCM": "afcm",
    "GeneralizedGaussianMixture": "afcm",
    "RSFKM": "afcm.baselines",
    "CDKM": "afcm.baselines",
    "FKPS": "afcm.baselines",
    "FCAG": "afcm.baselines",
    "SpectralBaseline": "afcm.baselines",
    "KMeans": "sklearn.cluster",
}


def method_class(name: str) -> Any:
    """The estimator by its name, upper or lower case."""
    known = {key.lower(): key for key in METHODS}
    if name.lower() not in known:
        raise ValueError(f"--method {name} is not known; use one of {', '.join(METHODS)}")
    key = known[name.lower()]
    return getattr(import_module(METHODS[key]), key)


def settings(pairs: list[str] | None) -> dict[str, Any]:
    """``["n_neighbors=7", "kernel=local"]`` as parameters; values are JSON, or else text."""
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


def make(name: str, n_clusters: int | str, seed: int, changes: dict[str, Any]) -> Any:
    """An estimator that is not fitted yet."""
    cls = method_class(name)
    parameters = set(inspect.signature(cls).parameters)
    fixed = {"n_clusters", "random_state", "callback"}
    unknown = [key for key in changes if key not in parameters - fixed]
    if unknown:
        allowed = ", ".join(sorted(parameters - fixed))
        raise ValueError(f"--set {unknown[0]}: {cls.__name__} has no such parameter; it has {allowed}")
    return cls(n_clusters, random_state=seed, **changes)


def counted(X: Any) -> int:
    """How many clusters X has, for methods that cannot count."""
    from afcm.estimators.afcm import AFCM

    parts = AFCM("auto").prepare(X).parts
    return max(parts.count, 1) if parts is not None else 1


def fitted(estimator: Any, X: Any, stages: Stages, checkpoint: Path | None = None) -> float:
    """Fit, with a bar (and a checkpoint) where the estimator tells of its sweeps; returns the seconds."""
    if estimator.n_clusters == "auto" and type(estimator).__name__ != "AFCM":
        stages.begin("counting clusters")
        estimator.set_params(n_clusters=counted(X))
    stages.begin(f"fitting {type(estimator).__name__}")
    began, tells = time.perf_counter(), "callback" in estimator.get_params()
    if checkpoint is not None and not tells:
        raise ValueError(f"--checkpoint: {type(estimator).__name__} does not write checkpoints; leave the option out")
    if tells:
        runs = estimator.n_init if isinstance(estimator.n_init, int) else 5
        look = stages.sweeps(float(estimator.tol), estimator.max_iter, runs)
        estimator.set_params(callback=look if checkpoint is None else written(checkpoint, look))
    try:
        with listening(stages.hear):
            estimator.fit(X)
    finally:
        if tells:
            estimator.set_params(callback=None)
    return round(time.perf_counter() - began, 3)


def written(path: Path, look: Callable[[Any], None]) -> Any:
    """A callback that also writes checkpoints, but does not keep a disk busy."""
    from afcm.checkpoints import Checkpoint

    return Checkpoint(path, every=1, seconds=CHECKPOINT_SECONDS, callback=look)
