"""Arrays from zip files: whatever NumPy writes of plain numbers is read as NumPy reads it, and nothing else."""

from __future__ import annotations

import io
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from afcm.storage import archives
from afcm.storage.archives import open_archive, read_array
from afcm.storage.errors import DamagedError, FormatError
from tests.damage import rezipped
from tests.modelfiles.tampering import directory_fields, npy


def read(content, name="a.npy", accept=lambda header: None):
    with open_archive(io.BytesIO(content)) as archive:
        return read_array(archive, name, accept)


def plain_arrays():
    dtypes = st.sampled_from(["?", "i1", "u1", "<i2", ">i4", "<u8", ">f8", "<f4", "<f2", "<f8"])
    shapes = hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=4)
    return dtypes.flatmap(lambda dtype: hnp.arrays(dtype, shapes))


@settings(max_examples=150, deadline=None)
@given(
    array=plain_arrays(),
    order=st.sampled_from("CF"),
    version=st.sampled_from([(1, 0), (2, 0)]),
    method=st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]),
)
def test_an_array_is_read_as_numpy_reads_it(array, order, version, method):
    array = np.asarray(array, order=order)
    found = read(rezipped({"a.npy": npy(array, version=version)}, method))
    assert found.dtype == array.dtype.newbyteorder("=")
    assert found.shape == array.shape
    assert found.flags.fnc == array.flags.fnc
    np.testing.assert_array_equal(found, array)


def test_a_large_array_is_read_in_pieces(monkeypatch):
    array = np.arange(1000.0)
    monkeypatch.setattr(archives, "CHUNK", 96)
    np.testing.assert_array_equal(read(rezipped({"a.npy": npy(array)})), array)


def with_header(text, version=b"\x01\x00", data=bytes(48)):
    header = text.encode()
    length = struct.pack("<H" if version == b"\x01\x00" else "<I", len(header))
    return rezipped({"a.npy": b"\x93NUMPY" + version + length + header + data})


def test_headers_of_other_writers():
    for text in [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2L, 3L), }\n",
        "{'descr':'<f8','fortran_order':False,'shape':(2,3)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3,), }   \n",
    ]:
        assert read(with_header(text)).shape == (2, 3)


@pytest.mark.parametrize(
    "text",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (__import__('os').getpid(), 3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2, 3), }",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (2, 3), }",
        "{'descr': '<f7', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (6,), }",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (6,), }",
        "{'descr': '<U1', 'fortran_order': False, 'shape': (12,), }",
        "",
        " " * 5000,
    ],
)
def test_headers_of_anything_else_are_refused_and_not_evaluated(text):
    with pytest.raises(FormatError, match=r"^holds a\.npy, which is no array of plain numbers$"):
        read(with_header(text))


def test_what_is_not_wanted_is_refused_before_memory_is_taken(monkeypatch):
    def refuse(header):
        raise FormatError(f"has {header.dtype} of shape {header.shape} in order {header.order}, {header.version}")

    monkeypatch.setattr(np, "empty", None)
    content = rezipped({"a.npy": npy(np.ones((2, 3), dtype="<f4", order="F"))})
    with pytest.raises(FormatError, match=r"has float32 of shape \(2, 3\) in order F, \(1, 0\)"):
        read(content, accept=refuse)


def test_a_version_that_is_not_known():
    with pytest.raises(
        FormatError, match=r"a\.npy, and it uses version \(3, 0\) of the \.npy format, expected 1\.0 or"
    ):
        read(with_header("", version=b"\x03\x00"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (npy(np.ones(6))[:-8], "declares another size for a.npy than it has"),
        (npy(np.ones(6)) + bytes(8), "declares another size for a.npy than it has"),
        (npy(np.ones(6)).replace(b"(6,)", b"(9,)"), "declares another size for a.npy than it has"),
    ],
)
def test_more_or_less_than_the_header_says(content, said):
    with pytest.raises(DamagedError, match=said):
        read(rezipped({"a.npy": content}))


def test_a_wrong_checksum_is_damage_even_if_the_header_is_wrong_too():
    for content in (npy(np.ones(6)), b"anything"):
        data = bytearray(rezipped({"a.npy": content}, zipfile.ZIP_STORED))
        data[directory_fields(data, b"a.npy") + 16] ^= 1
        with pytest.raises(zipfile.BadZipFile, match="CRC"):
            read(bytes(data))


def test_names_are_checked_first_and_directories_for_lies():
    def refuse(names):
        raise FormatError(f"has {names}")

    content = rezipped({"a.npy": npy(np.ones(6))})
    with pytest.raises(FormatError, match=r"has \['a.npy'\]"), open_archive(io.BytesIO(content), refuse):
        pass
    for offset, value, said in [
        (8, 1, "holds a.npy encrypted"),
        (10, 14, r"compressed in another way \(packed by method 14\)"),
        (20, 10**6, "declares more bytes than it has"),
        (24, 10**6, "declares more bytes for a.npy than it can hold"),
    ]:
        data = bytearray(content)
        struct.pack_into("<H" if offset < 20 else "<I", data, directory_fields(data, b"a.npy") + offset, value)
        with pytest.raises(FormatError, match=said), open_archive(io.BytesIO(data)):
            pass


@pytest.mark.parametrize(("most", "twice"), [(1, False), (10, True)])
def test_too_many_entries_and_the_same_twice(most, twice, monkeypatch):
    monkeypatch.setattr(archives, "MOST_ENTRIES", most)
    content = rezipped([("a.npy", b""), ("a.npy" if twice else "b.npy", b"")])
    with pytest.raises(FormatError, match="2 entries, too many or some twice"), open_archive(io.BytesIO(content)):
        pass
