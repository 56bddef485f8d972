"""The example runs as it is printed, on a cluster of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="the extra afcm[dask] is not installed")
pytest.importorskip("zarr", reason="the extra afcm[dask] is not installed")


@pytest.mark.slow
def test_the_example_runs():
    example = Path(__file__).parents[3] / "examples" / "dask_cluster.py"
    done = subprocess.run([sys.executable, example, "60000"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "3 workers" in done.stdout
    assert "agreement 1.0000" in done.stdout
    assert "labels written" in done.stdout
