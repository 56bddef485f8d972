"""From a tree and its arrays back to a model; the tree is `encoding`'s, and is not trusted."""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from afcm.modelfiles.container import NOT_OURS
from afcm.modelfiles.encoding import LARGEST_INTEGER
from afcm.modelfiles.errors import ModelFileError
from afcm.modelfiles.registry import KINDS, NEVER_STORED, Kind

FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
SCALARS = {
    name: getattr(np, name)
    for name in ("float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")
} | {"bool": np.bool_}
# Models share a few arrays between their parts; a tree that points to one many times is up to something.
MOST_REFERENCES = 16
UPGRADE = "it may be from a newer afcm: pip install -U afcm"


class Shelf:
    """The arrays of a file, each read when it is first asked for."""

    def __init__(self, read: Callable[[str], Any], names: set[str]) -> None:
        self._read = read
        self._names = names
        self._seen: dict[str, Any] = {}
        self._asked: Counter[str] = Counter()

    def get(self, node: Any) -> Any:
        """The array of a reference, if it is what the reference says."""
        name = wanted(node, {"array": str, "dtype": str, "shape": list})["array"]
        self._asked[name] += 1
        if name not in self._names or self._asked[name] > MOST_REFERENCES:
            raise ModelFileError(f"has no array {name[:80]!r}, or refers to it too often; {NOT_OURS}")
        if name not in self._seen:
            self._seen[name] = self._read(name)
        array = self._seen[name]
        if [array.dtype.newbyteorder("<").str, list(array.shape)] != [node["dtype"], node["shape"]]:
            raise ModelFileError(f"describes {name} as another array than it is; {NOT_OURS}")
        return array

    def check_all_used(self) -> None:
        """No array that nothing refers to."""
        unused = sorted(self._names - set(self._seen))
        if unused:
            raise ModelFileError(f"holds {unused[0]}, which the model does not use; {NOT_OURS}")


def decode(node: Any, shelf: Shelf) -> Any:
    """The value of a tree."""
    if node is None or isinstance(node, (bool, str)):
        return node
    if isinstance(node, int):
        if not -LARGEST_INTEGER <= node < LARGEST_INTEGER:
            raise ModelFileError(f"holds an integer beyond 64 bits; {NOT_OURS}")
        return node
    if isinstance(node, float):
        if not math.isfinite(node):
            raise ModelFileError(f"holds a number too large for a float; {NOT_OURS}")
        return node
    if isinstance(node, list):
        return [decode(item, shelf) for item in node]
    for tag, decoder in DECODERS.items():
        if tag in node:
            return decoder(node, shelf)
    raise ModelFileError(f"holds a value of a kind that is not known ({', '.join(node)[:80]}); {UPGRADE}")


def wanted(node: Any, fields: Mapping[str, type]) -> dict[str, Any]:
    """A JSON object with exactly these fields of these types."""
    right = isinstance(node, dict) and set(node) == set(fields)
    if not right or not all(type(node[name]) is cls for name, cls in fields.items()):
        raise ModelFileError(f"holds something that should be an object with {', '.join(fields)}; {NOT_OURS}")
    return dict(node)


def decode_float(node: Any, _shelf: Shelf) -> float:
    """NaN or an infinity."""
    text = wanted(node, {"float": str})["float"]
    if text not in FLOATS:
        raise ModelFileError(f"holds the float {text[:20]!r}; {NOT_OURS}")
    return FLOATS[text]


def decode_scalar(node: Any, shelf: Shelf) -> Any:
    """A NumPy number."""
    pair = wanted(node, {"scalar": list})["scalar"]
    if len(pair) != 2 or pair[0] not in SCALARS:
        raise ModelFileError(f"holds a NumPy scalar of a type that is not known; {NOT_OURS}")
    value = decode(pair[1], shelf)
    if not isinstance(value, (bool, int, float)) or isinstance(value, bool) != (pair[0] == "bool"):
        raise ModelFileError(f"holds a NumPy scalar that is no number; {NOT_OURS}")
    return SCALARS[pair[0]](value)


def decode_dtype(node: Any, _shelf: Shelf) -> Any:
    """A dtype of numbers."""
    name = wanted(node, {"dtype": str})["dtype"]
    if name not in SCALARS:
        raise ModelFileError(f"holds the dtype {name[:20]!r}; {NOT_OURS}")
    return np.dtype(name)


