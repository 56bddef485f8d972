"""The codec: what is decoded is what was encoded, of classes in the table alone."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from afcm.storage.decoding import MOST_REFERENCES, Decoder
from afcm.storage.encoding import Encoder
from afcm.storage.errors import FormatError
from afcm.storage.kinds import Kind, field_names


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass(frozen=True)
class Box:
    content: Any
    owner: Any
    cache: Any = field(default=None, init=False)


OWNER = object()
TABLE = {
    "pair": Kind(Pair, dict.fromkeys(["left", "right"])),
    "box": Kind(Box, {"content": None}, {"owner": lambda: OWNER}),
}


def back(value, table=TABLE, reader=TABLE):
    encoder = Encoder(table)
    tree = json.loads(json.dumps(encoder.encode(value), allow_nan=False))
    decoder = Decoder(reader, encoder.arrays, encoder.arrays.__getitem__)
    found = decoder.decode(tree)
    decoder.check_all_used()
    return found


def same(one, other):
    """Equal in type and to the last bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Box):
        return same(one.content, other.content)
    if isinstance(one, np.ndarray):
        bits = np.ndarray.tolist if one.dtype == object else np.ndarray.tobytes
        return one.dtype == other.dtype and one.shape == other.shape and bits(one) == bits(other)
    return repr(one) == repr(other)


leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text(max_size=5)
    | st.floats(width=32).map(np.float32)
    | st.integers(0, 255).map(np.uint8)
    | st.booleans().map(np.bool_)
    | st.sampled_from([np.dtype("float32"), np.dtype(bool), slice(None)])
    | hnp.arrays(st.sampled_from(["f4", "f8", "i2", "u4", "?"]), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
    | st.lists(st.text(max_size=3), max_size=3).map(lambda names: np.array(names, dtype=object))
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | st.builds(Pair, inner, inner)
        | inner.map(lambda content: Box(content, OWNER))
    ),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(values)
def test_what_is_decoded_is_what_was_encoded(value):
    assert same(back(value), value)


@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix])
def test_sparse_matrices(make):
    matrix = make(np.diag([1.0, 0.0, 2.0])[:, :2])
    found = back(matrix)
    assert type(found) is make
    assert found.shape == (3, 2)
    np.testing.assert_array_equal(found.toarray(), matrix.toarray())


def test_what_is_not_stored_is_given_and_what_is_shared_is_stored_once():
    array = np.arange(3.0)
    encoder = Encoder(TABLE)
    encoder.encode([Box(array, "somebody"), array, array[:], array[::-1]])
    assert len(encoder.arrays) == 2
    found = back([Box(array, "somebody"), array])
    assert found[0].owner is OWNER
    assert found[0].content is found[1]


def test_fields_are_those_of_the_constructor():
    assert field_names(Pair) == ["left", "right"]
    assert field_names(Box) == ["content", "owner"]


class Pear(NamedTuple):
    left: Any


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Pear(1), "cannot hold a .*Pear; it holds plain values, NumPy arrays and these classes: pair, box"),
        (object(), "cannot hold a builtins.object; it holds"),
        ({1: 2}, "keys are not all strings; use strings"),
        (2**63, "cannot hold the integer 9223372036854775808; use one of at most 64 bits"),
        (np.array([None]), "cannot hold an array of object"),
        (np.array(1j), "cannot hold an array of complex128; use an array of plain numbers"),
        (Pair(1, Box({2}, None)), "^right: content: cannot hold a builtins.set"),
    ],
)
def test_values_that_cannot_be_stored_are_refused_by_name(value, said):
    with pytest.raises(FormatError, match=said):
        Encoder(TABLE).encode(value)


def without(name):
    return {other: TABLE[other] for other in TABLE if other != name}


