"""Run all studies, or those named."""

from __future__ import annotations

import argparse
import importlib
import time
import warnings
from pathlib import Path

NAMES = ("quality", "toys", "count", "calibration", "ablation", "coupled", "literal", "cost", "anchors")


def make_parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    made.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(NAMES)}; default: all")
    made.add_argument("--data", type=Path, help="folder with the archives of the paper's data sets")
    made.add_argument("--out", type=Path, default=Path("docs/label-free"), help="folder for tables and figures")
    return made


def main() -> None:
    """Run each study, which prints its table and writes it."""
    commands = make_parser()
    options = commands.parse_args()
    unknown = sorted(set(options.names) - set(NAMES))
    if unknown:
        commands.error(f"unknown study {unknown}; use some of {list(NAMES)}")
    options.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")  # hard memberships, graphs in pieces: here they are results
    for name in options.names or NAMES:
        begin = time.perf_counter()
        print(f"\n=== {name}", flush=True)
        importlib.import_module(f"studies.{name}").main(options.data, options.out)
        print(f"({time.perf_counter() - begin:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
