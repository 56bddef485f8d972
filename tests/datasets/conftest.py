import os
from pathlib import Path

import numpy as np
import pytest

from afcm.datasets.records import Archive, DatasetInfo

REPOSITORY = Path(__file__).parents[2]
REAL_FOLDERS = [Path(os.environ["AFCM_DATA"])] if os.environ.get("AFCM_DATA") else []
REAL_FOLDERS.append(REPOSITORY.parent / "shared" / "data")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache folder; nothing of the machine's own is seen."""
    monkeypatch.delenv("AFCM_DATA", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "afcm"


@pytest.fixture
def real_folder():
    for folder in REAL_FOLDERS:
        if (folder / "usps.npz").is_file():
            return folder
    pytest.skip(f"the paper's archives are in none of {[str(folder) for folder in REAL_FOLDERS]}")


@pytest.fixture
def tiny():
    """A registry line for six samples with three columns, the first of which is no feature."""
    return DatasetInfo(
        name="tiny",
        paper_name="Tiny",
        n_samples=6,
        n_features=2,
        n_clusters=3,
        paper_shape=(6, 3),
        source="https://example.org/tiny",
        license="none",
        archive=Archive(file="tiny.npz", skip_columns=1, extras=("scale", "missing")),
    )


@pytest.fixture
def tiny_arrays():
    return {
        "X": np.arange(18, dtype=np.int16).reshape(6, 3),
        "y": np.array([5, 5, 2, 2, 9, 9], dtype=np.int8),
        "scale": np.array(2.0),
        "missing": np.array([[3, 1]], dtype=np.int16),
    }


@pytest.fixture
def tiny_file(tmp_path, tiny, tiny_arrays):
    path = tmp_path / tiny.archive.file
    np.savez_compressed(path, **tiny_arrays)
    return path
