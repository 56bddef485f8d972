"""AFCM and PlainAFCM on one CUDA device: seconds and their parts, recall, ARI, and how far from the floor."""

from __future__ import annotations

import os
import time
import warnings

import numpy as np
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from afcm import AFCM, PlainAFCM
from afcm.fitting import starts
from afcm.fitting.loop import run
from afcm.graph.affinity import neighbor_graph
from afcm.metrics import clustering_accuracy
from afcm.models.plain import PlainProblem
from afcm.neighbors import find_neighbors
from benchmarks.defaults import make_samples

N_COLUMNS, N_CLUSTERS, N_NEIGHBORS = 64, 10, 10
# Standard deviation within clusters whose centres are uniform in [−10, 10]: apart, and touching.
SPREADS = {"separated": 1.0, "touching": 12.0}
ASKED = 1000  # rows whose neighbours are checked against all distances in float64
PLAIN = (10_000_000, 64, 100)
SWEEPS = 10
# What users type, on touching clusters and on a curved sheet (`benchmarks.defaults`): samples and clusters.
DEFAULTS = (("touching", 1_000_000, 10), ("sheet", 1_000_000, 50))
# The same samples on the host, fewer of them, for the labels.
COMPARED = 100_000


def main() -> None:
    try:
        import torch
    except ImportError:
        return print("skipped: PyTorch is not installed")
    if not torch.cuda.is_available():
        return print("skipped: there is no CUDA device")
    print(torch.cuda.get_device_name(), f"PyTorch {torch.__version__}", flush=True)
    bandwidth, rates = measure_rates()
    AFCM(3, n_neighbors=10, kernel="local", random_state=0).fit(make_blobs(20_000, 3, 12.0)[0])  # compiles the kernels
    for n in (100_000, 1_000_000):
        for name, spread in SPREADS.items():
            compare_graph_fit(n, name, spread)
    for case in DEFAULTS:
        time_default(*case)
    time_plain_sweeps(bandwidth, rates)
    compare_with_host()
    return None


def make_blobs(n, n_clusters, spread, n_columns=N_COLUMNS):
    """Float32 clusters on the device, and their labels."""
    import torch

    random = torch.Generator(device="cuda").manual_seed(0)
    centers = 20 * torch.rand((n_clusters, n_columns), generator=random, device="cuda") - 10
    labels = torch.randint(n_clusters, (n,), generator=random, device="cuda")
    noise = torch.randn((n, n_columns), generator=random, device="cuda")
    return centers[labels] + spread * noise, labels


def time_call(work, *arguments, repeats=1):
    """Seconds of the fastest of some calls, and the last value."""
    import torch

    best = np.inf
    for _ in range(repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        value = work(*arguments)
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - began)
    return best, value


def measure_rates():
    """Measure bytes a second of a copy, and operations a second of matrix products."""
    import torch

    source = torch.rand(1 << 30, device="cuda")
    target = torch.empty_like(source)
    copying, _ = time_call(target.copy_, source, repeats=5)
    bandwidth, rates = 8 * source.numel() / copying, {}
    for name, dtype, tensor_cores in (("float32", torch.float32, False), ("TF32", torch.float32, True)):
        torch.backends.cuda.matmul.allow_tf32 = tensor_cores
        block = torch.rand((8192, 8192), device="cuda", dtype=dtype)
        rates[name] = 2 * 8192**3 / time_call(torch.matmul, block, block, repeats=5)[0]
    torch.backends.cuda.matmul.allow_tf32 = False
    shown = ", ".join(f"{name} {rate / 1e12:.0f} Tflop/s" for name, rate in rates.items())
    print(f"copy {bandwidth / 1e12:.2f} TB/s; products: {shown}", flush=True)
    return bandwidth, rates


def compare_graph_fit(n, name, spread):
    """Time AFCM end to end, then its parts one by one."""
    X, labels = make_blobs(n, N_CLUSTERS, spread)
    model = AFCM(N_CLUSTERS, n_neighbors=N_NEIGHBORS, kernel="local", random_state=0)
    whole, _ = time_call(fit_quietly, model, X, repeats=2)
    searching, found = time_call(find_neighbors, X, N_NEIGHBORS + 1, repeats=2)
    weighing, _ = time_call(build_graph, found, repeats=2)
    prepared = model.prepare(X)
    solving, _ = time_call(starts.start_prepared, prepared, N_CLUSTERS, np.random.RandomState(0))
    ari = adjusted_rand_score(labels.cpu(), model.labels_.cpu())
    sweeping = whole - searching - weighing - solving
    default, _ = time_call(fit_quietly, AFCM(N_CLUSTERS, random_state=0), X)
    moving, _ = time_call(
        fit_quietly, AFCM(N_CLUSTERS, n_neighbors=N_NEIGHBORS, kernel="local", device="cuda"), X.cpu().numpy()
    )
    print(
        f"AFCM n = {n:,} {name}: {whole:.2f} s (neighbours {searching:.2f}, graph {weighing:.2f}, spectral "
        f"{solving:.2f}, sweeps and the rest {sweeping:.2f}; {model.n_iter_} sweeps), recall "
        f"{measure_recall(X, found.indices):.6f}, ARI {ari:.4f}; from NumPy and back {moving:.2f} s; default graph "
        f"{default:.2f} s",
        flush=True,
    )


