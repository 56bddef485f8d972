"""What the array standard lacks, once for each array library; the library is found from the arrays.

`host` is for NumPy arrays and SciPy matrices, `tensors` for PyTorch, which is imported when the first tensor arrives.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import fields, is_dataclass, replace
from typing import Any

from afcm.backends import host


def is_tensor(array: Any) -> bool:
    """Is this a PyTorch tensor? (PyTorch is in use already if it is.)"""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def backend_of(*arrays: Any) -> Any:
    """The module for these arrays: `host` or `tensors`."""
    if any(is_tensor(array) or getattr(array, "on_device", False) for array in arrays):
        return torch_side()
    return host


def torch_side() -> Any:
    """The module for PyTorch."""
    return importlib.import_module("afcm.backends.tensors")


def to_host(array: Any) -> Any:
    """As a NumPy array (or what it is already)."""
    return backend_of(array).to_host(array)


def like(array: Any, reference: Any) -> Any:
    """An array of the host where ``reference`` is, with its own dtype."""
    return backend_of(reference).from_host(array, reference)


def rows(array: Any, numbers: Any) -> Any:
    """Some rows of an array: numbers from the host."""
    return backend_of(array).rows(array, numbers)


def moved(value: Any, reference: Any) -> Any:
    """A value with all arrays in it (fields of data classes and tuples too) where ``reference`` is."""
    if is_dataclass(value) and not isinstance(value, type) and not getattr(value, "on_device", False):
        held = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        return replace(value, **{name: moved(part, reference) for name, part in held.items()})
    if isinstance(value, tuple):
        parts = [moved(part, reference) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return backend_of(value, reference).moved(value, reference)
