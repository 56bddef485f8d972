"""The methods of the tables: each fits a model for a grid point and a seed, on data and graphs that runs share."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from afcm._typing import Floats
from afcm.baselines import CDKM, FCAG, FKPS, RSFKM, SpectralBaseline
from afcm.datasets import dataset_info, load_dataset, make_rings, make_spirals
from afcm.equations import fuzzy_c_means
from afcm.estimators.afcm import AFCM
from afcm.estimators.fuzzy import FCM, EntropyFCM
from afcm.estimators.plain import PlainAFCM
from afcm.fitting import starts
from afcm.fitting.loop import Iteration, never
from afcm.graph.prepared import PreparedGraph
from afcm.metrics import clustering_accuracy

Params = dict[str, Any]
TOYS = {"spirals": make_spirals, "rings": make_rings}
# Fits on one graph from which on all its eigenvectors are worth computing first.
MANY_FITS = 20


class NotApplicable(ValueError):
    """A grid point that makes no sense for a data set: a skip, not a failure."""


class Workbench:
    """One data set, scaled as in the paper, and what its runs share; graphs are kept until `forget`."""

    def __init__(self, dataset: str, folder: str | None) -> None:
        self.name = dataset
        if dataset in TOYS:
            self.X, self.y = TOYS[dataset](random_state=0)
        else:
            found = load_dataset(dataset, folder=folder, scale="minmax", download=False)
            self.X, self.y = found.X, found.y
        self.n_clusters = int(np.unique(self.y).size)
        self._graphs: dict[tuple[Any, ...], PreparedGraph] = {}
        self._centers: dict[int, Floats] = {}
        self.seconds = 0.0  # spent on graphs: no run's own time

    @cached_property
    def rotated(self) -> Floats:
        """The samples in as many dimensions as they span: equal distances, and a tenth of the columns for faces."""
        if self.X.shape[1] < self.X.shape[0]:
            return self.X
        left, lengths, _ = np.linalg.svd(self.X - self.X.mean(axis=0), full_matrices=False)
        return np.ascontiguousarray((left * lengths)[:, lengths > 1e-12 * lengths[0]])

    def k_means_centers(self, seed: int) -> Floats:
        """Run k-means once: the start of every grid point of RSFKM with this seed."""
        if seed not in self._centers:
            model = KMeans(self.n_clusters, n_init=1, random_state=seed).fit(self.rotated)
            self._centers[seed] = model.cluster_centers_
        return self._centers[seed]

    @cached_property
    def rough_distances(self) -> Floats:
        """Distances to the first k-means centers: the scale of RSFKM's cap."""
        return fuzzy_c_means.distances(self.rotated, self.k_means_centers(0))

    def prepare(self, key: tuple[Any, ...], model: AFCM, n_fits: int = 0) -> PreparedGraph:
        """Build the graph that this AFCM would use, once for all runs with this key."""
        if key not in self._graphs:
            begin = time.perf_counter()
            self._graphs[key] = model.prepare(self.X)
            if n_fits >= MANY_FITS:
                self._graphs[key].learn_basis()
            self.seconds += time.perf_counter() - begin
        return self._graphs[key]

    def forget(self) -> None:
        self._graphs.clear()


class Fit(NamedTuple):
    """A fitted model, and details that its row is to tell."""

    model: Any
    details: dict[str, Any] = {}  # noqa: RUF012 (nobody writes to it)


Runner = Callable[[Workbench, Params, int], Fit]


def make_runner(kind: Callable[..., Any], **fixed: Any) -> Runner:
    """Return a runner that fits a model of this kind, with these parameters and those of the grid point."""

    def fit(bench: Workbench, params: Params, seed: int) -> Fit:
        return Fit(kind(bench.n_clusters, random_state=seed, **fixed, **params).fit(bench.rotated))

    return fit


def fit_rsfkm(bench: Workbench, params: Params, seed: int) -> Fit:
    """Fit RSFKM in its consistent form from k-means; 50 sweeps, as in its first author's code."""
    quantile = params["cap_quantile"]
    tau = float(np.quantile(bench.rough_distances, quantile)) if quantile < 1 else np.inf
    start = bench.k_means_centers(seed)
    model = RSFKM(bench.n_clusters, fuzziness=params["fuzziness"], tau=tau, init=start, max_iter=50)
    return Fit(model.fit(bench.rotated), {"tau": tau} if quantile < 1 else {})


def fit_fcag(bench: Workbench, params: Params, seed: int) -> Fit:
    """Fit FCAG with BKHK anchors from random labels."""
    n_anchors, most = params["n_anchors"], bench.X.shape[0] // 2
    if not bench.n_clusters <= n_anchors <= most or params["n_neighbors"] >= n_anchors:
        raise NotApplicable(f"n_anchors must lie between n_clusters={bench.n_clusters} and {most}, above n_neighbors")
    return Fit(FCAG(bench.n_clusters, random_state=seed, **params).fit(bench.rotated))


def fit_plain(bench: Workbench, params: Params, seed: int) -> Fit:
    """Fit the paper's Algorithm 2."""
    return Fit(PlainAFCM(bench.n_clusters, random_state=seed, **params).fit(bench.X))


def prepare_paper(bench: Workbench, n_neighbors: int, **fixed: Any) -> PreparedGraph:
    """Build the paper's graph; its 70 fits of AFCM make all eigenvectors worth their time."""
    model = AFCM.paper(bench.n_clusters, n_neighbors=n_neighbors, **fixed)
    return bench.prepare(("paper", n_neighbors, *fixed.values()), model, MANY_FITS)


