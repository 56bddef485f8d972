"""One pool of threads for the whole package. NumPy and SciPy let other threads run while they compute."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from functools import cache, wraps
from threading import Lock
from typing import Any, Generic, TypeVar

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


def threads_if(worth: bool) -> AbstractContextManager[None]:
    """A context with threads only if they are worth it: short steps of NumPy wait for each other."""
    return nullcontext() if worth else without_threads()


def for_each(work: Callable[[Any], object], items: Iterable[Any], done: Callable[[int], object] | None = None) -> None:
    """Do the work on all cores and wait; raises the first error. ``done`` hears the number of finished items."""
    _share(_Work(work, items, done))


def map_in_threads(work: Callable[[Any], T], items: Iterable[Any]) -> list[T]:
    """Results of the work in the order of the items, computed on all cores with one BLAS thread each."""
    with one_blas_thread():
        return _share(_Work(work, items))


def side_by_side(*works: Callable[[], Any], apart: bool = True) -> list[Any]:
    """Results of different works, each in a thread of its own, or (``apart=False``) in turn and each on all cores."""
    return map_in_threads(lambda work: work(), works) if apart else [work() for work in works]


class _Work(Generic[T]):
    """Items that threads take one by one, and what became of them, by their number."""

    def __init__(
        self, work: Callable[[Any], T], items: Iterable[Any], done: Callable[[int], object] | None = None
    ) -> None:
        self._work, self._done, self._n_told = work, done, 0
        self.waiting, self.results, self.errors = deque(enumerate(items)), dict[int, T](), dict[int, BaseException]()

    def take_one(self) -> bool:
        """Work on the next item, if one is left. Where one has failed, none is."""
        try:
            number, item = self.waiting.popleft()
        except IndexError:
            return False
        try:
            self.results[number] = self._work(item)
        except BaseException as error:
            self.errors[number] = error
            self.waiting.clear()
        return True

    def take_all(self) -> None:
        while self.take_one():
            pass

    def tell(self) -> None:
        """Tell the caller of each item that was finished since it heard last."""
        while self._done is not None and self._n_told < len(self.results):
            self._n_told += 1
            self._done(self._n_told)


def _share(work: _Work[T]) -> list[T]:
    """Results of the work of the calling thread and the pool: who works already need not be woken."""
    n_items = len(work.waiting)
    n_helpers = 0 if _single_thread.get() else min(count_cores(), n_items) - 1
    with threads_if(n_helpers <= 0):  # work that asks for threads itself has the one it is in
        context = copy_context()  # who listens to progress here hears of it from there
        helpers = [_pool().submit(context.copy().run, work.take_all) for _ in range(n_helpers)]
        try:
            while work.take_one():
                work.tell()
        finally:
            work.waiting.clear()
            wait([helper for helper in helpers if not helper.cancel()])
    if work.errors:
        raise work.errors.pop(min(work.errors))
    work.tell()
    return [work.results[number] for number in range(n_items)]


if hasattr(os, "register_at_fork"):  # threads do not survive a fork: the child starts its own
    os.register_at_fork(after_in_child=_pool.cache_clear)
    os.register_at_fork(after_in_child=_blas_limit.renew_lock)
