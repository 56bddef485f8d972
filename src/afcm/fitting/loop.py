"""The only loop of the library: sweep, look, stop.

``alternate`` is a generator, so that histories, progress bars, callbacks, checkpoints, plots and benchmarks are its
consumers and no mathematics knows of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from afcm.equations.paper import largest_change

# J is compared relative to itself at this fraction of ``tol``: 1e-8 for the usual 1e-6 on the memberships.
OBJECTIVE_SHARE = 1e-2
# The columns of every history: one number a sweep.
COLUMNS = ("objective", "gamma", "membership_change")


class State(Protocol):
    """The state of a model, as the loop needs it: U (n×c), γ or None, and J (infinity before the first sweep).

    A state may know its ``change`` since the one before; if that is ``partial`` (of some samples only), it has
    ``whole_change(before)``, which is asked for before a run ends. Its ``trace`` holds more numbers for the history.
    """

    @property
    def memberships(self) -> Any: ...

    @property
    def precision(self) -> float | None: ...

    @property
    def objective(self) -> float: ...


S = TypeVar("S", bound=State)


class Problem(Protocol[S]):
    """A model with its data: one sweep lowers its objective."""

    def sweep(self, state: S, /) -> S:
        """All blocks of variables updated once, in the paper's order."""


@dataclass(frozen=True)
class Iteration(Generic[S]):
    """One sweep, as a consumer sees it."""

    index: int
    state: S
    change: float
    converged: bool


