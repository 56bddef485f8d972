"""Hypothesis strategies for damaged files: what happens to files on their way, and what somebody might do to them.

Each takes the bytes of a whole file; those from `renamed` on want a zip of ``.npy`` files.
"""

from __future__ import annotations

import io
import json
import struct
import warnings
import zipfile

import numpy as np
from hypothesis import strategies as st

DOCUMENT = "model.json"
TRICKS = [
    "../../x.npy",
    "/x.npy",
    "..\\x.npy",
    "C:\\x.npy",
    "arrays/../../x.npy",
    "x/",
    "",
    "\x00.npy",
    "ä.npy",
    "X.npy",
]
SYMLINK = 0o120777 << 16
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.integers(-3, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(
        ["auto", "precomputed", "gaussian", "diag", "passthrough", "AFCM", "Graph", "<f8", "arrays/1.npy"]
    )
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["array", "csr", "object", "tuple", "dict", "scalar", "float", "all", "strings", "dtype"]),
            inner,
            max_size=2,
        )
    ),
    max_leaves=5,
)


def unzipped(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rezipped(contents, method=zipfile.ZIP_DEFLATED, attributes=0):
    """A zip file with these contents: a dict, or pairs where names repeat."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that repeat are the point
        for name, content in contents.items() if isinstance(contents, dict) else contents:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = attributes
            archive.writestr(entry, content, method)
    return target.getvalue()


@st.composite
def flipped(draw, whole):
    """A few bits; the end is where most of a zip or Parquet file's own numbers are."""
    changed = bytearray(whole)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(changed) - 1) | st.integers(-min(1500, len(changed)), -1))
        changed[place] ^= 1 << draw(st.integers(0, 7))
    return bytes(changed)


@st.composite
def spliced(draw, whole):
    """Cut off, a piece missing, a piece twice."""
    first, second = sorted(draw(st.tuples(*[st.integers(0, len(whole))] * 2)))
    return draw(st.sampled_from([whole[:first], whole[:first] + whole[second:], whole[:second] + whole[first:]]))


@st.composite
def overwritten(draw, whole):
    """Some bytes by others, such as numbers at the edge of what fits."""
    place = draw(st.integers(0, len(whole)) | st.integers(max(0, len(whole) - 1500), len(whole)))
    edges = [struct.pack("<q", value) for value in (-1, 0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62)]
    new = draw(st.sampled_from(edges).map(lambda edge: edge[:4]) | st.sampled_from(edges) | st.binary(max_size=8))
    return whole[:place] + new + whole[place + len(new) :]


@st.composite
def renamed(draw, whole):
    """Members with names that lead elsewhere, that repeat, that are links, or packed in another way."""
    pairs = list(unzipped(whole).items())
    place = draw(st.integers(0, len(pairs) - 1))
    name, content = pairs[place]
    how = draw(st.sampled_from(["rename", "add", "twice", "drop", "link", "method"]))
    if how == "rename":
        pairs[place] = (draw(st.sampled_from(TRICKS)), content)
    elif how in ("add", "twice"):
        pairs.append((draw(st.sampled_from(TRICKS)) if how == "add" else name, content))
    elif how == "drop":
        del pairs[place]
    elif how == "link":
        pairs[place] = (name, b"../../../etc/passwd")
    method = zipfile.ZIP_BZIP2 if how == "method" else zipfile.ZIP_DEFLATED
    return rezipped(pairs, method, SYMLINK if how == "link" else 0)


@st.composite
def inflated(draw, whole):
    """A member that unpacks to far more than it should, and may lie about it."""
    contents = unzipped(whole)
    name = draw(st.sampled_from(sorted(contents)))
    size = draw(st.sampled_from([10**4, 10**6, 5 * 10**6]))
    keep = draw(st.booleans())
    packed = rezipped({**contents, name: (contents[name] if keep else b"") + bytes(size)})
    if draw(st.booleans()):
        true = len(contents[name]) * keep + size
        packed = packed.replace(struct.pack("<I", true), struct.pack("<I", draw(st.integers(0, 2**32 - 1))))
    return packed


@st.composite
def reheaded(draw, whole):
    """An array whose header tells of other types and shapes."""
    contents = unzipped(whole)
    name = draw(st.sampled_from([name for name in contents if name != DOCUMENT]))
    return rezipped({**contents, name: draw(odd_header(contents[name]))})


