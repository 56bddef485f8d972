"""Do the tests notice a small mistake in the mathematics? `make mutation` tries them all (`python -m trust.mutation`).

Each mutant of a module is loaded in the place of the module, in a process of its own, and the fast tests of that module
are run; nothing is written to the package. Mutants that no test can tell from the original are in
``trust/equivalent/MODULE.toml`` with the reason, and count as not killed. What became of a mutant is kept in ``out``,
and it is not tried again before it or the tests change.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.abc
import importlib.util
import json
import os
import resource
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from trust.mutants import Mutant, mutants
from trust.table import put, row

ROOT = Path(__file__).parents[1]
PAGE, KEPT = ROOT / "docs" / "trust.md", ROOT / "out" / "mutation"
# The modules with mathematics, and the fast tests that should notice a mistake in each.
TESTS = {
    "equations.paper": ["tests/equations/test_paper.py"],
    "equations.fuzzy_c_means": ["tests/models/test_fuzzy.py"],
    "equations.generalized_gaussian": ["tests/equations/test_generalized_gaussian.py"],
    "equations.scatters": ["tests/equations/test_scatters.py"],
    "linalg.operator": ["tests/linalg/test_eigensolver.py"],
    "linalg.eigensolver": ["tests/linalg/test_eigensolver.py"],
    "linalg.eigenbasis": ["tests/linalg/test_eigenbasis.py"],
    "linalg.products": ["tests/linalg/test_products.py"],
    "linalg.ratios": ["tests/graph/test_affinity.py"],
    "neighbors.search": ["tests/neighbors/test_search.py"],
    "neighbors.exact": ["tests/neighbors/test_search.py"],
    "neighbors.approximate": ["tests/neighbors/test_approximate.py"],
    "graph.kernels": ["tests/graph/test_affinity.py"],
    "graph.affinity": ["tests/graph/test_affinity.py"],
    "graph.duplicates": ["tests/graph/test_affinity.py"],
    "graph.similarity": ["tests/graph/test_prepared.py"],
    "graph.sharpening": ["tests/graph/test_sharpening.py"],
    "graph.diffusion": ["tests/graph/test_diffusion.py"],
    "graph.components": ["tests/graph/test_components.py"],
    "graph.counting": ["tests/graph/test_counting.py"],
    "graph.eigenvectors": ["tests/graph/test_prepared.py"],
    "graph.anchors.learning": ["tests/baselines/test_fcag.py"],
    "graph.anchors.weights": ["tests/baselines/test_fcag.py"],
    "graph.anchors.affinity": ["tests/models/test_anchored.py"],
    "graph.anchors.embedding": ["tests/models/test_anchored.py"],
    "models.anchor_equations": ["tests/models/test_anchored.py"],
    "models.anchored": ["tests/models/test_anchored.py"],
    "models.centers": ["tests/models/test_plain.py"],
    "models.embedded": ["tests/models/test_embedded.py"],
    "models.extension": ["tests/models/test_embedded.py"],
    "models.fuzzy": ["tests/models/test_fuzzy.py"],
    "models.mixture": ["tests/models/test_mixture.py"],
    "models.plain": ["tests/models/test_plain.py"],
    "fitting.starts": ["tests/graph/test_prepared.py"],
}
EQUIVALENT = Path(__file__).with_name("equivalent")
# A mutant may run this long, in this much memory.
SECONDS, BYTES = 120, 8 * 2**30
QUIET = [
    "-x",
    "-q",
    "--no-header",
    "-p",
    "no:cacheprovider",
    "--tb=no",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
]
PASSED, FAILED, INTERRUPTED = 0, 1, 2


class InPlaceOf(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives other source when a module is imported."""

    def __init__(self, name: str, source: str) -> None:
        self.name, self.source = name, source

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """Only the one module."""
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.name else None

    def exec_module(self, module: Any) -> None:
        """Run the other source."""
        exec(compile(self.source, f"<mutant of {self.name}>", "exec"), module.__dict__)


def verdict(module: str, status: int) -> str:
    """``survived``, ``killed`` or ``timeout``: what the end of a child says of its mutant."""
    if os.WIFSIGNALED(status):
        return "timeout" if os.WTERMSIG(status) == signal.SIGALRM else "killed"
    code = os.WEXITSTATUS(status)
    if code not in (PASSED, FAILED, INTERRUPTED):
        raise RuntimeError(f"pytest ended with {code} for a mutant of {module}; run its tests: {TESTS[module]}")
    return "survived" if code == PASSED else "killed"


def run_tests(module: str, source: str) -> None:
    """Run the tests on another source, in a child process that ends here with pytest's exit code."""
    code = INTERRUPTED
    try:
        import pytest

        signal.alarm(SECONDS)
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        sys.meta_path.insert(0, InPlaceOf(f"afcm.{module}", source))
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        code = int(pytest.main([*QUIET, *TESTS[module]]))
    finally:
        os._exit(code)