@dataclass(frozen=True)
class Result(Generic[S]):
    """The last state of a run and its history."""

    state: S
    history: dict[str, NDArray[np.float64]]
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class Progress(Generic[S]):
    """How far a fit of several runs is: how many have ended, the best of them, and the one under way."""

    n_ended: int = 0
    best: Result[S] | None = None
    current: Result[S] | None = None


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a fit that has something to show; ``result`` is the state of the run that was stopped."""

    def __init__(self, result: Result[Any]) -> None:
        super().__init__("stopped; the estimator holds the best model so far")
        self.result = result


class Journal(Generic[S]):
    """Follows the sweeps of a fit and calls a callback; `afcm.checkpoints` has one that also writes them to a file."""

    def __init__(self, callback: Callable[[Iteration[S]], object] | None = None) -> None:
        self.callback = callback

    def restore_random(self, random: np.random.RandomState) -> np.random.RandomState:
        """Return the generator that the fit is to draw from."""
        return random

    def resume(self, problem: Problem[S], starters: Sequence[Callable[[], S]]) -> Progress[S]:
        """Return the progress to continue from."""
        return Progress()

    def note(self, iteration: Iteration[S], progress: Callable[[], Progress[S]]) -> None:
        """Take note of a sweep; ``progress()`` is the state of the whole fit after it."""
        if self.callback is not None:
            self.callback(iteration)

    def finish(self, progress: Progress[S], *, interrupted: bool) -> None:
        """Take note of the end of the fit."""


class Step(NamedTuple):
    """How far one sweep went, for a stop rule."""

    change: float  # of the memberships, the largest
    before: float  # J before the sweep
    after: float  # and after it
    scale: float  # what a change of J is measured against


Row = Mapping[str, Any]  # of a history: one sweep
StopRule = Callable[[Step, float], bool]  # Step, tol → has the run arrived?


def memberships_still(step: Step, tol: float) -> bool:
    """No membership changed by more than ``tol``."""
    return step.change <= tol


def objective_still(step: Step, tol: float) -> bool:
    """J changed by at most ``tol``, in its own unit (MATLAB's rule)."""
    return abs(step.before - step.after) <= tol


def either_still(step: Step, tol: float) -> bool:
    """No membership changed by more than ``tol``, or J by no more than ``tol``/100 of its scale."""
    return memberships_still(step, tol) or share_still(step, tol)


def share_still(step: Step, tol: float) -> bool:
    """J changed by no more than ``tol``/100 of its scale."""
    return objective_still(step, OBJECTIVE_SHARE * tol * step.scale)


def never(step: Step, tol: float) -> bool:  # noqa: ARG001
    """All of ``max_iter`` sweeps, for a figure."""
    return False


STOP_RULES: dict[str, StopRule] = {
    "memberships": memberships_still,
    "objective": objective_still,
    "either": either_still,
}


def alternate(
    problem: Problem[S], state: S, *, max_iter: int, tol: float, stop: StopRule = either_still, done: int = 0
) -> Iterator[Iteration[S]]:
    """Sweep until the stop rule is content (by default: memberships or J stand still) or ``max_iter`` is reached.

    ``done`` sweeps were made before and count.
    """
    for index in range(done + 1, max_iter + 1):
        following = problem.sweep(state)
        change = membership_change(state, following)
        step = Step(change, state.objective, following.objective, objective_scale(problem, following))
        converged = stop(step, tol)
        if converged and getattr(following, "partial", False):  # some samples stand still: do all?
            change = following.whole_change(state)  # type: ignore[attr-defined]
            converged = stop(step._replace(change=change), tol)
        yield Iteration(index, following, change, converged)
        if converged:
            return
        state = following


def objective_scale(problem: Problem[S], state: S) -> float:
    """The size that a change of J is compared with: the problem's own ``objective_scale``, or J.

    A likelihood moves by a constant when the data are in another unit; such a problem gives its number of samples, so
    that a run stops at the same sweep in any unit.
    """
    known: float | None = getattr(problem, "objective_scale", None)
    return abs(state.objective) if known is None else known


def membership_change(before: State, after: State) -> float:
    """`largest_change` of the memberships; a state that was compared block by block already knows it."""
    known: float | None = getattr(after, "change", None)
    return largest_change(before.memberships, after.memberships) if known is None else known


class Run(Generic[S]):
    """One run under way: its last state and a history row for each sweep. A `Result` is continued where it stopped."""

    def __init__(self, start: S | Result[S]) -> None:
        begun = start if isinstance(start, Result) else Result(start, {}, 0, False)
        self.state: S = begun.state
        self.converged = begun.converged
        columns = begun.history
        self.rows: list[Row] = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def add(self, iteration: Iteration[S]) -> None:
        self.state, self.converged = iteration.state, iteration.converged
        row = dict(zip(COLUMNS, (self.state.objective, self.state.precision, iteration.change), strict=True))
        self.rows.append({**row, **getattr(self.state, "trace", {})})

    def result(self) -> Result[S]:
        names = list(self.rows[0]) if self.rows else list(COLUMNS)
        history = {name: np.array([row[name] for row in self.rows], dtype=np.float64) for name in names}  # None: NaN
        if self.state.precision is None:
            history.pop("gamma", None)
        return Result(self.state, history, len(self.rows), self.converged)


def best_run(
    problem: Problem[S],
    starters: Sequence[Callable[[], S]],
    *,
    key: Callable[[Result[S]], float],
    max_iter: int,
    tol: float,
    stop: StopRule = either_still,
    journal: Journal[S] | None = None,
) -> tuple[Result[S], KeyboardInterrupt | None]:
    """Run from every start and return the run with the lowest ``key`` (the first of equals).

    Starts are made one at a time, when their run begins. After Ctrl-C the best run so far is returned together with
    the interrupt, which the caller raises again once it has stored the result.
    """
    journal = Journal() if journal is None else journal
    progress, run = journal.resume(problem, starters), None
    try:
        for starter in starters[progress.n_ended :]:
            run = Run(starter() if progress.current is None else progress.current)
            progress = replace(progress, current=None)
            left = 0 if run.converged else max_iter
            for iteration in alternate(problem, run.state, max_iter=left, tol=tol, stop=stop, done=len(run.rows)):
                run.add(iteration)
                journal.note(iteration, partial(_progress_with, progress, run))
            progress, run = _progress_after(progress, run.result(), key), None
    except KeyboardInterrupt as interrupt:
        if run is not None and run.rows:
            raised: KeyboardInterrupt = Interrupted(run.result())
            raised.__cause__ = interrupt
            progress = _progress_after(progress, run.result(), key)
        elif progress.best is not None:
            raised = interrupt
        else:
            raise
        journal.finish(progress, interrupted=True)
        return progress.best, raised  # type: ignore[return-value]
    if progress.best is None:
        raise ValueError("a fit needs at least one start")
    journal.finish(progress, interrupted=False)
    return progress.best, None


def _progress_with(progress: Progress[S], run: Run[S]) -> Progress[S]:
    return replace(progress, current=run.result())


def _progress_after(progress: Progress[S], ended: Result[S], key: Callable[[Result[S]], float]) -> Progress[S]:
    best = ended if progress.best is None else min(progress.best, ended, key=key)
    return Progress(progress.n_ended + 1, best)


def run(
    problem: Problem[S],
    start: S,
    *,
    max_iter: int,
    tol: float,
    stop: StopRule = either_still,
    callback: Callable[[Iteration[S]], object] | None = None,
) -> Result[S]:
    """Run once from a state. Ctrl-C after the first sweep raises `Interrupted`, which holds the result so far."""
    limits: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "stop": stop}
    result, stopped = best_run(problem, [lambda: start], key=lambda _: 0.0, journal=Journal(callback), **limits)
    if stopped is not None:
        raise stopped
    return result
