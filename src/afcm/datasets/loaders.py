"""Load a data set by name from an archive in a folder, from scikit-learn, or by a download."""

import os
import sys
import warnings
from http.client import HTTPException
from pathlib import Path
from typing import Literal

import numpy as np

from afcm._typing import Floats
from afcm._util.messages import warn_user
from afcm.datasets.archives import read_archive, write_archive
from afcm.datasets.records import Dataset, DatasetInfo, DatasetNotFound, Samples, as_samples
from afcm.datasets.registry import dataset_info

FOLDER_VARIABLE = "AFCM_DATA"
# OSError: no network; ValueError: scikit-learn's own errors (unknown set, wrong MD5) and wrong shapes.
DOWNLOAD_ERRORS = (OSError, ValueError, HTTPException)


def load_dataset(
    name: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    scale: Literal["minmax"] | None = None,
    download: bool = True,
    verify: bool = True,
) -> Dataset:
    """Load one of the paper's data sets.

    Parameters
    ----------
    name : str
        A name or alias of `list_datasets`; case, blanks, dashes and underscores do not matter.
    folder : path-like, default=None
        Folder with the archive. It is looked for in `folder`, then in the folder the environment variable
        ``AFCM_DATA`` names, then in the cache folder (``~/.cache/afcm`` on Linux). Iris needs none.
    scale : {"minmax"} or None, default=None
        None returns the values as they are; "minmax" maps every feature to [0, 1] as the paper does
        (a constant feature becomes 0).
    download : bool, default=True
        Download a set that is in no folder, where scikit-learn can, and keep it in the cache folder.
    verify : bool, default=True
        Compare the archive's SHA-256 with the registry. With False a file you made yourself is accepted;
        its shapes are still checked.

    Returns
    -------
    Dataset
        With attributes ``X``, ``y``, ``name``, ``n_clusters``, ``info`` and ``missing``.

    Raises
    ------
    ValueError
        If `name` or `scale` is unknown.
    DatasetNotFound
        If the archive is in no folder and could not be downloaded.
    DatasetCorrupt
        If the archive is not the one the registry describes.

    Notes
    -----
    "breast" has the nine features. The paper's table says 699×10, which is the same file with the patient
    number as a feature: load that as "breast-id". An identifier says nothing about the tumor, k-means makes
    the same errors with and without it, and with it the neighbor graph of 5 neighbors falls apart.
    The 16 unknown values are 0 in both, and listed in ``missing``.

    Examples
    --------
    >>> from afcm.datasets import load_dataset
    >>> iris = load_dataset("Iris", scale="minmax")
    >>> iris
    Dataset(name='iris', n_clusters=3)
    >>> iris.X.shape, float(iris.X.min()), float(iris.X.max())
    ((150, 4), 0.0, 1.0)
    """
    info = dataset_info(name)
    if scale not in (None, "minmax"):
        raise ValueError(f'scale={scale!r} is unknown; use "minmax", or None for the values as they are')
    samples = _load_iris(info) if info.archive is None else _read_or_download(info, folder, download, verify)
    X = scale_to_unit(samples.X) if scale == "minmax" else samples.X
    return Dataset(X, samples.y, info.name, info.n_clusters, info, samples.missing)


def scale_to_unit(X: Floats) -> Floats:
    """Map every column to [0, 1], as the paper does; a constant column becomes 0."""
    low, span = X.min(axis=0), np.ptp(X, axis=0)
    scaled: Floats = (X - low) / np.where(span > 0, span, 1.0)
    return scaled


def _load_iris(info: DatasetInfo) -> Samples:
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    return as_samples(X, y, np.empty((0, 2)), info)


def find_cache_folder() -> Path:
    """Return the folder for downloads, where the platform keeps such things: ``~/.cache/afcm`` on Linux."""
    roots = {"darwin": "~/Library/Caches", "win32": os.environ.get("LOCALAPPDATA") or "~/AppData/Local"}
    root = roots.get(sys.platform, os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return Path(root).expanduser() / "afcm"


def list_folders(folder: str | os.PathLike[str] | None) -> dict[str, Path]:
    """Return the folders to look in, in their order, each under the setting it came from."""
    variable = os.environ.get(FOLDER_VARIABLE) or None
    settings = {"folder": folder, FOLDER_VARIABLE: variable, "cache": find_cache_folder()}
    return {setting: Path(value).expanduser() for setting, value in settings.items() if value is not None}


def _read_or_download(
    info: DatasetInfo, folder: str | os.PathLike[str] | None, download: bool, verify: bool
) -> Samples:
    folders = list_folders(folder)
    for archive in filter(None, (info.archive, info.downloaded_copy)):
        for path in (folder / archive.file for folder in folders.values()):
            if path.is_file():
                return read_archive(path, archive, info, verify=verify)
    missing = _describe_search(info, folders, download)
    if info.downloaded_copy is None or not download:
        raise DatasetNotFound(missing)
    try:
        samples = download_samples(info)
    except DOWNLOAD_ERRORS as error:
        raise DatasetNotFound(f"{missing}\nThe download failed: {error}") from error
    path = find_cache_folder() / info.downloaded_copy.file
    try:
        write_archive(path, samples)
    except OSError as error:  # a folder that cannot be written to costs a warning, not the data
        warn_user(f"the download was not kept in {path}: {error}; it is fetched again next time", UserWarning)
    return samples


def download_samples(info: DatasetInfo) -> Samples:
    """Download the samples of `info` from openml.org; unknown values become 0 and are listed."""
    from sklearn.datasets import fetch_openml

    if info.openml is None:
        raise ValueError(f"{info.name} has no public download that scikit-learn knows")
    name, version = info.openml
    with warnings.catch_warnings():
        # A retry is no news; if it fails as well, the error says so.
        warnings.filterwarnings("ignore", message="A network error occurred", category=UserWarning)
        more = {"parser": "liac-arff", "cache": False, "n_retries": 1, "delay": 0.5}
        bunch = fetch_openml(name=name, version=version, as_frame=False, **more)
    points = np.asarray(bunch.data, dtype=np.float64)
    unknown = np.isnan(points)
    return as_samples(np.where(unknown, 0.0, points), bunch.target, np.argwhere(unknown), info)


def _describe_search(info: DatasetInfo, folders: dict[str, Path], download: bool) -> str:
    file = info.archive.file if info.archive else ""
    looked = "\n".join(f"  {path} ({setting})" for setting, path in folders.items())
    hint = "" if download or info.openml is None else ", or pass download=True"
    return (
        f"data set {info.name!r} not found: no file {file!r} in\n{looked}\n"
        f"Get it from {info.source}, and give its folder as folder= or in the environment variable "
        f"{FOLDER_VARIABLE}{hint}."
    )
