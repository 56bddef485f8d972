"""Choose the compiled pass over all samples: Numba loops on the CPU, a Triton kernel on a GPU, or none."""

from __future__ import annotations

from typing import Any

import numpy as np

from afcm._util.optional import is_usable
from afcm.arrays import is_chunked, is_tensor

# Entries of X from which on it may pay to load Numba.
WORTH_FUSING = 1_000_000


def choose_pass(points: Any, masses: Any, *, fuzzy: bool = False) -> Any:
    """A `centers.NumbaPass` or `cuda_centers.TritonPass` for these samples, or None if plain blocks are as good."""
    if is_chunked(points):
        return None
    if is_tensor(points):
        if not is_fused(points):
            return None
        from afcm.compiled import cuda_centers

        return cuda_centers.TritonPass(points, masses, fuzzy)
    if points.dtype not in (np.float32, np.float64) or points.size < WORTH_FUSING or not is_usable("numba", "fast"):
        return None
    from afcm.compiled import centers

    return centers.NumbaPass(points, masses, fuzzy)


def is_fused(array: Any) -> bool:
    """Is this a tensor on a CUDA device for which Triton can compile kernels?"""
    return bool(is_tensor(array) and array.is_cuda and has_triton())


def has_triton() -> bool:
    """Is Triton, which compiles kernels for GPUs, installed?"""
    try:
        import triton  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        return False
    return True
