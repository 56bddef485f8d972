"""Nearest neighbors of PyTorch tensors: a fused kernel on CUDA, else blocked products."""

from __future__ import annotations

from typing import Any

from afcm.compiled import torch_neighbors
from afcm.compiled.dispatch import has_triton

# The fused kernel selects among groups of samples: it needs many samples for few neighbors.
FUSED_ROWS, FUSED_NEIGHBORS = 4096, 100


def find_tensor_neighbors(points: Any, k: int, queries: Any = None) -> tuple[Any, Any]:
    """The k nearest rows of each query and their squared distances (float64)."""
    if points.is_cuda and points.shape[0] >= FUSED_ROWS and k <= FUSED_NEIGHBORS and has_triton():
        from afcm.compiled import cuda_neighbors

        return cuda_neighbors.search_fused(points, k, queries)
    return torch_neighbors.search_blocked(points, k, queries)
