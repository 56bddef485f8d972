"""Compile loops with Numba; the machine code is kept on disk where possible."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from afcm._util import progress


def compile_numba(loop: Callable[..., Any], fastmath: set[str]) -> Any:
    """The loop, compiled when it is called first. Needs Numba."""
    from numba import njit

    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    try:
        return tolerate_damaged_cache(njit(loop, cache=True, **options))
    except RuntimeError:  # there is no folder for the machine code
        return njit(loop, **options)


def compile_overload(name: Callable[..., Any], choose: Callable[..., Any], fastmath: set[str]) -> Any:
    """Let compiled loops call ``name``; ``choose`` gives the code for the types of its arguments. Needs Numba."""
    from numba.extending import overload

    return overload(name, jit_options={"fastmath": fastmath})(choose)


def tolerate_damaged_cache(compiled: Any) -> Any:
    """Make a damaged file on disk cost a compilation, where Numba itself would fail; a compilation is told."""
    cache = getattr(compiled, "_cache", None)
    load = getattr(cache, "load_overload", None)
    if cache is None or load is None:
        return compiled

    def load_or_forget(*which: Any) -> Any:
        found = None
        try:
            found = load(*which)
        except Exception:  # the file may hold anything
            with suppress(OSError):
                cache.flush()
        if found is None:
            progress.start_stage("compiling, this once")
        return found

    cache.load_overload = load_or_forget
    return compiled


# SIMD needs sums and minima in any order; there are no NaNs.
compile_fast = partial(compile_numba, fastmath={"reassoc", "contract", "nsz", "nnan"})
# Sums in the order in which they are written, to the last bit.
compile_strict = partial(compile_numba, fastmath=set())
