"""Download data sets from openml.org by scikit-learn, and keep them in the cache folder."""

import warnings
from http.client import HTTPException
from pathlib import Path

import numpy as np

from afcm._util.messages import warn_user
from afcm.datasets.archives import write_archive
from afcm.datasets.records import DatasetInfo, Samples, as_samples

# OSError: no network; ValueError: scikit-learn's own errors (unknown set, wrong MD5) and wrong shapes.
DOWNLOAD_ERRORS = (OSError, ValueError, HTTPException)


def fetch(info: DatasetInfo) -> Samples:
    """Download the samples of `info`; unknown values become 0 and are listed."""
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


def keep_download(path: Path, samples: Samples) -> None:
    """Write a download to `path`; a folder that cannot be written to costs a warning, not the data."""
    try:
        write_archive(path, samples)
    except OSError as error:
        warn_user(f"the download was not kept in {path}: {error}; it is fetched again next time", UserWarning)
