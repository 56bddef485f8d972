"""From a model to a tree that JSON can hold, and the arrays it refers to.

null, true, 1, 0.5, "text", [..]      themselves
{"float": "nan" | "inf" | "-inf"}     what JSON has no number for
{"tuple": [..]}  {"dict": {..}}       with trees inside
{"scalar": ["float64", 0.5]}          a NumPy scalar
{"dtype": "float64"}                  a NumPy dtype
{"all": true}                         slice(None)
{"strings": [..]}                     an object array of strings
{"array": "arrays/0.npy", "dtype": .., "shape": ..}
{"csr": {"data", "indices", "indptr", "shape", "matrix"}}
{"object": name, "params": {..}, "state": {..}}    an instance of a class in `registry`
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from afcm.arrays import is_dask, is_tensor
from afcm.modelfiles.container import DTYPES
from afcm.modelfiles.errors import ModelFileError
from afcm.modelfiles.registry import KINDS, LEFT_OUT, NAMES, NEVER_STORED, Kind

# JSON has no limit, others have: integers beyond this are refused.
LARGEST_INTEGER = 2**63


@dataclass(frozen=True)
class Arrays:
    """The arrays of a model by their names in the file; views of the same memory are one."""

    by_name: dict[str, Any] = field(default_factory=dict)
    _names: dict[tuple[Any, ...], str] = field(default_factory=dict)

    def reference(self, array: Any) -> dict[str, Any]:
        """The tree for an array, which is kept."""
        array = np.asarray(array)
        little = array.dtype.newbyteorder("<").str
        if little not in DTYPES:
            raise ModelFileError(f"cannot hold an array of {array.dtype}; use an array of plain numbers")
        memory = (array.__array_interface__["data"][0], array.strides, array.shape, little)
        name = self._names.setdefault(memory, f"arrays/{len(self._names)}.npy")
        self.by_name.setdefault(name, array)
        return {"array": name, "dtype": little, "shape": list(array.shape)}


def encode(value: Any, arrays: Arrays) -> Any:
    """The tree of a value."""
    if value is None or type(value) in (bool, str):
        return value
    for known, encoder in ENCODERS:
        if isinstance(value, known):
            return encoder(value, arrays)
    if type(value) in NAMES:
        return encode_object(value, arrays)
    if is_tensor(value):
        raise ModelFileError(
            "cannot hold a tensor; fit NumPy arrays instead, with device= if they are to be worked on elsewhere"
        )
    if is_dask(value):
        raise ModelFileError(
            "cannot hold a Dask array, whose samples are elsewhere; if they fit, set it to its own .compute() first"
        )
    raise ModelFileError(
        f"cannot hold a {type(value).__module__}.{type(value).__qualname__}; "
        f"it holds plain values, NumPy arrays and these classes: {', '.join(NAMES.values())}"
    )


def encode_integer(value: int, _arrays: Arrays) -> int:
    """An integer that other programs can read, too."""
    if type(value) is not int or not -LARGEST_INTEGER <= value < LARGEST_INTEGER:
        raise ModelFileError(f"cannot hold the integer {value!r}; use one of at most 64 bits")
    return value


def encode_float(value: float, _arrays: Arrays) -> Any:
    """A float, to the last bit."""
    return float(value) if math.isfinite(value) else {"float": repr(float(value))}


def encode_scalar(value: np.generic, arrays: Arrays) -> Any:
    """A NumPy number."""
    if value.dtype.newbyteorder("<").str not in DTYPES:
        raise ModelFileError(f"cannot hold a {type(value).__name__}; use a plain number")
    return {"scalar": [value.dtype.name, encode(value.item(), arrays)]}


def encode_array(value: Any, arrays: Arrays) -> Any:
    """An array of numbers, or of strings."""
    if value.dtype == object and value.ndim == 1 and all(type(item) is str for item in value):
        return {"strings": value.tolist()}
    if isinstance(value, np.ma.MaskedArray):
        raise ModelFileError("cannot hold a masked array; use a plain one")
    return arrays.reference(value)


def encode_sparse(value: Any, arrays: Arrays) -> Any:
    """A CSR matrix as its three arrays."""
    if value.format != "csr":
        raise ModelFileError(f"cannot hold a sparse matrix of format {value.format!r}; use CSR")
    parts = {name: arrays.reference(getattr(value, name)) for name in ("data", "indices", "indptr")}
    return {"csr": {**parts, "shape": list(map(int, value.shape)), "matrix": isinstance(value, sp.spmatrix)}}


def encode_dict(value: dict[Any, Any], arrays: Arrays) -> Any:
    """A dict whose keys are strings."""
    if not all(type(key) is str for key in value):
        raise ModelFileError("cannot hold a dict whose keys are not all strings; use strings")
    return {"dict": {key: encode(item, arrays) for key, item in value.items()}}


def encode_slice(value: slice, _arrays: Arrays) -> Any:
    """All rows."""
    if value != slice(None):
        raise ModelFileError(f"cannot hold {value!r}; it holds slice(None) alone")
    return {"all": True}


def encode_object(value: Any, arrays: Arrays) -> Any:
    """An estimator as parameters and fitted attributes, a dataclass as its fields."""
    name = NAMES[type(value)]
    kind = KINDS[name]
    params = stored_params(value) if kind.is_estimator else {}
    return {
        "object": name,
        "params": {key: named(key, item, arrays) for key, item in params.items()},
        "state": {key: named(key, item, arrays) for key, item in stored_state(value, kind, set(params)).items()},
    }


def named(name: str, value: Any, arrays: Arrays) -> Any:
    """The tree of an attribute; an error tells which."""
    try:
        return encode(value, arrays)
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error.__cause__


def stored_params(model: Any) -> dict[str, Any]:
    """Constructor parameters; no callback, and no random_state that is not a number."""
    params = dict(model.get_params(deep=False))
    for name in NEVER_STORED:
        if name in params:
            params[name] = None
    if not isinstance(params.get("random_state"), (int, np.integer)):
        params.update({"random_state": None} if "random_state" in params else {})
    return params


def stored_state(owner: Any, kind: Kind, params: set[str]) -> dict[str, Any]:
    """Everything else on the object, if each attribute is known."""
    skipped = {*params, *kind.left_out, *kind.machine, *LEFT_OUT}
    state = {name: value for name, value in vars(owner).items() if name not in skipped}
    unknown = sorted(set(state) - set(kind.known))
    if unknown:
        raise ModelFileError(
            f"cannot hold the attribute {unknown[0]!r} of {type(owner).__name__}, which it does not know; "
            "delete it, or say it in info"
        )
    return state


ENCODERS: tuple[tuple[Any, Callable[[Any, Arrays], Any]], ...] = (
    (np.generic, encode_scalar),  # before float and int: np.float64 is a float
    (int, encode_integer),
    (float, encode_float),
    (list, lambda value, arrays: [encode(item, arrays) for item in value]),
    (tuple, lambda value, arrays: {"tuple": [encode(item, arrays) for item in value]}),
    (dict, encode_dict),
    (np.ndarray, encode_array),
    (np.dtype, lambda value, _arrays: {"dtype": value.name}),
    (slice, encode_slice),
    (sp.sparray, encode_sparse),
    (sp.spmatrix, encode_sparse),
)
