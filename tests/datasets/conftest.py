import os
from pathlib import Path

import pytest

from tests.datasets.tiny import TINY, archive, arrays

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
    return TINY


@pytest.fixture
def tiny_arrays():
    return arrays()


@pytest.fixture
def tiny_file(tmp_path):
    path = tmp_path / TINY.archive.file
    path.write_bytes(archive())
    return path
