"""Versions, coverage and advisories: ``python -m trust.habits lowest|coverage|audit`` runs one and writes it down.

The results are kept in ``out`` and make docs/trust/versions.md together, so that each can be run again alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from trust.lowest import pins
from trust.pages import ROOT, format_table, page_path, write_page

KEPT = ROOT / "out" / "habits"
# Other libraries' array API support must be on before scikit-learn 1.6 lists its checks of estimators.
OLDER = {"SCIPY_ARRAY_API": "1"}
# Modules of which less than this share runs are named.
WELL_COVERED = 95.0


def run_lowest(python: str) -> dict[str, Any]:
    """Run the tests with the lowest versions that are promised."""
    log = KEPT / "lowest.xml"
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={log}"]
    subprocess.run(command, check=False, cwd=ROOT, env={**os.environ, **OLDER})
    suite = ElementTree.parse(log).getroot()[0]
    counts = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    return {**counts, "seconds": float(suite.get("time", "nan")), "pins": pins(["test", "dask"])}


def count_lines(python: str) -> dict[str, Any]:
    """Count the lines that the tests run, from ``.coverage``."""
    log = KEPT / "lines.json"
    subprocess.run([python, "-m", "coverage", "json", "-q", "-o", str(log)], check=True, cwd=ROOT)
    found = json.loads(log.read_text())
    poor = {
        name: [summary["percent_covered"], summary["missing_lines"]]
        for name, summary in ((name, file["summary"]) for name, file in found["files"].items())
        if summary["percent_covered"] < WELL_COVERED
    }
    return {"total": found["totals"]["percent_covered"], "lines": found["totals"]["num_statements"], "poor": poor}


def audit(python: str) -> dict[str, Any]:
    """Ask for known weaknesses of what is installed, if the service that knows them can be reached."""
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


def describe_lowest(found: dict[str, Any]) -> str:
    good = found["tests"] - found["failures"] - found["errors"] - found["skipped"]
    bad = found["failures"] + found["errors"]
    return (
        f"`make lowest`: {good} tests pass, {bad} fail, {found['skipped']} are skipped with the lowest versions that "
        f"`pyproject.toml` promises: {', '.join(found['pins'])}."
    )


def describe_coverage(found: dict[str, Any]) -> str:
    worst = sorted(found["poor"].items(), key=lambda item: item[1][0])
    rows = [[f"`{name}`", f"{share:.1f} %", str(missing)] for name, (share, missing) in worst]
    poor = format_table(["less than 95 %", "covered", "statements not run"], rows, numbers=True)
    return f"`make coverage`: the tests run {found['total']:.1f} % of {found['lines']} statements.\n\n{poor}"


def describe_audit(found: dict[str, Any]) -> str:
    if not found["known"]:
        return f"`make audit`: nothing was audited where this page was made ({found['said']}); run it with a network."
    weak = ", ".join(f"{name} ({', '.join(ids)})" for name, ids in found["weak"].items()) or "none"
    unknown = f" ({found['unknown']} more are not known to the service)" if found["unknown"] else ""
    return f"`make audit`: {found['known']} installed packages{unknown}, known weaknesses: {weak}."


HABITS: dict[str, tuple[Callable[[str], Any], Callable[[Any], str]]] = {
    "lowest": (run_lowest, describe_lowest),
    "audit": (audit, describe_audit),
    "coverage": (count_lines, describe_coverage),
}


def is_bad(found: dict[str, Any]) -> bool:
    """Tests that fail, or known weaknesses."""
    return bool(found.get("failures") or found.get("errors") or found.get("weak"))


def write_versions() -> None:
    """Write docs/trust/versions.md from the results in ``out``; a habit without one keeps what was committed."""
    before = page_path("versions").read_text(encoding="utf-8") if page_path("versions").exists() else ""
    paragraphs = []
    for name, (_, describe) in HABITS.items():
        file = KEPT / f"{name}.json"
        paragraphs.append(describe(json.loads(file.read_text())) if file.exists() else paragraph_of(name, before))
    write_page("versions", "`make lowest`, `make audit` and `make coverage`", "\n\n".join(filter(None, paragraphs)))


def paragraph_of(name: str, page: str) -> str:
    """Part of the page that begins with `make NAME`, up to that of the next command."""
    parts = re.split(r"\n(?=`make )", page)
    return next((part.strip() for part in parts if part.startswith(f"`make {name}`:")), "")


def main() -> None:
    """``python -m trust.habits lowest --python .venv-lowest/bin/python``."""
    parser = argparse.ArgumentParser(description="versions, coverage, advisories")
    parser.add_argument("habit", choices=HABITS)
    parser.add_argument("--python", default=sys.executable, help="of the environment to look at")
    given = parser.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    found = HABITS[given.habit][0](given.python)
    (KEPT / f"{given.habit}.json").write_text(json.dumps(found))
    print(HABITS[given.habit][1](found))
    write_versions()
    sys.exit(is_bad(found))


if __name__ == "__main__":
    main()
