"""How long `import afcm` takes beside `import sklearn.cluster`."""

from __future__ import annotations

import subprocess
import sys

STATEMENTS = ("import sklearn.cluster", "import afcm", "from afcm import AFCM, PlainAFCM, FCM")
REPEATS = 9
OPTIONAL = ("numba", "torch", "dask", "matplotlib", "pandas", "pyarrow", "jinja2", "typer", "rich", "faiss")


def time_import(statement):
    """Seconds in the fastest of some new processes, and the optional packages it loaded."""
    code = (
        f"import sys, time; began = time.perf_counter(); {statement}; print(time.perf_counter() - began, "
        f"*(name for name in {OPTIONAL} if name in sys.modules))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(REPEATS)
    ]
    words = [run.stdout.split() for run in runs]
    return min(float(line[0]) for line in words), words[0][1:]


def main() -> None:
    reference = None
    for statement in STATEMENTS:
        took, loaded = time_import(statement)
        reference = reference or took
        optional = ", ".join(loaded) or "none"
        print(f"{statement:<42}{took:>6.2f} s, {took / reference:.2f} times; optional packages loaded: {optional}")


if __name__ == "__main__":
    main()
