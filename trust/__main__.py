"""Try everything, print the tables and write them into docs/trust.md."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from datetime import date
from pathlib import Path

from trust import faults, running, table, verdicts
from trust.cases import Case, all_cases
from trust.subjects import SUBJECTS, Subject

PAGE = running.ROOT / "docs" / "trust.md"


def main(arguments: list[str]) -> int:
    """Run what was asked for; 1 if one of our own clusterers failed silently or a fault was not survived."""
    parser = argparse.ArgumentParser(prog="python -m trust", description=__doc__)
    parser.add_argument("--only", nargs="*", choices=["inputs", "faults"], default=["inputs", "faults"])
    parser.add_argument("--subject", nargs="*", help="clusterers to try (then nothing is written)")
    parser.add_argument("--kept", type=Path, help="file for every message; a run that was stopped goes on from it")
    options = parser.parse_args(arguments)
    good = True
    promises()
    if "inputs" in options.only:
        good &= inputs(options.subject, options.kept)
    if "faults" in options.only and not options.subject:
        good &= machine()
    return 0 if good else 1


def inputs(names: list[str] | None, kept: Path | None) -> bool:
    """All cases for all clusterers."""
    cases, tried = all_cases(), {}
    before = read_kept(kept, cases) if kept else {}
    for subject in SUBJECTS:
        if not names or subject.name in names:
            print(f"{subject.name} …", file=sys.stderr, flush=True)
            tried[subject] = before.get(subject.name) or running.run(subject, cases)
            if kept and subject.name not in before:
                keep(kept, subject, *tried[subject])
    print(table.summary(tried), table.details(tried), sep="\n\n")
    if not names:
        made = f"Made by `make trust` with Python {platform.python_version()} on {date.today():%d %B %Y}."
        table.put(PAGE, "summary", f"{table.summary(tried)}\n\n{made}")
        table.put(PAGE, "cases", table.details(tried))
    bad = [
        (subject.name, outcome.case.name, outcome.verdict, outcome.words)
        for subject, (_, outcomes) in tried.items()
        for outcome in outcomes
        if subject.ours and outcome.verdict in (*verdicts.SILENT, *verdicts.LOUD)
    ]
    for line in bad:
        print("ours failed:", *line, sep=" | ", file=sys.stderr)
    return not bad


def keep(path: Path, subject: Subject, version: str, outcomes: list[running.Outcome]) -> None:
    """Every message, for whoever wants to read them, and for a run that goes on."""
    with path.open("a") as file:
        for each in outcomes:
            content = {"subject": subject.name, "version": version, "case": each.case.name}
            print(json.dumps(content | {"verdict": each.verdict, "words": each.words}, ensure_ascii=False), file=file)


def read_kept(path: Path, cases: list[Case]) -> dict[str, tuple[str, list[running.Outcome]]]:
    """The clusterers whose every case was kept by an earlier run."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        content = json.loads(line)
        found.setdefault(content["subject"], {})[content["case"]] = content
    whole = {name: lines for name, lines in found.items() if {case.name for case in cases} <= set(lines)}
    return {
        name: (
            lines[cases[0].name]["version"],
            [running.Outcome(case, lines[case.name]["verdict"], lines[case.name]["words"]) for case in cases],
        )
        for name, lines in whole.items()
    }


def promises() -> None:
    """What `tests/properties` holds every estimator to."""
    from tests.properties.promises import CHANGES, PROMISES

    lines = [table.row(["estimator", *CHANGES]), table.row(["---"] * (1 + len(CHANGES)))]
    for name, promise in PROMISES.items():
        lines.append(
            table.row([name, *(f"– ({promise.but[each]})" if each in promise.but else "✓" for each in CHANGES)])
        )
    table.put(PAGE, "promises", "\n".join(lines))


def machine() -> bool:
    """All faults."""
    lines = [table.row(["fault", "what happens", "tests"]), table.row(["---"] * 3)]
    for fault in faults.FAULTS:
        print(f"{fault.name} …", file=sys.stderr, flush=True)
        lines.append(table.row([fault.name, fault.happens, faults.check(fault)]))
    text = "\n".join(lines)
    print(text)
    table.put(PAGE, "faults", text)
    return "FAILED" not in text and "no such test" not in text


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
