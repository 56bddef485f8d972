"""Reads the specs of the experiments (`specs/*.toml`) and lists the runs they ask for."""

from __future__ import annotations

import difflib
import itertools
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from statistics import fmean
from typing import Any

from afcm.experiments.record import Row, make_key

EXPERIMENTS = ("table1", "table2", "flat", "ours", "toys", "convergence")
# A method that races runs all its grid points with this many seeds, and the other seeds only for points whose mean ACC
# so far is at most this far below the best: rivals have up to 56 grid points, and most are hopeless.
RACE_SEEDS, RACE_MARGIN = 3, 3.0


@dataclass(frozen=True)
class Method:
    """One column of a table: its runner and the grid of parameters."""

    name: str
    runner: str
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    race: bool = False

    def points(self) -> Iterator[dict[str, Any]]:
        """All grid points, the last parameter fastest."""
        for values in itertools.product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))


@dataclass(frozen=True)
class Spec:
    """One experiment: its data sets, its methods and how many seeds."""

    name: str
    title: str
    seeds: int
    datasets: tuple[str, ...]
    methods: tuple[Method, ...]


@dataclass(frozen=True)
class Task:
    """One run to do; ``key`` is that of the row it will be."""

    experiment: str
    dataset: str
    method: str
    runner: str
    params: dict[str, Any]
    seed: int

    @property
    def key(self) -> str:
        return make_key(self.experiment, self.dataset, self.method, self.params, self.seed)


@cache
def read_spec(name: str) -> Spec:
    text = resources.files("afcm.experiments").joinpath("specs", f"{name}.toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    methods = tuple(
        Method(m["name"], m.get("runner", m["name"]), m.get("grid", {}), m.get("race", False))
        for m in content["method"]
    )
    return Spec(name, content["title"], content["seeds"], tuple(content["datasets"]), methods)


def choose_specs(
    experiments: Iterable[str] = (), datasets: Iterable[str] = (), methods: Iterable[str] = (), seeds: int | None = None
) -> list[Spec]:
    """Read the specs and cut them down to what was asked for (nothing given: everything).

    Raises
    ------
    ValueError
        If a name is in none of the specs, or if nothing is left.
    """
    specs = [read_spec(name) for name in match_names("experiment", experiments, EXPERIMENTS) or EXPERIMENTS]
    wanted_data = match_names("data set", datasets, {d for spec in specs for d in spec.datasets})
    wanted_methods = match_names("method", methods, {m.name for spec in specs for m in spec.methods})
    kept = [
        replace(
            spec,
            seeds=spec.seeds if seeds is None or spec.seeds == 1 else seeds,
            datasets=tuple(d for d in spec.datasets if not wanted_data or d in wanted_data),
            methods=tuple(m for m in spec.methods if not wanted_methods or m.name in wanted_methods),
        )
        for spec in specs
    ]
    kept = [spec for spec in kept if spec.datasets and spec.methods]
    if not kept:
        raise ValueError("nothing to run: the chosen experiments do not have the chosen data sets and methods")
    return kept


def match_names(kind: str, names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return names in the spelling of the specs; refuse an unknown one with the nearest known one."""
    spelled = {name.lower(): name for name in sorted(known)}
    found = []
    for name in names:
        if name.lower() not in spelled:
            near = difflib.get_close_matches(name.lower(), spelled, n=1)
            guess = f"; did you mean {spelled[near[0]]}?" if near else "."
            raise ValueError(f"{kind} {name!r} is unknown{guess} Known: {', '.join(spelled.values())}")
        found.append(spelled[name.lower()])
    return found


def list_tasks(specs: Iterable[Spec], rows: Mapping[str, Row]) -> list[Task]:
    """List all runs that can be named already; a race's second leg is known once the first has been run."""
    return [
        Task(spec.name, dataset, method.name, method.runner, params, seed)
        for spec in specs
        for dataset in spec.datasets
        for method in spec.methods
        for params, seed in list_runs(spec, dataset, method, rows)
    ]


def list_runs(spec: Spec, dataset: str, method: Method, rows: Mapping[str, Row]) -> list[tuple[dict[str, Any], int]]:
    points = list(method.points())
    if not method.race or spec.seeds <= RACE_SEEDS or len(points) == 1:
        return [(point, seed) for point in points for seed in range(spec.seeds)]
    first = [(point, seed) for point in points for seed in range(RACE_SEEDS)]
    keys = [make_key(spec.name, dataset, method.name, point, seed) for point, seed in first]
    if not all(key in rows for key in keys):
        return first
    scores: defaultdict[int, list[float]] = defaultdict(list)
    for number, key in enumerate(keys):
        if rows[key].status == "ok":
            scores[number // RACE_SEEDS].append(rows[key].metrics["ACC"])
    means = {number: fmean(found) for number, found in scores.items()}
    ahead = [points[n] for n, mean in means.items() if mean >= max(means.values()) - RACE_MARGIN]
    return first + [(point, seed) for point in ahead for seed in range(RACE_SEEDS, spec.seeds)]
