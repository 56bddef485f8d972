"""A fitted graph model: one frozen object that embeds samples, gives their memberships and places new ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from afcm import arrays
from afcm.graph.diffusion import diffuse
from afcm.models.fitted_background import score_samples


@dataclass(frozen=True)
class FittedGraph:
    """Everything that `AFCM` keeps of a fit.

    Attributes
    ----------
    similarity : object
        Gives the similarities of new samples to the nodes of the graph.
    extension : object
        The embedding, memberships and centers of the nodes, and the equation that places new samples among them.
    walk_graph : Graph or None
        The graph that memberships diffuse over; None if the samples were in Dask's chunks.
    node_of_sample : array, slice or None
        The node of each fitted sample (−1: weight 0, not in the graph); ``slice(None)`` where each is its own.
    dtype : str
        Of all results: float32 data give float32 memberships.
    densities : LocalMixture, DistanceBackground or None
        Tells how probable it is that a sample is background; None where nobody asked or X tells no density.
    """

    similarity: Any
    extension: Any
    walk_graph: Any
    node_of_sample: Any
    dtype: str
    densities: Any = None

    def embed(self, X: Any) -> Any:
        """Rows of the embedding, for samples on any device or in chunks."""
        return self._by_rows(X, _embed, self.extension.n_clusters)

    def memberships(self, X: Any) -> Any:
        """Memberships, for samples on any device or in chunks."""
        return self._by_rows(X, _memberships, self.extension.n_clusters)

    def outlier_scores(self, X: Any) -> Any:
        """Probabilities to be background, for samples on any device or in chunks; they need ``densities``."""
        return self._by_rows(X, _outlier_scores)

    def _by_rows(self, X: Any, function: Any, *widths: int) -> Any:
        if arrays.is_chunked(X):
            small = replace(self, walk_graph=None, node_of_sample=None)  # workers place new samples, no more
            return arrays.map_rows(partial(function, fitted=small), X, *widths)
        similarity, extension = arrays.to_device_of((self.similarity, self.extension), X)
        return function(X, replace(self, similarity=similarity, extension=extension))

    def expand(self, X: Any) -> tuple[Any, Any]:
        """Embedding and memberships of the fitted samples X; those not in the graph are placed like new ones."""
        if self.node_of_sample is None:
            return self.embed(X), self.memberships(X)
        node, extension = self.node_of_sample, self.extension
        embedding, memberships = (
            arrays.take_rows(extension.embedding, node),
            arrays.take_rows(extension.memberships, node),
        )
        absent = np.zeros(0, dtype=np.intp) if isinstance(node, slice) else np.flatnonzero(node < 0)
        if absent.size:
            where, placed = arrays.from_host(absent, X), self.similarity.place(arrays.take_rows(X, absent))
            embedding[where] = extension.embed(placed)
            memberships[where] = extension.memberships_of(embedding[where])
        return _as_dtype(embedding, self.dtype), _as_dtype(memberships, self.dtype)

    def calibrated_memberships(self, X: Any = None) -> Any:
        """Memberships after a random walk over the graph; of new samples, the mean over their neighbors."""
        if self.walk_graph is None:
            raise ValueError(
                "the fit was of Dask's chunks and kept no graph to walk on; fit samples in memory for this"
            )
        if X is None and not isinstance(self.node_of_sample, slice) and (self.node_of_sample < 0).any():
            raise ValueError("some samples had weight 0 and are not in the graph; give them as X")
        spread = diffuse(self.walk_graph, self.extension.memberships)
        if X is None:
            return _as_dtype(arrays.take_rows(spread, self.node_of_sample), self.dtype)
        similarity, extension, spread = arrays.to_device_of((self.similarity, self.extension, spread), X)
        return _as_dtype(extension.averaged(similarity.place(X), spread), self.dtype)

    def to_host(self) -> FittedGraph:
        kept = (self.similarity, self.extension, self.walk_graph)
        similarity, extension, walk_graph = arrays.to_device_of(kept, None)
        return replace(self, similarity=similarity, extension=extension, walk_graph=walk_graph)


def _embed(points: Any, fitted: FittedGraph) -> Any:
    return _as_dtype(fitted.extension.embed(fitted.similarity.place(points)), fitted.dtype)


def _memberships(points: Any, fitted: FittedGraph) -> Any:
    embedding = fitted.extension.embed(fitted.similarity.place(points))
    return _as_dtype(fitted.extension.memberships_of(embedding), fitted.dtype)


def _outlier_scores(points: Any, fitted: FittedGraph) -> Any:
    scores = score_samples(
        fitted.densities,
        points,
        lambda samples: arrays.to_host(_memberships(samples, fitted)).argmax(axis=1),
        fitted.similarity.log_distances,
    )
    return _as_dtype(scores, fitted.dtype)


def _as_dtype(array: Any, dtype: str) -> Any:
    if arrays.is_tensor(array):
        return array.float() if dtype == "float32" else array.double()
    return array.astype(dtype, copy=False)
