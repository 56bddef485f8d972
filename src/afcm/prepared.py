"""What fits on the same samples share: nodes, graph, its leading eigenvectors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from afcm import spectral, starts
from afcm.eigenbasis import LearningSolver
from afcm.graph import Distinct, Graph


@dataclass(frozen=True)
class PreparedGraph:
    """The graph of some samples, made by `AFCM.prepare`, for any number of `AFCM.fit_prepared`.

    Attributes
    ----------
    samples : array
        X as it was validated.
    nodes : Distinct
        Which samples are nodes of the graph, with which masses.
    points : array or None
        The samples that are nodes; None for a precomputed affinity.
    similarity : object
        Similarities of new samples to the nodes.
    graph : Graph
    features : dict
        ``n_features_in_`` and ``feature_names_in_`` of X.
    """

    samples: Any
    nodes: Distinct
    points: Any
    similarity: Any
    graph: Graph
    features: dict[str, Any] = field(default_factory=dict)
    dense: LearningSolver = field(default_factory=LearningSolver, repr=False)
    _solved: dict[tuple[int, float], spectral.Eigenpairs] = field(default_factory=dict, repr=False)

    @property
    def n_samples(self) -> float:
        """Counted with their masses."""
        return float(self.graph.degrees.size if self.graph.masses is None else self.graph.masses.sum())

    def eigenvectors(self, n_wanted: int, angle_tol: float = starts.START_ANGLE) -> spectral.Eigenpairs:
        """Leading eigenvectors of S, solved for once; by default accurate enough to start from."""
        key = (n_wanted, angle_tol)
        if key not in self._solved:
            self._solved[key] = starts.leading(self.graph, n_wanted, angle_tol, self.dense)
        return self._solved[key]

    def spectral_start(
        self, n_clusters: int, random: np.random.RandomState, n_runs: int = starts.KMEANS_RESTARTS
    ) -> tuple[spectral.Eigenpairs, Any]:
        """`starts.spectral_start` from the shared eigenvectors."""
        return starts.spectral_start(
            self.graph, n_clusters, self.points, random, solve=self.eigenvectors, n_runs=n_runs
        )

    def learn_basis(self) -> None:
        """All eigenvectors of S now, if the graph is small: worth it before dozens of fits."""
        self.dense.learn(self.graph.operator)
