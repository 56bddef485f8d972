"""The only loop of the library: sweep, look, stop.

``alternate`` is a generator, so that histories, progress bars, callbacks, checkpoints, plots and benchmarks are its
consumers and no mathematics knows of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from afcm.equations.paper import largest_change

# J is compared relative to itself at this fraction of ``tol``: 1e-8 for the usual 1e-6 on the memberships.
OBJECTIVE_SHARE = 1e-2
# What every history tells of each sweep.
COLUMNS = ("objective", "gamma", "membership_change")


class State(Protocol):
    """What the loop must know of a model's state."""

    @property
    def memberships(self) -> Any:
        """U, n×c."""

    @property
    def precision(self) -> float | None:
        """γ, or None where the model has none."""

    @property
    def objective(self) -> float:
        """J, or infinity before the first sweep."""

    # A state may know its ``change`` since the one before; if that is ``partial`` (of some samples only), it has
    # ``whole_change(before)``, which is asked for before a run ends. Its ``trace`` are more numbers for the history.


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
    """Where a run ended and how it got there."""

    state: S
    history: dict[str, NDArray[np.float64]]
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class Progress(Generic[S]):
    """How far a fit of several runs is: those that ended, the best of them, and the one under way."""

    n_ended: int = 0
    best: Result[S] | None = None
    current: Result[S] | None = None


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run; ``result`` is where it was."""

    def __init__(self, result: Result[Any]) -> None:
        super().__init__("stopped; the estimator holds the best model so far")
        self.result = result


class Step(NamedTuple):
    """What a stop rule looks at: how far one sweep went."""

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
    """What the problem says, or J itself.

    A likelihood moves by a constant when the data are in another unit; such a problem says its number of samples, so
    that a run stops at the same sweep in any unit.
    """
    known: float | None = getattr(problem, "objective_scale", None)
    return abs(state.objective) if known is None else known


def membership_change(before: State, after: State) -> float:
    """`largest_change` of the memberships; a state that was compared block by block already knows it."""
    known: float | None = getattr(after, "change", None)
    return largest_change(before.memberships, after.memberships) if known is None else known


def run(
    problem: Problem[S],
    start: S | Result[S],
    *,
    max_iter: int,
    tol: float,
    stop: StopRule = either_still,
    callback: Callable[[Iteration[S]], object] | None = None,
    keep: Callable[[Callable[[], Result[S]]], object] | None = None,
) -> Result[S]:
    """Consume `alternate` and keep the last state and the history (of γ only where there is one).

    A `Result` as start is continued as if it had never stopped. ``keep`` is told after each sweep how to get the
    result so far. Ctrl-C after the first sweep raises `Interrupted`, which knows that result.
    """
    state, rows, converged = begun(start)
    del start  # a large state is let go after the first sweep
    try:
        sweeps = alternate(problem, state, max_iter=0 if converged else max_iter, tol=tol, stop=stop, done=len(rows))
        for iteration in sweeps:
            state, converged = iteration.state, iteration.converged
            rows.append(noted(iteration))
            if keep is not None:
                keep(partial(as_result, state, rows.copy(), converged))
            if callback is not None:
                callback(iteration)
    except KeyboardInterrupt as interrupt:
        if rows:
            raise Interrupted(as_result(state, rows, converged)) from interrupt
        raise
    return as_result(state, rows, converged)


def begun(start: S | Result[S]) -> tuple[S, list[Row], bool]:
    """Where a run begins: the state, the history so far, and whether there is nothing left to do."""
    if not isinstance(start, Result):
        return start, [], False
    columns = start.history.values()
    rows: list[Row] = [dict(zip(start.history, values, strict=True)) for values in zip(*columns, strict=True)]
    return start.state, rows, start.converged


def noted(iteration: Iteration[S]) -> Row:
    """What the history keeps of a sweep."""
    state = iteration.state
    row = dict(zip(COLUMNS, (state.objective, state.precision, iteration.change), strict=True))
    return {**row, **getattr(state, "trace", {})}


def as_result(state: S, rows: Sequence[Row], converged: bool) -> Result[S]:
    """The last state with its history."""
    names = list(rows[0]) if rows else list(COLUMNS)
    history = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in names}  # None becomes NaN
    if state.precision is None:
        history.pop("gamma", None)
    return Result(state, history, len(rows), converged)


def best_run(
    problem: Problem[S],
    starters: Sequence[Callable[[], S]],
    *,
    key: Callable[[Result[S]], float],
    progress: Progress[S] | None = None,
    keep: Callable[[Callable[[], Progress[S]]], object] | None = None,
    **how: Any,
) -> tuple[Result[S], KeyboardInterrupt | None]:
    """The run with the lowest ``key`` (the first of equals); each start is made when it is run.

    ``progress`` is continued, and ``keep`` told after each sweep how to get it. When Ctrl-C comes, the best so far is
    returned with the interrupt, which the caller raises again.
    """
    progress = Progress() if progress is None else progress
    try:
        for starter in starters[progress.n_ended :]:
            told = None if keep is None else partial(_tell, keep, progress)
            ended = run(problem, starter() if progress.current is None else progress.current, keep=told, **how)
            progress = Progress(progress.n_ended + 1, _better(progress.best, ended, key))
    except Interrupted as interrupt:
        return _better(progress.best, interrupt.result, key), interrupt
    except KeyboardInterrupt as interrupt:
        if progress.best is None:
            raise
        return progress.best, interrupt
    if progress.best is None:
        raise ValueError("a fit needs at least one start")
    return progress.best, None


def _tell(keep: Callable[[Callable[[], Progress[S]]], object], before: Progress[S], so_far: Any) -> None:
    keep(lambda: Progress(before.n_ended, before.best, so_far()))


def _better(best: Result[S] | None, other: Result[S], key: Callable[[Result[S]], float]) -> Result[S]:
    return other if best is None else min(best, other, key=key)
