"""Passes over all samples: results for parts of the samples combine into the result for all.

A model writes a pass for samples in memory. Where the samples are in chunks elsewhere (`afcm.arrays`), each chunk makes
the same pass where it is, and only the combined results travel: there is no second copy of the mathematics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar

from afcm.arrays import dask_backend, is_chunked
from afcm.equations.paper import Statistics

Method = TypeVar("Method", bound=Callable[..., Any])
Combine = Callable[[Sequence[Any]], Any]


class PassResult(NamedTuple):
    """Statistics of the samples, and how far their memberships moved."""

    statistics: Statistics
    change: float  # max_ij |u_ij − u'_ij| against the centers before
    partial: bool = False  # does the change cover only some of the samples?


def add_parts(parts: Sequence[Any]) -> Any:
    """The sum of numbers, of arrays, or of tuples of these, in their order."""
    first = parts[0]
    if not isinstance(first, tuple):
        return sum(parts[1:], start=first)
    sums = [add_parts(values) for values in zip(*parts, strict=True)]
    return type(first)(*sums) if hasattr(first, "_fields") else tuple(sums)


def merge_results(results: Sequence[PassResult]) -> PassResult:
    """The result for all samples from the results for parts of them."""
    statistics, changes, partial = zip(*results, strict=True)
    return PassResult(add_parts(statistics), max(changes), any(partial))


def sample_pass(combine: Combine) -> Callable[[Method], Method]:
    """Mark a method as a pass over ``self.points``; ``combine`` joins the results of the chunks, if there are any.

    Arguments that are chunked themselves have one row per sample and are handed out with the samples.
    """

    def decorate(method: Method) -> Method:
        @wraps(method)
        def make_pass(self: Any, *arguments: Any) -> Any:
            if not is_chunked(self.points):
                return method(self, *arguments)
            return dask_backend().reduce_method(self, method.__name__, arguments, combine)

        return make_pass  # type: ignore[return-value]

    return decorate
