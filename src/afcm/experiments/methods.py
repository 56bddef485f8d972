"""The methods of the tables: what is fitted for a grid point and a seed, on data and graphs that runs share."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
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
    """One data set, scaled as the paper does, and what its runs share; graphs are kept until `forget`."""

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
        """The samples in as many dimensions as they span: the same distances, and a tenth of the columns for faces."""
        if self.X.shape[1] < self.X.shape[0]:
            return self.X
        left, lengths, _ = np.linalg.svd(self.X - self.X.mean(axis=0), full_matrices=False)
        return np.ascontiguousarray((left * lengths)[:, lengths > 1e-12 * lengths[0]])

    def k_means_centers(self, seed: int) -> Floats:
        """Centres of one run of k-means: the start of every grid point of RSFKM with this seed."""
        if seed not in self._centers:
            self._centers[seed] = (
                KMeans(self.n_clusters, n_init=1, random_state=seed).fit(self.rotated).cluster_centers_
            )
        return self._centers[seed]

    @cached_property
    def rough_distances(self) -> Floats:
        """Distances to the first such centres: the scale of RSFKM's cap."""
        return fuzzy_c_means.distances(self.rotated, self.k_means_centers(0))

    def prepared(self, key: tuple[Any, ...], model: AFCM, n_fits: int = 0) -> PreparedGraph:
        """The graph this AFCM would build, built once."""
        if key not in self._graphs:
            begin = time.perf_counter()
            self._graphs[key] = model.prepare(self.X)
            if n_fits >= MANY_FITS:
                self._graphs[key].learn_basis()
            self.seconds += time.perf_counter() - begin
        return self._graphs[key]

    def forget(self) -> None:
        """Let the graphs go."""
        self._graphs.clear()


class Fit(NamedTuple):
    """What a run gives to its row."""

    model: Any
    details: dict[str, Any]


Runner = Callable[[Workbench, Params, int], Fit]


def fcm(bench: Workbench, params: Params, seed: int) -> Fit:
    """FCM with MATLAB's stop rule, as the printed Iris row needs it."""
    return Fit(FCM.matlab(bench.n_clusters, random_state=seed, **params).fit(bench.rotated), {})


def fcm_er(bench: Workbench, params: Params, seed: int) -> Fit:
    """Entropy-regularised FCM from random memberships."""
    model = EntropyFCM(bench.n_clusters, init="random", n_init=1, random_state=seed, **params)
    return Fit(model.fit(bench.rotated), {})


def rsfkm(bench: Workbench, params: Params, seed: int) -> Fit:
    """RSFKM in its consistent form from k-means; 50 sweeps, as in its first author's code."""
    quantile = params["cap_quantile"]
    tau = float(np.quantile(bench.rough_distances, quantile)) if quantile < 1 else np.inf
    start = bench.k_means_centers(seed)
    model = RSFKM(bench.n_clusters, fuzziness=params["fuzziness"], tau=tau, init=start, max_iter=50)
    return Fit(model.fit(bench.rotated), {"tau": tau} if quantile < 1 else {})


def cdkm(bench: Workbench, params: Params, seed: int) -> Fit:
    """CDKM from random labels."""
    return Fit(CDKM(bench.n_clusters, random_state=seed, **params).fit(bench.rotated), {})


def fkps(bench: Workbench, params: Params, seed: int) -> Fit:
    """FKPS, the base model; 30 shrinkages, as in the authors' code."""
    return Fit(FKPS(bench.n_clusters, max_iter=30, random_state=seed, **params).fit(bench.rotated), {})


def fcag(bench: Workbench, params: Params, seed: int) -> Fit:
    """FCAG with BKHK anchors from random labels."""
    n_anchors, most = params["n_anchors"], bench.X.shape[0] // 2
    if not bench.n_clusters <= n_anchors <= most or params["n_neighbors"] >= n_anchors:
        raise NotApplicable(f"n_anchors must lie between n_clusters={bench.n_clusters} and {most}, above n_neighbors")
    return Fit(FCAG(bench.n_clusters, random_state=seed, **params).fit(bench.rotated), {})


def plain(bench: Workbench, params: Params, seed: int) -> Fit:
    """The paper's Algorithm 2."""
    return Fit(PlainAFCM(bench.n_clusters, random_state=seed, **params).fit(bench.X), {})


def paper_graph(bench: Workbench, n_neighbors: int) -> PreparedGraph:
    """The paper's graph; its 70 fits of AFCM make all eigenvectors worth their time."""
    model = AFCM.paper(bench.n_clusters, n_neighbors=n_neighbors)
    return bench.prepared(("paper", n_neighbors), model, MANY_FITS)


def spectral(bench: Workbench, params: Params, seed: int) -> Fit:
    """SC, and with its defaults Ablation-1."""
    changes = {name: value for name, value in params.items() if name != "n_neighbors"}
    model = SpectralBaseline(bench.n_clusters, random_state=seed, **changes)
    return Fit(model.fit_prepared(paper_graph(bench, params["n_neighbors"])), {})


