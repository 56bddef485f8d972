"""The table of classes that may be in a model file: stable name ↔ class ↔ stored attributes and their specs.

The names are part of the format: they never change, whatever becomes of classes and modules. An attribute that a later
version adds goes to ``optional``, so that older files still load.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
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
from afcm.graph.anchors.affinity import FactoredAffinity
from afcm.graph.anchors.weights import AnchorSimilarity
from afcm.graph.kernels import KERNELS
from afcm.graph.similarity import GivenSimilarity, NeighborSimilarity
from afcm.modelfiles import specs
from afcm.modelfiles.specs import Sizes, Spec, floats, integers, number, optional, positive, real, whole
from afcm.models.anchored import AnchorExtension
from afcm.models.distance_background import DistanceBackground
from afcm.models.extension import Extension
from afcm.models.fitted_background import FittedBackground
from afcm.models.fitted_graph import METHOD_WORDS, FittedGraph
from afcm.models.known_labels import SOURCES
from afcm.models.local_mixture import LocalMixture
from afcm.models.regrouping import Merge, Split, count_clusters
from afcm.storage.errors import FormatError
from afcm.storage.kinds import Kind, Table, check_known
from afcm.tables import TableScaler
from afcm.tables.coding import ColumnCode

INT64 = np.iinfo(np.int64)
# Parameters that are code, or say where files are: None in every file.
NEVER_STORED = ("callback", "memory")
# Attributes of any estimator: scikit-learn's requests for metadata concern `fit` alone.
LEFT_OUT = frozenset({"_metadata_request"})
OPTIONAL: dict[str, Spec] = {"feature_names_in_": specs.names("d"), "_sklearn_output_config": specs.output_config}


@dataclass(frozen=True)
class Estimator(Kind):
    """An estimator that a file may hold: its parameters, and attributes with their specs once it is fitted.

    What is ``given`` when a fitted one is read belongs to the machine and not to the model.
    """

    optional: Mapping[str, Spec] = field(default_factory=dict)  # attributes that some fits leave
    left_out: frozenset[str] = frozenset()  # attributes that are not needed, or made again where they are

    @property
    def known(self) -> Mapping[str, Spec]:
        return {**self.state, **OPTIONAL, **self.optional}

    def take_apart(self, value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """No callback is kept, and no random_state that is not a number."""
        params = dict(value.get_params(deep=False))
        keeps_random = isinstance(params.get("random_state"), (int, np.integer))
        dropped = {*NEVER_STORED} if keeps_random else {*NEVER_STORED, "random_state"}
        skipped = {*params, *self.left_out, *self.given, *LEFT_OUT}
        state = {name: item for name, item in vars(value).items() if name not in skipped}
        unknown = sorted(set(state) - set(self.known))
        if unknown:
            raise FormatError(
                f"cannot hold the attribute {unknown[0]!r} of {type(value).__name__}, which it does not know",
                "delete it, or say it in info",
            )
        return {name: None if name in dropped else item for name, item in params.items()}, state

    def check_names(self, name: str, params: set[str], state: set[str]) -> None:
        """Refuse unknown names; missing ones are noticed later, with the values."""
        check_known(name, params - set(inspect.signature(self.cls).parameters))
        check_known(name, state - set(self.known))

    def put_together(self, params: dict[str, Any], state: dict[str, Any]) -> Any:
        model = self.cls(**{name: value for name, value in params.items() if name not in NEVER_STORED})
        made = {name: make() for name, make in self.given.items() if state}
        for name, value in {**state, **made}.items():
            setattr(model, name, value)
        return model


def part(*classes: type) -> Spec:
    """A data class of the registry; its fields share the sizes of its owner."""

    def check(value: Any, sizes: Sizes) -> str:
        if type(value) not in classes:
            return " or ".join(cls.__name__ for cls in classes)
        wrong = find_mismatch(value, PARTS[NAMES[type(value)]].state, sizes)
        return f"{type(value).__name__} with {wrong}" if wrong else ""

    return check


def parts(cls: type, axis: str) -> Spec:
    """A list of data classes of the registry; each has sizes of its own."""
    each = part(cls)

    def check(value: Any, sizes: Sizes) -> str:
        if not isinstance(value, list) or not specs.match_shape((len(value),), (axis,), sizes):
            return f"a list of {specs.describe_shape((axis,), sizes)} {cls.__name__}"
        return next((wrong for wrong in (each(item, {}) for item in value) if wrong), "")

    return check


def fitted_graph(value: Any, sizes: Sizes) -> str:
    """A fitted graph whose clusters become those of its owner by its steps."""
    steps = getattr(value, "steps", ())
    own = {name: size for name, size in sizes.items() if name != "c" or not steps} | {"groups": sizes["c"]}
    wrong = part(FittedGraph)(value, own)
    if wrong:
        return wrong
    for step in steps:
        inner = {name: own[name] for name in ("c", "v", "d")}
        wrong = part(Merge, Split)(step, inner)
        if wrong:
            return f"FittedGraph with a step that is not {wrong}"
        own["c"] = count_clusters(own["c"], (step,))
    return "" if own["c"] == sizes["c"] else f"FittedGraph with steps to {sizes['c']} clusters"


def is_grouping(value: Any, sizes: Sizes) -> str:
    """The group of each cluster, none of them empty."""
    wrong = integers("c")(value, sizes)
    return wrong or ("" if np.array_equal(np.unique(value), np.arange(value.max() + 1)) else "groups without a gap")


def few_or_all(axis: str) -> Spec:
    """Memberships in all clusters, or sparse ones."""
    return specs.either(floats(axis, "c"), specs.sparse(axis, "c", least=0))


def parts_mixture(value: Any, sizes: Sizes) -> str:
    """A mixture of the parts of a cluster, or None."""
    return optional(part(LocalMixture))(value, {"c": sizes["parts"], "d": sizes["d"]})


def find_mismatch(owner: Any, specs: Mapping[str, Spec], sizes: Sizes) -> str:
    """The first attribute that is not as its spec says, in words; "" if there is none."""
    for name, spec in specs.items():
        expected = spec(getattr(owner, name), sizes)
        if expected:
            return f"{name} not {expected}"
    return ""


FEATURES = {"n_features_in_": specs.size("d")}
LABELS = {
    **FEATURES,
    "memberships_": floats("n", "c"),
    "labels_": integers("n", below="c"),
    "objective_": number,
    "history_": specs.history,
    "n_iter_": whole(0),
    "converged_": specs.boolean,
}
RUN = {**LABELS, "crispness_": number, "membership_state_": specs.word("soft", "hard", "merged")}
CENTERS = {**RUN, "cluster_centers_": floats("c", "d")}
FEW_OR_ALL = few_or_all("n")
CENTER_MODEL = {**CENTERS, "_variance": real, "memberships_": FEW_OR_ALL}
PRECISION = {"gamma_": positive}
STREAMED = {"_stream": part(Stream), "n_batches_": whole(1), "mass_seen_": positive}
SCORES = {"noise_share_": number, "outlier_scores_": floats("n")}
BACKGROUND = {**SCORES, "_background": part(FittedBackground)}
GRAPH_MODEL = {
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
    "memberships_": FEW_OR_ALL,
    "_fitted": fitted_graph,
}
GRAPH_ANCHORS = {"anchors_": floats("a", "d"), "n_anchors_": specs.size("a")}
MIXTURE = {
    **CENTERS,
    **PRECISION,
    "weights_": floats("c", least=0),
    "shape_": specs.either(positive, floats("c", least=0)),
    "scale_": positive,
    "scatters_": floats(),
    "covariances_": floats(finite=False),
}
ANCHORS = {**RUN, "anchors_": floats("a", "d"), "anchor_labels_": integers("a", below="c"), "_n_neighbors": whole(1)}
SHRUNK = {
    **RUN,
    **PRECISION,
    "directions_": optional(floats("d", "r")),
    "cluster_centers_": floats("c", "r"),
    "patterns_": floats("n", "r"),
    "_mean": floats("d"),
    "_axes": optional(floats("d", "rank")),
}
SPECTRAL = {
    **LABELS,
    "n_components_": whole(0),
    "eigenvalues_": floats("c"),
    "embedding_": floats("n", "q"),
    "cluster_centers_": floats("c", "q"),
}
K_MEANS = {
    **FEATURES,
    "cluster_centers_": floats("c", "d"),
    "labels_": integers("n", below="c"),
    "inertia_": number,
    "n_iter_": whole(0),
    "_n_features_out": specs.size("c"),
}
ROW = floats("d", finite=False)  # scalers keep NaN where a column had nothing but NaN
SCALER = {**FEATURES, "n_samples_seen_": specs.either(number, integers("d"), ROW)}

ESTIMATORS: dict[str, Estimator] = {
    "AFCM": Estimator(
        AFCM,
        GRAPH_MODEL,
        optional={
            **GRAPH_ANCHORS,
            **SCORES,
            "neighbor_recall_": number,
            "n_clusters_range_": specs.counts,
            "paper_memberships_": FEW_OR_ALL,
            "stability_": floats("c", least=0),
            "sample_stability_": floats("n", least=0),
            "cluster_names_": specs.strings,
            "known_source_": specs.word(*SOURCES),
            "membership_method_": specs.word(*METHOD_WORDS),
        },
    ),
    "PlainAFCM": Estimator(PlainAFCM, {**CENTER_MODEL, **PRECISION}, optional={**STREAMED, **BACKGROUND}),
    "FCM": Estimator(FCM, {**CENTER_MODEL, "_exponent": positive}, optional=STREAMED),
    "EntropyFCM": Estimator(EntropyFCM, {**CENTER_MODEL, **PRECISION}, optional=STREAMED),
    "GeneralizedGaussianMixture": Estimator(GeneralizedGaussianMixture, MIXTURE, optional=BACKGROUND),
    "CDKM": Estimator(CDKM, CENTERS),
    "FCAG": Estimator(FCAG, ANCHORS),
    "FKPS": Estimator(FKPS, SHRUNK),
    "RSFKM": Estimator(RSFKM, {**CENTERS, **PRECISION}),
    "SpectralBaseline": Estimator(SpectralBaseline, SPECTRAL),
    "TableScaler": Estimator(
        TableScaler, {**FEATURES, "codes_": parts(ColumnCode, "d"), "covariance_": optional(floats("p", "p"))}
    ),
    "sklearn.Pipeline": Estimator(Pipeline, {}),
    "sklearn.KMeans": Estimator(
        KMeans, K_MEANS, {"_n_threads": count_cores}, left_out=frozenset({"_tol", "_n_init", "_algorithm"})
    ),
    "sklearn.MinMaxScaler": Estimator(
        MinMaxScaler, {**SCALER, "scale_": ROW, "min_": ROW, "data_min_": ROW, "data_max_": ROW, "data_range_": ROW}
    ),
    "sklearn.MaxAbsScaler": Estimator(MaxAbsScaler, {**SCALER, "scale_": ROW, "max_abs_": ROW}),
    "sklearn.StandardScaler": Estimator(
        StandardScaler, {**SCALER, "scale_": optional(ROW), "mean_": optional(ROW), "var_": optional(ROW)}
    ),
    "sklearn.RobustScaler": Estimator(RobustScaler, {**FEATURES, "center_": optional(ROW), "scale_": optional(ROW)}),
    "sklearn.SimpleImputer": Estimator(
        SimpleImputer,
        {**FEATURES, "statistics_": ROW},
        optional={"_fit_dtype": specs.dtype, "_fill_dtype": specs.dtype, "indicator_": specs.nothing},
    ),
}
NODES = {"degrees": floats("v", least=0), "masses": optional(floats("v", least=0))}
WEIGHTS = {"k": whole(1), "kernel": specs.word(*KERNELS), "bandwidth": positive}
COORDINATES = {"embedding": floats("v", "q"), "memberships": few_or_all("v"), "centers": floats("c", "q")}
EMBEDDED = {**COORDINATES, "precision": positive, "graph_weight": positive}
STREAM = {
    "reference": floats("d"),
    "totals": floats("c", least=0),
    "moments": floats("c", "d"),
    "scatter": real,
    "n_batches": whole(1),
    "mass": positive,
}
POINTS = {"points": specs.either(floats("v", "d"), specs.sparse("v", "d")), "scales": floats("v", least=0)}
ANCHOR_WEIGHTS = {
    "weights": specs.sparse("v", "a", least=0),
    "sizes": floats("a", least=0),
    "anchor_components": integers("a", least=-1, below="a"),
    "masses": optional(floats("v", least=0)),
}
ANCHOR_NODES = {"keys": integers("v", least=INT64.min), "numbers": integers("v", below="v")}

# The fitted parts of estimators.
PARTS: dict[str, Kind] = {
    "FittedGraph": Kind(
        FittedGraph,
        {
            "extension": part(Extension, AnchorExtension),
            "similarity": part(NeighborSimilarity, GivenSimilarity, AnchorSimilarity),
            "walk_graph": part(Graph),
            "node_of_sample": specs.either(specs.everything("n", "v"), integers("n", least=-1, below="v")),
            "dtype": specs.word("float32", "float64"),
            "densities": optional(part(LocalMixture, DistanceBackground)),
            "method": specs.word(*METHOD_WORDS),
            "walked": optional(few_or_all("v")),
            "of_nodes": optional(few_or_all("v")),
            "counts": optional(floats("v", least=0)),
            "views": optional(integers("v", "views", below="groups")),
            "links": optional(floats("groups", "groups", least=0)),
            "steps": specs.series,
        },
        newer=frozenset({"densities", "method", "walked", "of_nodes", "counts", "views", "links", "steps"}),
    ),
    "Merge": Kind(Merge, {"groups": is_grouping}),
    "Split": Kind(
        Split, {"cluster": specs.index("c"), "parts": floats("v", "parts", least=0), "densities": parts_mixture}
    ),
    "FittedBackground": Kind(
        FittedBackground,
        {
            "densities": part(LocalMixture, DistanceBackground),
            "points": optional(floats("learned", "d")),
            "k": whole(1),
        },
    ),
    "LocalMixture": Kind(
        LocalMixture,
        {
            "share": number,
            "n_clusters": specs.size("c"),
            "columns": integers("p", below="d"),
            "center": floats("p"),
            "scale": floats("p", least=0),
            "owners": integers("g", below="c"),
            "weights": floats("g", least=0),
            "means": floats("g", "p"),
            "covariances": floats("g", "p", "p"),
            "background_weights": floats("parts", least=0),
            "wide_mean": floats("p"),
            "wide_variances": floats("p", least=0),
            "log_volumes": floats("boxes"),
            "low": floats("p"),
            "high": floats("p"),
            "degrees": number,
            "n_free": whole(0),
        },
        newer=frozenset({"degrees", "n_free"}),
    ),
    "DistanceBackground": Kind(
        DistanceBackground,
        {
            "share": number,
            "means": floats("c"),
            "sds": floats("c", least=0),
            "background_mean": number,
            "background_sd": number,
        },
    ),
    "ColumnCode": Kind(
        ColumnCode,
        {
            "name": specs.text,
            "kind": specs.word("number", "yes/no", "date", "text"),
            "levels": specs.strings,
            "means": floats(finite=False),
            "unit": number,
            "limit": number,
            "weight": real,
            "remark": specs.text,
        },
    ),
    "Extension": Kind(Extension, {**EMBEDDED, **NODES, "inverse_spectrum": floats("q", "q")}),
    "Stream": Kind(Stream, STREAM),
    "NeighborSimilarity": Kind(NeighborSimilarity, {**POINTS, **WEIGHTS}),
    "GivenSimilarity": Kind(GivenSimilarity, {"rows": integers("v", below="d")}),
    "Graph": Kind(Graph, {"affinity": specs.either(specs.sparse("v", "v", least=0), part(FactoredAffinity)), **NODES}),
    "AnchorSimilarity": Kind(
        AnchorSimilarity, {"anchors": floats("a", "d"), "scales": floats("a", least=0), **WEIGHTS, **ANCHOR_NODES}
    ),
    "FactoredAffinity": Kind(FactoredAffinity, ANCHOR_WEIGHTS),
    "AnchorExtension": Kind(
        AnchorExtension, {**EMBEDDED, "anchor_embedding": floats("a", "q"), "affinity": part(FactoredAffinity)}
    ),
}
KINDS: Table = {**ESTIMATORS, **PARTS}
NAMES: dict[type, str] = {kind.cls: name for name, kind in KINDS.items()}
