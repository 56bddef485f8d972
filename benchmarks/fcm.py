"""Fuzzy c-means, 50 sweeps from one start: seconds and peak extra memory of `afcm.FCM` and of its peers.

``python -m benchmarks.fcm`` compares with scikit-fuzzy; set AFCM_FUZZY_C_MEANS_PYTHON to the interpreter of a virtual
environment with fuzzy-c-means (it pins numpy < 2) to compare with that too. Read ratios, not seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

N_SAMPLES, N_FEATURES, N_CLUSTERS, SWEEPS = 100_000, 16, 10, 50
REPEATS = 3
PEER = "AFCM_FUZZY_C_MEANS_PYTHON"
PEER_SCRIPT = """
import json, sys, time, tracemalloc
import numpy as np
from fcmeans import FCM
data = np.load(sys.argv[1])
X, n_clusters, sweeps = data["X"], int(data["n_clusters"]), int(data["sweeps"])
def fit():
    model = FCM(n_clusters=n_clusters, m=2.0, max_iter=sweeps, error=1e-9, random_state=0)  # draws U itself
    model.fit(X)
    return model
times = []
for _ in range(int(sys.argv[2])):
    begin = time.perf_counter(); fit(); times.append(time.perf_counter() - begin)
tracemalloc.start(); fit(); peak = tracemalloc.get_traced_memory()[1]
print(json.dumps([min(times), peak]))
"""


def problem(n_samples: int = N_SAMPLES) -> tuple[np.ndarray, np.ndarray]:
    """Ten overlapping Gaussians, and the random memberships that fuzzy-c-means draws for ``random_state=0``."""
    rng = np.random.default_rng(1)
    centers = 2 * rng.standard_normal((N_CLUSTERS, N_FEATURES))
    X = centers[rng.integers(N_CLUSTERS, size=n_samples)] + rng.standard_normal((n_samples, N_FEATURES))
    U = np.random.default_rng(0).uniform(size=(n_samples, N_CLUSTERS))
    return X, U / U.sum(axis=1, keepdims=True)


def ours(X: np.ndarray, U: np.ndarray) -> object:
    from afcm import FCM

    with warnings.catch_warnings():  # so many sweeps and no more is what we ask for
        warnings.simplefilter("ignore")
        return FCM(N_CLUSTERS, init=U, tol=0.0, max_iter=SWEEPS - 1).fit(X)  # the start is a sweep


def scikit_fuzzy(X: np.ndarray, U: np.ndarray) -> object:
    from skfuzzy.cluster import cmeans

    return cmeans(X.T, N_CLUSTERS, 2.0, error=0.0, maxiter=SWEEPS, init=U.T)


def measured(fit: Callable[[], object], repeats: int = REPEATS) -> tuple[float, int]:
    """Best seconds of several, and peak bytes of one more under tracemalloc."""
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        fit()
        seconds.append(time.perf_counter() - begin)
    tracemalloc.start()
    fit()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return min(seconds), peak


def fuzzy_c_means(X: np.ndarray, repeats: int = REPEATS) -> tuple[float, int] | None:
    """The same in the other environment, or None where there is none."""
    if PEER not in os.environ:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.npz"
        np.savez(file, X=X, n_clusters=N_CLUSTERS, sweeps=SWEEPS)
        command = [os.environ[PEER], "-c", PEER_SCRIPT, str(file), str(repeats)]
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, peak = json.loads(answer.stdout)
    return seconds, peak


def main() -> None:
    n_samples = int(sys.argv[1]) if len(sys.argv) > 1 else N_SAMPLES
    X, U = problem(n_samples)
    rows = {"afcm.FCM": measured(lambda: ours(X, U)), "scikit-fuzzy": measured(lambda: scikit_fuzzy(X, U))}
    peer = fuzzy_c_means(X)
    if peer is None:
        print(f"fuzzy-c-means skipped: {PEER} is not set")
    else:
        rows["fuzzy-c-means"] = peer
    best, least = rows["afcm.FCM"]
    print(f"n={n_samples} d={N_FEATURES} c={N_CLUSTERS} sweeps={SWEEPS}, extra memory in sizes of X")
    print(f"{'':16}{'seconds':>9}{'ratio':>8}{'memory':>9}{'ratio':>8}")
    for name, (seconds, peak) in rows.items():
        print(f"{name:16}{seconds:9.2f}{seconds / best:8.1f}{peak / X.nbytes:9.2f}{peak / least:8.1f}")


if __name__ == "__main__":
    main()
