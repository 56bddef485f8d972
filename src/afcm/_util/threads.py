"""One pool of threads for the whole package. NumPy and SciPy let other threads run while they compute."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache, wraps
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
_single_thread: ContextVar[bool] = ContextVar("single_thread", default=False)


def count_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count_cores(), thread_name_prefix="afcm")


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


class _BlasLimit:
    """The number of BLAS threads is global: the first thread to enter sets it, the last to leave restores it."""

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _libraries().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()

    def __call__(self, function: F) -> F:
        """The function inside this context. Not by `contextlib`: warnings look for the first frame outside afcm."""

        @wraps(function)
        def limited(*arguments: Any, **options: Any) -> Any:
            with self:
                return function(*arguments, **options)

        return limited  # type: ignore[return-value]

    def renew_lock(self) -> None:
        """Called after a fork: the thread that held the lock is not there to release it."""
        self._lock = Lock()


_blas_limit = _BlasLimit()


def one_blas_thread() -> _BlasLimit:
    """A context, or decorator, in which BLAS uses one thread: it would compete with ours (its idle threads spin)."""
    return _blas_limit


@contextmanager
def without_threads() -> Iterator[None]:
    """A context in which `for_each` and `map_in_threads` work in the calling thread: other cores have other work."""
    token = _single_thread.set(True)
    try:
        yield
    finally:
        _single_thread.reset(token)


def for_each(work: Callable[[Any], object], items: Iterable[Any], done: Callable[[int], object] | None = None) -> None:
    """Do the work on all cores and wait; raises the first error. ``done`` hears the number of finished items."""
    for number, _ in enumerate(_map(work, items), start=1):
        if done is not None:
            done(number)


def map_in_threads(work: Callable[[Any], T], items: Iterable[Any]) -> list[T]:
    """Results of the work in the order of the items, computed on all cores with one BLAS thread each."""
    with one_blas_thread():
        return list(_map(work, items))


def _map(work: Callable[[Any], T], items: Iterable[Any]) -> Iterator[T]:
    items = list(items)
    if _single_thread.get() or len(items) == 1:
        return map(work, items)
    context = copy_context()  # who listens to progress here hears of it from there
    context.run(_single_thread.set, True)  # work that asks for threads itself would wait for the one it is in
    return _pool().map(lambda item: context.copy().run(work, item), items)


if hasattr(os, "register_at_fork"):  # threads do not survive a fork: the child starts its own
    os.register_at_fork(after_in_child=_pool.cache_clear)
    os.register_at_fork(after_in_child=_blas_limit.renew_lock)
