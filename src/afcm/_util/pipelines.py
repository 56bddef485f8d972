"""The clusterer at the end of a scikit-learn pipeline, and the samples as it sees them."""

from __future__ import annotations

from typing import Any


def last_step(model: Any) -> Any:
    """The last step of a pipeline; any other model unchanged."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def transform_before_last_step(model: Any, X: Any) -> Any:
    """X after all steps of a pipeline but the last; None stays None."""
    return X if X is None or len(getattr(model, "steps", ())) < 2 else model[:-1].transform(X)
