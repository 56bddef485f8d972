"""What the array standard lacks, once for each array library; the library is found from the arrays.

`host` is for NumPy arrays and SciPy matrices, `tensors` for PyTorch, which is imported when the first tensor arrives,
and `afcm.arrays.dask_arrays` for Dask arrays, likewise.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import fields, is_dataclass, replace
from typing import Any

from afcm.arrays import numpy_arrays


def is_tensor(array: Any) -> bool:
    """Is this a PyTorch tensor? (PyTorch is in use already if it is.)"""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def is_chunked(array: Any) -> bool:
    """Is this a Dask array, in chunks of rows that need not be in memory? (Dask is in use already if it is.)"""
    dask = sys.modules.get("dask.array")
    return dask is not None and isinstance(array, dask.Array)


def is_dask(array: Any) -> bool:
    """Is this anything of Dask's: an array, a data frame, a series?"""
    dask = sys.modules.get("dask")
    return dask is not None and bool(dask.is_dask_collection(array))


def backend_of(*arrays: Any) -> Any:
    """The module for these arrays: `host`, `tensors` or `afcm.arrays.dask_arrays`."""
    if any(is_tensor(array) or getattr(array, "on_device", False) for array in arrays):
        return torch_backend()
    return dask_backend() if any(is_chunked(array) for array in arrays) else numpy_arrays


def torch_backend() -> Any:
    """The module for PyTorch."""
    return importlib.import_module("afcm.arrays.torch_arrays")


def dask_backend() -> Any:
    """The module for Dask."""
    return importlib.import_module("afcm.arrays.dask_arrays")


def map_rows(function: Any, array: Any, *widths: int) -> Any:
    """``function(array)`` where each row's result is its own: of chunks later, when it is asked for.

    ``widths``: the shape of a row's result; none for a number.
    """
    return dask_backend().map_rows(function, array, widths) if is_chunked(array) else function(array)


def to_host(array: Any) -> Any:
    """As a NumPy array (or what it is already)."""
    return backend_of(array).to_host(array)


def from_host(array: Any, reference: Any) -> Any:
    """An array of the host where ``reference`` is, with its own dtype."""
    return backend_of(reference).from_host(array, reference)


def take_rows(array: Any, numbers: Any) -> Any:
    """Some rows of an array: numbers from the host."""
    return backend_of(array).take_rows(array, numbers)


def to_device_of(value: Any, reference: Any) -> Any:
    """A value with all arrays in it (fields of data classes and tuples too) where ``reference`` is."""
    if is_dataclass(value) and not isinstance(value, type) and not getattr(value, "on_device", False):
        held = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        return replace(value, **{name: to_device_of(part, reference) for name, part in held.items()})
    if isinstance(value, tuple):
        parts = [to_device_of(part, reference) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return backend_of(value, reference).to_device_of(value, reference)
