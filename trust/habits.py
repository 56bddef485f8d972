"""Versions, coverage and advisories: ``python -m trust.habits lowest|coverage|audit`` runs one and writes it down.

The results are kept in ``out`` and make the section of docs/trust.md together, so that each can be run again alone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from trust.lowest import pins
from trust.table import put, row

ROOT = Path(__file__).parents[1]
PAGE, KEPT = ROOT / "docs" / "trust.md", ROOT / "out" / "habits"
# Other libraries' array API support must be on before scikit-learn 1.6 lists its checks of estimators.
OLDER = {"SCIPY_ARRAY_API": "1"}
# Modules of which less than this share runs are named.
WELL_COVERED = 95.0


def lowest(python: str) -> dict[str, Any]:
    """The tests with the lowest versions that are promised."""
    told = KEPT / "lowest.xml"
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={told}"]
    subprocess.run(command, check=False, cwd=ROOT, env={**os.environ, **OLDER})
    suite = ElementTree.parse(told).getroot()[0]
    counts = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    return {**counts, "seconds": float(suite.get("time", "nan")), "pins": pins(["test", "dask"])}


def coverage(python: str) -> dict[str, Any]:
    """The lines that the tests run, from ``.coverage``."""
    told = KEPT / "lines.json"
    subprocess.run([python, "-m", "coverage", "json", "-q", "-o", str(told)], check=True, cwd=ROOT)
    found = json.loads(told.read_text())
    poor = {
        name: [summary["percent_covered"], summary["missing_lines"]]
        for name, summary in ((name, file["summary"]) for name, file in found["files"].items())
        if summary["percent_covered"] < WELL_COVERED
    }
    return {"total": found["totals"]["percent_covered"], "lines": found["totals"]["num_statements"], "poor": poor}


def audit(python: str) -> dict[str, Any]:
    """Known weaknesses of what is installed, if the service that knows them can be reached."""
    command = [python, "-m", "pip_audit", "--local", "--skip-editable", "--format", "json", "--progress-spinner", "off"]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=300)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"known": 0, "unknown": 0, "weak": {}, "said": last.split(":")[0][:120]}
    # pip-audit calls a package that its service does not know skipped, and an audit of nothing but such a success.
    known = [package for package in packages if "vulns" in package]
    weak = {package["name"]: [fault["id"] for fault in package["vulns"]] for package in known if package["vulns"]}
    said = "the advisory service could not be reached, or knows none of the packages"
    return {"known": len(known), "unknown": len(packages) - len(known), "weak": weak, "said": said}


def told_lowest(found: dict[str, Any]) -> list[str]:
    """In words."""
    good = found["tests"] - found["failures"] - found["errors"] - found["skipped"]
    bad = found["failures"] + found["errors"]
    return [
        f"`make lowest`: {good} tests pass, {bad} fail, {found['skipped']} are skipped with the lowest versions that "
        f"`pyproject.toml` promises: {', '.join(found['pins'])}."
    ]


def told_coverage(found: dict[str, Any]) -> list[str]:
    """In words and a table."""
    lines = [f"`make coverage`: the tests run {found['total']:.1f} % of {found['lines']} statements.", ""]
    lines += [row(["less than 95 %", "covered", "statements not run"]), row(["---", "---:", "---:"])]
    worst = sorted(found["poor"].items(), key=lambda item: item[1][0])
    return lines + [row([f"`{name}`", f"{share:.1f} %", str(missing)]) for name, (share, missing) in worst]


def told_audit(found: dict[str, Any]) -> list[str]:
    """In words."""
    if not found["known"]:
        return [f"`make audit`: nothing was audited where this page was made ({found['said']}); run it with a network."]
    weak = ", ".join(f"{name} ({', '.join(ids)})" for name, ids in found["weak"].items()) or "none"
    unknown = f" ({found['unknown']} more are not known to the service)" if found["unknown"] else ""
    return [f"`make audit`: {found['known']} installed packages{unknown}, known weaknesses: {weak}."]


HABITS: dict[str, tuple[Callable[[str], Any], Callable[[Any], list[str]]]] = {
    "lowest": (lowest, told_lowest),
    "audit": (audit, told_audit),
    "coverage": (coverage, told_coverage),
}


def is_bad(found: dict[str, Any]) -> bool:
    """Tests that fail, or known weaknesses."""
    return bool(found.get("failures") or found.get("errors") or found.get("weak"))


def main() -> None:
    """``python -m trust.habits lowest --python .venv-lowest/bin/python``."""
    parser = argparse.ArgumentParser(description="versions, coverage, advisories")
    parser.add_argument("habit", choices=HABITS)
    parser.add_argument("--python", default=sys.executable, help="of the environment to look at")
    given = parser.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    found = HABITS[given.habit][0](given.python)
    (KEPT / f"{given.habit}.json").write_text(json.dumps(found))
    paragraphs = []
    for name, (_, tell) in HABITS.items():
        if (KEPT / f"{name}.json").exists():
            paragraphs += [*tell(json.loads((KEPT / f"{name}.json").read_text())), ""]
    print("\n".join(HABITS[given.habit][1](found)))
    put(PAGE, "versions", "\n".join(paragraphs).strip())
    sys.exit(is_bad(found))


if __name__ == "__main__":
    main()
