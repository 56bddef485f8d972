"""The records of a data set (its archive, its line in the registry, its samples), and the errors of loading one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from afcm._typing import Floats, Integers


class DatasetNotFound(FileNotFoundError):
    """The archive is in none of the folders and could not be downloaded.

    Examples
    --------
    >>> import tempfile
    >>> from afcm.datasets import load_dataset
    >>> load_dataset("jaffe50", folder=tempfile.mkdtemp(), download=False)
    Traceback (most recent call last):
        ...
    afcm.datasets.records.DatasetNotFound: data set 'jaffe50' not found: no file 'jaffe50.npz' in ...
    """


class DatasetCorrupt(ValueError):
    """The archive was found, but it is not the one the registry describes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from afcm.datasets import load_dataset
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "jaffe50.npz").write_bytes(b"something else")
    >>> load_dataset("jaffe50", folder=folder, download=False)
    Traceback (most recent call last):
        ...
    afcm.datasets.records.DatasetCorrupt: ...jaffe50.npz refused for data set 'jaffe50': ...
    """


@dataclass(frozen=True)
class Archive:
    """A NumPy ``.npz`` file with the arrays ``X`` and ``y``.

    Attributes
    ----------
    file : str
        File name.
    sha256 : str or None
        Checksum of the whole file; None for a copy made by a download, which has no fixed bytes.
    skip_columns : int
        Leading columns of ``X`` that are not features.
    extras : tuple of str
        Further arrays in the file: ``"scale"`` (divide ``X`` by it), ``"missing"`` (row and column of every
        unknown value).
    """

    file: str
    sha256: str | None = None
    skip_columns: int = 0
    extras: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DatasetInfo:
    """A line of the registry.

    Attributes
    ----------
    name : str
        The name `load_dataset` knows it by.
    paper_name : str
        The name in the paper's tables.
    shape : tuple of int
        Samples and features of the ``X`` that `load_dataset` returns.
    n_clusters : int
        Number of classes.
    source : str
        Address of the data.
    license : str
        Short note on the terms; the source's own terms decide.
    notes : str
        Differences to keep in mind when comparing numbers.
    aliases : tuple of str
        Other accepted names.
    archive : Archive or None
        The file to bring; None for a set that comes with scikit-learn.
    openml : tuple (name, version) or None
        Data set of openml.org to download it from.
    printed_features : int or None
        Dimensions in the paper's table if they are others; then `notes` say why.

    Examples
    --------
    >>> from afcm.datasets import dataset_info
    >>> info = dataset_info("iris")
    >>> info.paper_name, info.shape, info.n_clusters
    ('Iris', (150, 4), 3)
    """

    name: str
    paper_name: str
    shape: tuple[int, int]
    n_clusters: int
    source: str
    license: str
    notes: str = ""
    aliases: tuple[str, ...] = ()
    archive: Archive | None = None
    openml: tuple[str, int] | None = None
    printed_features: int | None = None

    @property
    def n_samples(self) -> int:
        return self.shape[0]

    @property
    def n_features(self) -> int:
        return self.shape[1]

    @property
    def paper_shape(self) -> tuple[int, int]:
        """Samples and dimensions in the paper's table."""
        return self.n_samples, self.printed_features or self.n_features

    @property
    def downloaded_copy(self) -> Archive | None:
        """The file a download leaves in the cache folder."""
        return Archive(file=f"{self.name}-openml.npz", extras=("missing",)) if self.openml else None


class Samples(NamedTuple):
    """Points as rows, labels from 0, and the (row, column) of every unknown value."""

    X: Floats
    y: Integers
    missing: Integers


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with their true labels.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Samples as rows, float64.
    y : ndarray of shape (n_samples,)
        True classes, 0 to ``n_clusters - 1``.
    name : str
        Name in the registry.
    n_clusters : int
        Number of classes.
    info : DatasetInfo
        Source, terms and notes.
    missing : ndarray of shape (n_missing, 2)
        Row and column of every unknown value; such values are 0 before scaling.

    Examples
    --------
    >>> from afcm.datasets import load_dataset
    >>> iris = load_dataset("iris")
    >>> iris.X.shape, iris.n_clusters, len(iris.missing)
    ((150, 4), 3, 0)
    """

    X: Floats = field(repr=False)
    y: Integers = field(repr=False)
    name: str
    n_clusters: int
    info: DatasetInfo = field(repr=False)
    missing: Integers = field(repr=False)


def as_samples(points: Any, labels: Any, missing: Any, info: DatasetInfo) -> Samples:
    """Bring arrays to their final types, refusing what `info` does not describe.

    Labels become 0, 1, … in the sorted order of the given ones.
    """
    X = np.ascontiguousarray(points, dtype=np.float64)
    classes, y = np.unique(labels, return_inverse=True)
    unknown = np.asarray(missing, dtype=np.int64).reshape(-1, 2)
    for fact, found, expected in (
        ("the shape of X", X.shape, info.shape),
        ("the shape of y", y.shape, (info.n_samples,)),
        ("the number of classes in y", len(classes), info.n_clusters),
    ):
        if found != expected:
            raise ValueError(f"{fact} is {found}, expected {expected}")
    if not np.isfinite(X).all():
        raise ValueError("X holds NaN or infinite values")
    if ((unknown < 0) | (unknown >= info.shape)).any():
        raise ValueError(f"missing points outside the shape {info.shape}")
    return Samples(X, y.astype(np.int64), unknown)
