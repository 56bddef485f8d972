"""Progress of long computations: they report stages and steps to whoever listens, such as a progress bar.

>>> with listen(print):
...     start_stage("neighbours")(3, 10)
neighbours 0 None
neighbours 3 10
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, int, int | None], object]  # stage, steps done, steps in all (None: not known)

_listener: ContextVar[Listener | None] = ContextVar("afcm-listener", default=None)


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Report to ``listener`` the stages that start and advance within the block."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def start_stage(stage: str) -> Callable[[int, int | None], None]:
    """Report that a stage starts; returns a function that reports (steps done, steps in all)."""
    listener = _listener.get()

    def report(done: int, total: int | None) -> None:
        if listener is not None:
            listener(stage, done, total)

    report(0, None)
    return report
