"""Operations that the array standard lacks, for NumPy, PyTorch and Dask; the arrays tell which library is theirs.

Each library has a backend, a module with the same functions: `numpy_arrays` (SciPy's sparse matrices too),
`torch_arrays` and `dask_arrays`. PyTorch and Dask are not imported before one of their arrays arrives.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import fields, is_dataclass, replace
from typing import Any

from afcm.arrays import numpy_arrays


def is_tensor(array: Any) -> bool:
    """Is this a PyTorch tensor?"""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def is_chunked(array: Any) -> bool:
    """Is this a Dask array, in chunks of rows that need not be in memory?"""
    dask = sys.modules.get("dask.array")
    return dask is not None and isinstance(array, dask.Array)


def is_dask(array: Any) -> bool:
    """Is this a Dask collection: an array, a data frame, a series?"""
    dask = sys.modules.get("dask")
    return dask is not None and bool(dask.is_dask_collection(array))


def backend_of(*arrays: Any) -> Any:
    """The backend for these arrays: the module `numpy_arrays`, `torch_arrays` or `dask_arrays`."""
    if any(is_tensor(array) or getattr(array, "on_device", False) for array in arrays):
        return importlib.import_module("afcm.arrays.torch_arrays")
    return dask_backend() if any(is_chunked(array) for array in arrays) else numpy_arrays


def dask_backend() -> Any:
    return importlib.import_module("afcm.arrays.dask_arrays")


def map_rows(function: Any, array: Any, *widths: int) -> Any:
    """``function(array)``, where each row of the result depends on one row alone; lazy if the array is chunked.

    ``widths`` is the shape of a row's result; none for a number.
    """
    return dask_backend().map_rows(function, array, widths) if is_chunked(array) else function(array)


def to_host(array: Any) -> Any:
    """The array as a NumPy array or SciPy matrix; anything else unchanged."""
    return backend_of(array).to_host(array)


def from_host(array: Any, reference: Any) -> Any:
    """A NumPy array in the library and on the device of ``reference``, with its own dtype."""
    return backend_of(reference).from_host(array, reference)


def take_rows(array: Any, numbers: Any) -> Any:
    """The rows with these numbers, which are on the host."""
    return backend_of(array).take_rows(array, numbers)


def to_device_of(value: Any, reference: Any) -> Any:
    """A copy of a value whose arrays are where ``reference`` is; looks into data classes and tuples."""
    if is_dataclass(value) and not isinstance(value, type) and not getattr(value, "on_device", False):
        held = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        return replace(value, **{name: to_device_of(part, reference) for name, part in held.items()})
    if isinstance(value, tuple):
        parts = [to_device_of(part, reference) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return backend_of(value, reference).to_device_of(value, reference)
