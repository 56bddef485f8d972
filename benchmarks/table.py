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

from benchmarks.measuring import measure

N_ROWS, N_COLUMNS, N_CLUSTERS = 1_000_000, 16, 10
CHUNK = 100_000


def write_blobs(path: Path, n_rows: int) -> None:
    """Overlapping Gaussians as text with six decimals, as tables have them."""
    rng = np.random.default_rng(1)
    centers = 2 * rng.standard_normal((N_CLUSTERS, N_COLUMNS))
    with open(path, "w") as file:
        file.write(",".join(f"x{j}" for j in range(N_COLUMNS)) + "\n")
        for start in range(0, n_rows, CHUNK):
            count = min(CHUNK, n_rows - start)
            X = centers[rng.integers(N_CLUSTERS, size=count)] + rng.standard_normal((count, N_COLUMNS))
            np.savetxt(file, X, delimiter=",", fmt="%.6f")


def command(arguments: list[str]) -> dict[str, Any]:
    """The command in this process; what it prints as JSON."""
    from typer.testing import CliRunner  # noqa: F401 - loads what the command loads, before memory is counted

    from afcm.cli import app

    printed = io.StringIO()
    with redirect_stdout(printed):
        app(arguments, standalone_mode=False)
    return json.loads(printed.getvalue())


def main(n_rows: int = N_ROWS) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "blobs.csv"
        write_blobs(source, n_rows)
        array = n_rows * N_COLUMNS * 8 / 2**20
        print(f"{source.name}: {n_rows:,} rows × {N_COLUMNS} columns, {source.stat().st_size / 2**20:.0f} MB")
        print(f"{'written as':<12}{'fit s':>8}{'all s':>8}{'ratio':>8}{'MB':>8}{'of array':>10}")
        for ending in ("csv", "parquet"):
            out = Path(folder) / f"result.{ending}"
            options = ["--method", "PlainAFCM", "--clusters", str(N_CLUSTERS), "--out", str(out), "--json"]
            result = measure(command, ["fit", str(source), *options])
            fit, whole = result.value["fit_seconds"], result.value["seconds"]
            print(
                f"{ending:<12}{fit:>8.1f}{whole:>8.1f}{whole / fit:>8.2f}{result.megabytes:>8.0f}"
                f"{result.megabytes / array:>10.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
