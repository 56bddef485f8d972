"""Do the tests notice a small mistake in the equations? ``python -m trust.mutation`` tries them all (`make mutation`).

Each mutant of `afcm.updates` and `afcm.graph` is loaded in the place of the module, in a process of its own, and the
fast tests of that module are run; nothing is written to the package. Mutants that no test can tell from the original
are in ``equivalent.toml`` with the reason, and count as not killed. What became of a mutant is kept in ``out``, and
it is not tried again before it or the tests change.
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
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from trust.mutants import Mutant, mutants
from trust.table import put, row

ROOT = Path(__file__).parents[1]
PAGE, KEPT = ROOT / "docs" / "trust.md", ROOT / "out" / "mutation"
TESTS = {"updates": ["tests/test_updates.py"], "graph": ["tests/test_graph.py"]}
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
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


def outcome(module: str, source: str) -> str:
    """``survived``, ``killed`` or ``timeout``: what the tests of a module say of another source."""
    child = os.fork()
    if child == 0:
        run_tests(module, source)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "timeout" if os.WTERMSIG(status) == signal.SIGALRM else "killed"
    code = os.WEXITSTATUS(status)
    if code not in (PASSED, FAILED, INTERRUPTED):
        raise RuntimeError(f"pytest ended with {code} for a mutant of {module}; run its tests: {TESTS[module]}")
    return "survived" if code == PASSED else "killed"


def run_tests(module: str, source: str) -> None:
    """In a process of its own, which ends here."""
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


def trials(module: str) -> Iterator[tuple[Mutant, str, float]]:
    """Every mutant of a module, what became of it, and the seconds that took; the original must pass."""
    source = (ROOT / "src" / "afcm" / f"{module}.py").read_text()
    if kept(module, source)[0] != "survived":
        raise RuntimeError(f"the tests of afcm.{module} fail without any mutant; repair them first: {TESTS[module]}")
    for mutant in mutants(source):
        yield mutant, *kept(module, mutant.source)


def kept(module: str, source: str) -> tuple[str, float]:
    """`outcome` and its seconds, remembered for the same source and tests."""
    whole = source + "".join((ROOT / test).read_text() for test in TESTS[module])
    file = KEPT / f"{module}-{hashlib.blake2b(whole.encode(), digest_size=12).hexdigest()}.json"
    if not file.exists():
        started = time.monotonic()
        found = outcome(module, source), time.monotonic() - started
        KEPT.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found))
    end, seconds = json.loads(file.read_text())
    return end, seconds


def reasons(module: str) -> dict[str, str]:
    """Mutants that are no mistakes, and why."""
    entries = tomllib.loads(EQUIVALENT.read_text()).get(module, [])
    return {name: entry["reason"] for entry in entries for name in entry["mutants"]}


def survivors_of(module: str, said: Counter[str]) -> tuple[list[str], float]:
    """Run a module's mutants; the names of those that survive, and the seconds of all."""
    alive, total = [], 0.0
    for mutant, end, seconds in trials(module):
        said[end] += 1
        total += seconds
        if end == "survived":
            alive.append(mutant.name)
            print(f"survived  {module}.{mutant.name}", flush=True)
    return alive, total


def report(modules: Sequence[str]) -> tuple[str, int]:
    """The section of docs/trust.md, and how many survivors have no reason."""
    rows, lists, unexplained = [], [], 0
    for module in modules:
        said, known = Counter[str](), reasons(module)
        alive, seconds = survivors_of(module, said)
        stale = sorted(set(known) - set(alive))
        if stale:
            raise SystemExit(f"trust/equivalent.toml lists mutants of {module} that are gone or killed: {stale}")
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
    """``python -m trust.mutation [--only updates]``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=TESTS, help="one module; docs/trust.md is left alone")
    chosen = parser.parse_args().only
    os.chdir(ROOT)
    preload()
    text, unexplained = report([chosen] if chosen else list(TESTS))
    print(text)
    if not chosen:
        put(PAGE, "mutation", text)
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
