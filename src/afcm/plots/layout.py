"""Places samples in the plane and draws them there."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.utils.extmath import randomized_svd

from afcm.estimators.validation import check_real
from afcm.plots.colors import cluster_colors, marker, mix_colors, opacity
from afcm.plots.common import MANY_POINTS

# Of the spread, for embeddings, whose clusters are often single points.
EMBEDDING_JITTER = 0.02
# A cluster of fewer samples would hide behind its number.
SEEN_SAMPLES = 5
# Sparse X with no more entries than this is made dense for its principal components.
DENSE_ENTRIES = 50_000_000


def place_samples(model: Any, X: Any = None, jitter: float | None = None) -> tuple[Any, tuple[str, str], float]:
    """Place samples in the model's embedding or, if it has none, on the principal components of X.

    Return points n×2, the names of the axes, and by which share of the spread to jitter the points.
    """
    if jitter is not None:
        check_real("jitter", jitter)
    if hasattr(model, "embedding_"):
        points = project_embedding(model.embedding_, None if X is None else model.transform(X))
        names = ("first direction of the embedding", "second direction of the embedding")
        return points, names, EMBEDDING_JITTER if jitter is None else jitter
    if X is None:
        raise ValueError(
            f"X=None, but {type(model).__name__} has no embedding to draw; give the samples as X, which are then shown "
            "on their principal components"
        )
    return *project_features(X), jitter or 0.0


def project_embedding(embedding: Any, rows: Any = None) -> Any:
    """Show an embedding in the two directions of its largest spread; ``rows``: other samples, in these directions."""
    center = embedding.mean(axis=0)
    centered = embedding - center
    directions = np.linalg.svd(centered, full_matrices=False)[2][:2].T
    points = (centered if rows is None else rows - center) @ directions
    return points if points.shape[1] == 2 else np.column_stack([points, np.zeros_like(points)])


def project_features(X: Any) -> tuple[Any, tuple[str, str]]:
    """Return the first two principal components, and their names with their shares of the variance."""
    if sp.issparse(X) and X.shape[0] * X.shape[1] > DENSE_ENTRIES:
        pca = PCA(2, svd_solver="arpack", random_state=0)
        points, shares = pca.fit_transform(X), pca.explained_variance_ratio_
    else:
        points, shares = principal_components(X.toarray() if sp.issparse(X) else X)
    said = [f" ({share:.0%} of the variance)" if share > 0 else "" for share in shares]
    return points, (f"principal component 1{said[0]}", f"principal component 2{said[1]}")


def principal_components(values: Any, random_state: int = 0) -> tuple[Any, Any]:
    """The first two principal components, n×2, and their shares of the variance; zeros if there are fewer."""
    values = np.asarray(values, dtype=np.float64)
    centered = values - values.mean(axis=0)
    unit = float(np.max(np.abs(centered), initial=0.0)) or 1.0
    centered /= unit  # squares must not overflow
    positions, shares = np.zeros((values.shape[0], 2)), np.zeros(2)
    if min(centered.shape) == 0 or not centered.any():
        return positions, shares
    left, lengths, _ = randomized_svd(centered, n_components=min(2, *centered.shape), random_state=random_state)
    positions[:, : lengths.size] = left * (lengths * unit)
    shares[: lengths.size] = lengths**2 / np.sum(centered**2)
    return positions, shares


def jitter_points(points: Any, amount: float) -> Any:
    """Move points a little, always in the same way, so that those on top of each other are seen."""
    if not amount:
        return points
    spread = float(np.ptp(points, axis=0).max()) or 1.0
    return points + np.random.default_rng(0).normal(scale=amount * spread, size=points.shape)


def draw_samples(ax: Any, points: Any, memberships: Any, *, alpha: float | None = None, zorder: int = 1) -> None:
    """Mix (and, without ``alpha``, pale) colors as the memberships say; the largest membership gives the marker."""
    alphas = opacity(memberships) if alpha is None else np.full(len(points), alpha)
    color = np.column_stack([mix_colors(memberships, cluster_colors(memberships.shape[1])), alphas])
    labels = memberships.argmax(axis=1)
    shared = {"s": marker_size(len(points)), "linewidths": 0, "zorder": zorder, "rasterized": len(points) > MANY_POINTS}
    for label in np.unique(labels):
        mine = labels == label
        ax.scatter(*points[mine].T, c=color[mine], marker=marker(label), **shared)


def marker_size(n_samples: int) -> float:
    """Smaller the more samples there are (points², as matplotlib counts)."""
    return float(np.clip(370 / np.sqrt(n_samples), 1.5, 30))


def number_clusters(ax: Any, points: Any, labels: Any) -> None:
    """Write each cluster's number at its median (beside it if the number would cover all there is)."""
    box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "black", "linewidth": 0.6, "alpha": 0.85}
    style = {"ha": "center", "va": "center", "fontsize": "small", "fontweight": "bold", "bbox": box, "zorder": 5}
    for label in np.unique(labels):
        mine = points[labels == label]
        aside = 10 if len(mine) < SEEN_SAMPLES else 0
        median = np.median(mine, axis=0)
        ax.annotate(str(label), median, xytext=(aside, aside), textcoords="offset points", **style)
