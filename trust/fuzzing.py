"""A hundred thousand damaged files: ``python -m trust.fuzzing`` (`make fuzz`).

Each case is a good file with one thing done to it (`tests.damage`: bits, cuts, lies in the zip's directory, names that
lead elsewhere, links, bombs, odd headers, other JSON, other arrays), and is read by the reader that a user would call.
Good ends are a result that works and the reader's own error, in one line with the file's name. A finding is anything
else: another error or warning, more than `SECONDS` of computing, more than `GROWTH` bytes of memory, a crash, a file
opened for writing, a pickle, a process or a connection.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from trust.pages import ROOT, format_table, write_page
from trust.readers import READERS, Reader

KEPT = ROOT / "out" / "fuzz"
SECONDS, STUCK, GROWTH = 3.0, 60, 1.5 * 2**30
# What reading a file has no business to do, as Python's audit events tell it.
FORBIDDEN = ("os.system", "os.exec", "os.fork", "os.spawn", "subprocess", "socket", "pickle", "os.remove", "os.rename")
FORBIDDEN += ("os.mkdir", "os.symlink", "os.link", "os.truncate", "os.chmod", "shutil", "webbrowser")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Offence(BaseException):
    """Not an Exception: no reader may take it for a fault of the file."""


class Guard:
    """Watches Python's audit events while a file is read."""

    def __init__(self) -> None:
        self.watching = False
        sys.addaudithook(self.hear)

    def hear(self, event: str, details: Any) -> None:
        """Raise where something forbidden is about to happen."""
        if self.watching and (event.startswith(FORBIDDEN) or (event == "open" and details[2] & WRITING)):
            self.watching = False
            raise Offence(f"{event} {details!r}"[:200])

    @contextmanager
    def watch(self) -> Any:
        self.watching = True
        try:
            yield
        finally:
            self.watching = False


class Tally:
    """Counts the ends of one reader's cases."""

    def __init__(self, reader: Reader, folder: Path) -> None:
        self.reader, self.path, self.guard = reader, folder / reader.file, Guard()
        self.ends: Counter[str] = Counter()
        self.findings: dict[str, str] = {}
        self.slowest, self.growth, self.before = 0.0, 0.0, peak_memory()
        self.noise: list[str] = []  # errors that a library prints and drops
        sys.unraisablehook = lambda told: self.noise.append(f"{told.exc_type.__name__} printed: {told.exc_value}")

    def attempt(self, name: str, data: bytes) -> None:
        """Read one case and count its end."""
        self.path.write_bytes(data)
        started = time.process_time()
        signal.alarm(STUCK)
        try:
            with self.guard.watch(), warnings.catch_warnings():
                warnings.simplefilter("error")
                self.ends["read" if self.reader.read(self.path, name) else "refused"] += 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            self.add_finding(f"{type(error).__name__} at {place_of(error)}: {error}"[:300], data)
        finally:
            signal.alarm(0)
        self.slowest = max(self.slowest, time.process_time() - started)
        self.growth = max(self.growth, peak_memory() - self.before)
        if time.process_time() - started > SECONDS or peak_memory() - self.before > GROWTH:
            self.add_finding(f"{time.process_time() - started:.1f} s, {self.growth / 2**20:.0f} MiB", data)
            self.before = peak_memory()
        while self.noise:
            self.add_finding(self.noise.pop(), data)

    def add_finding(self, words: str, data: bytes) -> None:
        """Count a fault and keep the first file that shows it."""
        self.ends["finding"] += 1
        key = words.split(":", maxsplit=1)[0]
        if key not in self.findings:
            KEPT.mkdir(parents=True, exist_ok=True)
            (KEPT / f"{self.reader.key}-{len(self.findings)}").write_bytes(data)
            self.findings[key] = words
            print(f"{self.reader.name}: {words}", flush=True)


