"""From a tree and its arrays back to the value that `encoding` made them of; the tree is not trusted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from afcm.storage.encoding import LARGEST_INTEGER
from afcm.storage.errors import FormatError
from afcm.storage.kinds import UPGRADE, Table

FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
SCALARS = {
    name: getattr(np, name)
    for name in ("float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")
} | {"bool": np.bool_}
# Models share a few arrays between their parts; a tree that points to one many times is up to something.
MOST_REFERENCES = 16


def expect_fields(node: Any, fields: Mapping[str, type]) -> dict[str, Any]:
    """The JSON object ``node``, if it has exactly these fields of these types; else a `FormatError`."""
    right = isinstance(node, dict) and set(node) == set(fields)
    if not right or not all(type(node[name]) is cls for name, cls in fields.items()):
        raise FormatError(f"holds something that should be an object with {', '.join(fields)}")
    return dict(node)


class Decoder:
    """Makes values of trees.

    Parameters
    ----------
    table : Table
        The classes that may be there.
    names : collection of str
        The arrays of the file.
    read : callable
        Gives the array of a name; called when it is first referred to.
    """

    def __init__(self, table: Table, names: Collection[str], read: Callable[[str], Any]) -> None:
        self.table, self.names, self.read = table, names, read
        self._arrays: dict[str, Any] = {}
        self._references: Counter[str] = Counter()

    def check_all_used(self) -> None:
        """Raise `FormatError` if the file has arrays that nothing referred to."""
        unused = sorted(set(self.names) - set(self._arrays))
        if unused:
            raise FormatError(f"holds {unused[0]}, which the model does not use")

    def decode(self, node: Any) -> Any:
        """The value of a tree, or a `FormatError` that says what is wrong with it."""
        if node is None or isinstance(node, (bool, str)):
            return node
        if isinstance(node, int):
            if not -LARGEST_INTEGER <= node < LARGEST_INTEGER:
                raise FormatError("holds an integer beyond 64 bits")
            return node
        if isinstance(node, float):
            if not math.isfinite(node):
                raise FormatError("holds a number too large for a float")
            return node
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        for tag, decoder in DECODERS.items():
            if tag in node:
                return decoder(self, node)
        raise FormatError(f"holds a value of a kind that is not known ({', '.join(node)[:80]})", UPGRADE)

    def decode_float(self, node: Any) -> float:
        text = expect_fields(node, {"float": str})["float"]
        if text not in FLOATS:
            raise FormatError(f"holds the float {text[:20]!r}")
        return FLOATS[text]

    def decode_tuple(self, node: Any) -> tuple[Any, ...]:
        return tuple(self.decode(item) for item in expect_fields(node, {"tuple": list})["tuple"])

    def decode_dict(self, node: Any) -> dict[str, Any]:
        return {key: self.decode(item) for key, item in expect_fields(node, {"dict": dict})["dict"].items()}

    def decode_scalar(self, node: Any) -> Any:
        pair = expect_fields(node, {"scalar": list})["scalar"]
        if len(pair) != 2 or pair[0] not in SCALARS:
            raise FormatError("holds a NumPy scalar of a type that is not known")
        value = self.decode(pair[1])
        if not isinstance(value, (bool, int, float)) or isinstance(value, bool) != (pair[0] == "bool"):
            raise FormatError("holds a NumPy scalar that is no number")
        return SCALARS[pair[0]](value)

    def decode_dtype(self, node: Any) -> Any:
        name = expect_fields(node, {"dtype": str})["dtype"]
        if name not in SCALARS:
            raise FormatError(f"holds the dtype {name[:20]!r}")
        return np.dtype(name)

    def decode_strings(self, node: Any) -> Any:
        strings = expect_fields(node, {"strings": list})["strings"]
        if not all(type(item) is str for item in strings):
            raise FormatError("holds names that are no strings")
        return np.array(strings, dtype=object)

    def decode_all(self, node: Any) -> slice:
        expect_fields(node, {"all": bool})
        return slice(None)

    def decode_array(self, node: Any) -> Any:
        """The array of a reference, if it is as the reference describes it."""
        name = expect_fields(node, {"array": str, "dtype": str, "shape": list})["array"]
        self._references[name] += 1
        if name not in self.names or self._references[name] > MOST_REFERENCES:
            raise FormatError(f"has no array {name[:80]!r}, or refers to it too often")
        if name not in self._arrays:
            self._arrays[name] = self.read(name)
        array = self._arrays[name]
        if [array.dtype.newbyteorder("<").str, list(array.shape)] != [node["dtype"], node["shape"]]:
            raise FormatError(f"describes {name} as another array than it is")
        return array

    def decode_csr(self, node: Any) -> Any:
        """A CSR matrix whose indices stay inside it: SciPy would read beyond its memory."""
        inner = expect_fields(node, {"csr": dict})["csr"]
        parts = expect_fields(inner, {"data": dict, "indices": dict, "indptr": dict, "shape": list, "matrix": bool})
        data, indices, offsets = (self.decode_array(parts[name]) for name in ("data", "indices", "indptr"))
        shape = parts["shape"]
        right = len(shape) == 2 and all(type(size) is int and 0 < size < LARGEST_INTEGER for size in shape)
        right = right and data.ndim == indices.ndim == offsets.ndim == 1 and indices.dtype == offsets.dtype
        right = right and indices.dtype in (np.int32, np.int64) and offsets.size == shape[0] + 1
        right = right and indices.size == data.size == offsets[-1] and offsets[0] == 0 and (np.diff(offsets) >= 0).all()
        if not right or (data.size and (indices.min() < 0 or indices.max() >= shape[1])):
            raise FormatError("holds a sparse matrix whose parts do not fit together")
        return (sp.csr_matrix if parts["matrix"] else sp.csr_array)((data, indices, offsets), shape=tuple(shape))

    def decode_object(self, node: Any) -> Any:
        """An instance of a class in the table, of which the file holds nothing that the table does not know."""
        parts = expect_fields(node, {"object": str, "params": dict, "state": dict})
        kind = self.table.get(parts["object"])
        if kind is None:
            raise FormatError(f"holds a {parts['object'][:80]!r}, a class that is not known", UPGRADE)
        kind.check_names(parts["object"], set(parts["params"]), set(parts["state"]))
        params, state = (
            {name: self.decode(item) for name, item in parts[part].items()} for part in ("params", "state")
        )
        return kind.put_together(params, state)


DECODERS: dict[str, Callable[[Decoder, Any], Any]] = {
    "float": Decoder.decode_float,
    "tuple": Decoder.decode_tuple,
    "dict": Decoder.decode_dict,
    "scalar": Decoder.decode_scalar,
    "strings": Decoder.decode_strings,
    "all": Decoder.decode_all,
    "array": Decoder.decode_array,
    "dtype": Decoder.decode_dtype,  # after "array", which has one, too
    "csr": Decoder.decode_csr,
    "object": Decoder.decode_object,
}
