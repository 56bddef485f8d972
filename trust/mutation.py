"""Do the tests notice a small mistake in the mathematics? `make mutation` tries them all (`python -m trust.mutation`).

Each mutant of a module is loaded in the place of the module, in a process of its own, and the fast tests of that module
are run; nothing is written to the package. Mutants that no test can tell from the original are in
``trust/equivalent/MODULE.toml`` with the reason, and count as not killed. The verdict on a mutant is kept in
``out/mutation``, and it is not tried again before it or the tests change; remove that folder to try all again.
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
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from trust.mutants import mutants
from trust.pages import ROOT, format_table, write_page

KEPT = ROOT / "out" / "mutation"
# The modules with mathematics, and the fast tests that should notice a mistake in each.
TESTS = {
    "equations.paper": ["tests/equations/test_paper.py"],
    "equations.fuzzy_c_means": ["tests/equations/test_fuzzy_c_means.py"],
    "equations.generalized_gaussian": ["tests/equations/test_generalized_gaussian.py"],
    "equations.scatters": ["tests/equations/test_scatters.py"],
    "equations.local_mixture": ["tests/equations/test_local_mixture.py"],
    "linalg.operator": ["tests/linalg/test_operator.py"],
    "linalg.search_space": ["tests/linalg/test_search_space.py"],
    "linalg.eigensolver": ["tests/linalg/test_eigensolver_steps.py"],
    "linalg.eigenbasis": ["tests/linalg/test_eigenbasis_steps.py"],
    "linalg.products": ["tests/linalg/test_products.py"],
    "linalg.ratios": ["tests/linalg/test_ratios.py"],
    "neighbors.search": ["tests/neighbors/test_search.py"],
    "neighbors.exact": ["tests/neighbors/test_exact.py"],
    "neighbors.approximate": ["tests/neighbors/test_approximate_steps.py"],
    "graph.kernels": ["tests/graph/test_kernels.py"],
    "graph.density": ["tests/graph/test_density.py"],
    "graph.affinity": ["tests/graph/test_affinity.py", "tests/graph/test_levels.py"],
    "graph.duplicates": ["tests/graph/test_duplicates.py"],
    "graph.similarity": ["tests/graph/test_similarity.py"],
    "graph.sharpening": ["tests/graph/test_sharpening.py"],
    "graph.diffusion": ["tests/graph/test_diffusion.py"],
    "graph.components": ["tests/graph/test_components.py"],
    "graph.levels": ["tests/graph/test_levels.py"],
    "graph.counting": ["tests/graph/test_counting.py"],
    "graph.eigenvectors": ["tests/graph/test_eigenvectors.py"],
    "graph.anchors.learning": ["tests/graph/anchors/test_learning.py"],
    "graph.anchors.weights": ["tests/graph/anchors/test_weights.py"],
    "graph.anchors.affinity": ["tests/graph/anchors/test_affinity.py"],
    "graph.anchors.embedding": ["tests/graph/anchors/test_embedding.py"],
    "models.anchor_equations": ["tests/models/test_anchor_equations.py"],
    "models.anchored": ["tests/models/test_anchored_steps.py", "tests/models/test_fitted_levels.py"],
    "models.anchored_chunks": ["tests/models/test_anchored_chunks.py"],
    "models.centers": ["tests/models/test_centers.py"],
    "models.embedded": ["tests/models/test_embedded.py"],
    "models.extension": ["tests/models/test_extension.py"],
    "models.fitted_graph": ["tests/models/test_fitted_graph.py", "tests/models/test_fitted_levels.py"],
    "models.fuzzy": ["tests/models/test_fuzzy.py"],
    "models.mixture": ["tests/models/test_mixture_steps.py"],
    "models.regrouping": ["tests/models/test_regrouping.py"],
    "models.plain": ["tests/models/test_plain.py"],
    "fitting.loop": ["tests/fitting/test_loop.py"],
    "fitting.starts": ["tests/fitting/test_starts.py"],
    "baselines.equations": ["tests/baselines/test_equations.py"],
}
EQUIVALENT = Path(__file__).with_name("equivalent")
# A mutant may compute this long, in this much memory, and wait for so many times as long: others want the cores too.
SECONDS, BYTES, PATIENT = 120, 8 * 2**30, 10
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
# Mutants are tried at the same time; threads of BLAS in each would only wait for each other.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
PATIENCE = 5.0  # seconds between two lines about the same module
COMMAND = "`make mutation`"


@cache
def read_tests(module: str) -> str:
    """Text of a module's tests as they are when the run begins."""
    return "".join((ROOT / test).read_text() for test in TESTS[module])


