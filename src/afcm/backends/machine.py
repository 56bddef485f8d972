"""Loops as machine code by Numba, kept on disk where that can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def machine_code(loop: Callable[..., Any], fastmath: set[str]) -> Any:
    """The loop, compiled when it is first called. Needs Numba."""
    from numba import njit

    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    try:
        return njit(loop, cache=True, **options)
    except RuntimeError:  # no folder to keep it in
        return njit(loop, **options)