def place_of(error: BaseException) -> str:
    """Innermost line of ours that an error came through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/trust/" not in frame.filename]
    return f"{Path(frames[-1].filename).name}/{frames[-1].lineno}" if frames else "?"


def peak_memory() -> float:
    """Bytes of memory at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def explore(reader: Reader, n_cases: int, number: int, folder: Path) -> dict[str, Any]:
    """Try ``n_cases`` cases, spread over the ways of damage."""
    signal.signal(signal.SIGALRM, raise_stuck)
    tally = Tally(reader, folder)
    for name, whole in reader.files.items():
        for _ in range(2):  # the whole file must be read; what is imported for it is imported now
            tally.guard.watching = False
            tally.path.write_bytes(whole)
            assert reader.read(tally.path, name), f"the undamaged {name} is refused"
    beside, tally.before = set(os.listdir(folder)), peak_memory()
    for way, share in reader.ways.items():
        try_cases(reader, way, max(1, round(n_cases * share / sum(reader.ways.values()))), number, tally.attempt)
    for name in set(os.listdir(folder)) - beside:
        tally.add_finding(f"left {name}", b"")
    return {"ends": tally.ends, "findings": tally.findings, "slowest": tally.slowest, "growth": tally.growth}


def try_cases(reader: Reader, way: Any, count: int, number: int, attempt: Callable[[str, bytes], None]) -> None:
    """Let Hypothesis draw ``count`` cases of one way of damage."""
    names = st.sampled_from(sorted(reader.files))
    drawn = names.flatmap(lambda name: st.tuples(st.just(name), way(reader.files[name])))
    quiet = settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    seed(number)(quiet(given(drawn)(lambda case: attempt(*case))))()


def raise_stuck(*_: Any) -> None:
    raise Offence(f"still not done after {STUCK} s")


def explore_apart(reader: Reader, n_cases: int, number: int) -> dict[str, Any]:
    """Explore in a process of its own, so that a crash is a finding."""
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder, "readable")
        inner.mkdir()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                found = explore(reader, n_cases, number, inner)
                Path(folder, "found.json").write_text(json.dumps(found))
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(code)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == 0:
            return json.loads(Path(folder, "found.json").read_text())
        return {"ends": {"finding": 1}, "findings": {"crash": f"ended with {status}"}, "slowest": 0, "growth": 0}


HEAD = [
    "reader",
    "files",
    "ways",
    "cases",
    "refused",
    "read and working",
    "findings",
    "slowest case",
    "memory",
    "seconds",
    "seed",
]


def result_file(reader: Reader) -> Path:
    return KEPT / f"{reader.key}.json"


def measure(reader: Reader, n_cases: int, number: int) -> None:
    """Try a reader's share of all cases, and keep the result."""
    started = time.monotonic()
    found = explore_apart(reader, round(n_cases * reader.share / sum(one.share for one in READERS)), number)
    KEPT.mkdir(parents=True, exist_ok=True)
    result_file(reader).write_text(json.dumps({**found, "seed": number, "seconds": time.monotonic() - started}))


def report(readers: list[Reader]) -> tuple[str, int]:
    """Make the table from the last results; the text, and the number of findings."""
    rows, total, findings = [], 0, 0
    for reader in readers:
        found = json.loads(result_file(reader).read_text())
        ends = Counter(found["ends"])
        total, findings = total + ends.total(), findings + ends["finding"]
        sizes = [len(reader.files), len(reader.ways), ends.total(), ends["refused"], ends["read"], ends["finding"]]
        costs = [f"{found['slowest']:.2f} s", f"+{found['growth'] / 2**20:.0f} MiB", f"{found['seconds']:.0f}"]
        rows.append([reader.name, *map(str, sizes), *costs, str(found["seed"])])
        rows += [[f"finding: {words}", *[""] * (len(HEAD) - 1)] for words in found["findings"].values()]
    text = format_table(HEAD, rows, numbers=True)
    return f"{text}\n\n{total} cases, {findings} findings.", findings


def main() -> None:
    """``python -m trust.fuzzing [--cases 120000] [--seed 0] [--only text packed]``."""
    parser = argparse.ArgumentParser(description="damaged files for every reader")
    parser.add_argument("--cases", type=int, default=120_000, help="of all readers together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=[reader.key for reader in READERS])
    given_ = parser.parse_args()
    chosen = [reader for reader in READERS if given_.only is None or reader.key in given_.only]
    for reader in chosen:
        measure(reader, given_.cases, given_.seed)
    text, findings = report(chosen)
    print(text)
    if all(result_file(reader).exists() for reader in READERS):
        write_page("fuzzing", "`make fuzz`", report(READERS)[0])
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
