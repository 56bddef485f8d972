"""Read and write the archives of data sets; nothing in them is trusted before it is checked.

A file is read once, within a size limit, and the same bytes are checksummed and then parsed.
"""

import hashlib
import io
import math
import zipfile
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from afcm._util.atomic_files import replace_file
from afcm.datasets.records import Archive, DatasetCorrupt, DatasetInfo, Samples, as_samples
from afcm.storage.archives import Header, open_archive, read_array
from afcm.storage.errors import FormatError

HEADER_BYTES = 4096  # room for an .npy header or a zip entry
ITEM_BYTES = 8  # no array needs more than a float64 per value
# Errors of damaged zip files, besides those about the arrays in them.
UNREADABLE = (ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)

Shape = tuple[int | None, ...]  # None: any length


def read_archive(path: Path, archive: Archive, info: DatasetInfo, *, verify: bool = True) -> Samples:
    """Read the samples of `info` from the file at `path`, or raise `DatasetCorrupt`."""
    columns = info.n_features + archive.skip_columns
    extras: dict[str, Shape] = {"scale": (), "missing": (None, 2)}
    shapes: dict[str, Shape] = {"X": (info.n_samples, columns), "y": (info.n_samples,)}
    shapes |= {name: extras[name] for name in archive.extras}
    limit = HEADER_BYTES + ITEM_BYTES * info.n_samples * columns
    try:
        content = _read_content(path, limit * len(shapes), archive.sha256 if verify else None)
        return _build_samples(_read_arrays(content, shapes, limit), archive, info)
    except UNREADABLE as error:
        said = f"it {error.fault}" if isinstance(error, FormatError) else error
        raise DatasetCorrupt(
            f"{path} refused for data set {info.name!r}: {said}. Remove it, or get it again from {info.source}"
        ) from error


def write_archive(path: Path, samples: Samples) -> None:
    """Write `samples` so that `path` holds either the old file or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path) as draft:
        np.savez_compressed(draft, X=samples.X, y=samples.y, missing=samples.missing)


def _read_content(path: Path, limit: int, sha256: str | None) -> bytes:
    with path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"the file is larger than {limit} bytes, more than this data set can need")
    found = hashlib.sha256(content).hexdigest()
    if sha256 not in (None, found):
        raise ValueError(f"its SHA-256 is {found}, expected {sha256} (verify=False accepts a file you made yourself)")
    return content


def _read_arrays(content: bytes, shapes: dict[str, Shape], limit: int) -> dict[str, NDArray[Any]]:
    expected = [f"{name}.npy" for name in shapes]

    def check_names(names: list[str]) -> None:
        if sorted(names) != sorted(expected):
            raise ValueError(f"it holds the members {names}, expected {expected}")

    with open_archive(io.BytesIO(content), check_names) as archive:
        for name, size in ((entry.filename, entry.file_size) for entry in archive.infolist()):
            if size > limit:
                raise ValueError(f"{name} would unpack to {size} bytes; it can need {limit} at most")
        return {
            name: read_array(archive, f"{name}.npy", partial(_check_header, name=name, expected=shape, limit=limit))
            for name, shape in shapes.items()
        }


def _check_header(header: Header, *, name: str, expected: Shape, limit: int) -> None:
    shape, dtype = header.shape, header.dtype
    if len(shape) != len(expected) or any(e not in (None, s) for s, e in zip(shape, expected, strict=True)):
        raise ValueError(f"{name} has shape {shape}, expected {expected}")
    if dtype.kind not in "biuf" or dtype.itemsize > ITEM_BYTES:
        raise ValueError(f"{name} has dtype {dtype}, expected plain numbers of at most {ITEM_BYTES} bytes")
    if math.prod(shape) * dtype.itemsize > limit:
        raise ValueError(f"{name} announces shape {shape}, more than {limit} bytes")


def _build_samples(arrays: dict[str, NDArray[Any]], archive: Archive, info: DatasetInfo) -> Samples:
    scale = float(arrays.get("scale", np.ones(())))
    if not (math.isfinite(scale) and scale > 0):
        raise ValueError(f"scale is {scale}, expected a positive number")
    points = arrays["X"][:, archive.skip_columns :] / scale
    missing = arrays.get("missing", np.empty((0, 2), dtype=np.int64)).astype(np.int64)
    return as_samples(points, arrays["y"], missing - [0, archive.skip_columns], info)
