"""AFCM against the paper's dense algorithm: same graph, same start, the same J."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs
from tests.reference import dense_paper_run

from afcm.fitting import starts
from afcm.fitting.loop import run
from afcm.graph import eigenvectors
from afcm.graph.affinity import neighbor_graph
from afcm.linalg.eigenbasis import LearningSolver
from afcm.linalg.eigensolver import DenseSolver
from afcm.models.embedded import EmbeddedProblem
from afcm.neighbors import find_neighbors
from benchmarks.measuring import best_of

SIZES, N_CLUSTERS, SWEEPS = (1000, 2000, 4000), 10, 3


def run_fast(built, memberships, weight):
    problem = EmbeddedProblem(built.affinity, None, weight, eigenvectors.search_block(built, N_CLUSTERS))
    return run(problem, problem.from_memberships(memberships), max_iter=SWEEPS, tol=0.0).history["objective"]


def run_dense(built, memberships, weight):
    cap = EmbeddedProblem(built.affinity, None, weight, None).largest_precision(N_CLUSTERS)
    return dense_paper_run(built.affinity.toarray(), memberships, weight, cap, SWEEPS)


def main() -> None:
    print(f"one sweep of AFCM (c = {N_CLUSTERS}, mean of {SWEEPS} from the same random memberships)")
    print("       n   dense s    fast s   ratio   largest relative difference of J")
    for n in SIZES:
        points, _ = make_blobs(n, 16, centers=N_CLUSTERS, cluster_std=4.0, random_state=0)
        built = neighbor_graph(find_neighbors(points, 11), 10, kernel="local")
        memberships = starts.draw_memberships(n, N_CLUSTERS, np.random.RandomState(0))
        slow, quick = (best_of(r, way, built, memberships, 10.0 * n) for r, way in ((1, run_dense), (3, run_fast)))
        difference = np.max(np.abs(slow.value - quick.value) / np.abs(slow.value))
        print(
            f"{n:>8} {slow.seconds / SWEEPS:>9.3f} {quick.seconds / SWEEPS:>9.4f} {slow.seconds / quick.seconds:>7.0f}"
            f"   {difference:.1e}",
            flush=True,
        )
    compare_many_clusters()


def compare_many_clusters(n=1600, n_clusters=64, sweeps=12):
    """Time sweeps that all end in the dense solver, with and without learning the graph's own eigenvectors."""
    points, _ = make_blobs(n, 16, centers=n_clusters, cluster_std=4.0, random_state=0)
    built = neighbor_graph(find_neighbors(points, 11), 10, kernel="local")
    memberships = starts.draw_memberships(n, n_clusters, np.random.RandomState(0))
    plain, learning = (best_of(1, run_dense_sweeps, built, memberships, sweeps, learn) for learn in (False, True))
    seconds = f"dense solves {plain.seconds:.2f} s, learning {learning.seconds:.2f} s"
    print(f"{sweeps} sweeps, n = {n}, c = {n_clusters}: {seconds}")


def run_dense_sweeps(built, memberships, sweeps, learn):
    solver = LearningSolver() if learn else DenseSolver()
    problem = EmbeddedProblem(built.affinity, None, 10.0 * built.degrees.size, None, solver)
    return run(problem, problem.from_memberships(memberships), max_iter=sweeps, tol=0.0).history["objective"]


if __name__ == "__main__":
    main()
