"""The only loop of the library: sweep, look, stop.

``alternate`` is a generator, so that histories, progress bars, callbacks, checkpoints, plots and benchmarks are its
consumers and no mathematics knows of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

# J is compared relative to itself at this fraction of ``tol``: 1e-8 for the usual 1e-6 on the memberships.
OBJECTIVE_SHARE = 1e-2


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
    # ``whole_change(before)``, which is asked for before a run ends.


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


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run; ``result`` is where it was."""

    def __init__(self, result: Result[Any]) -> None:
        super().__init__("stopped; the estimator holds the best model so far")
        self.result = result


def run_each(runs: Iterable[Callable[[], Result[S]]]) -> tuple[list[Result[S]], KeyboardInterrupt | None]:
    """The results of several runs, or those there are when Ctrl-C comes, which the caller raises again."""
    results: list[Result[S]] = []
    try:
        for one in runs:
            results.append(one())
    except Interrupted as interrupt:
        return [*results, interrupt.result], interrupt
    except KeyboardInterrupt as interrupt:
        if results:
            return results, interrupt
        raise
    return results, None


class Step(NamedTuple):
    """What a stop rule looks at: how far one sweep went."""

    change: float  # of the memberships, the largest
    before: float  # J before the sweep
    after: float  # and after it


StopRule = Callable[[Step, float], bool]  # Step, tol → has the run arrived?


def memberships_still(step: Step, tol: float) -> bool:
    """No membership changed by more than ``tol``."""
    return step.change <= tol


def objective_still(step: Step, tol: float) -> bool:
    """J changed by at most ``tol``, in its own unit (MATLAB's rule)."""
    return abs(step.before - step.after) <= tol


def either_still(step: Step, tol: float) -> bool:
    """No membership changed by more than ``tol``, or J by no more than ``tol``/100 of itself."""
    return memberships_still(step, tol) or objective_still(step, OBJECTIVE_SHARE * tol * max(1.0, abs(step.after)))


def never(step: Step, tol: float) -> bool:  # noqa: ARG001
    """All of ``max_iter`` sweeps, for a figure."""
    return False


STOP_RULES: dict[str, StopRule] = {
    "memberships": memberships_still,
    "objective": objective_still,
    "either": either_still,
}


def alternate(
    problem: Problem[S], state: S, *, max_iter: int, tol: float, stop: StopRule = either_still
) -> Iterator[Iteration[S]]:
    """Sweep until the stop rule is content (by default: memberships or J stand still) or ``max_iter`` is reached."""
    for index in range(1, max_iter + 1):
        following = problem.sweep(state)
        change = membership_change(state, following)
        converged = stop(Step(change, state.objective, following.objective), tol)
        if converged and getattr(following, "partial", False):  # some samples stand still: do all?
            change = following.whole_change(state)  # type: ignore[attr-defined]
            converged = stop(Step(change, state.objective, following.objective), tol)
        yield Iteration(index, following, change, converged)
        if converged:
            return
        state = following


def membership_change(before: State, after: State) -> float:
    """`largest_change` of the memberships; a state that was compared block by block already knows it."""
    known: float | None = getattr(after, "change", None)
    return largest_change(before.memberships, after.memberships) if known is None else known


def largest_change(before: Any, after: Any) -> float:
    """``max_ij |u_ij − u'_ij|``."""
    return float(array_namespace(before, after).max(abs(after - before)))


def run(
    problem: Problem[S],
    state: S,
    *,
    max_iter: int,
    tol: float,
    stop: StopRule = either_still,
    callback: Callable[[Iteration[S]], object] | None = None,
) -> Result[S]:
    """Consume `alternate` and keep the last state and the history (of γ only where there is one).

    Ctrl-C after the first sweep raises `Interrupted`, which knows the result so far.
    """
    rows: list[tuple[float, float | None, float]] = []
    converged = False
    try:
        for iteration in alternate(problem, state, max_iter=max_iter, tol=tol, stop=stop):
            state, converged = iteration.state, iteration.converged
            rows.append((state.objective, state.precision, iteration.change))
            if callback is not None:
                callback(iteration)
    except KeyboardInterrupt as interrupt:
        if rows:
            raise Interrupted(as_result(state, rows, converged)) from interrupt
        raise
    return as_result(state, rows, converged)


def as_result(state: S, rows: list[tuple[float, float | None, float]], converged: bool) -> Result[S]:
    """The last state with its history."""
    columns = np.array(rows, dtype=np.float64).reshape(-1, 3).T  # None becomes NaN
    history = dict(zip(("objective", "gamma", "membership_change"), columns, strict=True))
    if state.precision is None:
        del history["gamma"]
    return Result(state, history, len(rows), converged)
