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

# The fields of the objects in a tree, by the first of them; "dtype" comes after "array", which has one, too.
FIELDS: dict[str, dict[str, type]] = {
    "float": {"float": str},
    "tuple": {"tuple": list},
    "dict": {"dict": dict},
    "scalar": {"scalar": list},
    "strings": {"strings": list},
    "all": {"all": bool},
    "array": {"array": str, "dtype": str, "shape": list},
    "dtype": {"dtype": str},
    "csr": {"csr": list, "data": dict, "indices": dict, "indptr": dict, "matrix": bool},
    "object": {"object": str, "params": dict, "state": dict},
}
FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
SCALARS = {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)} | {"float32", "float64", "bool"}
# Models share a few arrays between their parts; a tree that points to one many times is up to something.
MOST_REFERENCES = 16


def expect_fields(node: Any, fields: Mapping[str, type]) -> dict[str, Any]:
    """The JSON object ``node``, if it has exactly these fields of these types; else a `FormatError`."""
    right = isinstance(node, dict) and set(node) == set(fields)
    if not right or not all(type(node[name]) is cls for name, cls in fields.items()):
        raise FormatError(f"holds something that should be an object with {', '.join(fields)}")
    return dict(node)


class Decoder:
    """Makes values of trees, with the classes of a table; ``read`` gives the array of a name, once for each name."""

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
        if isinstance(node, int) and not -LARGEST_INTEGER <= node < LARGEST_INTEGER:
            raise FormatError("holds an integer beyond 64 bits")
        if isinstance(node, float) and not math.isfinite(node):
            raise FormatError("holds a number too large for a float")
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        for tag, fields in FIELDS.items():
            if tag in node:
                found = expect_fields(node, fields)
                return getattr(self, f"decode_{tag}")(*(found[name] for name in fields))
        raise FormatError(f"holds a value of a kind that is not known ({', '.join(node)[:80]})", UPGRADE)

    def decode_float(self, text: str) -> float:
        if text not in FLOATS:
            raise FormatError(f"holds the float {text[:20]!r}")
        return FLOATS[text]

    def decode_tuple(self, items: list[Any]) -> Any:
        return tuple(self.decode(item) for item in items)

    def decode_dict(self, items: dict[str, Any]) -> Any:
        return {key: self.decode(item) for key, item in items.items()}

    def decode_scalar(self, pair: list[Any]) -> Any:
        if len(pair) != 2 or pair[0] not in SCALARS:
            raise FormatError("holds a NumPy scalar of a type that is not known")
        value = self.decode(pair[1])
        if not isinstance(value, (bool, int, float)) or isinstance(value, bool) != (pair[0] == "bool"):
            raise FormatError("holds a NumPy scalar that is no number")
        return np.dtype(pair[0]).type(value)

    def decode_strings(self, strings: list[Any]) -> Any:
        if not all(type(item) is str for item in strings):
            raise FormatError("holds names that are no strings")
        return np.array(strings, dtype=object)

    def decode_all(self, _: bool) -> Any:
        return slice(None)

    def decode_array(self, name: str, dtype: str, shape: list[Any]) -> Any:
        self._references[name] += 1
        if name not in self.names or self._references[name] > MOST_REFERENCES:
            raise FormatError(f"has no array {name[:80]!r}, or refers to it too often")
        if name not in self._arrays:
            self._arrays[name] = self.read(name)
        array = self._arrays[name]
        if [array.dtype.newbyteorder("<").str, list(array.shape)] != [dtype, shape]:
            raise FormatError(f"describes {name} as another array than it is")
        return array

    def decode_dtype(self, name: str) -> Any:
        if name not in SCALARS:
            raise FormatError(f"holds the dtype {name[:20]!r}")
        return np.dtype(name)

    def decode_csr(self, shape: list[Any], data: Any, indices: Any, offsets: Any, matrix: bool) -> Any:
        """A CSR matrix whose indices stay inside it: SciPy would read beyond its memory."""
        data, indices, offsets = (
            self.decode(expect_fields(part, FIELDS["array"])) for part in (data, indices, offsets)
        )
        right = len(shape) == 2 and all(type(size) is int and 0 < size < LARGEST_INTEGER for size in shape)
        right = right and data.ndim == indices.ndim == offsets.ndim == 1 and indices.dtype == offsets.dtype
        right = right and indices.dtype in (np.int32, np.int64) and offsets.size == shape[0] + 1
        right = right and indices.size == data.size == offsets[-1] and offsets[0] == 0 and (np.diff(offsets) >= 0).all()
        if not right or (data.size and (indices.min() < 0 or indices.max() >= shape[1])):
            raise FormatError("holds a sparse matrix whose parts do not fit together")
        return (sp.csr_matrix if matrix else sp.csr_array)((data, indices, offsets), shape=tuple(shape))

    def decode_object(self, name: str, params: dict[str, Any], state: dict[str, Any]) -> Any:
        """An instance of a class in the table, of which the file holds nothing that the table does not know."""
        if name not in self.table:
            raise FormatError(f"holds a {name[:80]!r}, a class that is not known", UPGRADE)
        self.table[name].check_names(name, set(params), set(state))
        return self.table[name].put_together(self.decode_dict(params), self.decode_dict(state))
