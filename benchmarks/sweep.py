"""One sweep of the graph-free models at n = 1,000,000 against one Lloyd iteration of scikit-learn's KMeans.

``make bench NAME=sweep``. A sweep is the difference between a fit of 11 and one of 1, by 10: both cores, one start,
in turns, best of a few. Memory is what the sweeps need beyond X (the memberships that a fit returns are not in it).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measuring import PeakMemory

N_SAMPLES, N_FEATURES, N_CLUSTERS = 1_000_000, 16, 10
SWEEPS, ROUNDS = 10, 5


def make_problem(dtype: Any) -> tuple[Any, Any]:
    """Draw ten overlapping Gaussians, and take ten of the samples as a start."""
    rng = np.random.default_rng(1)
    centers = 2 * rng.standard_normal((N_CLUSTERS, N_FEATURES))
    X = centers[rng.integers(N_CLUSTERS, size=N_SAMPLES)] + rng.standard_normal((N_SAMPLES, N_FEATURES))
    return X.astype(dtype), X[:N_CLUSTERS].astype(dtype)


def sweep_lloyd(X: Any, start: Any, n_sweeps: int) -> None:
    from sklearn.cluster import KMeans

    KMeans(N_CLUSTERS, init=start, n_init=1, max_iter=n_sweeps, tol=0, algorithm="lloyd", copy_x=False).fit(X)


def make_sweeper(kind: str) -> Callable[[Any, Any, int], None]:
    """Make a function that runs the sweeps of a model as its estimator does."""

    def sweep(X: Any, start: Any, n_sweeps: int) -> None:
        from afcm.fitting.loop import run
        from afcm.models.fuzzy import FuzzyProblem
        from afcm.models.plain import PlainProblem

        model = PlainProblem(X) if kind == "PlainAFCM" else FuzzyProblem(X)
        run(model, model.from_centers(start), max_iter=n_sweeps, tol=0.0)

    return sweep


def sweep_scikit_fuzzy(X: Any, _start: Any, n_sweeps: int) -> None:
    from skfuzzy.cluster import cmeans

    memberships = np.random.default_rng(0).uniform(size=(N_CLUSTERS, X.shape[0]))
    cmeans(X.T, N_CLUSTERS, 2.0, error=0.0, maxiter=n_sweeps, init=memberships / memberships.sum(axis=0))


def time_run(work: Callable[[Any, Any, int], None], X: Any, start: Any, n_sweeps: int) -> float:
    began = time.perf_counter()
    work(X, start, n_sweeps)
    return time.perf_counter() - began


def time_sweep(work: Callable[[Any, Any, int], None], X: Any, start: Any, n_sweeps: int = SWEEPS) -> float:
    return (time_run(work, X, start, n_sweeps + 1) - time_run(work, X, start, 1)) / n_sweeps


def main() -> None:
    warnings.simplefilter("ignore")
    methods = {"Lloyd": sweep_lloyd, "PlainAFCM": make_sweeper("PlainAFCM"), "FCM, m = 2": make_sweeper("FCM")}
    print(f"{'':<12}{'float64 ms':>12}{'ratio':>7}{'memory':>8}{'float32 ms':>14}{'ratio':>7}{'memory':>8}")
    table: dict[str, list[float]] = {name: [] for name in methods}
    for dtype in (np.float64, np.float32):
        X, start = make_problem(dtype)
        for work in methods.values():
            work(X[:200_000], start, 2)  # compile, start threads
        times = {name: [] for name in methods}
        for _ in range(ROUNDS):
            for name, work in methods.items():
                times[name].append(time_sweep(work, X, start))
        for name, work in methods.items():
            with PeakMemory() as memory:
                work(X, start, 3)
            extra = (memory.peak - memory.before) * 2**20 / X.nbytes
            table[name] += [1e3 * min(times[name]), min(times[name]) / min(times["Lloyd"]), extra]
    for name, (a, b, c, d, e, f) in table.items():
        print(f"{name:<12}{a:>12.1f}{b:>7.2f}{c:>8.2f}{d:>14.1f}{e:>7.2f}{f:>8.2f}")
    X, start = make_problem(np.float64)
    fuzzy = min(time_sweep(sweep_scikit_fuzzy, X, start, 3) for _ in range(2))
    print(f"scikit-fuzzy: {1e3 * fuzzy:.0f} ms a sweep, {1e3 * fuzzy / table['FCM, m = 2'][0]:.1f} times FCM's")


if __name__ == "__main__":
    main()
