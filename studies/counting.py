"""How many clusters ``AFCM("auto")`` counts in shapes, in clusters that overlap, and where there are none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from studies.backgrounds import SHAPES
from studies.overlap import FAMILIES, N_SAMPLES, SEEDS
from studies.suite import count_clusters
from studies.suite_page import publish

N_NULLS = 100


class Draw(NamedTuple):
    """Samples with a number of clusters."""

    kind: str
    name: str
    X: Any
    n_clusters: int


def draw_null(seed: int) -> Draw:
    """One cloud, uniform in a cube or Gaussian, of 150 to 2,000 samples in 2 to 10 dimensions."""
    random = np.random.default_rng(seed)
    shape = (int(random.integers(150, 2001)), int(random.integers(2, 11)))
    name = ("uniform", "Gaussian")[seed % 2]
    return Draw("no clusters", name, random.random(shape) if name == "uniform" else random.standard_normal(shape), 1)


def list_draws(seeds: tuple[int, ...], n_samples: int, n_nulls: int) -> Iterator[Draw]:
    """All that is counted."""
    for seed in seeds:
        for name, draw in SHAPES.items():
            sample = draw(seed)
            yield Draw("shapes", name, sample.X, sample.n_clusters)
        for name, family in FAMILIES.items():
            yield Draw("overlap", name, family.draw(n_samples, seed).X, family.n_clusters)
    yield from map(draw_null, range(1000, 1000 + n_nulls))


def main(
    data: Path | None, out: Path, seeds: tuple[int, ...] = SEEDS, n_samples: int = N_SAMPLES, n_nulls: int = N_NULLS
) -> None:
    """Count the clusters of every draw; write the table and the page."""
    del data
    rows = [
        {"kind": draw.kind, "name": draw.name, "clusters": draw.n_clusters} | count_clusters(draw.X, [draw.n_clusters])
        for draw in list_draws(seeds, n_samples, n_nulls)
    ]
    publish("counting", rows, out)
