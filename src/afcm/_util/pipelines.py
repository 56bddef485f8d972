"""A clusterer at the end of a scikit-learn pipeline."""

from __future__ import annotations

from typing import Any


def last_step(model: Any) -> Any:
    """The clusterer of a pipeline; anything else is itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def transform_before_last_step(model: Any, X: Any) -> Any:
    """X after all steps of a pipeline but the last."""
    return X if X is None or len(getattr(model, "steps", ())) < 2 else model[:-1].transform(X)
