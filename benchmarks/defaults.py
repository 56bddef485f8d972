"""What users type: whole fits of ``AFCM(c).fit(X)`` with nothing set, against scikit-learn's SpectralClustering.

``make bench NAME=defaults`` prints the grid (about half an hour on two cores). ``python -m benchmarks.defaults growth``
adds how time grows with the samples, ``python -m benchmarks.defaults cosine`` compares both metrics, ``python -m
benchmarks.defaults grid 3000x100`` measures some cells alone, and ``OMP_NUM_THREADS=1 python -m benchmarks.defaults cpu
3000x100`` takes the CPU time of one thread, for a machine that
others use too, with the parts of a default fit.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import time

import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from afcm import AFCM
from afcm._util.threads import without_threads
from benchmarks.measuring import Measured, measure

SIZES = ((3_000, 3), (3_000, 100), (20_000, 10), (20_000, 100), (60_000, 10))
KINDS = ("apart", "touching", "sheet")
K = 10
SOLVERS = ("arpack", "lobpcg", "amg")
METHODS = ("default", "local", *SOLVERS)
# A solver is right if its ARI is at most so much below the best one's; one that is so much slower is not run again.
RIGHT, HOPELESS = 0.02, 2.0
ROUNDS = 3
UNIT_VECTORS = (20_000, 200)
# Functions of a default fit whose CPU time is told.
PARTS = ("search_neighbors", "density_masses", "solve_for_sharpening", "coherence", "start_eigenvectors", "k_means")
PARTS += ("alternate", "diffuse", "learn_densities", "own_outlier_scores")
GROWTH, MILLION = (20_000, 40_000, 80_000, 160_000, 320_000), 1_000_000
# Standard deviations of blobs whose centers are drawn from a cube of side 20.
SPREADS = {"apart": 1.0, "close": 3.0, "touching": 4.0}


def make_samples(kind: str, n: int, c: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Blobs in 16 dimensions, clouds on an eight-dimensional curved sheet in 64, or unit vectors in 384."""
    rng = np.random.default_rng(seed)
    if kind in SPREADS:
        return make_blobs(n, 16, centers=c, cluster_std=SPREADS[kind], random_state=seed)
    if kind == "sheet":
        sheet, y = make_blobs(n, 8, centers=c, cluster_std=2.0, random_state=seed)
        return np.tanh(sheet @ rng.normal(size=(8, 64)) / 8) + 0.02 * rng.normal(size=(n, 64)), y
    centers, y = rng.normal(size=(c, 384)), rng.integers(c, size=n)
    X = centers[y] + 2.0 * rng.normal(size=(n, 384))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def fit(method: str, X: np.ndarray, c: int) -> np.ndarray:
    if method == "default":
        return AFCM(c, random_state=0).fit(X).labels_
    if method == "local":
        return AFCM(c, kernel="local", n_neighbors=K, random_state=0).fit(X).labels_
    model = SpectralClustering(
        c, n_neighbors=K, affinity="nearest_neighbors", eigen_solver=method, random_state=0, n_jobs=-1
    )
    return model.fit(X).labels_


def measure_case(kind: str, n: int, c: int, rounds: int = ROUNDS) -> dict[str, tuple[Measured, float]]:
    """The fastest fit of each method with its ARI; methods take turns, so that other work on the machine hits all."""
    X, y = make_samples(kind, n, c)
    best: dict[str, tuple[Measured, float]] = {}
    for number in range(rounds):
        limit = HOPELESS * min((best[solver][0].seconds for solver in SOLVERS if solver in best), default=np.inf)
        for method in METHODS:
            if number and method in SOLVERS and best[method][0].seconds > limit:
                continue
            found = measure(fit, method, X, c)
            if method not in best or found.seconds < best[method][0].seconds:
                best[method] = found, adjusted_rand_score(y, found.value)
    return best


def compare(kind: str, n: int, c: int) -> float:
    """Print a case; how many times faster the default is than the fastest solver that is right."""
    best = measure_case(kind, n, c)
    highest = max(best[solver][1] for solver in SOLVERS)
    right = [best[solver][0].seconds for solver in SOLVERS if best[solver][1] >= highest - RIGHT]
    ratio = min(right) / best["default"][0].seconds
    cells = (f"{best[name][0].seconds:>8.2f}{best[name][0].megabytes:>6.0f}{best[name][1]:>6.3f}" for name in METHODS)
    print(f"{n:>7}{c:>5}  {kind:<9}" + "".join(cells) + f"{ratio:>7.2f}", flush=True)
    return ratio


def compare_grid(wanted: list[str]) -> None:
    print("seconds, MB and ARI of each; ratio: the fastest solver of SpectralClustering that is right / our default")
    print(f"{'n':>7}{'c':>5}  {'clusters':<9}" + "".join(f"{name:>20}" for name in METHODS) + "  ratio")
    sizes = [size for size in SIZES if not wanted or f"{size[0]}x{size[1]}" in wanted]
    ratios = [compare(kind, n, c) for n, c in sizes for kind in KINDS]
    if ratios:
        print(f"geometric mean {np.exp(np.mean(np.log(ratios))):.2f}, worst {min(ratios):.2f}")
    if not wanted or "unit" in wanted:
        compare("unit", *UNIT_VECTORS)


