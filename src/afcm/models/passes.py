"""Passes over all samples: what is learned of parts of them adds up to what is learned of all.

A model writes a pass for samples in memory. Where they are in chunks elsewhere (`afcm.arrays`), each chunk makes
the same pass where it is, and only the combined results travel: there is no second copy of the mathematics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar

from afcm.arrays import dask_side, is_chunked
from afcm.equations.paper import Statistics

Method = TypeVar("Method", bound=Callable[..., Any])
Combine = Callable[[Sequence[Any]], Any]


class Look(NamedTuple):
    """What one look at samples tells: their statistics, and how far their memberships moved."""

    statistics: Statistics
    change: float  # max_ij |u_ij − u'_ij| against the centres before
    partial: bool = False  # is the change that of some samples only?


def added(parts: Sequence[Any]) -> Any:
    """The sum of numbers, arrays, or tuples of these, in their order."""
    first = parts[0]
    if not isinstance(first, tuple):
        return sum(parts[1:], start=first)
    sums = [added(values) for values in zip(*parts, strict=True)]
    return type(first)(*sums) if hasattr(first, "_fields") else tuple(sums)


def joined(looks: Sequence[Look]) -> Look:
    """Looks at parts of the samples as a look at all."""
    statistics, changes, partial = zip(*looks, strict=True)
    return Look(added(statistics), max(changes), any(partial))


def passing(combine: Combine) -> Callable[[Method], Method]:
    """A method that is a pass over ``self.points``: of chunks, ``combine`` of what each chunk's own pass gives.

    Arguments that are chunked themselves have one row per sample and are handed out with the samples.
    """

    def decorated(method: Method) -> Method:
        @wraps(method)
        def passed(self: Any, *arguments: Any) -> Any:
            if not is_chunked(self.points):
                return method(self, *arguments)
            return dask_side().reduced(self, method.__name__, arguments, combine)

        return passed  # type: ignore[return-value]

    return decorated
