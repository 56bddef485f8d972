"""The only loop of the library: sweep, look, stop.

``alternate`` is a generator, so that histories, progress bars, callbacks, checkpoints, plots and benchmarks are its
consumers and no mathematics knows of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

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
    def precision(self) -> float:
        """γ."""

    @property
    def objective(self) -> float:
        """J, or infinity before the first sweep."""


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


def alternate(problem: Problem[S], state: S, *, max_iter: int, tol: float) -> Iterator[Iteration[S]]:
    """Sweep until the memberships or the objective stand still, or ``max_iter`` is reached."""
    for index in range(1, max_iter + 1):
        following = problem.sweep(state)
        change = largest_change(state.memberships, following.memberships)
        gain = abs(state.objective - following.objective)
        still = gain <= OBJECTIVE_SHARE * tol * max(1.0, abs(following.objective))
        converged = change <= tol or still
        yield Iteration(index, following, change, converged)
        if converged:
            return
        state = following


def largest_change(before: Any, after: Any) -> float:
    """``max_ij |u_ij − u'_ij|``."""
    return float(array_namespace(before, after).max(abs(after - before)))


def run(
    problem: Problem[S],
    state: S,
    *,
    max_iter: int,
    tol: float,
    callback: Callable[[Iteration[S]], object] | None = None,
) -> Result[S]:
    """Consume `alternate` and keep the last state and the history."""
    rows: list[tuple[float, float, float]] = []
    converged = False
    for iteration in alternate(problem, state, max_iter=max_iter, tol=tol):
        state, converged = iteration.state, iteration.converged
        rows.append((state.objective, state.precision, iteration.change))
        if callback is not None:
            callback(iteration)
    columns = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    history = dict(zip(("objective", "gamma", "membership_change"), columns, strict=True))
    return Result(state, history, len(rows), converged)
