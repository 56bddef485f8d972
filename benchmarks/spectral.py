"""AFCM against scikit-learn's SpectralClustering: whole fits, what follows the neighbours, memory, and who is right."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from afcm import AFCM
from afcm.datasets import load_dataset
from afcm.neighbors import find_neighbors
from benchmarks.measuring import best_of, measure

K = 10


def fit_afcm(X, c, affinity="nearest_neighbors"):
    """Fit AFCM on the peers' graph: K neighbors, not sharpened."""
    setting = {"affinity": affinity} if affinity == "precomputed" else {"n_neighbors": K, "kernel": "local"}
    return AFCM(c, **setting, random_state=0).fit(X).labels_


def fit_default(X, c):
    return AFCM(c, random_state=0).fit(X).labels_


def fit_peer(X, c, solver, affinity="nearest_neighbors"):
    model = SpectralClustering(c, n_neighbors=K, affinity=affinity, eigen_solver=solver, random_state=0)
    return model.fit(X).labels_


def print_line(name, result, y, reference=None):
    ratio = "" if reference is None else f"{result.seconds / reference:>7.2f}"
    score = "" if y is None else f"{adjusted_rand_score(y, result.value):>8.4f}"
    print(f"  {name:<34}{result.seconds:>9.2f}{result.megabytes:>9.0f}{score:>9}{ratio:>8}", flush=True)


def compare(title, data, c, solvers, *, repeats=2):
    X, y = data
    print(f"\n{title}\n  {'':<34}{'seconds':>9}{'MB':>9}{'ARI':>9}{'/ AFCM':>8}")
    ours = best_of(repeats, fit_afcm, X, c)
    print_line(f"AFCM, local kernel, k = {K}", ours, y, ours.seconds)
    print_line("AFCM as it comes", best_of(repeats, fit_default, X, c), y, ours.seconds)
    print_line('AFCM("auto")', best_of(repeats, fit_default, X, "auto"), y, ours.seconds)
    for solver in solvers:
        print_line(f"SpectralClustering {solver}", measure(fit_peer, X, c, solver), y, ours.seconds)


def compare_on_graph(X, y, c, solvers):
    W = kneighbors_graph(X, K, include_self=False)
    W = (W + W.T) / 2
    print(f"  {'from the same precomputed graph:':<34}")
    ours = best_of(2, fit_afcm, W, c, "precomputed")
    print_line("AFCM", ours, y, ours.seconds)
    for solver in solvers:
        print_line(f"SpectralClustering {solver}", measure(fit_peer, W, c, solver, "precomputed"), y, ours.seconds)


def compare_neighbors(X):
    print(f"  {'neighbours alone:':<34}")
    ours = best_of(2, find_neighbors, X, K)
    print_line("afcm.neighbors", ours, None, ours.seconds)
    print_line("scikit-learn", best_of(2, kneighbors_graph, X, K), None, ours.seconds)


def compare_blobs(n=30_000, spread=1.0, solvers=("lobpcg", "amg", "arpack")):
    X, y = make_blobs(n, 16, centers=10, cluster_std=spread, random_state=0)
    compare(f"16-d blobs, n = {n}, c = 10, spread {spread}", (X, y), 10, solvers)
    compare_on_graph(X, y, 10, solvers)
    compare_neighbors(X)


def compare_moons(n=30_000):
    X, y = make_moons(n, noise=0.07, random_state=0)
    compare(f"two moons, noise 0.07, n = {n}", (X, y), 2, ("lobpcg", "amg", "arpack"))


def compare_faces():
    folder = os.environ.get("AFCM_DATA", Path(__file__).parents[2] / "shared" / "data")
    try:
        data = load_dataset("pose07", folder=folder, scale="minmax", download=False)
    except FileNotFoundError as reason:
        print(f"\nfaces: skipped ({reason})")
        return
    faces = (np.asarray(data.X), data.y)
    compare("faces (pose07), n = 1629, d = 1024, c = 68", faces, 68, ("arpack",), repeats=3)


def main() -> None:
    compare_blobs()
    compare_blobs(spread=4.0, solvers=("lobpcg", "amg"))
    compare_moons()
    compare_faces()


if __name__ == "__main__":
    main()
