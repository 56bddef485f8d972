"""``afcm fit`` on a CSV file of a million rows: the whole command against the fit in it, and its memory.

``make bench NAME=table``. Memory is resident memory at its peak over that before the file is opened (Python and its
libraries loaded), in sizes of the file's array in float64.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import PeakMemory, measure

N_ROWS, N_COLUMNS, N_CLUSTERS = 1_000_000, 16, 10
CHUNK = 100_000


def write_blobs(path: Path, n_rows: int) -> None:
    """Write overlapping Gaussians as text with six decimals."""
    rng = np.random.default_rng(1)
    centers = 2 * rng.standard_normal((N_CLUSTERS, N_COLUMNS))
    with open(path, "w") as file:
        file.write(",".join(f"x{j}" for j in range(N_COLUMNS)) + "\n")
        for start in range(0, n_rows, CHUNK):
            count = min(CHUNK, n_rows - start)
            X = centers[rng.integers(N_CLUSTERS, size=count)] + rng.standard_normal((count, N_COLUMNS))
            np.savetxt(file, X, delimiter=",", fmt="%.6f")


def run_command(arguments: list[str], small: str) -> tuple[dict[str, Any], float]:
    """Run the command in this process, first on a small file that loads all libraries; its JSON, and its MB."""
    from afcm.cli import app
    from afcm.compiled.centers import NumbaPass

    NumbaPass(np.ones((9, 3)), None)(np.ones((2, 3)), 1.0)
    with redirect_stdout(io.StringIO()):
        app(["fit", small, "--clusters", "2", "--method", "PlainAFCM", "--json"], standalone_mode=False)
    printed = io.StringIO()
    with redirect_stdout(printed), PeakMemory() as memory:
        app(arguments, standalone_mode=False)
    return json.loads(printed.getvalue()), memory.peak - memory.before


def main(n_rows: int = N_ROWS) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "blobs.csv"
        write_blobs(source, n_rows)
        small = Path(folder) / "small.csv"
        write_blobs(small, 100)
        array = n_rows * N_COLUMNS * 8 / 2**20
        print(f"{source.name}: {n_rows:,} rows × {N_COLUMNS} columns, {source.stat().st_size / 2**20:.0f} MB")
        print(f"{'written as':<12}{'fit s':>8}{'all s':>8}{'ratio':>8}{'MB':>8}{'of array':>10}")
        for ending in ("csv", "parquet"):
            out = Path(folder) / f"result.{ending}"
            options = ["--method", "PlainAFCM", "--clusters", str(N_CLUSTERS), "--out", str(out), "--json"]
            found, megabytes = measure(run_command, ["fit", str(source), *options], str(small)).value
            fit, whole = found["fit_seconds"], found["seconds"]
            print(
                f"{ending:<12}{fit:>8.1f}{whole:>8.1f}{whole / fit:>8.2f}{megabytes:>8.0f}{megabytes / array:>10.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
