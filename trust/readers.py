"""The readers of files that come from elsewhere, with good files for each and the ways to damage them."""

from __future__ import annotations

import gzip
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from tests import damage
from tests.datasets import tiny
from tests.modelfiles.models import fitted, new_samples
from tests.modelfiles.test_fuzz import NAMES, works_or_is_refused
from tests.tabular import files as tables

from afcm import AFCM, PlainAFCM, save_model
from afcm.checkpoints import Checkpoint, CheckpointError, files
from afcm.datasets import DatasetCorrupt
from afcm.datasets.archives import read_archive
from afcm.exceptions import AFCMWarning
from afcm.tabular import TableError, choose_columns, read_table
from afcm.tabular.columns import to_matrix

PLAIN = {damage.flipped: 2, damage.spliced: 1, damage.overwritten: 2}
ZIPPED = PLAIN | {damage.renamed: 1, damage.inflated: 0.3, damage.reheaded: 1, damage.rearranged: 2}
DOCUMENTED = ZIPPED | {damage.redocumented: 3}


@dataclass(frozen=True)
class Reader:
    """Something that reads a file.

    Attributes
    ----------
    name, key : in words, and on the command line
    file : what the damaged file is called
    files : good ones
    read : True if the file is read and its content works, False if it is refused properly
    ways : of damage, each with its share
    share : of all cases
    """

    name: str
    key: str
    file: str
    files: dict[str, bytes]
    read: Callable[[Path, str], bool]
    ways: dict[Any, float]
    share: float


def model_files() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        return {name: save_model(fitted(name), Path(folder, "model.afcm")).read_bytes() for name in NAMES}


def read_model(path: Path, name: str) -> bool:
    """Read the info and the model, and ask the model all it answers."""
    return works_or_is_refused(path, new_samples(name))


def is_accepted(path: Path, read: Callable[[], Any], error: type[Exception]) -> bool:
    """Whether the file is read; a refusal must be the reader's own error, in one line with the name of the file."""
    try:
        read()
    except error as said:
        words = str(said)
    else:
        return True
    assert str(path) in words, f"the message does not name the file: {words}"
    assert "\n" not in words, f"the message is longer than a line: {words!r}"
    return False


SAMPLES = np.random.default_rng(0).normal(size=(24, 2)) + 4 * (np.arange(24) % 2)[:, None]
FITS = {
    "PlainAFCM": lambda **more: PlainAFCM(2, n_init=2, init="random", max_iter=6, random_state=0, **more),
    "AFCM": lambda **more: AFCM(2, n_init=2, init="random", max_iter=3, tol=0.0, random_state=0, **more),
}


def checkpoint_files() -> dict[str, bytes]:
    """Checkpoints of fits that were stopped in their second run."""
    found = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in FITS.items():
            path = Path(folder, name)
            try:
                make(callback=Checkpoint(path, every=1, callback=Stop(4))).fit(SAMPLES)
            except StopIteration:
                found[name] = path.read_bytes()
    return found


class Stop:
    """Ends a fit after so many sweeps."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self, iteration: object) -> None:
        self.left -= 1
        if not self.left:
            raise StopIteration


@cache
def fit_without_stop(name: str) -> bytes:
    """Memberships of a fit that nothing stopped."""
    return fit_quietly(FITS[name]()).memberships_.tobytes()


def fit_quietly(model: Any) -> Any:
    """Fit the samples; warnings about so few sweeps do not matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AFCMWarning)
        return model.fit(SAMPLES)


def read_checkpoint(path: Path, name: str) -> bool:
    """Go on from a file that is not refused; the fit must end where it would have without a stop."""

    def read() -> None:
        files.read(path)
        with mock.patch.object(files, "write"):
            found = fit_quietly(FITS[name](callback=Checkpoint(path)))
        assert found.memberships_.tobytes() == fit_without_stop(name), "goes on to another result"

    return is_accepted(path, read, CheckpointError)


def read_any_table(path: Path, name: str) -> bool:
    """Read a table, choose its columns of numbers, and make their matrix."""
    ending = name.split(".", 1)[1].removesuffix(".gz")

    def read() -> None:
        table = read_table(path, format=ending)
        with suppress(TableError):  # of a column, which it names; the file was read
            to_matrix(table, choose_columns(table).names)

    return is_accepted(path, read, TableError)


def table_files() -> dict[str, dict[str, bytes]]:
    """Tables by the ways to damage them."""
    measures = np.column_stack([tables.iris()[name] for name in tables.NAMES])[:40]
    text = b"\n".join(tables.csv_bytes().split(b"\n")[:40]) + b"\n"
    return {
        "text": {"iris.csv": text, "iris.tsv": text.replace(b",", b"\t")},
        "binary": {"iris.parquet": tables.parquet_bytes(), "iris.npy": tables.npy_bytes(measures)},
        "packed": {"iris.npz": tables.npz_bytes(X=measures), "two.npz": tables.npz_bytes(X=measures, y=measures[:, 0])},
        "compressed": {"iris.csv.gz": gzip.compress(text, mtime=0)},
    }


def read_data_set(path: Path, _name: str) -> bool:
    return is_accepted(path, lambda: read_archive(path, tiny.TINY.archive, tiny.TINY), DatasetCorrupt)


TABLES = table_files()
READERS = [
    Reader("`load_model`, `read_info`", "models", "model.afcm", model_files(), read_model, DOCUMENTED, 12),
    Reader("checkpoints", "checkpoints", "fit.ckpt", checkpoint_files(), read_checkpoint, DOCUMENTED, 18),
    Reader("CSV and TSV", "text", "t.csv", TABLES["text"], read_any_table, PLAIN | {damage.retyped: 4}, 20),
    Reader("Parquet and npy", "binary", "t.bin", TABLES["binary"], read_any_table, PLAIN, 18),
    Reader("npz tables", "packed", "t.npz", TABLES["packed"], read_any_table, ZIPPED, 12),
    Reader("csv.gz", "compressed", "t.csv.gz", TABLES["compressed"], read_any_table, PLAIN, 5),
    Reader("data-set archives", "datasets", "tiny.npz", {"tiny": tiny.archive()}, read_data_set, ZIPPED, 20),
]