class Trial(NamedTuple):
    """A source to be tested in the place of a module; ``name`` says what is changed in it."""

    module: str
    name: str
    source: str

    @property
    def file(self) -> Path:
        """File of its verdict, for this source and these tests."""
        whole = self.source + read_tests(self.module)
        return KEPT / f"{self.module}-{hashlib.blake2b(whole.encode(), digest_size=12).hexdigest()}.json"

    def read_verdict(self) -> tuple[str, float]:
        """``survived``, ``killed`` or ``timeout``, and the seconds that took."""
        return tuple(json.loads(self.file.read_text()))


class InPlaceOf(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives other source when a module is imported."""

    def __init__(self, name: str, source: str) -> None:
        self.name, self.source = name, source

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.name else None

    def exec_module(self, module: Any) -> None:
        exec(compile(self.source, f"<mutant of {self.name}>", "exec"), module.__dict__)


def preload() -> None:
    """Import what every child needs, except afcm itself."""
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


def run_tests(trial: Trial) -> None:
    """Run the tests on another source, in a child process that ends here with pytest's exit code."""
    code = 1
    try:
        import pytest

        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(PATIENT * SECONDS)
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        sys.meta_path.insert(0, InPlaceOf(f"afcm.{trial.module}", trial.source))
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        code = int(pytest.main([*QUIET, *TESTS[trial.module]]))
    finally:
        os._exit(code)


def verdict_of(status: int) -> str:
    """Verdict that the end of a child gives; another signal than its own time limits is nobody's verdict."""
    if not os.WIFSIGNALED(status):
        return "survived" if status == 0 else "killed"
    if os.WTERMSIG(status) in (signal.SIGALRM, signal.SIGPROF):
        return "timeout"
    # A mutant may crash its own process (a compiled loop past the end of an array): that is noticed.
    if os.WTERMSIG(status) in (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGBUS, signal.SIGILL):
        return "killed"
    raise SystemExit(f"a trial was ended from outside by {signal.Signals(os.WTERMSIG(status)).name}; start again")


def run_trials(trials: Iterable[Trial], jobs: int) -> Iterator[Trial]:
    """Run trials without a verdict, up to ``jobs`` at a time, and write their verdicts; yield each when it is known."""
    KEPT.mkdir(parents=True, exist_ok=True)
    waiting, running = iter(trials), dict[int, tuple[Trial, float]]()
    while True:
        while len(running) < jobs and (trial := next(waiting, None)):
            if trial.file.exists():
                yield trial
            elif child := os.fork():
                running[child] = trial, time.monotonic()
            else:
                run_tests(trial)
        if not running:
            return
        child, status = os.wait()
        trial, started = running.pop(child)
        draft = trial.file.with_suffix(".part")
        draft.write_text(json.dumps([verdict_of(status), time.monotonic() - started]))
        draft.replace(trial.file)
        yield trial


def original(module: str) -> Trial:
    return Trial(module, "", (ROOT / "src" / "afcm" / f"{module.replace('.', '/')}.py").read_text())


def check_originals(modules: Sequence[str], jobs: int) -> None:
    """Stop if the tests of a module fail without any mutant."""
    print(f"the tests of {len(modules)} modules as they are …", flush=True)
    done = run_trials([original(module) for module in modules], jobs)
    broken = sorted({trial.module for trial in done if trial.read_verdict()[0] != "survived"})
    if broken:
        listed = "; ".join(f"{module} ({' '.join(TESTS[module])})" for module in broken)
        raise SystemExit(f"tests fail without any mutant; repair them first: {listed}")


def list_trials(module: str) -> list[Trial]:
    return [Trial(module, mutant.name, mutant.source) for mutant in mutants(original(module).source)]


class Mutation:
    """All mutants of some modules, tried; ``shard`` (number, of how many) leaves the others to other machines."""

    def __init__(self, modules: Sequence[str], shard: tuple[int, int] = (1, 1)) -> None:
        self.modules, self.shard = modules, shard
        self.trials: dict[str, list[Trial]] = {}

    def run(self, jobs: int) -> None:
        """Try all mutants without a verdict, and say how far this is."""
        check_originals(self.modules, jobs)
        done, said = Counter[str](), time.monotonic()
        for trial in run_trials(self._make_trials(), jobs):
            done[trial.module] += 1
            total = len(self.trials[trial.module])
            if done[trial.module] == total or time.monotonic() - said > PATIENCE:
                said = time.monotonic()
                finished = sum(done[module] == len(trials) for module, trials in self.trials.items())
                modules = f"{finished} of {len(self.modules)} modules done"
                print(f"{trial.module}: {done[trial.module]}/{total} ({modules})", flush=True)

    def _make_trials(self) -> Iterator[Trial]:
        """Make each module's mutants when their turn comes: that takes seconds, and other mutants run meanwhile."""
        number, count = self.shard
        for module in self.modules:
            self.trials[module] = list_trials(module)[number - 1 :: count]
            yield from self.trials[module]

    def survivors(self, module: str) -> list[str]:
        return [trial.name for trial in self.trials[module] if trial.read_verdict()[0] == "survived"]

    def summarize(self) -> str:
        """Make the table of all modules."""
        rows = []
        for module in self.modules:
            verdicts = [trial.read_verdict() for trial in self.trials[module]]
            counts = Counter(verdict for verdict, _ in verdicts)
            killed = counts["killed"] + counts["timeout"]
            explained = len(set(self.survivors(module)) & set(read_reasons(module)))
            numbers = [counts.total(), killed, counts["timeout"], explained, counts["survived"] - explained]
            share = f"{100 * killed / max(counts.total(), 1):.1f} %"
            seconds = f"{sum(seconds for _, seconds in verdicts):.0f}"
            rows.append([f"`{module}`", *map(str, numbers), share, seconds])
        head = [
            "module",
            "mutants",
            "killed",
            "of these by time",
            "explained",
            "not explained",
            "killed of all",
            "seconds",
        ]
        return format_table(head, rows, numbers=True)

    def list_survivors(self) -> str:
        """Make the list of mutants that are not killed, by module and reason."""
        lines = []
        for module in self.modules:
            known, groups = read_reasons(module), dict[str, list[str]]()
            for name in self.survivors(module):
                groups.setdefault(known.get(name, "not explained yet"), []).append(name)
            lines += [f"## `{module}`", ""] if groups else []
            for reason, names in groups.items():
                lines += [f"**{reason}**", "", *(f"- `{name}`" for name in names), ""]
        return "\n".join(lines) or "None."

    def complaints(self) -> list[str]:
        """Survivors without a reason, and reasons without a survivor."""
        found = []
        for module in self.modules:
            alive, known = self.survivors(module), read_reasons(module)
            found += [f"survived  {module}.{name}" for name in alive if name not in known]
            gone = sorted(set(known) - set(alive))
            found += [f"trust/equivalent/{module}.toml lists a mutant that is gone or killed: {name}" for name in gone]
        return found


def read_reasons(module: str) -> dict[str, str]:
    """Reasons why mutants are not killed, by their names."""
    file = EQUIVALENT / f"{module}.toml"
    entries = tomllib.loads(file.read_text())["equivalent"] if file.exists() else []
    return {name: entry["reason"] for entry in entries for name in entry["mutants"]}


def read_shard(text: str) -> tuple[int, int]:
    """``2/4`` as (2, 4)."""
    number, count = map(int, text.split("/"))
    if not 1 <= number <= count:
        raise ValueError(text)
    return number, count


def main() -> int:
    """``python -m trust.mutation [--only linalg.operator,graph.kernels] [--jobs 2] [--shard 1/4]``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="some modules, with commas between; docs/trust is left alone")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="mutants tried at a time")
    parser.add_argument("--shard", type=read_shard, help="1/4: a fourth of the mutants, only their verdicts in out")
    given = parser.parse_args()
    chosen = given.only.split(",") if given.only else list(TESTS)
    unknown = sorted(set(chosen) - set(TESTS))
    if unknown:
        parser.error(f"--only {unknown[0]} is not one of {', '.join(TESTS)}")
    os.chdir(ROOT)
    os.environ.update(ONE_THREAD)
    preload()
    mutation = Mutation(chosen, given.shard or (1, 1))
    mutation.run(given.jobs)
    print(mutation.summarize())
    if given.shard:
        return 0
    if not given.only:
        write_page("mutation", COMMAND, mutation.summarize())
        write_page("mutation-survivors", COMMAND, mutation.list_survivors())
    complaints = mutation.complaints()
    print(*complaints, sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
