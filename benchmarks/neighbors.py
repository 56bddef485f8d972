"""Our approximate neighbours against faiss, hnswlib and pynndescent, and against the exact search."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from afcm.neighbors import approximate, find_neighbors
from benchmarks.measuring import measure

K, ENOUGH, LIMIT = 11, 0.95, 100.0
SIZES, COLUMNS = (100_000, 1_000_000), (16, 64, 256)
# What each library is tried with, cheapest first, until the recall is reached.
LADDERS: dict[str, list[tuple[int, ...]]] = {
    "afcm": [()],
    "faiss IVF": [(16,), (32,), (64,)],  # lists looked at, of 4 √n
    "faiss HNSW": [(8, 40, 32), (12, 60, 40), (16, 100, 80)],  # M, ef construction, ef search
    "hnswlib": [(8, 40, 32), (12, 60, 40), (16, 100, 80)],
    "pynndescent": [(6, 4, 12), (8, 5, 20), (12, 8, 30)],  # trees, rounds, candidates
}
MODULES = {"afcm": "numba", "faiss IVF": "faiss", "faiss HNSW": "faiss"}  # others as they are called
PACKAGES = {
    "afcm": ["numba", "llvmlite"],
    "faiss IVF": ["faiss-cpu"],
    "faiss HNSW": ["faiss-cpu"],
    "hnswlib": ["hnswlib"],
    "pynndescent": ["pynndescent", "numba", "llvmlite"],
}


def make_samples(n, d):
    """Sixteen columns: ten touching clouds. More: fifty clouds on an eight-dimensional sheet, as embeddings are."""
    if d == 16:
        return make_blobs(n, d, centers=10, cluster_std=4.0, random_state=0)[0].astype(np.float32)
    rng = np.random.default_rng(0)
    sheet, _ = make_blobs(n, 8, centers=50, cluster_std=2.0, random_state=0)
    return (np.tanh(sheet @ rng.normal(size=(8, d)) / 8) + 0.02 * rng.normal(size=(n, d))).astype(np.float32)


def search_afcm(X):
    return approximate.find_approximate_neighbors(X, K).indices


def search_faiss_ivf(X, n_probes):
    import faiss

    n_lists, random = int(4 * np.sqrt(X.shape[0])), np.random.default_rng(0)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], n_lists)
    index.train(X[random.choice(X.shape[0], min(X.shape[0], 64 * n_lists), replace=False)])
    index.add(X)
    index.nprobe = n_probes
    return index.search(X, K + 1)[1]


def search_faiss_hnsw(X, m, construction, search):
    import faiss

    index = faiss.IndexHNSWFlat(X.shape[1], m)
    index.hnsw.efConstruction, index.hnsw.efSearch = construction, search
    index.add(X)
    return index.search(X, K + 1)[1]


def search_hnswlib(X, m, construction, search):
    import hnswlib

    index = hnswlib.Index("l2", X.shape[1])
    index.init_index(X.shape[0], M=m, ef_construction=construction, random_seed=0)
    index.add_items(X)
    index.set_ef(search)
    return index.knn_query(X, K + 1)[0].astype(np.int64)


def search_pynndescent(X, n_trees, n_rounds, n_candidates):
    from pynndescent import NNDescent

    how = {"n_trees": n_trees, "n_iters": n_rounds, "max_candidates": n_candidates}
    return NNDescent(X, n_neighbors=K + 1, random_state=0, n_jobs=-1, **how).neighbor_graph[0]


SEARCHES = dict(
    zip(LADDERS, (search_afcm, search_faiss_ivf, search_faiss_hnsw, search_hnswlib, search_pynndescent), strict=True)
)


def time_search(name, n, d, setting):
    """Seconds and recall on some samples; a small search first, so that loading and compiling do not count."""
    X, search = make_samples(n, d), SEARCHES[name]
    search(make_samples(10_000, d), *setting)
    began = time.perf_counter()
    found = search(X, *setting)
    seconds = time.perf_counter() - began
    truth = approximate.RecallSample.of(X, K, np.random.default_rng(1))
    return seconds, truth.estimate_recall(remove_self(found, truth.asked))


def remove_self(found, asked):
    """The first K others in the rows asked (the peers find a sample itself too); other rows are not looked at."""
    lists = np.full((found.shape[0], K), -1)
    for row in asked:
        others = found[row][found[row] != row][:K]
        lists[row, : others.size] = others
    return lists


def time_first_use(name):
    """Seconds of a first small search in a new process that has compiled nothing yet."""
    code = (
        "import time; began = time.perf_counter()\n"
        "from benchmarks import neighbors\n"
        f"X = neighbors.make_samples(2000, 16); loaded = time.perf_counter()\n"
        f"neighbors.SEARCHES[{name!r}](X, *neighbors.LADDERS[{name!r}][0]); print(time.perf_counter() - loaded)"
    )
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "NUMBA_CACHE_DIR": empty},
            capture_output=True,
            text=True,
            check=True,
        )
    return float(done.stdout.split()[-1])


def list_installed() -> list[str]:
    return [name for name in LADDERS if find_spec(MODULES.get(name, name)) is not None]


def size_on_disk(name: str) -> float:
    """Megabytes of the packages on disk."""
    files = [file for package in PACKAGES[name] for file in importlib.metadata.files(package) or []]
    return sum(path.stat().st_size for file in files if (path := file.locate()).is_file()) / 2**20


def compare(n: int, d: int, rungs: dict[str, int]) -> None:
    """Find each library's first setting with enough recall, beginning with that for fewer samples."""
    print(f"\nn = {n}, d = {d}, {K} neighbours: the first setting with a recall of {ENOUGH}, or the last tried")
    for name in list_installed():
        ladder = LADDERS[name]
        for rung in range(rungs.get(name, 0), len(ladder)):
            seconds, recall = measure(time_search, name, n, d, ladder[rung]).value
            rungs[name] = rung
            if recall >= ENOUGH or seconds > LIMIT:
                break
        print(f"  {name:<12}{seconds:>8.1f} s   recall {recall:.3f}   {ladder[rung] or ''}", flush=True)


def compare_with_exact() -> None:
    """Show from how many samples on the approximate search is the faster one."""
    print("\nexact against approximate (seconds, float64)")
    for d in (16, 64):
        for n in (10_000, 20_000, 50_000, 100_000):
            exact, quick = (measure(time_way, n, d, way).value for way in ("exact", "approximate"))
            print(f"  n = {n:>7}, d = {d:>3}: {exact:>7.2f} {quick:>7.2f}", flush=True)


def time_way(n, d, way):
    X: Any = make_samples(n, d).astype(np.float64)
    find_neighbors(X[:2000], K, search=way)
    began = time.perf_counter()
    find_neighbors(X, K, search=way)
    return time.perf_counter() - began


def main(columns: tuple[int, ...] = COLUMNS) -> None:
    for name in list_installed():
        print(
            f"{name:<12} {size_on_disk(name):>6.0f} MB installed, first small search {time_first_use(name):>6.1f} s",
            flush=True,
        )
    compare_with_exact()
    for d in columns:
        rungs: dict[str, int] = {}
        for n in SIZES:
            compare(n, d, rungs)


if __name__ == "__main__":
    main()
