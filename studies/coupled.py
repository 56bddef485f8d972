"""An objective with a lower bound: λ = ρ γ instead of a fixed λ. Is it better?

With λ = ρ γ the learned precision is ``γ = (n q / 2) / (scatter + ρ tr(Zᵀ L̂ Z))``, which stays finite unless the graph
falls apart, and the embedding no longer depends on γ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from afcm import AFCM
from afcm.equations import paper
from afcm.fitting import starts
from afcm.fitting.loop import run
from afcm.models.embedded import EmbeddedProblem, EmbeddedState
from studies.calibration import judge
from studies.common import Problem, load_ten, show, write_csv

SEEDS = range(2)
RATIOS = (0.1, 1.0, 10.0, 100.0, 1000.0)
# All memberships this close to 1/c: merged.
MERGED = 0.01


@dataclass(frozen=True)
class CoupledProblem(EmbeddedProblem):
    """Algorithm 1 with ``graph_weight`` as ρ."""

    def sweep(self, state: EmbeddedState, eigen: Any = None) -> EmbeddedState:
        """The eigenvectors of ``ρ S + U B Uᵀ`` (γ is a common factor), op5, γ with the graph's part in it, op3."""
        plain = super().sweep(replace(state, precision=1.0), eigen)
        embedding, n_dims = self.embedding(plain.vectors), plain.vectors.shape[1]
        costs = paper.squared_distances(embedding, plain.centers)
        rough = self.graph_weight * paper.roughness(plain.vectors, plain.smoothed)
        total = paper.scatter(costs, state.memberships, self.masses) + rough
        precision = paper.precision(total, self.mass, n_dims, self.largest_precision(n_dims))
        energies = paper.weighted(paper.free_energies(costs, precision), self.masses)
        value = paper.objective(float(energies.sum()), precision, self.mass, n_dims) + precision * rough
        return replace(plain, memberships=paper.memberships(costs, precision), precision=precision, objective=value)


def fit_coupled(prepared: Any, n_clusters: int, ratio: float, seed: int) -> Any:
    problem = CoupledProblem(prepared.graph.operator, prepared.graph.masses, ratio, None, prepared.dense)
    eigen, memberships = starts.start_prepared(prepared, n_clusters, np.random.RandomState(seed))
    found = run(problem, problem.from_spectral(eigen, memberships), max_iter=100, tol=1e-4)
    return found.state.memberships[prepared.nodes.inverse]


def measure(problem: Problem) -> list[dict[str, Any]]:
    """Score AFCM with its defaults, then each ratio."""
    c = problem.n_clusters
    prepared = AFCM(c).prepare(problem.X)
    rows = []
    for seed in SEEDS:
        found = {"AFCM": AFCM(c, random_state=seed).fit_prepared(prepared).paper_memberships_}
        found |= {f"ρ = {ratio:g}": fit_coupled(prepared, c, ratio, seed) for ratio in RATIOS}
        for name, memberships in found.items():
            row = {"dataset": problem.name, "seed": seed, "objective": name}
            row |= {key: value for key, value in judge(problem.y, memberships).items() if key != "bins"}
            rows.append(row | {"merged": bool(np.abs(memberships - 1 / c).max() < MERGED)})
    return rows


def main(data: Path | None, out: Path) -> None:
    """Print and write means over the sets."""
    rows = [row for problem in load_ten(data) for row in measure(problem)]
    names = dict.fromkeys(row["objective"] for row in rows)
    figures = ("ACC", "confidence", "ECE", "merged")
    lines = [
        [name, *(float(np.mean([row[key] for row in rows if row["objective"] == name])) for key in figures)]
        for name in names
    ]
    show(["mean of the sets", *figures], lines, 2)
    write_csv(out / "coupled.csv", rows)
