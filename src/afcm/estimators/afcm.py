"""`AFCM`: adaptive fuzzy c-means with graph embedding, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from afcm import arrays
from afcm._util.messages import warn_user
from afcm._util.threads import one_blas_thread
from afcm.checkpoints import check_checkpoint_early, open_journal
from afcm.equations.sparse_memberships import to_dense_rows
from afcm.estimators import validation
from afcm.estimators.graph_inputs import GraphInputs
from afcm.estimators.inputs import forget
from afcm.estimators.known import KnownLabels, find_known_labels
from afcm.estimators.levels import ClusterLevels
from afcm.estimators.noise import OutlierScores
from afcm.estimators.parameters import ITERATIVE, Rules, choice, choice_or_array, integer, real, share_or_none
from afcm.estimators.renumbering import Renumbering, order_by_size
from afcm.estimators.stability import ViewStability
from afcm.exceptions import NotConvergedWarning
from afcm.fitting import starts
from afcm.fitting.loop import Result, best_run, either_still
from afcm.graph.anchors.prepared import PreparedAnchors
from afcm.graph.kernels import KERNELS
from afcm.graph.prepared import PreparedGraph
from afcm.models.cluster_mixture import Share
from afcm.models.fitted_graph import FittedGraph
from afcm.models.graph_problem import GraphProblem, keep_fit, make_problem, measure_clusters, measure_cut
from afcm.models.known_labels import follow_known_labels
from afcm.models.plain import PlainProblem
from afcm.neighbors import SEARCHES

# λ by default, per sample: λ has the unit of samples, and the graph counts when it is not small against n/2.
DEFAULT_GRAPH_WEIGHT = 3.0
# Clusters that lose no more than this share of their edges to others hardly touch: hard memberships are no surprise.
CLEAN_CUT = 0.01


class AFCM(ClusterLevels, ViewStability, GraphInputs, OutlierScores):
    """Adaptive fuzzy c-means with graph embedding: soft clusters of any shape (the paper's Algorithm 1).

    Memberships, centers, their fuzziness γ and an embedding Z of the samples are learned together, by lowering

        J = γ Σ_ij u_ij ‖z_i − v_j‖² + Σ_ij u_ij log u_ij − (n c / 2) log γ + λ tr(Zᵀ L̂ Z),    Zᵀ Z = I,

    where L̂ is the normalized Laplacian of a nearest-neighbor graph of X, or of one that anchors make.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        ``"auto"`` counts the clusters: it splits the graph at valleys that are deeper than chance makes them
        (`afcm.graph.counting`, `select_n_clusters`). If there are none it says so and gives one cluster.
    n_neighbors : int or "auto", default="auto"
        Neighbors of each sample in the graph, itself not counted. ``"auto"``: 1.5 for each doubling of the mean
        cluster size, ``1.5 log2(n_samples / n_clusters)``, at least 3 and at most 18.
    graph : {"neighbors", "anchors"}, default="neighbors"
        ``"neighbors"``: each sample and its nearest neighbors. ``"anchors"``, for many samples: each sample and its
        nearest of a few anchors, by which samples are similar to each other. Time and memory grow linearly with the
        samples (`afcm.graph.anchors`). ``n_neighbors`` are then anchors of a sample, and ``"auto"`` is the same rule
        with anchors in place of samples.
    n_anchors : int or "auto", default="auto"
        ``"auto"``: 1000, or 10 for each cluster if that is more, and at most all samples.
    metric : {"euclidean", "cosine"}, default="euclidean"
        ``"cosine"``: samples are compared by direction. Their rows are scaled to length one at the door, in `fit` and
        for new samples, and all else works on those. A row of zeros is refused. Memberships are then by several graphs
        or a walk, not by a mixture of Gaussians, which is too sure on a sphere.
        Other metrics: ``affinity="precomputed"`` (``docs/packages.md``).
    neighbor_search : {"auto", "exact", "approximate"}, default="auto"
        How neighbors are found. ``"approximate"`` (`afcm.neighbors.approximate`) misses a few of them and knows how
        many (``neighbor_recall_``); it needs the extra ``afcm[fast]``. ``"auto"`` takes it for dense X of more than six
        columns and 15 000 samples (30 000 if there are more than 64 columns), where it is the faster one, if it is
        installed.
    kernel : {"sharpened", "adaptive", "local", "gaussian", "binary"}, default="sharpened"
        Similarity of neighbors. ``"sharpened"`` looks at the adaptive graph's own eigenvectors and lets the edges fade
        whose ends they hold apart (`afcm.graph.sharpening`): the best without labels, at about twice the cost.
        ``"adaptive"`` and ``"local"`` scale themselves too. ``"gaussian"`` is the paper's,
        ``exp(−d²/(2 bandwidth²))``. With anchors a sample's weights on them are divided by their sum, and
        ``"sharpened"``, which needs edges between samples, is ``"adaptive"``.
    bandwidth : float, default=2.0
        σ of the Gaussian kernel (the paper's value, for min-max scaled data).
    density_strength : float or "auto", default="auto"
        How fast a sample that is sparser than its surroundings loses its influence on the clusters: its mass is
        ``exp(−density_strength · r)``, r the logarithm of how many times farther its neighbors are
        (`afcm.graph.density`). A haze of stray samples is then no bridge between clusters. ``"auto"``: 8 with the
        sharpened kernel, 0 with the others, which are as their names say. 0: density does not count, as in the paper.
    noise : "auto", None or float, default="auto"
        ``"auto"`` looks for background, samples that belong to no cluster, and tells it by ``outlier_scores_`` and
        ``noise_share_``; where a test finds none both are 0. A number between 0 and 1 is the share of background. None:
        nobody looks, as in the paper. Every sample gets a label and memberships in any case. Clear background is not
        counted (``n_clusters="auto"``), and anchors are not learned from it.
    memberships : {"auto", "paper"}, default="auto"
        ``"auto"``: the estimated probability of each cluster given the sample, by a mixture of Gaussians inside the
        clusters (`afcm.models.local_mixture`) where there are samples enough for one and its labels agree with the
        graph, else by the agreement of several graphs (``n_views``) or a random walk over the graph
        (`afcm.graph.diffusion`). Where clusters touch, a fine mixture is asked for a second opinion
        (`afcm.models.overlap`), and the better of both is kept. ``membership_method_`` says which.
        ``"paper"``: the model's own, in which almost every one is 0 or 1; ``paper_memberships_`` has them in any case.
    n_views : int or "auto", default="auto"
        Other graphs of the same samples, with half to four times the neighbors and with other kernels, whose clusters
        are compared with those of the fit (`afcm.fitting.graph_views`). They give ``stability_``, and memberships where
        no mixture does: a walk spreads the shares of graphs that agree, and doubts as much as these do
        (`afcm.models.agreement`). ``"auto"``: 12 where memberships come from them and there are 50 to 2000 different
        samples (fewer with more than 30 clusters), else none. 0: none. Not with anchors or given similarities.
    graph_weight : float or "auto", default="auto"
        λ. Its unit is samples: well below n/2 the graph hardly counts. ``"auto"`` is 3 n: few sweeps, and the
        paper's memberships are mostly hard. From about 1000 n on they are softer, at the price of more sweeps; on the
        sharpened graph that changes little.
    affinity : {"nearest_neighbors", "precomputed"}, default="nearest_neighbors"
        ``"precomputed"``: X is the symmetric matrix of similarities (sparse or dense, its diagonal not used).
    init : {"spectral", "k-means++", "random"} or array, default="spectral"
        ``"spectral"``: k-means on unit-length rows of the graph's leading eigenvectors. ``"random"``: random
        memberships, the paper's. An array holds memberships (n_samples × n_clusters) or centers
        (n_clusters × n_features).
    n_init : int, default=1
        Runs from different random starts. The one with the lowest normalized cut of its labels is kept
        (`normalized_cut_`), not the one with the lowest J: J has no lower bound, it goes to −∞ with γ, while the
        cut lies between 0 and c and an empty cluster counts 1.
    max_iter : int, default=100
    tol : float, default=1e-4
        A run stops when no membership changes by more than ``tol``, or J by no more than ``tol``/100 a sample.
    merge_duplicates : bool, default=True
        Identical samples are one node of the graph, with their number as its mass, so that they do not fill
        each other's neighbor lists. False: every sample its own node, as in the paper.
    random_state : int, RandomState or None, default=None
    callback : callable, optional
        Called after each sweep with an `afcm.fitting.loop.Iteration`; or an `afcm.checkpoints.Checkpoint`.
    device : str or torch.device, optional
        Where to compute, for example ``"cuda"`` (needs PyTorch): NumPy X goes there and NumPy results come back.
        Tensors are worked on where they are, and give tensors.
    warm_start : bool, default=False
        A further `fit` on the same samples makes one run from the memberships, γ and embedding of the fit before,
        whatever ``init`` and ``n_init`` say.
    memberships_format : {"dense", "sparse"}, default="dense"
        ``"sparse"``, for hundreds of clusters: ``memberships_``, ``paper_memberships_`` and `predict_proba` are SciPy
        CSR arrays of the largest few of each sample, at most 16, and fewer if those leave no more than 0.001 to all
        others. They are not scaled: a row sums to what its clusters hold. The fitted model is small; the fit itself
        needs wide arrays all the same, as its embedding has a column for each cluster (``docs/large-data.md``).

    Attributes
    ----------
    memberships_ : array or CSR array (n_samples, n_clusters)
        Rows sum to 1; see ``memberships`` and ``memberships_format``.
    labels_ : array (n_samples,)
        The cluster with the largest membership. The largest cluster is 0, the next one 1, and so on, unless known
        labels, an ``init`` array or an earlier fit (``warm_start``) number them. The start does with
        ``memberships="paper"``, a ``kernel`` that is not the default, or a Dask array. `align` gives the numbers of an
        older model.
    probabilities_ : array (n_samples,)
        The largest membership.
    paper_memberships_ : array or CSR array (n_samples, n_clusters)
        The paper's U.
    membership_method_ : {"mixture", "overlap", "views", "walk", "known", "paper"}
        How ``memberships_`` were made. ``"known"``: by labels known of some samples; ``"overlap"``: the second
        opinion won; embedding, centers and
        ``paper_memberships_`` are then those of the first.
    embedding_ : array (n_samples, n_clusters)
        Z. Orthonormal columns, over the samples with their weights and masses (see ``density_strength``).
    cluster_centers_ : array (n_clusters, n_clusters)
        V, in the embedding. The embedding keeps its columns when clusters are joined or split.
    gamma_ : float
    gamma_cap_ : float
        The largest γ there can be (J has no lower bound: without a cap γ grows for ever once memberships are hard).
    graph_weight_ : float
        The λ that was used.
    objective_ : float
    n_clusters_ : int
        As given, or as counted.
    n_clusters_range_ : tuple of int
        With ``n_clusters="auto"`` alone: the fewest and the most clusters there may be. They differ from
        ``n_clusters_`` where a valley is hardly deeper than chance, or almost deep enough.
    normalized_cut_ : float
        Of the labels in the graph; 0 for a perfect cut, up to n_clusters.
    n_components_ : int
        Connected components of the graph. More than one is an answer, not a fault.
    neighbor_recall_ : float
        The share of the true nearest neighbors in the graph: 1, or estimated where the search was approximate.
    levels_ : tuple of rows
        A tree over the clusters, which prints as a table: how many are left, which two groups are joined, the cut
        between them, how stable the new cluster is. `at` goes to a level, `merge` and `split` change clusters by hand;
        each gives a new fitted model (``docs/levels.md``).
    anchors_ : array (n_anchors, n_features)
    n_anchors_ : int
        With ``graph="anchors"`` alone.
    cluster_names_ : array of str (n_clusters,)
        With labels known of some samples alone: the known label of each cluster as text, "" for a cluster without one.
    known_source_ : {"clusters", "both", "discriminant"}
        With known labels alone: whether other samples follow the clusters, a linear discriminant, or both.
    history_ : dict of arrays
        ``objective``, ``gamma`` and ``membership_change`` after each sweep.
    n_iter_, converged_
    crispness_ : float
        0 when every membership is 1/c, 1 when every one is 0 or 1.
    noise_share_ : float
        Estimated share of background among the samples.
    outlier_scores_ : array (n_samples,)
        Estimated probability of each sample to be background rather than of any cluster. Both are there unless
        ``noise=None`` or X holds similarities.
    stability_ : array (n_clusters,)
        How far each cluster is the same in other graphs, from 0 to 1: the samples that it shares with its counterpart,
        as a part of those in either, on average over the graphs of ``n_views``.
    sample_stability_ : array (n_samples,)
        The share of these graphs in which the sample is in the same cluster. Both are there if graphs were compared.
    membership_state_ : {"soft", "hard", "merged"}
        ``"hard"``: all are 0 or 1, with a warning if many edges of the graph run between the clusters, so that some
        samples must be in doubt; ``"merged"``: all are 1/c, with a warning.
    n_features_in_, feature_names_in_

    Notes
    -----
    Sparse X is used for the neighbors only (brute force, as scikit-learn does it) and never made dense. New
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
    _without_scores = "from similarities, which have no density"
    _hard_advice = "memberships='auto' gives probabilities"
    _parameter_rules: ClassVar[Rules] = {
        **ITERATIVE,
        "n_clusters": integer(or_word="auto"),
        "n_neighbors": integer(or_word="auto"),
        "metric": choice("euclidean", "cosine"),
        "neighbor_search": choice(*SEARCHES),
        "kernel": choice("sharpened", table=KERNELS),
        "bandwidth": real(positive=True),
        "density_strength": real(or_word="auto"),
        "noise": share_or_none,
        "memberships": choice("auto", "paper"),
        "n_views": integer(or_word="auto", least=0),
        "graph_weight": real(positive=True, or_word="auto"),
        "affinity": choice("nearest_neighbors", "precomputed"),
        "graph": choice("neighbors", "anchors"),
        "n_anchors": integer(or_word="auto"),
        "init": choice_or_array("spectral", "k-means++", "random"),
        "n_init": integer(),
        "merge_duplicates": validation.check_flag,
        "warm_start": validation.check_flag,
        "memberships_format": choice("dense", "sparse"),
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        n_neighbors: int | str = "auto",
        metric: str = "euclidean",
        neighbor_search: str = "auto",
        kernel: str = "sharpened",
        bandwidth: float = 2.0,
        density_strength: float | str = "auto",
        noise: Share = "auto",
        memberships: str = "auto",
        n_views: int | str = "auto",
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
        memberships_format: str = "dense",
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.neighbor_search = neighbor_search
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.density_strength = density_strength
        self.noise = noise
        self.memberships = memberships
        self.n_views = n_views
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
        self.memberships_format = memberships_format

    @classmethod
    def paper(cls, n_clusters: int, *, n_neighbors: int = 5, graph_weight: float = 1e3, **changes: Any) -> Self:
        """The paper's configuration; scale X to [0, 1] column by column before the fit.

        Gaussian kernel with σ = 2 on the k nearest samples (duplicates included), random memberships, γ₀ = 1, at most
        80 sweeps. The paper chooses ``n_neighbors`` from 3, 4, 5, 6, 8, 10, 12 and ``graph_weight`` from
        1e-1, 1e1, …, 1e6 with the ground truth: an oracle.
        """
        setting: dict[str, Any] = {"neighbor_search": "exact", "kernel": "gaussian", "bandwidth": 2.0}
        setting |= {"init": "random", "max_iter": 80, "tol": 1e-6, "merge_duplicates": False}
        setting |= {"noise": None, "memberships": "paper"}
        return cls(n_clusters, n_neighbors=n_neighbors, graph_weight=graph_weight, **(setting | changes))

    @one_blas_thread()
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the embedding, the clusters and γ.

        Parameters
        ----------
        X : array, tensor, sparse matrix or data frame (n_samples, n_features), or similarities (n_samples, n_samples)
            Or a `PreparedGraph` (of `prepare`). With ``graph="anchors"`` also a Dask array or data frame, which is not
            gathered: see ``docs/scale.md``.
        y : array (n_samples,), optional
            Labels known of some samples; −1, None or NaN for unknown. Known samples keep their cluster, the others
            follow (`afcm.models.known_labels`, ``docs/known-labels.md``). Integers from 0 to n_clusters − 1 are the
            numbers of the clusters; other labels are numbered in their order (``cluster_names_``). A y in which no
            sample is unknown is ignored: pipelines and searches hand it to every estimator, and a clustering must not
            turn into its labels by that.
        sample_weight : array (n_samples,), optional
            Weight 0 is as if the sample were absent, weight 2 as if it were there twice
            (for graph and clusters alike, given ``merge_duplicates=True``).
        """
        self._check_parameters()
        check_checkpoint_early(self)
        prepared = self._check_prepared(X) if isinstance(X, PreparedGraph) else self._prepare(X, sample_weight)
        self._name_features(prepared)
        known = find_known_labels(y, prepared, self.n_clusters, paper=self.memberships == "paper")
        self.n_clusters_ = self._choose_n_clusters(prepared)
        if known is not None and self.n_clusters == "auto":
            self.n_clusters_ = max(self.n_clusters_, known.n_classes)
        forget(self, "n_clusters_range_")
        if self.n_clusters == "auto" and prepared.parts is not None:
            self.n_clusters_range_ = prepared.parts.range
        validation.check_enough_samples(self.n_clusters_, prepared.samples.shape[0], prepared.n_nodes)
        journal = open_journal(self, prepared.samples, prepared.masses)
        random = journal.restore_random(check_random_state(self.random_state))
        problem, by_size = self._make_problem(prepared), known is None and self._has_free_numbers(prepared)
        best, interrupt = best_run(
            problem,
            self._make_starters(problem, prepared, random),
            key=lambda result: measure_cut(problem, prepared.graph, result.state.memberships),
            max_iter=self.max_iter,
            tol=self.tol,
            stop=self._stop,
            journal=journal,
        )
        self._store(prepared, problem, best, known)
        if by_size:
            self._number_by_size(prepared.sample_weight)
        if interrupt is not None:
            raise interrupt
        return self

    @one_blas_thread()
    def prepare(self, X: Any, sample_weight: Any = None) -> PreparedGraph:
        """Validate X and build its graph, for many fits on the same samples.

        Parameters
        ----------
        X, sample_weight : as for `fit`

        Returns
        -------
        PreparedGraph
            For `fit_prepared`, of this or another AFCM. It depends on ``graph``, ``n_anchors``, ``n_neighbors``,
            ``metric``, ``neighbor_search``, ``kernel``, ``bandwidth``, ``affinity`` and ``merge_duplicates`` alone, and
            on ``n_clusters`` where those are ``"auto"`` or ``"sharpened"``.
        """
        self._check_parameters()
        return self._prepare(X, sample_weight)

    def fit_prepared(self, prepared: PreparedGraph, y: Any = None) -> Self:
        """Learn embedding, clusters and γ on a graph of `prepare`; the same as ``fit(prepared, y)``."""
        return self.fit(prepared, y)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and return the labels of X; y as for `fit`."""
        return self.fit(X, y, sample_weight=sample_weight).labels_

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and return the embedding of X."""
        return self.fit(X, y, sample_weight=sample_weight).embedding_

    def transform(self, X: Any) -> Any:
        """Rows of the embedding for new samples, n×c.

        With ``affinity="precomputed"`` X holds the similarities to the fitted samples (n_new × n_samples).
        """
        return arrays.to_device_of(self._fitted_graph().embed(self._validate_queries(X)), X)

    def predict_proba(self, X: Any) -> Any:
        """Memberships of new samples, n×c; rows sum to 1. The model is not changed.

        With ``memberships_format="sparse"`` a CSR array of the largest few of each sample.
        With ``affinity="precomputed"`` X holds the similarities to the fitted samples (n_new × n_samples).
        """
        return arrays.to_device_of(self._fitted_graph().memberships(self._validate_queries(X)), X)

    def calibrated_memberships(self, X: Any = None) -> Any:
        """`memberships_`, or `predict_proba` of new samples: an older name for what they are now."""
        check_is_fitted(self)
        return self.memberships_ if X is None else self.predict_proba(X)

    # --- problem and starts ---

    def _make_problem(self, prepared: PreparedGraph) -> GraphProblem:
        auto = isinstance(self.graph_weight, str)
        weight = DEFAULT_GRAPH_WEIGHT * prepared.n_samples if auto else float(self.graph_weight)
        spectral = isinstance(self.init, str) and self.init == "spectral"
        return make_problem(prepared, weight, None if spectral else self.n_clusters_)

    def _make_starters(self, problem: Any, prepared: PreparedGraph, random: Any) -> list[Callable[[], Any]]:
        if self.warm_start and hasattr(self, "_fitted"):
            return [lambda: self._start_from_fit(problem, prepared)]
        if not isinstance(self.init, str):
            return [lambda: problem.from_memberships(self._given_memberships(prepared))]
        return [lambda: self._start(problem, prepared, random)] * self.n_init

    def _start(self, problem: Any, prepared: PreparedGraph, random: Any) -> Any:
        if self.init == "spectral":
            return problem.from_spectral(*starts.start_prepared(prepared, self.n_clusters_, random))
        if self.init == "k-means++":
            centers = starts.seed_centers(prepared.points, self.n_clusters_, prepared.masses, random)
            return problem.from_memberships(assign_softly(prepared.points, prepared.masses, centers))
        memberships = starts.draw_memberships(prepared.n_nodes, self.n_clusters_, random)
        return problem.from_memberships(arrays.from_host(memberships, prepared.graph.degrees))

    def _start_from_fit(self, problem: Any, prepared: PreparedGraph) -> Any:
        nodes, fitted = prepared.graph.degrees, self._fitted.extension
        validation.check_warm_start(fitted.memberships.T.shape, (self.n_clusters_, nodes.shape[0]))
        own = to_dense_rows(fitted.memberships, slice(None))
        memberships, embedding = (arrays.from_host(part, nodes) for part in (own, fitted.embedding))
        return problem.from_fit(memberships, fitted.precision, embedding)

    def _given_memberships(self, prepared: PreparedGraph) -> Any:
        X, points, nodes = prepared.samples, prepared.points, prepared.nodes
        init = arrays.to_host(self.init)
        kind, array = validation.check_init_array(init, X.shape[0], self.n_clusters_, X.shape[1])
        if kind == "memberships":
            return arrays.from_host(array[nodes.rows], X)
        if points is None or sp.issparse(points):
            raise ValueError("init holds centres; with a precomputed affinity or sparse X give memberships instead")
        return assign_softly(points, nodes.masses, arrays.from_host(array, points))

    # --- the result ---

    def _store(self, prepared: PreparedGraph, problem: Any, best: Result[Any], known: KnownLabels | None) -> None:
        state = best.state
        fitted = keep_fit(prepared, problem, state, share=self.noise, paper=self.memberships == "paper")
        forget(self, "cluster_names_", "known_source_")
        if known is not None:
            self.cluster_names_, of_nodes = known.number(self.n_clusters_)
            fitted, self.known_source_ = follow_known_labels(prepared, fitted, of_nodes, self.noise)
        fitted, agreement = self._compare_views(prepared, fitted)
        nodes = state.memberships if fitted.of_nodes is None else fitted.of_nodes
        self.normalized_cut_, links = measure_clusters(problem, prepared.graph, nodes)
        counts = None if fitted.node_of_sample is None else arrays.to_host(prepared.nodes.masses)
        fitted = replace(fitted, links=links, counts=counts)
        fitted = fitted.keep_few() if self.memberships_format == "sparse" else fitted
        home = None if prepared.to_host else state.centers
        self.embedding_, memberships, self.paper_memberships_ = arrays.to_device_of(
            fitted.expand(prepared.samples), home
        )
        self.membership_method_ = fitted.method
        self._fitted = fitted.to_host() if prepared.to_host else fitted
        if self.noise is None or fitted.densities is None:
            self._store_scores(None)
        else:
            scores = arrays.to_device_of(fitted.own_outlier_scores(prepared.samples), home)
            self._store_scores(fitted.densities.share, scores)
        centers = state.centers if known is None else fitted.extension.centers
        self.cluster_centers_ = arrays.to_device_of(centers, home)
        self._describe_graph(prepared, problem, state)
        self._store_run(best, memberships, doubt_hard=self.normalized_cut_ > CLEAN_CUT * self.n_clusters_)
        self._store_stability(fitted, agreement, prepared.samples, home)
        self._warn_of_residual(state)

    def _warn_of_residual(self, state: Any) -> None:
        if not state.eigen_converged:
            warn_user(
                f"AFCM: the eigen-solver stopped with a relative residual of {self.eigen_residual_:.3g}; the embedding "
                "may be inaccurate: use more n_neighbors",
                NotConvergedWarning,
            )

    def _describe_graph(self, prepared: PreparedGraph, problem: Any, state: Any) -> None:
        """Set what is told about the graph and its eigenvectors."""
        forget(self, "anchors_", "n_anchors_")
        if isinstance(prepared, PreparedAnchors):
            self.anchors_ = prepared.similarity.anchors
            self.n_anchors_ = self.anchors_.shape[0]
        self.graph_weight_ = problem.graph_weight
        self.gamma_cap_ = problem.largest_precision(self.n_clusters_)
        self.n_components_ = prepared.n_components
        self.neighbor_recall_ = prepared.recall
        self.eigen_residual_ = state.eigen_residual

    def _has_free_numbers(self, prepared: PreparedGraph) -> bool:
        """Whether nothing but the start numbers the clusters, and the model is not to be as others define it."""
        ours = self.memberships == "auto" and self.kernel == "sharpened" and not arrays.is_chunked(prepared.samples)
        return ours and isinstance(self.init, str) and not (self.warm_start and hasattr(self, "_fitted"))

    def _number_by_size(self, weights: Any) -> None:
        order = order_by_size(arrays.to_host(self.labels_), self.n_clusters_, arrays.to_host(weights))
        if (order != range(self.n_clusters_)).any():
            for name, value in Renumbering(order).renumber_attributes(self).items():
                setattr(self, name, value)

    def _merged_advice(self) -> str:
        return "raise graph_weight or n_neighbors, or try init='spectral'"

    # --- new samples ---

    def _fitted_graph(self) -> FittedGraph:
        check_is_fitted(self)
        return self._fitted

    def _score_background(self, X: Any) -> Any:
        return self._fitted.outlier_scores(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.graph == "neighbors"
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags


def assign_softly(points: Any, masses: Any, centers: Any) -> Any:
    """Memberships of PlainAFCM's first step from these centers."""
    if arrays.is_tensor(points):
        points, centers = points.double(), centers.double()
    return PlainProblem(points, masses).from_centers(centers).memberships
