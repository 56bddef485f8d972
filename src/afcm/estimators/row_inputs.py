"""What comes with X, one row per sample: weights and memberships, checked and beside X wherever its chunks are."""

from __future__ import annotations

from typing import Any

import numpy as np

from afcm import arrays
from afcm.estimators import validation
from afcm.fitting import starts


def weights_for(X: Any, sample_weight: Any) -> Any:
    """Checked weights for the rows of X (chunked as X is), or None."""
    n_samples = X.shape[0]
    if not arrays.is_dask(sample_weight) or not arrays.is_chunked(X):
        weights = validation.check_sample_weight(arrays.to_host(sample_weight), n_samples)
        return beside(X, weights)
    side = arrays.dask_backend()
    weights = side.to_row_array(sample_weight)
    if weights.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected ({n_samples},): one weight per sample")
    fine, total, *span = side.summarize_weights(weights)
    validation.judge_weights(fine, total)
    validation.check_weight_range(*span)
    return side.chunk_like(weights, X)


def init_for(X: Any, init: Any, n_clusters: int) -> tuple[str, Any]:
    """Given memberships (n×c, chunked as X is) or centres (c×d), told apart and checked."""
    if not arrays.is_dask(init) or not arrays.is_chunked(X) or init.shape == (n_clusters, X.shape[1]):
        kind, array = validation.check_init_array(arrays.to_host(init), X.shape[0], n_clusters, X.shape[1])
        return kind, beside(X, array) if kind == "memberships" else array
    side = arrays.dask_backend()
    memberships = side.to_row_array(init)
    if memberships.shape != (X.shape[0], n_clusters):
        validation.refuse_init(memberships.shape, X.shape[0], n_clusters, X.shape[1])
    fine, worst = side.summarize_row_sums(memberships)
    validation.judge_memberships(fine, "the worst row", worst)
    return "memberships", side.chunk_like(memberships / memberships.sum(axis=1, keepdims=True), X)


def random_memberships_for(X: Any, n_clusters: int, random: np.random.RandomState) -> Any:
    """Random memberships of the rows of X; of chunks, drawn where they are, the same however X is chunked."""
    if not arrays.is_chunked(X):
        return starts.draw_memberships(X.shape[0], n_clusters, random)
    return starts.to_memberships(arrays.dask_backend().draw_uniform_rows(n_clusters, int(random.randint(2**31 - 1)), X))


def beside(X: Any, array: Any) -> Any:
    """An array with one row per sample (or None), chunked if X is."""
    return arrays.dask_backend().chunk_like(array, X) if array is not None and arrays.is_chunked(X) else array
