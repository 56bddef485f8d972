"""Keeps one row per run in an append-only file, written as the runs finish.

A row is a line of JSON. It is written with one system call and flushed to the disk, so a kill at any moment leaves
whole rows and at the most a piece of a last line, which the next start cuts off. Every row says what was run
(`Row.key`), so that a restart knows what is done.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

METRICS = ("ACC", "NMI", "ARI")
BINARY = getattr(os, "O_BINARY", 0)  # Windows would write two bytes for the end of a line


class StoreError(OSError):
    """The rows cannot be read or written."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One run of one method on one data set, or why there is none."""

    experiment: str  # name of the spec: "table1", "table2", "flat", "ours", "toys", "convergence"
    dataset: str  # as in the registry
    method: str  # as in the spec
    params: dict[str, Any]  # the grid point
    seed: int
    status: Literal["ok", "failed", "skipped"] = "ok"
    reason: str = ""  # why a run failed or was skipped
    metrics: dict[str, float] = field(default_factory=dict)  # `METRICS` in percent; empty unless the status is ok
    seconds: float = 0.0  # of the fit alone; graph and spectral start are shared and not counted
    details: dict[str, Any] = field(default_factory=dict)  # for the report: sweeps, γ, state of memberships, a history
    versions: dict[str, str] = field(default_factory=dict)  # of Python, NumPy, SciPy, scikit-learn and afcm

    @property
    def key(self) -> str:
        """Identifies the run: equal for a row and for its repetition."""
        return make_key(self.experiment, self.dataset, self.method, self.params, self.seed)


def make_key(experiment: str, dataset: str, method: str, params: dict[str, Any], seed: int) -> str:
    return json.dumps([experiment, dataset, method, params, seed], sort_keys=True)


class RowStore:
    """Rows in a file of JSON lines; one process writes at a time.

    Use it in a ``with`` block. Entering reads what is there, cuts off a torn last line and takes the lock.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.rows: dict[str, Row] = {}
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY, 0o644)
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error.strerror}; give another folder with --out") from error
        try:
            self._lock()
            whole = cut_torn_line(self._descriptor)
            self.rows = {row.key: row for row in parse_rows(whole, self.path)}
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)  # releases the lock
            self._descriptor = None

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # not on this system: two runs into one folder are the user's to avoid
            return
        assert self._descriptor is not None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreError(f"{self.path} is being written by another run; wait, or use another --out") from error
        except OSError:  # a file system without locks
            return

    def append(self, row: Row) -> None:
        """Write one row and flush it to the disk; a row that is there already is not written twice."""
        if self._descriptor is None:
            raise StoreError(f"{self.path} is not open; use RowStore in a with block")
        if row.key in self.rows:
            return
        line = (json.dumps(asdict(row), allow_nan=True) + "\n").encode()
        end = os.lseek(self._descriptor, 0, os.SEEK_END)
        try:
            written = os.write(self._descriptor, line)
            if written < len(line):  # what a full disk does to the last block
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._descriptor)
        except OSError as error:
            os.ftruncate(self._descriptor, end)
            raise StoreError(
                f"cannot write to {self.path}: {error.strerror}; the {len(self.rows)} rows before are safe: make room "
                "and start again to go on from there"
            ) from error
        self.rows[row.key] = row


def read_rows(path: str | Path) -> list[Row]:
    """Read all whole rows of a file, without changing it."""
    content = Path(path).read_bytes()
    return list(parse_rows(content[: content.rfind(b"\n") + 1], Path(path)))


def cut_torn_line(descriptor: int) -> bytes:
    """Remove from a file what follows its last whole line, and return the rest."""
    size = os.lseek(descriptor, 0, os.SEEK_END)
    content = os.pread(descriptor, size, 0)
    end = content.rfind(b"\n") + 1
    if end < size:
        os.ftruncate(descriptor, end)
    return content[:end]


def parse_rows(content: bytes, path: Path) -> Iterator[Row]:
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            yield Row(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise StoreError(
                f"{path}, line {number} is not a row ({error}); repair the line or move the file away"
            ) from error