@pytest.mark.parametrize(
    ("reader", "said"),
    [
        (without("pair"), "holds a 'pair', a class that is not known; it may be from a newer afcm"),
        ({"pair": Kind(Pair, {"left": None})}, "holds 'right' of pair, which is not known"),
        ({"pair": Kind(Pair, dict.fromkeys(["left", "right", "top"]))}, "lacks 'top' of pair"),
    ],
)
def test_classes_and_fields_that_the_table_does_not_have_are_refused(reader, said):
    with pytest.raises(FormatError, match=said):
        back(Pair(1, 2), reader=reader)


def decode(tree, **arrays):
    return Decoder(TABLE, arrays, arrays.__getitem__).decode(tree)


def array(name, dtype="<f8", shape=(3,)):
    return {"array": name, "dtype": dtype, "shape": list(shape)}


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"float": "1.0"}, "the float '1.0'"),
        ({"float": 1.0}, "should be an object with float"),
        ({"scalar": ["float64"]}, "scalar of a type that is not known"),
        ({"scalar": ["bool", 1]}, "scalar that is no number"),
        ({"scalar": ["int8", True]}, "scalar that is no number"),
        ({"dtype": "object"}, "the dtype 'object'"),
        ({"strings": ["a", None]}, "names that are no strings"),
        ({"object": "pair", "params": {"x": 1}, "state": {"left": 1, "right": 1}}, "'x' of pair, which is not known"),
        ({"object": "pair", "state": {}}, "an object with object, params, state"),
        ({"tuple": [], "dict": {}}, "an object with tuple"),
        ({"unheard": 1}, r"a kind that is not known \(unheard\)"),
        (math.inf, "too large for a float"),
        (-(2**63) - 1, "beyond 64 bits"),
        (array("b"), "no array 'b'"),
        (array("a", "<f4"), "describes a as another array"),
        (array("a", shape=(1, 3)), "describes a as another array"),
        ([array("a")] * (MOST_REFERENCES + 1), "refers to it too often"),
    ],
)
def test_trees_that_no_encoder_made_are_refused(tree, said):
    with pytest.raises(FormatError, match=said):
        decode(tree, a=np.ones(3))


def csr(shape=(2, 3), data="d", indices="i", indptr="p", kind="<i4"):
    parts = {"data": array(data, shape=(2,)), "indices": array(indices, kind, (2,)), "indptr": array(indptr, kind)}
    return {"csr": list(shape), **parts, "matrix": False}


@pytest.mark.parametrize(
    ("offsets", "columns", "shape", "right"),
    [
        ([0, 1, 2], [0, 2], (2, 3), True),
        ([0, 1, 2], [0, 3], (2, 3), False),
        ([0, 1, 2], [-1, 2], (2, 3), False),
        ([0, 2, 1], [0, 2], (2, 3), False),
        ([1, 1, 2], [0, 2], (2, 3), False),
        ([0, 1, 3], [0, 2], (2, 3), False),
        ([0, 1, 2], [0, 2], (3, 3), False),
        ([0, 1, 2], [0, 2], (2, 3, 1), False),
        ([0, 1, 2], [0, 2], (2, True), False),
        ([0, 1, 2], [0, 2], (2, 2**63), False),
    ],
)
def test_sparse_matrices_whose_parts_do_not_fit(offsets, columns, shape, right):
    arrays = {"d": np.ones(2), "i": np.array(columns, dtype=np.int32), "p": np.array(offsets, dtype=np.int32)}
    if right:
        np.testing.assert_array_equal(decode(csr(shape), **arrays).toarray(), [[1, 0, 0], [0, 0, 1]])
    else:
        with pytest.raises(FormatError, match="a sparse matrix whose parts do not fit together"):
            decode(csr(shape), **arrays)


def test_arrays_that_nothing_refers_to():
    decoder = Decoder({}, ["b", "a"], lambda _: np.ones(3))
    decoder.decode(array("b"))
    with pytest.raises(FormatError, match="holds a, which the model does not use"):
        decoder.check_all_used()