def ablation_2(bench: Workbench, params: Params, seed: int) -> Fit:
    """PlainAFCM on the spectral embedding."""
    return spectral(bench, {**params, "assign": "plain"}, seed)


def afcm(bench: Workbench, params: Params, seed: int) -> Fit:
    """The paper's Algorithm 1 in the paper's configuration."""
    model = AFCM.paper(bench.n_clusters, random_state=seed, **params)
    return Fit(model.fit_prepared(paper_graph(bench, params["n_neighbors"])), {})


def afcm_flat(bench: Workbench, params: Params, seed: int) -> Fit:
    """The same with all weights 1."""
    model = AFCM.paper(bench.n_clusters, kernel="binary", random_state=seed, **params)
    return Fit(model.fit_prepared(bench.prepared(("flat", params["n_neighbors"]), model, MANY_FITS)), {})


class _AllSweeps(AFCM):
    """AFCM that never stops early."""

    _stop = staticmethod(never)


def afcm_trace(bench: Workbench, params: Params, seed: int) -> Fit:
    """The same, 80 sweeps long, with ACC after each."""
    accuracies: list[float] = []

    def look(iteration: Iteration[Any]) -> None:
        labels = np.argmax(iteration.state.memberships, axis=1)
        accuracies.append(100 * clustering_accuracy(bench.y, labels))

    model = _AllSweeps.paper(bench.n_clusters, random_state=seed, callback=look, **params)
    model.fit_prepared(paper_graph(bench, params["n_neighbors"]))
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


def ours(bench: Workbench, params: Params, seed: int) -> Fit:
    """AFCM with a self-scaling kernel and the spectral start, of one run of k-means or the best of several."""
    prepared, random = our_graph(bench, params), np.random.RandomState(seed)
    _, start = starts.start_prepared(prepared, bench.n_clusters, random, params["start_runs"])
    weight = params["weight_per_sample"] * prepared.n_samples
    model = AFCM(bench.n_clusters, graph_weight=weight, init=start[prepared.nodes.inverse], random_state=seed)
    return Fit(model.fit_prepared(prepared), {})


def our_graph(bench: Workbench, params: Params) -> PreparedGraph:
    """A graph with one of our kernels."""
    setting = {name: params[name] for name in ("kernel", "n_neighbors")}
    return bench.prepared(tuple(setting.values()), AFCM(bench.n_clusters, **setting), MANY_FITS)


def our_spectral(bench: Workbench, params: Params, seed: int) -> Fit:
    """Row-normalised spectral clustering on the same graph."""
    model = SpectralBaseline(bench.n_clusters, row_normalized=True, random_state=seed)
    return Fit(model.fit_prepared(our_graph(bench, params)), {})


def default(bench: Workbench, params: Params, seed: int) -> Fit:
    """AFCM as it comes: no labels, no setting."""
    model = AFCM(bench.n_clusters, random_state=seed, **params)
    return Fit(model.fit_prepared(bench.prepared(("default",), model)), {})


def default_spectral(bench: Workbench, params: Params, seed: int) -> Fit:
    """Row-normalised spectral clustering on the graph of AFCM as it comes."""
    prepared = bench.prepared(("default",), AFCM(bench.n_clusters))
    model = SpectralBaseline(bench.n_clusters, row_normalized=True, random_state=seed, **params)
    return Fit(model.fit_prepared(prepared), {})


RUNNERS: dict[str, Runner] = {
    "FCM": fcm,
    "FCM-ER": fcm_er,
    "SC": spectral,
    "RSFKM": rsfkm,
    "CDKM": cdkm,
    "FKPS": fkps,
    "FCAG": fcag,
    "AFCM": afcm,
    "AFCM-flat": afcm_flat,
    "Ablation-1": spectral,
    "Ablation-2": ablation_2,
    "PlainAFCM": plain,
    "AFCM-ours": ours,
    "SC-ours": our_spectral,
    "AFCM-default": default,
    "SC-default": default_spectral,
    "AFCM-trace": afcm_trace,
}


def sharing(runner: str, params: Params) -> str:
    """What runs on one data set have in common: those with the same graph are best run one after the other."""
    if runner in ("AFCM-ours", "SC-ours"):
        return f"{params['kernel']}-{params['n_neighbors']}"
    if runner in ("SC", "AFCM", "Ablation-1", "Ablation-2", "AFCM-trace"):
        return f"paper-{params['n_neighbors']}"
    if runner == "AFCM-flat":
        return f"flat-{params['n_neighbors']}"
    return "default" if runner in ("AFCM-default", "SC-default") else runner


def rough_cost(dataset: str, runner: str) -> float:
    """Seconds a run may take, to a factor: for the progress bar and to start long groups first."""
    if dataset in TOYS:
        return 0.1
    info = dataset_info(dataset)
    size = info.n_samples * info.n_clusters / 1e5
    width = min(info.n_features, info.n_samples) / 1e3
    graph_based = sharing(runner, {"kernel": "", "n_neighbors": 0}) != runner
    return 0.02 + size * (1.2 if graph_based else 2.5 * width)
