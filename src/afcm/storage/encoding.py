"""From a value to a tree that JSON can hold, and the arrays it refers to.

null, true, 1, 0.5, "text", [..]      themselves
{"float": "nan" | "inf" | "-inf"}     what JSON has no number for
{"tuple": [..]}  {"dict": {..}}       with trees inside
{"scalar": ["float64", 0.5]}          a NumPy scalar
{"dtype": "float64"}                  a NumPy dtype
{"all": true}                         slice(None)
{"strings": [..]}                     an object array of strings
{"array": "arrays/0.npy", "dtype": .., "shape": ..}
{"csr": shape, "data": .., "indices": .., "indptr": .., "matrix": true | false}
{"object": name, "params": {..}, "state": {..}}    an instance of a class in the table
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from afcm.arrays import is_dask, is_tensor
from afcm.storage.documents import DTYPES
from afcm.storage.errors import FormatError
from afcm.storage.kinds import Table

# JSON has no limit, others have: integers beyond this are refused.
LARGEST_INTEGER = 2**63


class Encoder:
    """Makes trees of values and collects their arrays; views of the same memory are stored once."""

    def __init__(self, table: Table) -> None:
        self.names = {kind.cls: name for name, kind in table.items()}
        self.table = table
        self.arrays: dict[str, Any] = {}
        self._by_memory: dict[tuple[Any, ...], str] = {}

    def encode(self, value: Any) -> Any:
        """The tree of a value, or a `FormatError` that says what a file cannot hold."""
        if value is None or type(value) in (bool, str):
            return value
        if type(value) in self.names:
            name = self.names[type(value)]
            params, state = self.table[name].take_apart(value)
            return {"object": name, "params": self.encode_named(params), "state": self.encode_named(state)}
        for known, encoder in ENCODERS:
            if isinstance(value, known) and not hasattr(value, "_fields"):
                return encoder(self, value)
        if is_tensor(value):
            raise FormatError(
                "cannot hold a tensor", "fit NumPy arrays instead, with device= if they are to be worked on elsewhere"
            )
        if is_dask(value):
            raise FormatError(
                "cannot hold a Dask array, whose samples are elsewhere",
                "if they fit, set it to its own .compute() first",
            )
        raise FormatError(
            f"cannot hold a {type(value).__module__}.{type(value).__qualname__}",
            f"it holds plain values, NumPy arrays and these classes: {', '.join(self.table)}",
        )

    def encode_named(self, values: dict[str, Any]) -> dict[str, Any]:
        """Trees by name; an error tells which it is."""
        found = {}
        for name, value in values.items():
            try:
                found[name] = self.encode(value)
            except FormatError as error:
                raise FormatError(f"{name}: {error.fault}", error.advice) from error.__cause__
        return found

    def encode_integer(self, value: int) -> int:
        if type(value) is not int or not -LARGEST_INTEGER <= value < LARGEST_INTEGER:
            raise FormatError(f"cannot hold the integer {value!r}", "use one of at most 64 bits")
        return value

    def encode_scalar(self, value: np.generic) -> Any:
        if value.dtype.newbyteorder("<").str not in DTYPES:
            raise FormatError(f"cannot hold a {type(value).__name__}", "use a plain number")
        return {"scalar": [value.dtype.name, self.encode(value.item())]}

    def encode_array(self, array: Any) -> Any:
        if array.dtype == object and array.ndim == 1 and all(type(item) is str for item in array):
            return {"strings": array.tolist()}
        if isinstance(array, np.ma.MaskedArray):
            raise FormatError("cannot hold a masked array", "use a plain one")
        array = np.asarray(array)
        dtype = array.dtype.newbyteorder("<").str
        if dtype not in DTYPES:
            raise FormatError(f"cannot hold an array of {array.dtype}", "use an array of plain numbers")
        memory = (array.__array_interface__["data"][0], array.strides, array.shape, dtype)
        name = self._by_memory.setdefault(memory, f"arrays/{len(self._by_memory)}.npy")
        self.arrays.setdefault(name, array)
        return {"array": name, "dtype": dtype, "shape": list(array.shape)}

    def encode_sparse(self, value: Any) -> Any:
        if value.format != "csr":
            raise FormatError(f"cannot hold a sparse matrix of format {value.format!r}", "use CSR")
        parts = {name: self.encode_array(getattr(value, name)) for name in ("data", "indices", "indptr")}
        return {"csr": list(map(int, value.shape)), **parts, "matrix": isinstance(value, sp.spmatrix)}

    def encode_dict(self, value: dict[Any, Any]) -> Any:
        if not all(type(key) is str for key in value):
            raise FormatError("cannot hold a dict whose keys are not all strings", "use strings")
        return {"dict": {key: self.encode(item) for key, item in value.items()}}

    def encode_slice(self, value: slice) -> Any:
        if value != slice(None):
            raise FormatError(f"cannot hold {value!r}", "it holds slice(None) alone")
        return {"all": True}


ENCODERS: tuple[tuple[Any, Callable[[Encoder, Any], Any]], ...] = (
    (np.generic, Encoder.encode_scalar),  # before float and int: np.float64 is a float
    (int, Encoder.encode_integer),
    (float, lambda _, value: float(value) if math.isfinite(value) else {"float": repr(float(value))}),
    (list, lambda encoder, value: [encoder.encode(item) for item in value]),
    (tuple, lambda encoder, value: {"tuple": [encoder.encode(item) for item in value]}),
    (dict, Encoder.encode_dict),
    (np.ndarray, Encoder.encode_array),
    (np.dtype, lambda _, value: {"dtype": value.name}),
    (slice, Encoder.encode_slice),
    ((sp.sparray, sp.spmatrix), Encoder.encode_sparse),
)
