"""`AFCM`, the scikit-learn face of `afcm.models.embedded`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from afcm import backends, checkpoints, starts
from afcm import graph as graphs
from afcm.alternating import Result, either_still
from afcm.estimators import validation
from afcm.estimators.base import hard_labels
from afcm.estimators.doors import cast, entered
from afcm.estimators.placing import GraphClusterer
from afcm.exceptions import NoClustersWarning, NotConvergedWarning
from afcm.graph import Distinct
from afcm.models.embedded import EmbeddedProblem, EmbeddedState
from afcm.models.extension import extension
from afcm.models.plain import PlainProblem
from afcm.prepared import GraphSetting, PreparedGraph

# λ by default, per sample: λ has the unit of samples, and the graph counts when it is not small against n/2.
DEFAULT_GRAPH_WEIGHT = 3.0
# Clusters that lose no more than this share of their edges to others hardly touch: hard memberships are no surprise.
CLEAN_CUT = 0.01
# What scikit-learn notes about the columns of X.
FEATURE_ATTRIBUTES = ("n_features_in_", "feature_names_in_")


class AFCM(GraphClusterer):
    """Adaptive fuzzy c-means with graph embedding: soft clusters of any shape (the paper's Algorithm 1).

    Memberships, centres, their fuzziness γ and an embedding Z of the samples are learned together, by lowering

        J = γ Σ_ij u_ij ‖z_i − v_j‖² + Σ_ij u_ij log u_ij − (n c / 2) log γ + λ tr(Zᵀ L̂ Z),    Zᵀ Z = I,

    where L̂ is the normalised Laplacian of a nearest-neighbour graph of X.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        ``"auto"`` counts the clusters: it splits the graph at valleys that are deeper than chance makes them
        (`afcm.valleys`, `select_n_clusters`). If there are none it says so and gives one cluster.
    n_neighbors : int or "auto", default="auto"
        Neighbours of each sample in the graph, itself not counted. ``"auto"``: 1.5 for each doubling of the mean
        cluster size, ``1.5 log2(n_samples / n_clusters)``, and at least 3.
    kernel : {"sharpened", "adaptive", "local", "gaussian", "binary"}, default="sharpened"
        Similarity of neighbours. ``"sharpened"`` looks at the adaptive graph's own eigenvectors and lets the edges fade
        that run between what they hold apart (`afcm.sharpening`): the best without labels, at about twice the cost.
        ``"adaptive"`` and ``"local"`` scale themselves too. ``"gaussian"`` is the paper's,
        ``exp(−d²/(2 bandwidth²))``.
    bandwidth : float, default=2.0
        σ of the Gaussian kernel (the paper's value, for min-max scaled data).
    graph_weight : float or "auto", default="auto"
        λ. Its unit is samples: well below n/2 the graph hardly counts. ``"auto"`` is 3 n: few sweeps, and memberships
        that are mostly hard (`calibrated_memberships` tells doubt). From about 1000 n on they are softer, at the price
        of more sweeps; on the sharpened graph that changes little.
    affinity : {"nearest_neighbors", "precomputed"}, default="nearest_neighbors"
        ``"precomputed"``: X is the symmetric matrix of similarities (sparse or dense, its diagonal not used).
    init : {"spectral", "k-means++", "random"} or array, default="spectral"
        ``"spectral"``: k-means on unit-length rows of the graph's leading eigenvectors. ``"random"``: random
        memberships, the paper's. An array holds memberships (n_samples × n_clusters) or centres
        (n_clusters × n_features).
    n_init : int, default=1
        Runs from different random starts. The one with the lowest normalised cut of its labels is kept
        (`normalized_cut_`), not the one with the lowest J: J has no lower bound, it goes to −∞ with γ, while the
        cut lies between 0 and c and an empty cluster counts 1.
    max_iter : int, default=100
    tol : float, default=1e-4
        A run stops when no membership changes by more than ``tol``, or J by no more than ``tol``/100 of itself.
    merge_duplicates : bool, default=True
        Identical samples are one node of the graph, with their number as its mass, so that they do not fill
        each other's neighbour lists. False: every sample its own node, as in the paper.
    random_state : int, RandomState or None, default=None
    callback : callable, optional
        Called after each sweep with an `afcm.alternating.Iteration`; or an `afcm.checkpoints.Checkpoint`.
    device : str or torch.device, optional
        Where to compute, for example ``"cuda"`` (needs PyTorch): NumPy X goes there and NumPy results come back.
        Tensors are worked on where they are, and give tensors.
    warm_start : bool, default=False
        A further `fit` on the same samples makes one run from the memberships, γ and embedding of the fit before,
        whatever ``init`` and ``n_init`` say.

    Attributes
    ----------
    memberships_ : array (n_samples, n_clusters)
    labels_ : array (n_samples,)
    embedding_ : array (n_samples, n_clusters)
        Z. Orthonormal columns (over the samples with their weights).
    cluster_centers_ : array (n_clusters, n_clusters)
        V, in the embedding.
    gamma_ : float
    gamma_cap_ : float
        The largest γ there can be (J has no lower bound: without a cap γ grows for ever once memberships are hard).
    graph_weight_ : float
        The λ that was used.
    objective_ : float
    n_clusters_ : int
        As given, or as counted.
    normalized_cut_ : float
        Of the labels in the graph; 0 for a perfect cut, up to n_clusters.
    n_components_ : int
        Connected components of the graph. More than one is an answer, not a fault.
    history_ : dict of arrays
        ``objective``, ``gamma`` and ``membership_change`` after each sweep.
    n_iter_, converged_
    crispness_ : float
        0 when every membership is 1/c, 1 when every one is 0 or 1.
    membership_state_ : {"soft", "hard", "merged"}
        ``"hard"``: all are 0 or 1, with a warning if many edges of the graph run between the clusters, so that some
        samples must be in doubt; ``"merged"``: all are 1/c, with a warning.
    n_features_in_, feature_names_in_

    Notes
    -----
    Sparse X is used for the neighbours only (brute force, as scikit-learn does it) and never made dense. New
    samples are placed by the Nyström step of `afcm.models.extension`; one that equals a fitted sample gets that
    sample's row. float32 data give float32 results; the graph and the eigenvectors are float64 inside. On a device
    the graph, the eigenvectors and the sweeps are worked out there; duplicates are merged, clusters counted and small
    eigenproblems solved on the host.

    Examples
    --------
    >>> from afcm import AFCM
    >>> from afcm.datasets import make_rings
    >>> from afcm.metrics import clustering_accuracy
    >>> X, y = make_rings(random_state=0)
    >>> model = AFCM(n_clusters=3, random_state=0).fit(X)
    >>> clustering_accuracy(y, model.labels_)
    1.0
    >>> model.predict(X[:1]) == model.labels_[:1]
    array([ True])
    """

    _stop = staticmethod(either_still)

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        n_neighbors: int | str = "auto",
        kernel: str = "sharpened",
        bandwidth: float = 2.0,
        graph_weight: float | str = "auto",
        affinity: str = "nearest_neighbors",
        init: Any = "spectral",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-4,
        merge_duplicates: bool = True,
        random_state: Any = None,
        callback: Callable[[Any], object] | None = None,
        device: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.graph_weight = graph_weight
        self.affinity = affinity
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.merge_duplicates = merge_duplicates
        self.random_state = random_state
        self.callback = callback
        self.device = device
        self.warm_start = warm_start

    @classmethod
    def paper(cls, n_clusters: int, *, n_neighbors: int = 5, graph_weight: float = 1e3, **changes: Any) -> Self:
        """The paper's configuration; scale X to [0, 1] column by column before the fit.

        Gaussian kernel with σ = 2 on the k nearest samples (duplicates included), random memberships, γ₀ = 1, at most
        80 sweeps. The paper chooses ``n_neighbors`` from 3, 4, 5, 6, 8, 10, 12 and ``graph_weight`` from
        1e-1, 1e1, …, 1e6 with the ground truth: an oracle.
        """
        setting: dict[str, Any] = {
            "n_neighbors": n_neighbors,
            "graph_weight": graph_weight,
            "kernel": "gaussian",
            "bandwidth": 2.0,
            "init": "random",
            "max_iter": 80,
            "tol": 1e-6,
            "merge_duplicates": False,
        }
        return cls(n_clusters, **(setting | changes))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the embedding, the clusters and γ.

        Parameters
        ----------
        X : array, tensor, sparse matrix or data frame (n_samples, n_features), or similarities (n_samples, n_samples)
        y : ignored
        sample_weight : array (n_samples,), optional
            Weight 0 is as if the sample were absent, weight 2 as if it were there twice
            (for graph and clusters alike, given ``merge_duplicates=True``).
        """
        return self.fit_prepared(self.prepare(X, sample_weight))

    def prepare(self, X: Any, sample_weight: Any = None) -> PreparedGraph:
        """The first half of `fit`: validate X and build its graph, for many fits on the same samples.

        Parameters
        ----------
        X, sample_weight : as for `fit`

        Returns
        -------
        PreparedGraph
            For `fit_prepared`, of this or another AFCM. It depends on ``n_neighbors``, ``kernel``, ``bandwidth``,
            ``affinity`` and ``merge_duplicates`` alone, and on ``n_clusters`` where those are ``"auto"`` or
            ``"sharpened"``.
        """
        self._check_parameters()
        given, X = X, self._validated(X)
        weights = validation.check_sample_weight(backends.to_host(sample_weight), X.shape[0])
        nodes = self._find_nodes(X, weights)
        n_clusters = None if self.n_clusters == "auto" else self.n_clusters
        n_neighbors = None if self.n_neighbors == "auto" else int(self.n_neighbors)
        setting = GraphSetting(n_clusters, n_neighbors, self.kernel, float(self.bandwidth))
        build = setting.from_similarities if self.affinity == "precomputed" else setting.from_points
        features = {name: value for name, value in vars(self).items() if name in FEATURE_ATTRIBUTES}
        to_host = backends.is_tensor(X) and not backends.is_tensor(given)
        return replace(build(X, nodes), features=features, to_host=to_host)

    def fit_prepared(self, prepared: PreparedGraph) -> Self:
        """The second half of `fit`: learn embedding, clusters and γ on a graph that is there already."""
        self._check_parameters()
        self.n_clusters_ = self._chosen(prepared)
        validation.check_enough_samples(self.n_clusters_, prepared.samples.shape[0], prepared.nodes.rows.size)
        prepared.name_features(self)
        journal = checkpoints.journal(self, prepared.samples, prepared.nodes.masses)
        problem, starters = self._begin(prepared, journal)
        how: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol, "stop": self._stop}
        best, stopped = journal.best_run(problem, starters, key=lambda result: self._cut(prepared.graph, result), **how)
        self._similarity, self._base, self._inverse = prepared.similarity, prepared.base, prepared.nodes.inverse
        self._extension = extension(problem, best.state, prepared.graph.degrees)
        self._store_fit(prepared, problem, best)
        if prepared.to_host:
            kept = self._similarity, self._base, self._extension
            self._similarity, self._base, self._extension = backends.moved(kept, None)
        if stopped is not None:
            raise stopped
        return self

    def _check_parameters(self) -> None:
        if self.n_clusters != "auto":
            validation.check_integer("n_clusters", self.n_clusters)
        validation.check_integer("n_init", self.n_init)
        validation.check_integer("max_iter", self.max_iter)
        validation.check_real("tol", self.tol)
        validation.check_flag("warm_start", self.warm_start)
        validation.check_real("bandwidth", self.bandwidth, positive=True)
        validation.check_choice("kernel", self.kernel, ("sharpened", *graphs.KERNELS))
        validation.check_choice("affinity", self.affinity, ("nearest_neighbors", "precomputed"))
        if self.graph_weight != "auto":
            validation.check_real("graph_weight", self.graph_weight, positive=True)
        if self.n_neighbors != "auto":
            validation.check_integer("n_neighbors", self.n_neighbors)

    def _validated(self, X: Any) -> Any:
        if self.affinity == "precomputed" and (backends.is_tensor(X) or self.device is not None):
            raise ValueError("affinity='precomputed' needs NumPy or SciPy similarities; use them, and device=None")
        X = entered(self, X, device=self.device, accept_sparse="csr")
        if self.affinity == "precomputed":
            return validation.check_affinity(X)
        n = X.shape[0]
        if self.n_neighbors != "auto" and self.n_neighbors >= n > 1:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be below n_samples={n}; use at most {n - 1}, or 'auto'"
            )
        validation.check_span(X)
        return X

    def _find_nodes(self, X: Any, weights: Any) -> Distinct:
        merge = self.merge_duplicates and self.affinity != "precomputed"
        nodes = graphs.distinct(X, weights, merge=merge)
        if self.n_clusters != "auto":
            validation.check_enough_samples(self.n_clusters, X.shape[0], nodes.rows.size)
        if nodes.rows.size < 2:
            raise ValueError(f"X has only one sample to learn from (n_samples={X.shape[0]}); a graph needs at least 2")
        return nodes

    def _chosen(self, prepared: PreparedGraph) -> int:
        """The number of clusters; a word if the data have none."""
        if self.n_clusters != "auto":
            return int(self.n_clusters)
        parts = prepared.parts
        if parts is None:
            raise ValueError("n_clusters='auto', but the graph was prepared for a given number; prepare it with 'auto'")
        if parts.count > 1:
            return parts.count
        warnings.warn(
            "AFCM: no clusters found, so all samples are one: the deepest valley in their graph has "
            f"{parts.deepest_within:.0%} of the depth that chance reaches; give n_clusters to split them all the same",
            NoClustersWarning,
            stacklevel=4,
        )
        return 1

    def _begin(
        self, prepared: PreparedGraph, journal: checkpoints.Journal
    ) -> tuple[EmbeddedProblem, list[Callable[[], EmbeddedState]]]:
        """The problem, and what makes the states its runs start from."""
        graph, auto = prepared.graph, DEFAULT_GRAPH_WEIGHT * prepared.n_samples
        weight = auto if self.graph_weight == "auto" else float(self.graph_weight)
        needs_search = not (isinstance(self.init, str) and self.init == "spectral")
        block = starts.search_block(graph, self.n_clusters_) if needs_search else None
        problem = EmbeddedProblem(graph.operator, graph.masses, weight, block, prepared.dense)
        if self.warm_start and hasattr(self, "_extension"):
            return problem, [lambda: self._fitted_start(problem, prepared)]
        if not isinstance(self.init, str):
            return problem, [lambda: problem.with_memberships(self._given_memberships(prepared))]
        random = journal.random(check_random_state(self.random_state))
        return problem, [lambda: self._start(problem, prepared, random)] * self.n_init

    def _start(self, problem: EmbeddedProblem, prepared: PreparedGraph, random: Any) -> EmbeddedState:
        points, masses = prepared.points, prepared.graph.masses
        choices = ("spectral", "random") if points is None else ("spectral", "k-means++", "random")
        init = validation.check_choice("init", self.init, choices)
        if init == "spectral":
            eigen, memberships = prepared.spectral_start(self.n_clusters_, random)
            return problem.from_embedding(memberships, eigen)
        if init == "k-means++":
            centers = starts.seeded_centers(points, self.n_clusters_, masses, random)
            return problem.with_memberships(soft_assignment(points, masses, centers))
        degrees = prepared.graph.degrees
        memberships = starts.random_memberships(degrees.shape[0], self.n_clusters_, random)
        return problem.with_memberships(backends.like(memberships, degrees))

    def _fitted_start(self, problem: EmbeddedProblem, prepared: PreparedGraph) -> EmbeddedState:
        """The nodes' memberships and embedding of the fit before."""
        nodes, fitted = prepared.graph.degrees, self._extension
        validation.check_warm_start(fitted.memberships.T.shape, (self.n_clusters_, nodes.shape[0]))
        memberships, embedding = (backends.like(part, nodes) for part in (fitted.memberships, fitted.embedding))
        return problem.fitted(memberships, fitted.precision, embedding)

    def _given_memberships(self, prepared: PreparedGraph) -> Any:
        X, points, nodes = prepared.samples, prepared.points, prepared.nodes
        init = backends.to_host(self.init)
        kind, array = validation.check_init_array(init, X.shape[0], self.n_clusters_, X.shape[1])
        if kind == "memberships":
            return backends.like(array[nodes.rows], X)
        if points is None or sp.issparse(points):
            raise ValueError("init holds centres; with a precomputed affinity or sparse X give memberships instead")
        return soft_assignment(points, nodes.masses, backends.like(array, points))

    def _cut(self, graph: graphs.Graph, result: Result[EmbeddedState]) -> float:
        labels = hard_labels(result.state.memberships)
        return graphs.normalized_cut(graph, starts.one_hot(labels, self.n_clusters_))

    def _store_fit(self, prepared: PreparedGraph, problem: EmbeddedProblem, best: Result[EmbeddedState]) -> None:
        home = None if prepared.to_host else prepared.graph.degrees
        self.embedding_, memberships = backends.moved(self._expanded(prepared.samples, prepared.nodes), home)
        self.cluster_centers_ = backends.moved(best.state.centers, home)
        self.graph_weight_ = problem.graph_weight
        self.gamma_cap_ = problem.largest_precision(self.n_clusters_)
        self.normalized_cut_ = self._cut(prepared.graph, best)
        self.n_components_ = prepared.graph.components[0]
        self.eigen_residual_ = best.state.eigen_residual
        self._store_run(best, memberships, doubt_hard=self.normalized_cut_ > CLEAN_CUT * self.n_clusters_)
        if not best.state.eigen_converged:
            warnings.warn(
                f"AFCM: the eigen-solver stopped with a relative residual of {self.eigen_residual_:.3g}; the embedding "
                "may be inaccurate: use more n_neighbors",
                NotConvergedWarning,
                stacklevel=3,
            )

    def _expanded(self, X: Any, nodes: Distinct) -> tuple[Any, Any]:
        """Embedding and memberships of the nodes, for every sample; absent ones (weight 0) are predicted."""
        fitted, inverse = self._extension, nodes.inverse
        embedding, memberships = backends.rows(fitted.embedding, inverse), backends.rows(fitted.memberships, inverse)
        absent = np.zeros(0, dtype=np.intp) if isinstance(inverse, slice) else np.flatnonzero(inverse < 0)
        if absent.size:
            where, placed = backends.like(absent, X), self._similarity.place(backends.rows(X, absent))
            embedding[where] = fitted.embed(placed)
            memberships[where] = fitted.memberships_of(embedding[where])
        if self.affinity == "precomputed":
            return embedding, memberships
        return cast(embedding, X), cast(memberships, X)

    def _merged_advice(self) -> str:
        return "raise graph_weight or n_neighbors, or try init='spectral'"

    def _hard_advice(self) -> str:
        return "calibrated_memberships() gives softer ones that tell doubt"


def soft_assignment(points: Any, masses: Any, centers: Any) -> Any:
    """Memberships of PlainAFCM's first step from these centres."""
    if backends.is_tensor(points):
        points, centers = points.double(), centers.double()
    return PlainProblem.from_points(points, masses).from_centers(centers).memberships
