"""What a fitted graph model does with samples: place new ones, tell how sure it is."""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn.utils.validation import check_is_fitted

from afcm import arrays
from afcm.estimators.base import SoftClusterer
from afcm.estimators.inputs import cast
from afcm.graph.diffusion import diffuse


class GraphClusterer(SoftClusterer):
    """Embedding and memberships of new samples, and calibrated memberships, from what `AFCM` keeps of its graph."""

    affinity: str
    graph: str
    device: Any
    embedding_: Any
    cluster_centers_: Any
    _similarity: Any
    _extension: Any
    _base: Any
    _inverse: Any

    def transform(self, X: Any) -> Any:
        """Rows of the embedding for new samples, n×c.

        With ``affinity="precomputed"`` X holds the similarities to the fitted samples (n_new × n_samples).
        """
        if arrays.is_dask(X):
            return self._placed_later(X, embedded=True)
        placed, fitted = self._placed(X)
        return self._leaving(fitted.embed(placed), X)

    def _leaving(self, values: Any, X: Any) -> Any:
        """Of the kind that X is, in the dtype of the fit."""
        return cast(arrays.to_device_of(values, X), arrays.to_device_of(self.memberships_[:0], X))

    def _placed(self, X: Any) -> tuple[Any, Any]:
        """New samples as the graph sees them, and what was fitted, both where X is to be worked on."""
        self._refuse_tensors(X)
        X = self._entered(X, accept_sparse=self.graph == "neighbors")
        if self.affinity == "precomputed" and X.min() < 0:
            raise ValueError(f"X holds a negative similarity ({X.min():.6g}); use numbers of at least 0")
        similarity, fitted = arrays.to_device_of((self._similarity, self._extension), X)
        return similarity.place(X), fitted

    def _refuse_tensors(self, X: Any) -> None:
        if self.graph == "anchors" and (arrays.is_tensor(X) or self.device is not None):
            raise ValueError(
                "graph='anchors' works on NumPy arrays; give X as one (X.cpu().numpy(), say) with device=None, or use "
                "graph='neighbors'"
            )

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and the embedding of X."""
        return self.fit(X, y, sample_weight=sample_weight).embedding_

    def predict_proba(self, X: Any) -> Any:
        """Memberships of new samples, n×c; rows sum to 1. The model is not changed.

        With ``affinity="precomputed"`` X holds the similarities to the fitted samples (n_new × n_samples).
        """
        if arrays.is_dask(X):
            return self._placed_later(X, embedded=False)
        placed, fitted = self._placed(X)
        return self._leaving(fitted.memberships_of(fitted.embed(placed)), X)

    def _placed_later(self, X: Any, *, embedded: bool) -> Any:
        """The same for chunks, each when it is asked for."""
        how = {"similarity": self._similarity, "fitted": self._extension, "dtype": self.memberships_.dtype}
        return arrays.map_rows(partial(placed_rows, embedded=embedded, **how), self._entered(X), self._n_features_out)

    def calibrated_memberships(self, X: Any = None) -> Any:
        """Memberships softened by how mixed a sample's neighbourhood is, n×c; rows sum to 1.

        `memberships_` are what the model learned, and nearly all of them are 0 or 1: they tell labels, not doubt. These
        are the same after a random walk over the graph (`afcm.graph.diffusion`), and closer to the share of such samples that
        is labelled rightly. Their largest entry is not always at `labels_`: between clusters the neighbours may
        outvote the model.

        Parameters
        ----------
        X : array (n_new, n_features), optional
            New samples: the mean over their neighbours. Default: the samples of the fit.
        """
        check_is_fitted(self)
        if self._base is None:
            raise ValueError(
                "the fit was of Dask's chunks and kept no graph to walk on; fit samples in memory for this"
            )
        spread = diffuse(self._base, self._extension.memberships)
        if X is not None:
            placed, fitted = self._placed(X)
            averaged = fitted.averaged(placed, arrays.to_device_of(spread, fitted.memberships))
            return self._leaving(averaged, X)
        if not isinstance(self._inverse, slice) and (self._inverse < 0).any():
            raise ValueError("some samples had weight 0 and are not in the graph; give them as X")
        return self._leaving(arrays.take_rows(spread, self._inverse), spread)

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.graph == "neighbors"
        tags.input_tags.pairwise = self.affinity == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def placed_rows(points: Any, similarity: Any, fitted: Any, dtype: Any, embedded: bool) -> Any:
    """Rows of the embedding, or memberships, of new samples."""
    embedding = fitted.embed(similarity.place(points))
    return (embedding if embedded else fitted.memberships_of(embedding)).astype(dtype, copy=False)
