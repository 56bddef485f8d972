"""How far a long computation is, for whoever wants to know: a progress bar, say. The mathematics only tells.

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
    """Tell ``listener`` of the stages that begin and advance within the block."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def start_stage(stage: str) -> Callable[[int, int | None], None]:
    """A stage begins; returns what tells how many steps of how many are done."""
    listener = _listener.get()

    def tell(done: int, total: int | None) -> None:
        if listener is not None:
            listener(stage, done, total)

    tell(0, None)
    return tell
