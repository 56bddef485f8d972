"""The zip reader: archives of ``.npy`` arrays, read with distrust.

Nothing is believed before it is checked, and nothing is decompressed beyond the size it was declared with. Headers of
arrays are matched with a pattern, not evaluated, and only plain numbers are read, so there is nothing to unpickle.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np

from afcm.storage.errors import DamagedError, FormatError

MAGIC = b"\x93NUMPY"
# Bytes of the number that tells the length of a header, by the version of the .npy format.
LENGTH_BYTES: dict[tuple[int, ...], int] = {(1, 0): 2, (2, 0): 4}
# NumPy's own headers take 118 bytes or so; of a longer one only this much is read, which then does not match.
HEADER_BYTES = 4096
# What NumPy writes of arrays without fields; numbers in a shape that Python 2 wrote may end in L.
HEADER = re.compile(
    rb"\{'descr': ?'([<>|]?(?:b1|[iu][1248]|f[248]|c8|c16|O|[SU]\d{1,6}))', ?'fortran_order': ?(True|False), ?"
    rb"'shape': ?\(((?:\d{1,18}L?, ?)*(?:\d{1,18}L?)?)\),? ?\}\s*"
)
MOST_AXES = 8
MOST_ENTRIES = 10_000
# Deflate makes nothing smaller than by 1032: an entry that claims to be larger is lying.
DEFLATE_RATIO = 1032
CHUNK = 2**24


class Header(NamedTuple):
    """The head of an ``.npy`` file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: Any  # of memory: "C" or "F"
    version: tuple[int, ...]
    size: int  # in bytes


@contextmanager
def open_archive(
    file: BinaryIO, check_names: Callable[[list[str]], None] = lambda _: None
) -> Iterator[zipfile.ZipFile]:
    """A zip file, once its directory is consistent: no entry twice, none packed oddly, no more bytes than there are.

    ``check_names`` raises an error if the entries have wrong names. Limits on what they unpack to are the caller's.
    """
    file_size = file.seek(0, io.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        check_names(names)
        if len(names) > MOST_ENTRIES or len(set(names)) < len(names):
            raise FormatError(f"has {len(names)} entries, too many or some twice")
        for entry in archive.infolist():
            name, method = entry.filename, entry.compress_type
            if method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or entry.flag_bits & 1:
                raise FormatError(f"holds {name} encrypted or compressed in another way (packed by method {method})")
            if entry.file_size > DEFLATE_RATIO * (entry.compress_size + 1):
                raise DamagedError(f"declares more bytes for {name} than it can hold")
        if sum(entry.compress_size for entry in archive.infolist()) > file_size:
            raise DamagedError("declares more bytes than it has")
        yield archive


def read_array(archive: zipfile.ZipFile, name: str, accept: Callable[[Header], None]) -> Any:
    """An array of plain numbers, in the order of memory it was saved in.

    ``accept`` raises an error if an array with this header is not wanted; no memory is taken before.
    """
    entry = archive.getinfo(name)
    with archive.open(entry) as handle:
        header = read_header(handle, name)
        accept(header)
        if header.dtype.kind not in "biuf":
            raise FormatError(f"holds {name}, which is no array of plain numbers")
        count = math.prod(header.shape)
        if header.size + count * header.dtype.itemsize != entry.file_size:
            raise DamagedError(f"declares another size for {name} than it has")
        flat = np.empty(count, dtype=header.dtype)
        data = flat.view(np.uint8)
        for start in range(0, data.size, CHUNK):  # at the end zipfile compares the checksum
            part = handle.read(min(CHUNK, data.size - start))
            if len(part) < min(CHUNK, data.size - start):
                raise DamagedError(f"ends in the middle of {name}")
            data[start : start + CHUNK] = np.frombuffer(part, dtype=np.uint8)
    return flat.astype(header.dtype.newbyteorder("="), copy=False).reshape(header.shape, order=header.order)


def read_header(handle: IO[bytes], name: str) -> Header:
    start = handle.read(len(MAGIC) + 2)
    is_npy, version = start.startswith(MAGIC), tuple(start[len(MAGIC) :])
    if is_npy and version not in LENGTH_BYTES:
        raise FormatError(f"holds {name}, and it uses version {version} of the .npy format, expected 1.0 or 2.0")
    length = handle.read(LENGTH_BYTES[version] if is_npy else 0)
    size = int.from_bytes(length, "little")
    match = HEADER.fullmatch(handle.read(min(size, HEADER_BYTES)))
    if match is None:
        while handle.read(CHUNK):  # to the end, where a wrong checksum is noticed: then it is damaged, not foreign
            pass
        raise FormatError(f"holds {name}, which is no array of plain numbers")
    shape = tuple(int(axis.strip(" L")) for axis in match[3].decode().split(",") if axis.strip())
    if len(shape) > MOST_AXES:
        raise FormatError(f"holds {name} with {len(shape)} axes, more than {MOST_AXES}")
    order = "F" if match[2] == b"True" else "C"
    return Header(np.dtype(match[1].decode()), shape, order, version, len(start) + len(length) + size)
