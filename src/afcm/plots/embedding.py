"""A picture of the samples in the plane, colored by their memberships."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from afcm._util.messages import count_noun
from afcm.plots.common import Display, resolve_model, set_title, take_memberships
from afcm.plots.layout import draw_samples, jitter_points, number_clusters, place_samples


@dataclass(eq=False, repr=False)
class EmbeddingDisplay(Display):
    """Samples in the learned embedding: colors mixed by membership, paler where less certain.

    Parameters
    ----------
    positions : array (n_samples, 2)
        Any will do, those of UMAP for example.
    memberships : array (n_samples, n_clusters)
    axis_names : pair of str, optional
    jitter : float, default=0.0
        Points are moved by about this share of the spread when they are drawn. ``positions`` stay as they are.
    note : str, optional
        A second line for the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Of the last `plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from afcm import AFCM
    >>> from afcm.plots import EmbeddingDisplay
    >>> model = AFCM(3, random_state=0).fit(load_iris().data)
    >>> display = EmbeddingDisplay.from_estimator(model, ax=Figure().subplots())
    >>> display.positions.shape
    (150, 2)
    """

    positions: Any
    memberships: Any
    axis_names: tuple[str, str] = ("", "")
    jitter: float = 0.0
    note: str = ""

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, ax: Any = None, jitter: float | None = None) -> Self:
        """Draw a fitted clusterer.

        Parameters
        ----------
        estimator : fitted clusterer, or a pipeline that ends in one
            A model with ``embedding_`` is shown in the two directions in which that spreads most, any other on
            the principal components of X (as its pipeline prepares it).
        X : array (n_samples, n_features), optional
            Samples to show. Default: those of the fit; a model without an embedding needs them.
        ax : matplotlib axes, optional
            Default: a new figure.
        jitter : float, optional
            Default: 0.02 in an embedding, whose clusters are often single points, else 0.

        Returns
        -------
        EmbeddingDisplay
        """
        model, X = resolve_model(estimator, X)
        memberships, note = take_memberships(model, X)
        points, names, jitter = place_samples(model, X, jitter)
        return cls(points, memberships, names, jitter, note)._plot_on(ax)

    def plot(self, ax: Any = None) -> Any:
        ax = self._use_axes(ax, (6, 5))
        points = jitter_points(self.positions, self.jitter)
        draw_samples(ax, points, self.memberships)
        number_clusters(ax, points, self.memberships.argmax(axis=1))
        ax.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        size = f"{count_noun(len(points), 'sample')}, {count_noun(self.memberships.shape[1], 'cluster')}"
        set_title(ax, f"{size} (paler: less certain{', jittered' if self.jitter else ''})", self.note)
        return ax
