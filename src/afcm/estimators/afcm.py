"""`AFCM`, the scikit-learn face of `afcm.models.embedded`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

from afcm import arrays, checkpoints
from afcm.estimators import validation
from afcm.estimators.graph_chunks import GraphChunks
from afcm.estimators.graph_inputs import GraphInputs
from afcm.estimators.graph_runs import GraphRuns
from afcm.fitting.loop import either_still
from afcm.graph.prepared import GraphSetting, PreparedGraph

# What scikit-learn notes about the columns of X.
FEATURE_ATTRIBUTES = ("n_features_in_", "feature_names_in_")


class AFCM(GraphInputs, GraphRuns, GraphChunks):
    """Adaptive fuzzy c-means with graph embedding: soft clusters of any shape (the paper's Algorithm 1).

    Memberships, centres, their fuzziness γ and an embedding Z of the samples are learned together, by lowering

        J = γ Σ_ij u_ij ‖z_i − v_j‖² + Σ_ij u_ij log u_ij − (n c / 2) log γ + λ tr(Zᵀ L̂ Z),    Zᵀ Z = I,

    where L̂ is the normalised Laplacian of a nearest-neighbour graph of X, or of one that anchors make.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        ``"auto"`` counts the clusters: it splits the graph at valleys that are deeper than chance makes them
        (`afcm.graph.counting`, `select_n_clusters`). If there are none it says so and gives one cluster.
    n_neighbors : int or "auto", default="auto"
        Neighbours of each sample in the graph, itself not counted. ``"auto"``: 1.5 for each doubling of the mean
        cluster size, ``1.5 log2(n_samples / n_clusters)``, and at least 3.
    graph : {"neighbors", "anchors"}, default="neighbors"
        ``"neighbors"``: each sample and its nearest neighbours. ``"anchors"``, for many samples: each sample and its
        nearest of a few anchors, by which samples are similar to each other. Time and memory grow linearly with the
        samples (`afcm.graph.anchors.affinity`). ``n_neighbors`` are then anchors of a sample, and ``"auto"`` is the same rule
        with anchors in place of samples.
    n_anchors : int or "auto", default="auto"
        ``"auto"``: 1000, or 10 for each cluster if that is more, and at most all samples.
    neighbor_search : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are found. ``"approximate"`` (`afcm.neighbors.approximate`) misses a few of them and knows how many
        (``neighbor_recall_``); it needs the extra ``afcm[fast]``. ``"auto"`` takes it for dense X of more than six
        columns and 30 000 samples, where it is the faster one, if it is installed.
    kernel : {"sharpened", "adaptive", "local", "gaussian", "binary"}, default="sharpened"
        Similarity of neighbours. ``"sharpened"`` looks at the adaptive graph's own eigenvectors and lets the edges fade
        that run between what they hold apart (`afcm.graph.sharpening`): the best without labels, at about twice the cost.
        ``"adaptive"`` and ``"local"`` scale themselves too. ``"gaussian"`` is the paper's,
        ``exp(−d²/(2 bandwidth²))``. With anchors a sample's weights on them are divided by their sum, and
        ``"sharpened"``, which needs edges between samples, is ``"adaptive"``.
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
        A run stops when no membership changes by more than ``tol``, or J by no more than ``tol``/100 a sample.
    merge_duplicates : bool, default=True
        Identical samples are one node of the graph, with their number as its mass, so that they do not fill
        each other's neighbour lists. False: every sample its own node, as in the paper.
    random_state : int, RandomState or None, default=None
    callback : callable, optional
        Called after each sweep with an `afcm.fitting.loop.Iteration`; or an `afcm.checkpoints.Checkpoint`.
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
    neighbor_recall_ : float
        The share of the true nearest neighbours in the graph: 1, or estimated where the search was approximate.
    anchors_ : array (n_anchors, n_features)
    n_anchors_ : int
        With ``graph="anchors"`` alone.
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
        neighbor_search: str = "auto",
        kernel: str = "sharpened",
        bandwidth: float = 2.0,
        graph_weight: float | str = "auto",
        affinity: str = "nearest_neighbors",
        graph: str = "neighbors",
        n_anchors: int | str = "auto",
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
        self.neighbor_search = neighbor_search
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.graph_weight = graph_weight
        self.affinity = affinity
        self.graph = graph
        self.n_anchors = n_anchors
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
            "neighbor_search": "exact",
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
        self._check_parameters()
        checkpoints.check_early(self)
        if arrays.is_dask(X):
            return self._fit_chunks(X, sample_weight)
        return self.fit_prepared(self.prepare(X, sample_weight))

    def prepare(self, X: Any, sample_weight: Any = None) -> PreparedGraph:
        """The first half of `fit`: validate X and build its graph, for many fits on the same samples.

        Parameters
        ----------
        X, sample_weight : as for `fit`

        Returns
        -------
        PreparedGraph
            For `fit_prepared`, of this or another AFCM. It depends on ``graph``, ``n_anchors``, ``n_neighbors``,
            ``neighbor_search``, ``kernel``, ``bandwidth``, ``affinity`` and ``merge_duplicates`` alone, and on
            ``n_clusters`` where those are ``"auto"`` or ``"sharpened"``.
        """
        self._check_parameters()
        given, X = X, self._validated(X)
        weights = validation.check_sample_weight(arrays.to_host(sample_weight), X.shape[0])
        nodes = self._find_nodes(X, weights)
        n_clusters = None if self.n_clusters == "auto" else self.n_clusters
        n_neighbors = None if self.n_neighbors == "auto" else int(self.n_neighbors)
        setting = GraphSetting(n_clusters, n_neighbors, self.kernel, float(self.bandwidth), self.neighbor_search)
        build = setting.from_similarities if self.affinity == "precomputed" else setting.from_points
        if self.graph == "anchors":
            build = self._anchor_setting(n_clusters, n_neighbors).from_points
        features = {name: value for name, value in vars(self).items() if name in FEATURE_ATTRIBUTES}
        to_host = arrays.is_tensor(X) and not arrays.is_tensor(given)
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
        self._keep(prepared, problem, best.state)
        self._store_fit(prepared, problem, best)
        if prepared.to_host:
            kept = self._similarity, self._base, self._extension
            self._similarity, self._base, self._extension = arrays.to_device_of(kept, None)
        if stopped is not None:
            raise stopped
        return self
