"""All cases for one subject, in processes of its own: one that dies or hangs costs its case and no other."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trust import verdicts
from trust.cases import Case
from trust.subjects import Subject

ROOT = Path(__file__).parents[1]
WALL = 600.0  # seconds until somebody who does nothing at all is given up; computing is limited by the worker itself
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
ENVIRONMENT = "AFCM_FUZZY_C_MEANS_PYTHON"  # the interpreter of the peers that live apart


@dataclass(frozen=True)
class Outcome:
    """What a case did to a subject."""

    case: Case
    verdict: str
    words: str = ""


class Worker:
    """A process of `trust.worker` that answers line by line, or not in time."""

    def __init__(self, subject: Subject, python: str) -> None:
        command = [python, "-W", "ignore", "-m", "trust.worker", subject.name]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env=os.environ | ONE_THREAD,
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()
        self.version = self.answer().get("version", "")

    def _listen(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def ask(self, case: Case) -> dict[str, str]:
        """The answer to a case: a verdict in any event."""
        try:
            print(case.name, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            return self.end()
        return self.answer()

    def answer(self) -> dict[str, str]:
        """The next line, if there is one in time."""
        try:
            line = self.lines.get(timeout=WALL)
        except queue.Empty:
            self.close()
            return {"verdict": verdicts.HANG}
        return json.loads(line) if line else self.end()

    def end(self) -> dict[str, str]:
        """How the process ended that gave no answer."""
        out_of_time = self.process.wait() == -signal.SIGPROF
        self.close()
        return {"verdict": verdicts.HANG if out_of_time else verdicts.CRASH}

    def close(self) -> None:
        """End the process and what leads to it."""
        self.process.kill()
        self.process.wait()
        self.listener.join()
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()


def interpreter(subject: Subject) -> str:
    """The Python the subject lives in, or nothing."""
    return os.environ.get(ENVIRONMENT, "") if subject.apart else sys.executable


def run(subject: Subject, cases: list[Case], tell: Callable[[Outcome], Any] = id) -> tuple[str, list[Outcome]]:
    """The subject's version, and the outcome of every case."""
    python = interpreter(subject)
    worker = Worker(subject, python) if python else None
    version = worker.version if worker else ""
    if not version:
        return "", [Outcome(case, verdicts.NOT_INSTALLED) for case in cases]
    outcomes = []
    for case in cases:
        answer = worker.ask(case)
        if answer["verdict"] in (verdicts.CRASH, verdicts.HANG):
            worker.close()
            worker = Worker(subject, python)
        outcomes.append(Outcome(case, answer["verdict"], answer.get("words", "")))
        tell(outcomes[-1])
    worker.close()
    return version, outcomes


def here(subject: Subject, cases: list[Case]) -> Iterator[Outcome]:
    """The same in this process, for cases that neither hang nor crash."""
    from trust.worker import tried

    for case in cases:
        yield Outcome(case, **tried(subject, case))
