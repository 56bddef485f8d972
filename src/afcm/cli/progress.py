"""Show a progress bar with the time left, on a terminal only."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

# The rate at which memberships come to rest is taken over this many sweeps.
LOOK_BACK = 5


@contextmanager
def show_progress(console: Console, stage: str) -> Iterator[Stages]:
    """Show the stage of the work and its time on one line, which is gone at the end."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    left = (TextColumn("left:"), TimeRemainingColumn())
    # Some versions of rich end even a progress bar that is not shown with an empty line.
    seen = console if console.is_terminal else Console(quiet=True)
    with Progress(*columns, *left, console=seen, transient=True, disable=not console.is_terminal) as progress:
        yield Stages(progress, progress.add_task(stage, total=None))


class Stages:
    """The line of a progress bar: one stage of the work after another."""

    def __init__(self, progress: Progress, task: Any) -> None:
        self._progress, self._task = progress, task

    def begin(self, stage: str) -> None:
        self._progress.reset(self._task, total=None, description=stage)

    def advance(self, stage: str, done: int, total: int | None) -> None:
        """Move the bar, as a listener of `afcm._util.progress`."""
        self._progress.update(self._task, description=stage, total=total, completed=done)

    def follow_sweeps(self, tol: float, max_iter: int, n_runs: int = 1) -> Callable[[Any], None]:
        """Return a callback for estimators, to be called after each sweep."""
        forecast = SweepForecast(tol, max_iter, n_runs)

        def look(iteration: Any) -> None:
            total = forecast.update(iteration.index, iteration.change)
            self._progress.update(self._task, description="sweeps", total=total, completed=forecast.done)

        return look


class SweepForecast:
    """Forecast of the number of sweeps: changes of the memberships fall like a geometric series."""

    def __init__(self, tol: float, max_iter: int, n_runs: int) -> None:
        self.tol, self.max_iter, self.n_runs = max(tol, 1e-15), max_iter, n_runs
        self.done, self.runs = 0, 0
        self._changes: list[float] = []

    def update(self, index: int, change: float) -> float:
        """Take in a sweep; return the sweeps of all runs, done and to come."""
        self.done += 1
        if index == 1 or not self._changes:
            self.runs, self._changes = self.runs + 1, []
        self._changes.append(change)
        this_run = min(index + self._estimate_remaining(), self.max_iter)
        before = self.done - index
        mean = (before + this_run) / max(self.runs, 1)
        return before + this_run + mean * max(self.n_runs - self.runs, 0)

    def _estimate_remaining(self) -> float:
        recent = [value for value in self._changes[-LOOK_BACK:] if value > 0]
        if len(recent) < 2 or recent[-1] <= self.tol:
            return 0.0 if recent and recent[-1] <= self.tol else float(self.max_iter)
        rate = (math.log(recent[0]) - math.log(recent[-1])) / (len(recent) - 1)
        return math.log(recent[-1] / self.tol) / rate if rate > 1e-3 else float(self.max_iter)
