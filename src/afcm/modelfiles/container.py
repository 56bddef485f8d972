"""The file itself: a zip of ``model.json`` and one ``.npy`` per array, read with distrust.

Nothing is believed before it is checked, and nothing is decompressed beyond the size it was declared with. Headers of
arrays are matched with a pattern, not evaluated; no array of objects matches it, so there is nothing to unpickle.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from afcm.modelfiles.errors import ModelFileError

DOCUMENT = "model.json"
ARRAY_NAME = re.compile(r"arrays/\d{1,6}\.npy", re.ASCII)
# What NumPy writes before an array of plain numbers (format 1.0), little-endian.
MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(
    rb"\{'descr': '([<|][a-z]\d)', 'fortran_order': (True|False), 'shape': \(((?:\d{1,18}, ?)*\d{0,18})\), \} *\n"
)
DTYPES = {"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8"}
MOST_AXES = 8
# No document is larger, no file has more entries.
DOCUMENT_BYTES, MOST_ENTRIES = 16 * 2**20, 10_000
# Deflate makes nothing smaller than by 1032: what claims to be larger is lying.
DEFLATE_RATIO = 1032
# All arrays together may be this many times as large as the file, or this large; what compresses better is not
# compressed by `write`, so that every honest file loads and a small file cannot fill the memory.
INFLATION, INNOCENT_BYTES = 200, 2**30
CHUNK = 2**24
# Every entry has the same date, so that the same model gives the same file.
DATE = (1980, 1, 1, 0, 0, 0)
NOT_OURS = "give a file that afcm.save_model has written"
AGAIN = "copy it again, or save the model again"


def as_text(document: Mapping[str, Any]) -> bytes:
    """The document as it is written, if it will be read again."""
    text = json.dumps(document, indent=1, allow_nan=False).encode()
    if len(text) > DOCUMENT_BYTES:
        raise ModelFileError(f"cannot hold a description of {len(text)} bytes; put large things elsewhere than in info")
    return text


def write(target: Path, text: bytes, arrays: Mapping[str, Any], *, compressed: bool = True) -> None:
    """The whole file, compressed unless that takes too long (the caller says so) or makes it suspiciously small."""
    total = sum(array.nbytes for array in arrays.values())
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED)[not compressed :]:
        with zipfile.ZipFile(target, "w") as archive:
            with archive.open(_entry(DOCUMENT, method), "w") as handle:
                handle.write(text)
            for name, array in arrays.items():
                with archive.open(_entry(name, method), "w", force_zip64=array.nbytes > INNOCENT_BYTES) as handle:
                    np.lib.format.write_array(handle, little(array), version=(1, 0), allow_pickle=False)
        if total < most_bytes(target.stat().st_size):
            return


def _entry(name: str, method: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, DATE)
    entry.compress_type = method
    entry.external_attr = 0o644 << 16
    return entry


def little(array: Any) -> Any:
    """The array with the bytes of its numbers in the order of the file."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def most_bytes(file_size: int) -> int:
    """How large the arrays of a file may be."""
    return max(INNOCENT_BYTES, INFLATION * file_size)


@contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive, once its entries are what they should be."""
    with open(path, "rb") as file:
        check_start(file.read(4))
        file_size = file.seek(0, io.SEEK_END)
        with zipfile.ZipFile(file) as archive:
            check_entries(archive.infolist(), file_size)
            yield archive


def check_start(head: bytes) -> None:
    """Tell what is no zip file what it is."""
    if not head:
        raise ModelFileError(f"is empty; {AGAIN}")
    if head[:1] == b"\x80":
        raise ModelFileError(f"looks like a pickle, which could run code and is never read; {NOT_OURS}")
    if head != b"PK\x03\x04":
        raise ModelFileError(f"is not a model file; {NOT_OURS}")


def check_entries(entries: list[zipfile.ZipInfo], file_size: int) -> None:
    """Names, number, compression and declared sizes, before anything is read."""
    names = [entry.filename for entry in entries]
    if DOCUMENT not in names:
        raise ModelFileError(f"is a zip file (an .npz?) but holds no {DOCUMENT}; {NOT_OURS}")
    if len(names) > MOST_ENTRIES or len(set(names)) < len(names):
        raise ModelFileError(f"has {len(names)} entries, too many or some twice; {NOT_OURS}")
    for entry in entries:
        if entry.filename != DOCUMENT and not ARRAY_NAME.fullmatch(entry.filename):
            raise ModelFileError(f"holds {entry.filename[:80]!r}, which no model file does; {NOT_OURS}")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or entry.flag_bits & 1:
            raise ModelFileError(f"holds {entry.filename} encrypted or compressed in another way; {NOT_OURS}")
        if entry.file_size > DEFLATE_RATIO * (entry.compress_size + 1):
            raise ModelFileError(f"declares more bytes for {entry.filename} than it can hold; {AGAIN}")
    if sum(entry.compress_size for entry in entries) > file_size:
        raise ModelFileError(f"declares more bytes than it has; {AGAIN}")
    if sum(entry.file_size for entry in entries) > most_bytes(file_size):
        raise ModelFileError(f"unpacks to more than {INFLATION} times its size; {NOT_OURS}")


def read_document(archive: zipfile.ZipFile) -> dict[str, Any]:
    """The JSON object in ``model.json``: no key twice, no NaN, no nesting beyond what the parser takes."""
    entry = archive.getinfo(DOCUMENT)
    if entry.file_size > DOCUMENT_BYTES:
        raise ModelFileError(f"has a {DOCUMENT} of {entry.file_size} bytes, far too many; {NOT_OURS}")
    with archive.open(entry) as handle:
        text = handle.read(entry.file_size)
        check_end(handle, DOCUMENT)
    try:
        document = json.loads(text.decode(), object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"has a {DOCUMENT} that is not proper JSON ({type(error).__name__}); {AGAIN}") from error
    if not isinstance(document, dict):
        raise ModelFileError(f"has a {DOCUMENT} that is no JSON object; {NOT_OURS}")
    return document


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def read_array(archive: zipfile.ZipFile, name: str) -> Any:
    """One array of plain numbers, in the order of memory it was saved in."""
    entry = archive.getinfo(name)
    with archive.open(entry) as handle:
        dtype, shape, order, header_size = read_header(handle, name)
        count = math.prod(shape)
        if header_size + count * dtype.itemsize != entry.file_size:
            raise ModelFileError(f"declares another size for {name} than it has; {AGAIN}")
        flat = np.empty(count, dtype=dtype)
        fill(handle, flat.view(np.uint8), name)
        check_end(handle, name)
    return flat.astype(dtype.newbyteorder("="), copy=False).reshape(shape, order=order)


def read_header(handle: IO[bytes], name: str) -> tuple[np.dtype[Any], tuple[int, ...], Any, int]:
    """Dtype, shape, order and how many bytes that took."""
    start = handle.read(len(MAGIC) + 2)
    length = int.from_bytes(start[len(MAGIC) :], "little")
    match = HEADER.fullmatch(handle.read(length))
    if not start.startswith(MAGIC) or match is None or match[1].decode() not in DTYPES:
        raise ModelFileError(f"holds {name}, which is no array of plain numbers; {NOT_OURS}")
    shape = tuple(int(size) for size in match[3].decode().split(",") if size.strip())
    if len(shape) > MOST_AXES:
        raise ModelFileError(f"holds {name} with {len(shape)} axes, more than {MOST_AXES}; {NOT_OURS}")
    return np.dtype(match[1].decode()), shape, "F" if match[2] == b"True" else "C", len(start) + length


def fill(handle: IO[bytes], flat: Any, name: str) -> None:
    """Read until an array of bytes is full."""
    done = 0
    while done < flat.size:
        part = handle.read(min(CHUNK, flat.size - done))
        if not part:
            raise ModelFileError(f"ends in the middle of {name}; {AGAIN}")
        flat[done : done + len(part)] = np.frombuffer(part, dtype=np.uint8)
        done += len(part)


def check_end(handle: IO[bytes], name: str) -> None:
    """Nothing more (which is also when zipfile compares the checksum)."""
    if handle.read(1):
        raise ModelFileError(f"holds more in {name} than it declares; {AGAIN}")
