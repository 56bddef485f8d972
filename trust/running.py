"""Run all cases of one subject in processes of its own: one that dies or hangs costs its case and no other."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from trust import verdicts
from trust.cases import Case
from trust.pages import ROOT
from trust.subjects import Subject

WALL = 600.0  # seconds until a worker that does not answer is given up; it limits its computing itself
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
ENVIRONMENT = "AFCM_FUZZY_C_MEANS_PYTHON"  # the interpreter of the peers that live apart


@dataclass(frozen=True)
class Outcome:
    """Verdict on a subject for a case, and the messages that came with it."""

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
        self.version = self.read_answer().get("version", "")

    def _listen(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def ask(self, case: Case) -> dict[str, str]:
        """Give a case to the worker; its answer has a verdict in any event."""
        try:
            print(case.name, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            return self.read_end()
        return self.read_answer()

    def read_answer(self) -> dict[str, str]:
        """Read the next line, if there is one in time."""
        try:
            line = self.lines.get(timeout=WALL)
        except queue.Empty:
            self.close()
            return {"verdict": verdicts.HANG}
        return json.loads(line) if line else self.read_end()

    def read_end(self) -> dict[str, str]:
        """Tell a crash from a hang after a process gave no answer."""
        out_of_time = self.process.wait() == -signal.SIGPROF
        self.close()
        return {"verdict": verdicts.HANG if out_of_time else verdicts.CRASH}

    def close(self) -> None:
        """End the process and close its pipes."""
        self.process.kill()
        self.process.wait()
        self.listener.join()
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()


def interpreter(subject: Subject) -> str:
    """Path of the Python that has the subject, or an empty string."""
    return os.environ.get(ENVIRONMENT, "") if subject.apart else sys.executable


def run(subject: Subject, cases: list[Case]) -> tuple[str, list[Outcome]]:
    """Try every case; the subject's version (empty: not installed), and the outcomes."""
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
    worker.close()
    return version, outcomes


def run_here(subject: Subject, cases: list[Case]) -> Iterator[Outcome]:
    """Try cases in this process, if they neither hang nor crash."""
    from trust.worker import try_case

    for case in cases:
        yield Outcome(case, **try_case(subject, case))