def fit_alone(method: str, X: np.ndarray, c: int) -> tuple[np.ndarray, float, dict[str, float]]:
    """Labels, CPU seconds of one thread, and those of the parts that are functions of ours."""
    if method in ("default", "local"):  # loads what was compiled
        fit(method, make_samples("touching", 3_000, 100)[0], 100)
    profile = cProfile.Profile(time.process_time)
    with without_threads():
        began = time.process_time()
        labels = profile.runcall(fit, method, X, c)
        seconds = time.process_time() - began
    spent: dict[str, float] = {}
    for (_, _, name), (_, _, _, cumulative, _) in pstats.Stats(profile).stats.items():
        spent[name] = max(cumulative, spent.get(name, 0.0))  # of functions of one name the one that counts
    return labels, seconds, {name: spent[name] for name in PARTS if name in spent}


def compare_alone(wanted: list[str]) -> None:
    for n, c in SIZES:
        for kind in KINDS if not wanted or f"{n}x{c}" in wanted else ():
            X, y = make_samples(kind, n, c)
            print(f"\nn = {n}, c = {c}, {kind}: CPU seconds of one thread, ARI")
            for method in METHODS:
                labels, seconds, parts = measure(fit_alone, method, X, c).value
                line = ", ".join(f"{name} {part:.2f}" for name, part in parts.items())
                print(f"  {method:<9}{seconds:>7.2f}{adjusted_rand_score(y, labels):>7.3f}  {line}", flush=True)


def time_parts(kind: str, n: int, c: int = 10) -> tuple[float, float, float]:
    """Seconds of a default fit and of its own neighbor search, and the ARI."""
    from afcm.graph import similarity

    X, y = make_samples(kind, n, c)
    search, seconds = similarity.find_neighbors, [0.0]

    def timed(*arguments, **options):
        began = time.perf_counter()
        found = search(*arguments, **options)
        seconds[0] += time.perf_counter() - began
        return found

    similarity.find_neighbors = timed
    began = time.perf_counter()
    labels = AFCM(c, random_state=0).fit(X).labels_
    return time.perf_counter() - began, seconds[0], adjusted_rand_score(y, labels)


def show_parts(kind: str, sizes: tuple[int, ...]) -> list[float]:
    """Print a line for each number of samples; the seconds of the fits."""
    print(f"\ndefault, {kind}, c = 10 (seconds)")
    print(f"{'n':>9}{'total':>9}{'neighbors':>11}{'ratio':>7}{'MB':>7}{'ARI':>7}")
    totals = []
    for n in sizes:
        rounds = 2 if n <= 80_000 else 1
        result = min((measure(time_parts, kind, n) for _ in range(rounds)), key=lambda one: one.value[0])
        total, search, score = result.value
        totals.append(total)
        numbers = f"{total:>9.2f}{search:>11.2f}{total / search:>7.2f}{result.megabytes:>7.0f}{score:>7.3f}"
        print(f"{n:>9}{numbers}", flush=True)
    return totals


def measure_growth(sizes: tuple[int, ...]) -> None:
    totals = show_parts("close", sizes)
    if len(sizes) > 1:
        print(f"time grows as n^{np.log(totals[-1] / totals[0]) / np.log(sizes[-1] / sizes[0]):.2f}")


def fit_metric(metric: str, X: np.ndarray, c: int) -> np.ndarray:
    return AFCM(c, metric=metric, random_state=0).fit(X).labels_


def compare_metrics() -> None:
    """Unit vectors by distance, and the same vectors at other lengths by direction, in turns."""
    unit, _ = make_samples("unit", *UNIT_VECTORS)
    raw = unit * np.random.default_rng(1).lognormal(size=(len(unit), 1))
    pairs = [
        (measure(fit_metric, "euclidean", unit, UNIT_VECTORS[1]), measure(fit_metric, "cosine", raw, UNIT_VECTORS[1]))
        for _ in range(ROUNDS)
    ]
    euclidean, cosine = (np.mean([pair[at].seconds for pair in pairs]) for at in (0, 1))
    same = all((one.value == other.value).all() for one, other in pairs)
    print(f"euclidean {euclidean:.2f} s, cosine {cosine:.2f} s ({cosine / euclidean:.3f}), the same labels: {same}")


def main(arguments: list[str] | None = None) -> None:
    part, *wanted = arguments or ["grid"]
    if part == "growth":
        measure_growth(tuple(int(n) for n in wanted) or (*GROWTH, MILLION))
    elif part == "cosine":
        compare_metrics()
    elif part == "cpu":
        compare_alone(wanted)
    else:
        compare_grid(wanted)


if __name__ == "__main__":
    main(sys.argv[1:])
