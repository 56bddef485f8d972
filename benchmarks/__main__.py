"""Run all benchmarks, or those named."""

from __future__ import annotations

import importlib
import sys

NAMES = ("eigen", "spectral", "fcm", "cdkm", "table", "gpu", "sweep")
NAMES += ("neighbors", "million", "imports", "anchors", "scale", "defaults", "clusters")


def main(arguments: list[str]) -> int:
    unknown = set(arguments) - set(NAMES)
    if unknown:
        print(f"unknown benchmark {sorted(unknown)}; use some of {list(NAMES)}", file=sys.stderr)
        return 2
    for name in arguments or NAMES:
        print(f"\n=== {name}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
