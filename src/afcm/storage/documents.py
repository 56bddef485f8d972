"""The file that model files and checkpoints share: a zip of one JSON document and one ``.npy`` per array."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from afcm.storage import archives
from afcm.storage.errors import DamagedError, FormatError

DOCUMENT = "model.json"
ARRAY_NAME = re.compile(r"arrays/\d{1,6}\.npy", re.ASCII)
DTYPES = {"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8"}
DOCUMENT_BYTES = 16 * 2**20
# All arrays together may be this many times as large as the file, or this large. What compresses better is not
# compressed by `write_document`, so that every honest file loads and a small file cannot fill the memory.
INFLATION, INNOCENT_BYTES = 200, 2**30
# Every entry has the same date, so that the same content gives the same file.
DATE = (1980, 1, 1, 0, 0, 0)


def to_text(document: Mapping[str, Any]) -> bytes:
    """The document as it is written, if it is small enough to be read again."""
    text = json.dumps(document, indent=1, allow_nan=False).encode()
    if len(text) > DOCUMENT_BYTES:
        raise FormatError(f"cannot hold a description of {len(text)} bytes", "put large things elsewhere than in info")
    return text


def write_document(target: Path, text: bytes, arrays: Mapping[str, Any], *, compressed: bool = True) -> None:
    """Write a document and its arrays, compressed unless that is not wanted or makes the file suspiciously small."""
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED)[not compressed :]:
        with zipfile.ZipFile(target, "w") as archive:
            archive.writestr(new_entry(DOCUMENT, method), text)
            for name, array in arrays.items():
                with archive.open(new_entry(name, method), "w", force_zip64=array.nbytes > INNOCENT_BYTES) as handle:
                    np.lib.format.write_array(handle, little_endian(array), version=(1, 0), allow_pickle=False)
        if sum(array.nbytes for array in arrays.values()) < most_bytes(target.stat().st_size):
            return


def new_entry(name: str, method: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, DATE)
    entry.compress_type, entry.external_attr = method, 0o644 << 16
    return entry


def little_endian(array: Any) -> Any:
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def most_bytes(file_size: int) -> int:
    """The largest size that the arrays of a file may have together."""
    return max(INNOCENT_BYTES, INFLATION * file_size)


class OpenDocument(NamedTuple):
    """A file that is open: its document, the names of its arrays, and what reads one of them."""

    document: dict[str, Any]
    names: set[str]
    read: Callable[[str], Any]


@contextmanager
def open_document(path: Path, kind: str) -> Iterator[OpenDocument]:
    """The file at ``path``, once its entries are a document and arrays; ``kind`` is its name in messages."""
    with open(path, "rb") as file:
        head = file.read(4)
        if not head:
            raise DamagedError("is empty")
        if head[:1] == b"\x80":
            raise FormatError("looks like a pickle, which could run code and is never read")
        if head != b"PK\x03\x04":
            raise FormatError(f"is not a {kind}")
        with archives.open_archive(file, partial(check_names, kind=kind)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > most_bytes(file.seek(0, io.SEEK_END)):
                raise FormatError(f"unpacks to more than {INFLATION} times its size")
            names = set(archive.namelist()) - {DOCUMENT}
            yield OpenDocument(read_document(archive), names, lambda name: read_array(archive, name))


def check_names(names: list[str], kind: str) -> None:
    if DOCUMENT not in names:
        raise FormatError(f"is a zip file (an .npz?) but holds no {DOCUMENT}")
    for name in names:
        if name != DOCUMENT and not ARRAY_NAME.fullmatch(name):
            raise FormatError(f"holds {name[:80]!r}, which no {kind} does")


def read_document(archive: zipfile.ZipFile) -> dict[str, Any]:
    """The JSON object of a file: no key twice, no NaN, no nesting beyond what the parser takes."""
    size = archive.getinfo(DOCUMENT).file_size
    if size > DOCUMENT_BYTES:
        raise FormatError(f"has a {DOCUMENT} of {size} bytes, far too many")
    try:
        text = archive.read(DOCUMENT).decode()
        document = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"has a {DOCUMENT} that is not proper JSON ({type(error).__name__})") from error
    if not isinstance(document, dict):
        raise FormatError(f"has a {DOCUMENT} that is no JSON object")
    return document


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def read_array(archive: zipfile.ZipFile, name: str) -> Any:
    """An array as `write_document` has written it."""

    def accept(header: archives.Header) -> None:
        if header.version != (1, 0) or header.dtype.str not in DTYPES:
            raise FormatError(f"holds {name}, which is no array of plain numbers")

    return archives.read_array(archive, name, accept)