def fit_spectral(bench: Workbench, params: Params, seed: int, **fixed: Any) -> Fit:
    """Fit SC on the paper's graph; with its defaults this is Ablation-1."""
    changes = {name: value for name, value in params.items() if name != "n_neighbors"}
    model = SpectralBaseline(bench.n_clusters, random_state=seed, **changes, **fixed)
    return Fit(model.fit_prepared(prepare_paper(bench, params["n_neighbors"])))


def fit_afcm(bench: Workbench, params: Params, seed: int, **fixed: Any) -> Fit:
    """Fit the paper's Algorithm 1 in the paper's configuration; ``fixed`` changes its graph."""
    model = AFCM.paper(bench.n_clusters, random_state=seed, **params, **fixed)
    return Fit(model.fit_prepared(prepare_paper(bench, params["n_neighbors"], **fixed)))


class _AllSweeps(AFCM):
    _stop = staticmethod(never)


def fit_trace(bench: Workbench, params: Params, seed: int) -> Fit:
    """Fit AFCM in the paper's configuration for all 80 sweeps, and keep ACC after each."""
    accuracies: list[float] = []

    def keep_accuracy(iteration: Iteration[Any]) -> None:
        labels = np.argmax(iteration.state.memberships, axis=1)
        accuracies.append(100 * clustering_accuracy(bench.y, labels))

    model = _AllSweeps.paper(bench.n_clusters, random_state=seed, callback=keep_accuracy, **params)
    model.fit_prepared(prepare_paper(bench, params["n_neighbors"]))
    gamma, cap = model.history_["gamma"], model.gamma_cap_
    capped = np.flatnonzero(gamma >= cap * (1 - 1e-12))
    details = {
        "objective": model.history_["objective"].tolist(),
        "acc": accuracies,
        "gamma": gamma.tolist(),
        "gamma_cap": cap,
        "capped_at": int(capped[0]) + 1 if capped.size else None,
    }
    return Fit(model, details)


def fit_ours(bench: Workbench, params: Params, seed: int) -> Fit:
    """Fit AFCM with a self-scaling kernel and the spectral start, of one run of k-means or the best of several."""
    prepared, random = prepare_ours(bench, params), np.random.RandomState(seed)
    _, start = starts.start_prepared(prepared, bench.n_clusters, random, params["start_runs"])
    weight = params["weight_per_sample"] * prepared.n_samples
    model = AFCM(bench.n_clusters, graph_weight=weight, init=start[prepared.nodes.inverse], random_state=seed)
    return Fit(model.fit_prepared(prepared))


def prepare_ours(bench: Workbench, params: Params) -> PreparedGraph:
    """Build a graph with one of our kernels, or without parameters the graph of AFCM as it comes."""
    setting = {name: params[name] for name in ("kernel", "n_neighbors") if params}
    return bench.prepare(tuple(setting.values()), AFCM(bench.n_clusters, **setting), MANY_FITS if params else 0)


def fit_our_spectral(bench: Workbench, params: Params, seed: int) -> Fit:
    """Fit row-normalized spectral clustering on the graph of one of our fits of AFCM."""
    model = SpectralBaseline(bench.n_clusters, row_normalized=True, random_state=seed)
    return Fit(model.fit_prepared(prepare_ours(bench, params)))


def fit_default(bench: Workbench, params: Params, seed: int) -> Fit:
    """Fit AFCM as it comes: no labels, no setting."""
    return Fit(AFCM(bench.n_clusters, random_state=seed).fit_prepared(prepare_ours(bench, params)))


RUNNERS: dict[str, Runner] = {
    "FCM": make_runner(FCM.matlab),  # MATLAB's stop rule, as the printed Iris row needs it
    "FCM-ER": make_runner(EntropyFCM, init="random", n_init=1),
    "SC": fit_spectral,
    "RSFKM": fit_rsfkm,
    "CDKM": make_runner(CDKM),
    "FKPS": make_runner(FKPS, max_iter=30),  # shrinkages, as in the authors' code
    "FCAG": fit_fcag,
    "AFCM": fit_afcm,
    "AFCM-flat": partial(fit_afcm, kernel="binary"),  # all weights 1
    "Ablation-1": fit_spectral,
    "Ablation-2": partial(fit_spectral, assign="plain"),  # PlainAFCM on the spectral embedding
    "PlainAFCM": fit_plain,
    "AFCM-ours": fit_ours,
    "SC-ours": fit_our_spectral,
    "AFCM-default": fit_default,
    "SC-default": fit_our_spectral,
    "AFCM-trace": fit_trace,
}


def name_graph(runner: str, params: Params) -> str:
    """Name the graph of a run, or the runner if it has none: runs that share a graph are best run together."""
    if runner in ("AFCM-ours", "SC-ours"):
        return f"{params['kernel']}-{params['n_neighbors']}"
    if runner in ("SC", "AFCM", "Ablation-1", "Ablation-2", "AFCM-trace"):
        return f"paper-{params['n_neighbors']}"
    if runner == "AFCM-flat":
        return f"flat-{params['n_neighbors']}"
    return "default" if runner in ("AFCM-default", "SC-default") else runner


def estimate_cost(dataset: str, runner: str) -> float:
    """Estimate the seconds of a run, to a factor: for the progress bar and to start long groups first."""
    if dataset in TOYS:
        return 0.1
    info = dataset_info(dataset)
    size = info.n_samples * info.n_clusters / 1e5
    width = min(info.n_features, info.n_samples) / 1e3
    graph_based = name_graph(runner, {"kernel": "", "n_neighbors": 0}) != runner
    return 0.02 + size * (1.2 if graph_based else 2.5 * width)
