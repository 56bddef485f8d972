"""Loops as machine code by Numba, kept on disk where that can be written."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any


def compile_numba(loop: Callable[..., Any], fastmath: set[str]) -> Any:
    """The loop, compiled when it is first called. Needs Numba."""
    from numba import njit

    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    try:
        return tolerate_damaged_cache(njit(loop, cache=True, **options))
    except RuntimeError:  # no folder to keep it in
        return njit(loop, **options)


def tolerate_damaged_cache(compiled: Any) -> Any:
    """The same loop; a file on disk that is damaged costs a compilation, where Numba would fail."""
    kept = getattr(compiled, "_cache", None)
    load = getattr(kept, "load_overload", None)
    if kept is None or load is None:
        return compiled

    def loaded(*which: Any) -> Any:
        try:
            return load(*which)
        except Exception:  # the file may hold anything
            with suppress(OSError):
                kept.flush()
            return None

    kept.load_overload = loaded
    return compiled