def decode_strings(node: Any, _shelf: Shelf) -> Any:
    """An object array of strings."""
    strings = wanted(node, {"strings": list})["strings"]
    if not all(type(item) is str for item in strings):
        raise ModelFileError(f"holds names that are no strings; {NOT_OURS}")
    return np.array(strings, dtype=object)


def decode_all(node: Any, _shelf: Shelf) -> slice:
    """All rows."""
    wanted(node, {"all": bool})
    return slice(None)


def decode_csr(node: Any, shelf: Shelf) -> Any:
    """A CSR matrix whose indices stay inside it (SciPy would read beyond its memory)."""
    inner = wanted(node, {"csr": dict})["csr"]
    parts = wanted(inner, {"data": dict, "indices": dict, "indptr": dict, "shape": list, "matrix": bool})
    data, indices, offsets = (shelf.get(parts[name]) for name in ("data", "indices", "indptr"))
    shape = parts["shape"]
    right = len(shape) == 2 and all(type(size) is int and 0 < size < LARGEST_INTEGER for size in shape)
    right = right and data.ndim == indices.ndim == offsets.ndim == 1 and indices.dtype == offsets.dtype
    if not right or indices.dtype not in (np.int32, np.int64) or not inside(indices, offsets, shape, data.size):
        raise ModelFileError(f"holds a sparse matrix whose parts do not fit together; {NOT_OURS}")
    return (sp.csr_matrix if parts["matrix"] else sp.csr_array)((data, indices, offsets), shape=tuple(shape))


def inside(indices: Any, offsets: Any, shape: list[int], n_stored: int) -> bool:
    """Offsets that rise from 0 to the number of stored entries, and column numbers that exist."""
    right = offsets.size == shape[0] + 1 and indices.size == n_stored
    right = right and offsets[0] == 0 and offsets[-1] == n_stored and bool((np.diff(offsets) >= 0).all())
    return right and (not n_stored or (indices.min() >= 0 and indices.max() < shape[1]))


def decode_object(node: Any, shelf: Shelf) -> Any:
    """An instance of a registered class, from parameters and attributes that it may have."""
    parts = wanted(node, {"object": str, "params": dict, "state": dict})
    kind = KINDS.get(parts["object"])
    if kind is None:
        raise ModelFileError(f"holds a {parts['object'][:80]!r}, a class that is not known; {UPGRADE}")
    check_names(parts["object"], kind, parts)
    params = {name: decode(item, shelf) for name, item in parts["params"].items() if name not in NEVER_STORED}
    state = {name: decode(item, shelf) for name, item in parts["state"].items()}
    if not kind.is_estimator:
        return kind.cls(**state)
    model = kind.cls(**params)
    for name, value in {**state, **{name: make() for name, make in kind.machine.items() if state}}.items():
        setattr(model, name, value)
    return model


def check_names(name: str, kind: Kind, parts: dict[str, Any]) -> None:
    """Only parameters of the constructor and attributes of the registry; all fields of a dataclass."""
    parameters = set(inspect.signature(kind.cls).parameters) if kind.is_estimator else set()
    unknown = sorted(set(parts["params"]) - parameters) + sorted(set(parts["state"]) - set(kind.known))
    if unknown:
        raise ModelFileError(f"holds {unknown[0][:80]!r} of {name}, which is not known; {UPGRADE}")
    missing = sorted(set(kind.state) - set(parts["state"])) if not kind.is_estimator else []
    if missing:
        raise ModelFileError(f"lacks {missing[0]!r} of {name}; {NOT_OURS}")


DECODERS: dict[str, Callable[[Any, Shelf], Any]] = {
    "float": decode_float,
    "tuple": lambda node, shelf: tuple(decode(item, shelf) for item in wanted(node, {"tuple": list})["tuple"]),
    "dict": lambda node, shelf: {
        key: decode(item, shelf) for key, item in wanted(node, {"dict": dict})["dict"].items()
    },
    "scalar": decode_scalar,
    "strings": decode_strings,
    "all": decode_all,
    "array": lambda node, shelf: shelf.get(node),
    "dtype": decode_dtype,  # after "array", which has one, too
    "csr": decode_csr,
    "object": decode_object,
}
