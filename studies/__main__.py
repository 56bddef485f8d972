"""Run all studies, or those named; ``noise:cost`` is one part of a study that has parts."""

from __future__ import annotations

import argparse
import importlib
import time
import warnings
from pathlib import Path

NAMES = ("quality", "toys", "count", "calibration", "coverage", "ablation", "coupled", "literal", "cost")
NAMES += ("neighbors", "anchors", "noise", "posterior", "tables", "suite", "overlap", "counting", "small", "known")
# Where tables and figures go, if not to docs/label-free.
FOLDERS = {name: Path("docs") for name in ("noise", "posterior", "suite", "overlap", "counting", "small")}
FOLDERS |= {"tables": Path("docs/tables"), "known": Path("docs/known-labels")}


def make_parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    made.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(NAMES)}; default: all")
    made.add_argument(
        "--data", type=Path, help="folder with the archives of the paper's data sets; of suite: with benchmark sets"
    )
    made.add_argument("--out", type=Path, help="folder for tables and figures; default: that of the study in docs")
    return made


def main() -> None:
    """Run each study, which prints its table and writes it."""
    commands = make_parser()
    options = commands.parse_args()
    unknown = sorted(name for name in options.names if name.partition(":")[0] not in NAMES)
    if unknown:
        commands.error(f"unknown study {unknown}; use some of {list(NAMES)}")
    warnings.simplefilter("ignore")  # hard memberships, graphs in pieces: here they are results
    for name in options.names or NAMES:
        begin = time.perf_counter()
        print(f"\n=== {name}", flush=True)
        study, _, part = name.partition(":")
        module = importlib.import_module(f"studies.{study}")
        parts = getattr(module, "PARTS", ())
        if part and part not in parts:
            commands.error(f"unknown part {part!r} of {study}; it has {list(parts) or 'none'}")
        out = options.out or FOLDERS.get(study, Path("docs/label-free"))
        out.mkdir(parents=True, exist_ok=True)
        module.main(options.data, out, *([part] if part else []))
        print(f"({time.perf_counter() - begin:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
