"""Read and write archives of data sets, trusting nothing in them before it is checked.

The file is read once, within a size limit, and the same bytes are checksummed and then parsed. The zip's
member names and declared sizes are checked before anything is unpacked, every array's header before the
array is made.
"""

import hashlib
import io
import math
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from afcm._util.atomic_files import replace_file
from afcm.datasets.errors import DatasetCorrupt
from afcm.datasets.records import Archive, DatasetInfo, Samples, as_samples

HEADER_BYTES = 4096  # room for an .npy header or a zip entry
ITEM_BYTES = 8  # no array needs more than a float64 per value
HEADER_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
UNREADABLE = (ValueError, EOFError, RuntimeError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error)

Shape = tuple[int | None, ...]  # None: any length


def read_archive(path: Path, archive: Archive, info: DatasetInfo, *, verify: bool = True) -> Samples:
    """Read the samples of `info` from the file at `path`, or raise `DatasetCorrupt`."""
    shapes = _expected_shapes(archive, info)
    limit = HEADER_BYTES + ITEM_BYTES * info.n_samples * (info.n_features + archive.skip_columns)
    try:
        content = _content(path, limit * len(shapes))
        if verify:
            _check_sum(content, archive.sha256)
        return _samples(_arrays(content, shapes, limit), archive, info)
    except UNREADABLE as error:
        raise DatasetCorrupt(
            f"{path} refused for data set {info.name!r}: {error}. Remove it, or get it again from {info.source}"
        ) from error


def write_archive(path: Path, samples: Samples) -> None:
    """Write `samples` so that `path` holds either the old file or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path) as draft:
        np.savez_compressed(draft, X=samples.X, y=samples.y, missing=samples.missing)


def _expected_shapes(archive: Archive, info: DatasetInfo) -> dict[str, Shape]:
    extras: dict[str, Shape] = {"scale": (), "missing": (None, 2)}
    columns = info.n_features + archive.skip_columns
    return {
        "X": (info.n_samples, columns),
        "y": (info.n_samples,),
        **{name: extras[name] for name in archive.extras},
    }


def _content(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"the file is larger than {limit} bytes, more than this data set can need")
    return content


def _check_sum(content: bytes, expected: str | None) -> None:
    found = hashlib.sha256(content).hexdigest()
    if expected is not None and found != expected:
        raise ValueError(f"its SHA-256 is {found}, expected {expected} (verify=False accepts a file you made yourself)")


def _arrays(content: bytes, shapes: dict[str, Shape], limit: int) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(io.BytesIO(content)) as members:
        _check_members(members.infolist(), [f"{name}.npy" for name in shapes], limit)
        return {name: _array(members.read(f"{name}.npy"), name, shape) for name, shape in shapes.items()}


def _check_members(members: list[zipfile.ZipInfo], expected: list[str], limit: int) -> None:
    names = [member.filename for member in members]
    if sorted(names) != sorted(expected):
        raise ValueError(f"it holds the members {names}, expected {expected}")
    for member in members:
        if member.file_size > limit:
            raise ValueError(f"{member.filename} would unpack to {member.file_size} bytes; it can need {limit} at most")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{member.filename} is packed by method {member.compress_type}, not stored or deflated")


def _array(content: bytes, name: str, expected: Shape) -> NDArray[Any]:
    shape, dtype = _header(content)
    if len(shape) != len(expected) or any(e not in (None, s) for s, e in zip(shape, expected, strict=True)):
        raise ValueError(f"{name} has shape {shape}, expected {expected}")
    if dtype.kind not in "biuf" or dtype.itemsize > ITEM_BYTES:
        raise ValueError(f"{name} has dtype {dtype}, expected plain numbers of at most {ITEM_BYTES} bytes")
    if math.prod(shape) * dtype.itemsize > len(content):
        raise ValueError(f"{name} announces shape {shape} but holds {len(content)} bytes")
    array: NDArray[Any] = npy.read_array(io.BytesIO(content), allow_pickle=False)
    return array


def _header(content: bytes) -> tuple[tuple[int, ...], np.dtype[Any]]:
    stream = io.BytesIO(content)
    version = npy.read_magic(stream)
    if version not in HEADER_READERS:
        raise ValueError(f"it uses version {version} of the .npy format, expected 1.0 or 2.0")
    shape, _, dtype = HEADER_READERS[version](stream)
    return shape, dtype


def _samples(arrays: dict[str, NDArray[Any]], archive: Archive, info: DatasetInfo) -> Samples:
    scale = float(arrays.get("scale", np.ones(())))
    if not (math.isfinite(scale) and scale > 0):
        raise ValueError(f"scale is {scale}, expected a positive number")
    points = arrays["X"][:, archive.skip_columns :] / scale
    missing = arrays.get("missing", np.empty((0, 2), dtype=np.int64)).astype(np.int64)
    return as_samples(points, arrays["y"], missing - [0, archive.skip_columns], info)
