"""CDKM against scikit-learn's KMeans: time to each one's own convergence from the same k-means++ start."""

from time import perf_counter

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.datasets import make_blobs

from afcm.baselines import CDKM, loops

SETTINGS = [(2_000, 16, 10), (10_000, 16, 10), (10_000, 64, 20), (100_000, 16, 10)]
REPEATS = 7


def time_fits(models, points):
    """Seconds of the fastest of a few fits of each, in turns, so that a busy spell hits both."""
    seconds = [[] for _ in models]
    for _ in range(REPEATS):
        for model, times in zip(models, seconds, strict=True):
            begin = perf_counter()
            model.fit(points)
            times.append(perf_counter() - begin)
    return map(min, seconds)


def compare(n_samples, n_features, n_clusters, seed=0):
    points, _ = make_blobs(n_samples, n_features, centers=n_clusters, cluster_std=8.0, random_state=seed)
    start = kmeans_plusplus(points, n_clusters, random_state=seed)[0]
    lloyd = KMeans(n_clusters, init=start, n_init=1, tol=0, max_iter=1000)
    ours = CDKM(n_clusters, init=start)
    lloyd_seconds, seconds = time_fits([lloyd, ours], points)
    relative = ours.objective_ / lloyd.inertia_ - 1
    return (
        f"{n_samples:>8} {n_features:>4} {n_clusters:>4} {lloyd_seconds:>9.3f} {lloyd.n_iter_:>6} "
        f"{seconds:>9.3f} {ours.n_iter_:>6} {seconds / lloyd_seconds:>6.2f} {relative:>+10.2e}"
    )


def main():
    """Print the table; the first, compiling call is not timed."""
    CDKM(10, random_state=0).fit(np.random.default_rng(0).normal(size=(2_000, 16)))
    compiled = "Numba" if loops.compile_loop(loops.hartigan_scalar) is not None else "NumPy"
    print(f"CDKM in {compiled}; objective relative to KMeans, below 0 is better")
    print("       n    d    c  KMeans s sweeps    CDKM s sweeps  ratio  objective")
    for setting in SETTINGS:
        print(compare(*setting))


if __name__ == "__main__":
    main()
