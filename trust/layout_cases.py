"""Cases of dtypes, layouts in memory, sparse matrices and data frames, all with the same clusters."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from trust.cases import Case, blobs, truth

ARRAY = "dense|sparse|toarray|array|dtype|matrix|convert"
WHOLE = 10.0  # blobs are ten apart: whole numbers still separate them


def cases() -> Iterator[Case]:
    for name, make in {**DTYPES, **LAYOUTS, **SPARSE}.items():
        kind = "sparse" if name in SPARSE else "layout" if name in LAYOUTS else "dtype"
        yield Case(name, kind, make, ARRAY, expected=truth())
    for name, make in TABLES.items():
        yield Case(name, "table", make, "numpy|array|numeric|convert|string|dtype", expected=truth())


def round_blobs() -> Any:
    """Blobs rounded to whole numbers, none below 0."""
    return np.rint(blobs() + WHOLE)


DTYPES: dict[str, Callable[[], Any]] = {
    "int64": lambda: round_blobs().astype(np.int64),
    "int8": lambda: round_blobs().astype(np.int8),
    "uint8": lambda: round_blobs().astype(np.uint8),
    "bool": lambda: blobs() > WHOLE / 2,
    "float16": lambda: blobs().astype(np.float16),
    "float32": lambda: blobs().astype(np.float32),
    "longdouble": lambda: blobs().astype(np.longdouble),
    "big-endian": lambda: blobs().astype(">f8"),
    "object of numbers": lambda: blobs().astype(object),
    "numbers as text": lambda: blobs().astype(str),
}


def make_strided() -> Any:
    """Every second row of a larger array, the columns backwards."""
    large = np.zeros((180, 6))
    large[::2, ::-2] = blobs()
    return large[::2, ::-2]


def make_read_only() -> Any:
    X = blobs()
    X.flags.writeable = False
    return X


def map_memory() -> Any:
    path = Path(tempfile.mkdtemp()) / "X.npy"
    np.save(path, blobs())
    return np.load(path, mmap_mode="r")


def make_unaligned() -> Any:
    """Numbers that begin at an odd address."""
    buffer = np.zeros(blobs().nbytes + 1, dtype=np.uint8)
    view = buffer[1:].view(np.float64).reshape(90, 3)
    view[:] = blobs()
    return view


LAYOUTS: dict[str, Callable[[], Any]] = {
    "Fortran order": lambda: np.asfortranarray(blobs()),
    "read-only": make_read_only,
    "strided, columns backwards": make_strided,
    "memory-mapped": map_memory,
    "unaligned": make_unaligned,
    "list of lists": lambda: blobs().tolist(),
    "masked array, nothing masked": lambda: np.ma.masked_array(blobs()),
}


def store_zeros() -> Any:
    """A CSR matrix with an entry for every element, many of them 0."""
    X = blobs() * (np.abs(blobs()) > 5)
    return sp.csr_matrix((X.ravel(), np.tile(np.arange(3), 90), np.arange(0, 271, 3)), shape=(90, 3))


def make_unsorted() -> Any:
    X = blobs()[:, ::-1]
    return sp.csr_matrix((X.ravel(), np.tile([2, 1, 0], 90), np.arange(0, 271, 3)), shape=(90, 3))


def repeat_entries() -> Any:
    """A COO matrix that gives every element in two halves."""
    X, rows, columns = blobs().ravel() / 2, np.repeat(np.arange(90), 3), np.tile(np.arange(3), 90)
    return sp.coo_matrix((np.r_[X, X], (np.r_[rows, rows], np.r_[columns, columns])), shape=(90, 3))


SPARSE: dict[str, Callable[[], Any]] = {
    "CSR": lambda: sp.csr_matrix(blobs()),
    "CSC": lambda: sp.csc_matrix(blobs()),
    "CSR with explicit zeros": store_zeros,
    "CSR, columns out of order": make_unsorted,
    "COO with repeated entries": repeat_entries,
    "CSR of float32": lambda: sp.csr_matrix(blobs().astype(np.float32)),
}


def make_frame(change: Callable[[Any], Any] = lambda frame: frame) -> Any:
    """Blobs as a pandas data frame, then changed."""
    import pandas

    return change(pandas.DataFrame(blobs(), columns=["a", "b", "c"]))


TABLES: dict[str, Callable[[], Any]] = {
    "pandas": make_frame,
    "pandas, nullable floats": lambda: make_frame(lambda table: table.astype("Float64")),
    "pandas, mixed int and bool columns": lambda: make_frame(
        lambda table: table.assign(a=table.a.round().astype(int), d=False)
    ),
    "pandas, an index of text": lambda: make_frame(lambda table: table.set_axis([f"row {i}" for i in range(90)])),
}
