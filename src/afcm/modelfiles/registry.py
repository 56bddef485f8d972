"""The classes that model files know: stable name ↔ class ↔ what is stored of it.

The names are part of the format: they never change, whatever becomes of classes and modules. An attribute that a later
version adds goes to ``optional``, so that older files still load.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from afcm._util.threads import count_cores
from afcm.baselines import CDKM, FCAG, FKPS, RSFKM, SpectralBaseline
from afcm.estimators.afcm import AFCM
from afcm.estimators.fuzzy import FCM, EntropyFCM
from afcm.estimators.mixture import GeneralizedGaussianMixture
from afcm.estimators.plain import PlainAFCM
from afcm.estimators.streaming import Stream
from afcm.graph.affinity import Graph
from afcm.graph.anchors.affinity import AnchorAffinity, AnchoredGraph
from afcm.graph.anchors.weights import AnchorSimilarity
from afcm.graph.kernels import KERNELS
from afcm.graph.similarity import GivenSimilarity, NeighborSimilarity
from afcm.modelfiles import specs
from afcm.modelfiles.specs import Sizes, Spec, floats, integers, number, optional, positive, real, whole
from afcm.models.anchored import AnchorExtension
from afcm.models.extension import Extension

INT64 = np.iinfo(np.int64)
# Parameters that are code, or say where files are: None in every file.
NEVER_STORED = ("callback", "memory")
# Of any estimator: scikit-learn's requests for metadata concern `fit` alone.
LEFT_OUT = frozenset({"_metadata_request"})


@dataclass(frozen=True)
class Kind:
    """One class, and what becomes of its attributes."""

    cls: type
    state: Mapping[str, Spec]  # stored once fitted (a dataclass: its fields)
    optional: Mapping[str, Spec] = field(default_factory=dict)  # stored where they are
    left_out: frozenset[str] = frozenset()  # not needed, or made again where they are
    machine: Mapping[str, Callable[[], Any]] = field(default_factory=dict)  # not stored: the machine's, not the model's

    @property
    def known(self) -> Mapping[str, Spec]:
        """All attributes that a file may hold."""
        return {**self.state, **self.optional}

    @property
    def is_estimator(self) -> bool:
        """With parameters and fitted attributes, not a dataclass."""
        return not is_dataclass(self.cls)


def part(*classes: type) -> Spec:
    """A dataclass of the registry; its fields share the sizes of its owner."""

    def check(value: Any, sizes: Sizes) -> str:
        if type(value) not in classes:
            return " or ".join(cls.__name__ for cls in classes)
        wrong = complaint(value, KINDS[NAMES[type(value)]].state, sizes)
        return f"{type(value).__name__} with {wrong}" if wrong else ""

    return check


def complaint(owner: Any, specs: Mapping[str, Spec], sizes: Sizes) -> str:
    """The first attribute that is not what it should be, or nothing."""
    for name, spec in specs.items():
        expected = spec(getattr(owner, name), sizes)
        if expected:
            return f"{name} not {expected}"
    return ""


FEATURES: dict[str, Spec] = {"n_features_in_": specs.size("d")}
MAYBE: dict[str, Spec] = {"feature_names_in_": specs.names("d"), "_sklearn_output_config": specs.output_config}
LABELS: dict[str, Spec] = {
    **FEATURES,
    "memberships_": floats("n", "c"),
    "labels_": integers("n", below="c"),
    "objective_": number,
    "history_": specs.history,
    "n_iter_": whole(0),
    "converged_": specs.truth,
}
RUN: dict[str, Spec] = {
    **LABELS,
    "crispness_": number,
    "membership_state_": specs.word("soft", "hard", "merged"),
}
CENTERS: dict[str, Spec] = {**RUN, "cluster_centers_": floats("c", "d")}
CENTER_MODEL: dict[str, Spec] = {**CENTERS, "_variance": real}
PRECISION: dict[str, Spec] = {"gamma_": positive}
STREAMED: dict[str, Spec] = {"_stream": part(Stream), "n_batches_": whole(1), "mass_seen_": positive}
GRAPH_MODEL: dict[str, Spec] = {
    **RUN,
    **PRECISION,
    "n_clusters_": specs.size("c"),
    "embedding_": floats("n", "q"),
    "cluster_centers_": floats("c", "q"),
    "gamma_cap_": number,
    "graph_weight_": positive,
    "normalized_cut_": number,
    "n_components_": whole(0),
    "eigen_residual_": number,
    "_extension": part(Extension, AnchorExtension),
    "_similarity": part(NeighborSimilarity, GivenSimilarity, AnchorSimilarity),
    "_base": part(Graph, AnchoredGraph),
    "_inverse": specs.either(specs.everything("n", "v"), integers("n", least=-1, below="v")),
}
GRAPH_ANCHORS: dict[str, Spec] = {"anchors_": floats("a", "d"), "n_anchors_": specs.size("a")}
MIXTURE: dict[str, Spec] = {
    **CENTERS,
    **PRECISION,
    "weights_": floats("c", least=0),
    "shape_": specs.either(positive, floats("c", least=0)),
    "scale_": positive,
    "scatters_": floats(),
    "covariances_": floats(finite=False),
}
ANCHORS: dict[str, Spec] = {
    **RUN,
    "anchors_": floats("a", "d"),
    "anchor_labels_": integers("a", below="c"),
    "_n_neighbors": whole(1),
}
SHRUNK: dict[str, Spec] = {
    **RUN,
    **PRECISION,
    "directions_": optional(floats("d", "r")),
    "cluster_centers_": floats("c", "r"),
    "patterns_": floats("n", "r"),
    "_mean": floats("d"),
    "_axes": optional(floats("d", "rank")),
}
SPECTRAL: dict[str, Spec] = {
    **LABELS,
    "n_components_": whole(0),
    "eigenvalues_": floats("c"),
    "embedding_": floats("n", "q"),
    "cluster_centers_": floats("c", "q"),
}
K_MEANS: dict[str, Spec] = {
    **FEATURES,
    "cluster_centers_": floats("c", "d"),
    "labels_": integers("n", below="c"),
    "inertia_": number,
    "n_iter_": whole(0),
    "_n_features_out": specs.size("c"),
}
ROW = floats("d", finite=False)  # scalers keep NaN where a column had nothing but NaN
SEEN = specs.either(number, integers("d"), ROW)

KINDS: dict[str, Kind] = {
    "AFCM": Kind(AFCM, GRAPH_MODEL, {**MAYBE, **GRAPH_ANCHORS, "neighbor_recall_": number}),
    "PlainAFCM": Kind(PlainAFCM, {**CENTER_MODEL, **PRECISION}, {**MAYBE, **STREAMED}),
    "FCM": Kind(FCM, {**CENTER_MODEL, "_exponent": positive}, {**MAYBE, **STREAMED}),
    "EntropyFCM": Kind(EntropyFCM, {**CENTER_MODEL, **PRECISION}, {**MAYBE, **STREAMED}),
    "GeneralizedGaussianMixture": Kind(GeneralizedGaussianMixture, MIXTURE, MAYBE),
    "CDKM": Kind(CDKM, CENTERS, MAYBE),
    "FCAG": Kind(FCAG, ANCHORS, MAYBE),
    "FKPS": Kind(FKPS, SHRUNK, MAYBE),
    "RSFKM": Kind(RSFKM, {**CENTERS, **PRECISION}, MAYBE),
    "SpectralBaseline": Kind(SpectralBaseline, SPECTRAL, MAYBE),
    "Extension": Kind(
        Extension,
        {
            "embedding": floats("v", "q"),
            "memberships": floats("v", "c"),
            "centers": floats("c", "q"),
            "precision": positive,
            "graph_weight": positive,
            "degrees": floats("v", least=0),
            "masses": optional(floats("v", least=0)),
            "inverse_spectrum": floats("q", "q"),
        },
    ),
    "Stream": Kind(
        Stream,
        {
            "reference": floats("d"),
            "totals": floats("c", least=0),
            "moments": floats("c", "d"),
            "scatter": real,
            "n_batches": whole(1),
            "mass": positive,
        },
    ),
    "NeighborSimilarity": Kind(
        NeighborSimilarity,
        {
            "points": specs.either(floats("v", "d"), specs.sparse("v", "d")),
            "scales": floats("v", least=0),
            "k": whole(1),
            "kernel": specs.word(*KERNELS),
            "bandwidth": positive,
        },
    ),
    "GivenSimilarity": Kind(GivenSimilarity, {"rows": integers("v", below="d")}),
    "Graph": Kind(
        Graph,
        {
            "affinity": specs.sparse("v", "v", least=0),
            "degrees": floats("v", least=0),
            "masses": optional(floats("v", least=0)),
        },
        left_out=frozenset({"operator", "components"}),  # made again when they are needed
    ),
    "AnchorSimilarity": Kind(
        AnchorSimilarity,
        {
            "anchors": floats("a", "d"),
            "scales": floats("a", least=0),
            "k": whole(1),
            "kernel": specs.word(*KERNELS),
            "bandwidth": positive,
            "keys": integers("v", least=INT64.min),
            "numbers": integers("v", below="v"),
        },
        left_out=frozenset({"_frame"}),
    ),
    "AnchorAffinity": Kind(
        AnchorAffinity,
        {
            "weights": specs.sparse("v", "a", least=0),
            "sizes": floats("a", least=0),
            "masses": optional(floats("v", least=0)),
        },
        left_out=frozenset({"_rows"}),
    ),
    "AnchoredGraph": Kind(
        AnchoredGraph,
        {
            "affinity": part(AnchorAffinity),
            "degrees": floats("v", least=0),
            "masses": optional(floats("v", least=0)),
        },
        left_out=frozenset({"operator", "components"}),
    ),
    "AnchorExtension": Kind(
        AnchorExtension,
        {
            "embedding": floats("v", "q"),
            "memberships": floats("v", "c"),
            "centers": floats("c", "q"),
            "precision": positive,
            "graph_weight": positive,
            "anchor_embedding": floats("a", "q"),
            "affinity": part(AnchorAffinity),
        },
    ),
    "sklearn.Pipeline": Kind(Pipeline, {}),
    "sklearn.KMeans": Kind(
        KMeans, K_MEANS, MAYBE, frozenset({"_tol", "_n_init", "_algorithm"}), machine={"_n_threads": count_cores}
    ),
    "sklearn.MinMaxScaler": Kind(
        MinMaxScaler,
        {**FEATURES, "n_samples_seen_": SEEN, "scale_": ROW, "min_": ROW}
        | {"data_min_": ROW, "data_max_": ROW, "data_range_": ROW},
        MAYBE,
    ),
    "sklearn.MaxAbsScaler": Kind(
        MaxAbsScaler, {**FEATURES, "n_samples_seen_": SEEN, "scale_": ROW, "max_abs_": ROW}, MAYBE
    ),
    "sklearn.StandardScaler": Kind(
        StandardScaler,
        {**FEATURES, "n_samples_seen_": SEEN, "scale_": optional(ROW), "mean_": optional(ROW), "var_": optional(ROW)},
        MAYBE,
    ),
    "sklearn.RobustScaler": Kind(RobustScaler, {**FEATURES, "center_": optional(ROW), "scale_": optional(ROW)}, MAYBE),
    "sklearn.SimpleImputer": Kind(
        SimpleImputer,
        {**FEATURES, "statistics_": ROW},
        {**MAYBE, "_fit_dtype": specs.dtype, "_fill_dtype": specs.dtype, "indicator_": specs.nothing},
    ),
}
NAMES: dict[type, str] = {kind.cls: name for name, kind in KINDS.items()}