def time_default(kind, n, c):
    """Time ``AFCM(c).fit(X)`` with its peak of memory; compare the labels of fewer samples with those of the host."""
    import torch

    X, y = make_samples(kind, n, c)
    X = X.astype(np.float32)
    few, model = X[:COMPARED], AFCM(c, random_state=0)
    host = fit_quietly(model, few).labels_
    same = adjusted_rand_score(host, fit_quietly(model, torch.as_tensor(few, device="cuda")).labels_.cpu())
    tensor = torch.as_tensor(X, device="cuda")
    fit_quietly(model, tensor)  # compiles the kernels
    model = AFCM(c, random_state=0)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    seconds, _ = time_call(fit_quietly, model, tensor, repeats=3)
    peak = (torch.cuda.max_memory_allocated() - tensor.nbytes) / 1e9
    ari, edges = adjusted_rand_score(y, model.labels_.cpu()), model._fitted.walk_graph.affinity.nnz
    print(
        f"AFCM({c}).fit, {kind}, {n:,} × {X.shape[1]}: {seconds:.2f} s, peak {peak:.1f} GB beside X "
        f"({tensor.nbytes / 1e9:.2f} GB; {edges:,} entries of the graph), ARI {ari:.4f}; {COMPARED:,} of them: ARI "
        f"{same:.4f} with the labels of the host",
        flush=True,
    )


def fit_quietly(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


def build_graph(found):
    made = neighbor_graph(found, N_NEIGHBORS, kernel="local")
    return made.components


def measure_recall(X, indices):
    """Share of the true neighbors that were found, on some rows."""
    import torch

    asked = torch.as_tensor(np.random.default_rng(0).choice(len(X), ASKED, replace=False), device="cuda")
    hits = 0
    for row in asked.tolist():
        squared = torch.sum((X - X[row]).double() ** 2, dim=1)
        squared[row] = torch.inf
        true = torch.topk(squared, indices.shape[1], largest=False).indices
        hits += int(torch.isin(true, indices[row]).sum())
    return hits / (ASKED * indices.shape[1])


def time_plain_sweeps(bandwidth, rates):
    """Time one sweep of PlainAFCM against the least cost of reading X and two products."""
    n, d, c = PLAIN
    X, _ = make_blobs(n, c, 1.0)
    problem = PlainProblem(X)
    state = problem.from_centers(X[:c].clone())
    run(problem, state, max_iter=2, tol=0.0)
    took, _ = time_call(lambda: run(problem, state, max_iter=SWEEPS, tol=0.0), repeats=3)
    blocked, _ = time_call(lambda: problem._scan_and_store(state.centers, state.precision, None), repeats=2)
    reading, computing = 4 * n * d / bandwidth, 4 * n * d * c / rates["TF32"]
    floor, sweep = max(reading, computing), took / SWEEPS
    print(
        f"PlainAFCM n = {n:,}, d = {d}, c = {c}, float32: {1e3 * sweep:.2f} ms a sweep; floor {1e3 * floor:.2f} ms "
        f"(X read once {1e3 * reading:.2f}, two products in TF32 {1e3 * computing:.2f}, in float32 "
        f"{1e3 * 4 * n * d * c / rates['float32']:.2f}): {sweep / floor:.1f} times; array API in blocks "
        f"{1e3 * blocked:.1f} ms",
        flush=True,
    )


def compare_with_host(n=100_000):
    """Time the same fits on the device and on two cores of this machine."""
    X, _ = make_blobs(n, N_CLUSTERS, SPREADS["touching"])
    X10 = X.cpu().numpy()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    for model in (
        AFCM(N_CLUSTERS, n_neighbors=N_NEIGHBORS, kernel="local", random_state=0),
        PlainAFCM(100, n_init=1, max_iter=SWEEPS, random_state=0),
    ):
        device, _ = time_call(fit_quietly, model, X, repeats=2)
        ours = model.labels_.cpu().numpy(), model.objective_
        with threadpool_limits(2):
            host, _ = time_call(fit_quietly, model, X10)
        same, apart = clustering_accuracy(ours[0], model.labels_), abs(ours[1] / model.objective_ - 1)
        print(
            f"{type(model).__name__} n = {n:,}: device {device:.2f} s, two cores {host:.2f} s, {host / device:.0f} "
            f"times; {same:.2%} equal labels, J differs by {apart:.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