def preload() -> None:
    """What every child needs, except afcm itself."""
    import array_api_compat.numpy  # noqa: F401
    import pytest
    import scipy.sparse.csgraph  # noqa: F401
    import sklearn.neighbors  # noqa: F401
    from hypothesis import Phase, settings

    # The same examples for every mutant, and no search for the smallest one that fails.
    settings.register_profile("mutation", derandomize=True, phases=[Phase.explicit, Phase.generate])
    settings.load_profile("mutation")
    import tests.strategies  # noqa: F401

    with open(os.devnull, "w") as nothing, redirect_stdout(nothing):
        pytest.main([*QUIET, "--collect-only", "tests/__init__.py"])
    loaded = sorted(name for name in sys.modules if name.startswith("afcm"))
    assert not loaded, f"{loaded} would be shared by all mutants"


def trials(module: str, jobs: int) -> list[tuple[Mutant, str, float]]:
    """Every mutant of a module, what became of it, and the seconds that took; the original must pass."""
    source = source_of(module)
    if tried_sources(module, [source], 1)[0][0] != "survived":
        raise RuntimeError(f"the tests of afcm.{module} fail without any mutant; repair them first: {TESTS[module]}")
    found = mutants(source)
    ends = tried_sources(module, [mutant.source for mutant in found], jobs)
    return [(mutant, *end) for mutant, end in zip(found, ends, strict=True)]


def source_of(module: str) -> str:
    """The text of a module."""
    return (ROOT / "src" / "afcm" / f"{module.replace('.', '/')}.py").read_text()


def tried_sources(module: str, sources: Sequence[str], jobs: int) -> list[tuple[str, float]]:
    """What the tests say of each source, and the seconds that took; up to ``jobs`` run at a time.

    Verdicts are kept on disk for the same source and tests.
    """
    files = [kept_file(module, source) for source in sources]
    waiting = [(file, source) for file, source in zip(files, sources, strict=True) if not file.exists()]
    running: dict[int, tuple[Path, float]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            file, source = waiting.pop()
            child = os.fork()
            if child == 0:
                run_tests(module, source)
            running[child] = file, time.monotonic()
        child, status = os.wait()
        file, started = running.pop(child)
        file.write_text(json.dumps([verdict(module, status), time.monotonic() - started]))
    return [tuple(json.loads(file.read_text())) for file in files]  # type: ignore[misc]


def kept_file(module: str, source: str) -> Path:
    """Where the verdict on a source is kept."""
    KEPT.mkdir(parents=True, exist_ok=True)
    whole = source + "".join((ROOT / test).read_text() for test in TESTS[module])
    return KEPT / f"{module}-{hashlib.blake2b(whole.encode(), digest_size=12).hexdigest()}.json"


def reasons(module: str) -> dict[str, str]:
    """Mutants that are no mistakes, and why."""
    file = EQUIVALENT / f"{module}.toml"
    entries = tomllib.loads(file.read_text())["equivalent"] if file.exists() else []
    return {name: entry["reason"] for entry in entries for name in entry["mutants"]}


def survivors_of(module: str, said: Counter[str], jobs: int) -> tuple[list[str], float]:
    """Run a module's mutants; the names of those that survive, and the seconds of all."""
    alive, total = [], 0.0
    for mutant, end, seconds in trials(module, jobs):
        said[end] += 1
        total += seconds
        if end == "survived":
            alive.append(mutant.name)
            print(f"survived  {module}.{mutant.name}", flush=True)
    return alive, total


def report(modules: Sequence[str], jobs: int) -> tuple[str, int]:
    """The section of docs/trust.md, and how many survivors have no reason."""
    rows, lists, unexplained = [], [], 0
    for module in modules:
        said, known = Counter[str](), reasons(module)
        alive, seconds = survivors_of(module, said, jobs)
        stale = sorted(set(known) - set(alive))
        if stale:
            raise SystemExit(f"trust/equivalent/{module}.toml lists mutants that are gone or killed: {stale}")
        open_ones = [name for name in alive if name not in known]
        unexplained += len(open_ones)
        rows.append(counts(module, said, len(alive) - len(open_ones), seconds))
        lists += [f"- `{module}.{name}`: {known.get(name, 'not explained yet')}" for name in alive]
    head = ["| module | mutants | killed | of these by time | equivalent | survived | killed of all | seconds |", RULE]
    return "\n".join([*head, *rows, "", "Not killed, and why:", "", *lists]), unexplained


RULE = "|---|---:|---:|---:|---:|---:|---:|---:|"


def counts(module: str, said: Counter[str], equivalent: int, seconds: float) -> str:
    """A line of the table."""
    killed = said["killed"] + said["timeout"]
    open_ones = said["survived"] - equivalent
    share = f"{100 * killed / said.total():.1f} %"
    cells = [f"`{module}`", said.total(), killed, said["timeout"], equivalent, open_ones, share, f"{seconds:.0f}"]
    return row([str(cell) for cell in cells])


def main() -> None:
    """``python -m trust.mutation [--only linalg.operator,graph.kernels] [--jobs 2]``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="some modules, with commas between; docs/trust.md is left alone")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="mutants tried at a time")
    given = parser.parse_args()
    chosen = given.only.split(",") if given.only else list(TESTS)
    unknown = sorted(set(chosen) - set(TESTS))
    if unknown:
        parser.error(f"--only {unknown[0]} is not one of {', '.join(TESTS)}")
    os.chdir(ROOT)
    preload()
    text, unexplained = report(chosen, given.jobs)
    print(text)
    if not given.only:
        put(PAGE, "mutation", text)
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
