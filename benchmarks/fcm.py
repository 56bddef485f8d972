"""Fuzzy c-means from one start: seconds and peak extra memory of `afcm.FCM` and of its peers.

``make bench NAME=fcm`` compares with scikit-fuzzy, and after ``make peers`` (AFCM_FUZZY_C_MEANS_PYTHON is then the
interpreter of an environment with fuzzy-c-means, which pins numpy < 2) with that too. Read ratios, not seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

N_FEATURES, N_CLUSTERS = 16, 10
CASES = ((100_000, 50, 3), (1_000_000, 10, 2))  # samples, sweeps, rounds
PEER = "AFCM_FUZZY_C_MEANS_PYTHON"
PEER_SCRIPT = """
import json, sys, time, tracemalloc
import numpy as np
from fcmeans import FCM
data = np.load(sys.argv[1])
def fit():
    model = FCM(n_clusters=int(data["n_clusters"]), m=2.0, max_iter=int(data["sweeps"]), error=1e-9, random_state=0)
    begin = time.perf_counter()
    model.fit(X)  # draws its start itself
    return time.perf_counter() - begin
X = data["X"]
if sys.argv[2] == "seconds":
    print(json.dumps(fit()))
else:
    tracemalloc.start(); fit(); print(json.dumps(tracemalloc.get_traced_memory()[1]))
"""


def make_problem(n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten overlapping Gaussians, and the random memberships that fuzzy-c-means draws for ``random_state=0``."""
    rng = np.random.default_rng(1)
    centers = 2 * rng.standard_normal((N_CLUSTERS, N_FEATURES))
    X = centers[rng.integers(N_CLUSTERS, size=n_samples)] + rng.standard_normal((n_samples, N_FEATURES))
    U = np.random.default_rng(0).uniform(size=(n_samples, N_CLUSTERS))
    return X, U / U.sum(axis=1, keepdims=True)


def fit_ours(X: np.ndarray, U: np.ndarray, sweeps: int) -> object:
    from afcm import FCM

    with warnings.catch_warnings():  # so many sweeps and no more is what we ask for
        warnings.simplefilter("ignore")
        return FCM(N_CLUSTERS, init=U, tol=0.0, max_iter=sweeps - 1).fit(X)  # the start is a sweep


def fit_scikit_fuzzy(X: np.ndarray, U: np.ndarray, sweeps: int) -> object:
    from skfuzzy.cluster import cmeans

    return cmeans(X.T, N_CLUSTERS, 2.0, error=0.0, maxiter=sweeps, init=U.T)


def measure_here(fit: Callable[[], object]) -> Callable[[str], float]:
    """Make a function that measures seconds, or peak bytes under tracemalloc, of a fit in this process."""

    def measure(what: str) -> float:
        if what == "bytes":
            tracemalloc.start()
        begin = time.perf_counter()
        fit()
        seconds = time.perf_counter() - begin
        if what == "seconds":
            return seconds
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    return measure


def measure_apart(file: Path) -> Callable[[str], float]:
    """Make a function that measures fuzzy-c-means in its own environment."""

    def measure(what: str) -> float:
        command = [os.environ[PEER], "-c", PEER_SCRIPT, str(file), what]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    return measure


def compare_methods(
    X: np.ndarray, sweeps: int, n_rounds: int, methods: dict[str, Callable[[str], float]]
) -> Iterator[str]:
    """Take the best of several rounds; in each all methods take their turn, so that a busy machine is so for all."""
    rounds = [{name: method("seconds") for name, method in methods.items()} for _ in range(n_rounds)]
    seconds = {name: min(row[name] for row in rounds) for name in methods}
    peaks = {name: method("bytes") for name, method in methods.items()}
    yield f"n={len(X)} d={N_FEATURES} c={N_CLUSTERS} sweeps={sweeps}, extra memory in sizes of X"
    yield f"{'':16}{'seconds':>9}{'ratio':>8}{'memory':>9}{'ratio':>8}"
    for name in methods:
        ratios = seconds[name] / seconds["afcm.FCM"], peaks[name] / peaks["afcm.FCM"]
        yield f"{name:16}{seconds[name]:9.2f}{ratios[0]:8.1f}{peaks[name] / X.nbytes:9.2f}{ratios[1]:8.1f}"


def compare(n_samples: int, sweeps: int, n_rounds: int) -> None:
    X, U = make_problem(n_samples)
    methods = {
        "afcm.FCM": measure_here(lambda: fit_ours(X, U, sweeps)),
        "scikit-fuzzy": measure_here(lambda: fit_scikit_fuzzy(X, U, sweeps)),
    }
    with tempfile.TemporaryDirectory() as folder:
        if os.environ.get(PEER):
            file = Path(folder) / "problem.npz"
            np.savez(file, X=X, n_clusters=N_CLUSTERS, sweeps=sweeps)
            methods["fuzzy-c-means"] = measure_apart(file)
        else:
            print(f"fuzzy-c-means skipped: {PEER} is not set")
        for line in compare_methods(X, sweeps, n_rounds, methods):
            print(line, flush=True)


def main() -> None:
    for case in CASES:
        compare(*case)


if __name__ == "__main__":
    main()