@st.composite
def odd_header(draw, array):
    """The ``.npy`` file of an array with a wrong header."""
    length = struct.unpack_from("<H", array, 8)[0]
    shapes = ["(10**9,)", "(1000000000000000, 2)", "(4611686018427387904, 4)", "(-1, 3)", "(2.0,)", "()", "(3,)", "[3]"]
    kinds = ["|O", "<f8", ">f8", "<c16", "<U9", "|V8", "|S5", "<M8[s]", "<f2", "<f16", "?", "[('a', '<f8')]", "\\x00"]
    order = draw(st.sampled_from(["True", "False", "1", "__import__('os')"]))
    text = f"{{'descr': '{draw(st.sampled_from(kinds))}', 'fortran_order': {order}, "
    text += f"'shape': {draw(st.sampled_from(shapes))}, }}"
    if draw(st.booleans()):
        text = draw(flipped(text.encode())).decode("latin-1")
    version = draw(st.sampled_from([b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\xff\x00"]))
    header = text.encode("latin-1") + b"\n"
    size = struct.pack("<H" if version == b"\x01\x00" else "<I", draw(st.sampled_from([len(header), 0, 65535])))
    return b"\x93NUMPY" + version + size + header + array[10 + length :]


def places(node, here=()):
    """Paths to every value in a document."""
    yield here
    for key, item in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from places(item, (*here, key))


@st.composite
def redocumented(draw, whole):
    """Other values in the document."""
    contents = unzipped(whole)
    document = json.loads(contents[DOCUMENT])
    for _ in range(draw(st.integers(1, 2))):
        *route, last = draw(st.sampled_from([place for place in places(document) if place]))
        owner = document
        for key in route:
            owner = owner[key]
        if draw(st.integers(0, 4)) == 0:
            del owner[last]
        else:
            owner[last] = draw(values)
    return rezipped({**contents, DOCUMENT: json.dumps(document).encode()})


@st.composite
def rearranged(draw, whole):
    """Numbers, dtypes and shapes that an array did not have, described as they are."""
    contents = unzipped(whole)
    name = draw(st.sampled_from([name for name in contents if name != DOCUMENT]))
    array = draw(other_array(np.load(io.BytesIO(contents[name]))))
    handle = io.BytesIO()
    np.lib.format.write_array(handle, array)
    contents[name] = handle.getvalue()
    if DOCUMENT in contents:
        document = json.loads(contents[DOCUMENT], object_hook=lambda node: described(node, name, array))
        contents[DOCUMENT] = json.dumps(document).encode()
    return rezipped(contents)


@st.composite
def other_array(draw, array):
    """Extreme values, another shape, another dtype."""
    kind = draw(st.sampled_from(["values", "shape", "dtype"]))
    if kind == "values" and array.size:
        extremes = [np.nan, np.inf, -1.0, 0.0, 1e300, 1e-300] if array.dtype.kind == "f" else [0, 1, 2**7 - 1]
        extremes += [-1, 2**31 - 1] if array.dtype in ("i4", "i8") else []
        place = draw(st.integers(0, array.size - 1) | st.just(slice(None)))
        array.ravel(order="K")[place] = draw(st.sampled_from(extremes))
    elif kind == "shape":
        shapes = [array[..., None], array.ravel(), array[None], array.T]
        shapes += [array[:-1], array[:0]] if array.ndim else []
        array = draw(st.sampled_from(shapes))
    else:
        array = array.astype(draw(st.sampled_from(["f4", "f8", "i4", "i8", "u1", "?"])))
    return array


def described(node, key, array):
    """References to an array tell its new dtype and shape."""
    return {**node, "dtype": array.dtype.str, "shape": array.shape} if node.get("array") == key else node


@st.composite
def retyped(draw, text):
    """A text file with other fields, quotes, ends of lines and encodings."""
    lines = text.split(b"\n")
    for _ in range(draw(st.integers(1, 3))):
        row = draw(st.integers(0, len(lines) - 1))
        fields = lines[row].split(b",")
        new = draw(st.sampled_from(FIELDS) | st.binary(max_size=6))
        fields[draw(st.integers(0, len(fields) - 1))] = new
        lines[row] = draw(st.sampled_from([b",", b";", b"\t", b",,"])).join(fields)
    changed = draw(st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n"])).join(lines)
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"PAR1"])) + changed


FIELDS = [
    b"",
    b'"',
    b'""',
    b'"a',
    b"nan",
    b"-inf",
    b"1e999",
    b"9" * 400,
    b"0x1F",
    b"1_000",
    b"\x00",
    b"\xff",
    b"=1+1",
    b"2020-01-01",
]
