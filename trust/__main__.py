"""Try bad input and faults of the machine, print the tables and write them to docs/trust."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from datetime import date
from pathlib import Path

from trust import faults, running, table, verdicts
from trust.cases import Case, all_cases
from trust.pages import format_table, read_rows, write_page
from trust.subjects import Subject, all_subjects

COMMAND = "`make trust`"


def main(arguments: list[str]) -> int:
    """Run what is asked for; 1 if one of our own clusterers fails silently or a fault is not survived."""
    parser = argparse.ArgumentParser(prog="python -m trust", description=__doc__)
    parser.add_argument("--only", nargs="*", choices=["inputs", "faults"], default=["inputs", "faults"])
    parser.add_argument("--subject", nargs="*", help="clusterers to try (then nothing is written)")
    parser.add_argument("--kept", type=Path, help="file for every message; a run that was stopped goes on from it")
    options = parser.parse_args(arguments)
    good = True
    if not options.subject:
        write_promises()
    if "inputs" in options.only:
        good &= try_inputs(options.subject, options.kept)
    if "faults" in options.only and not options.subject:
        good &= try_faults()
    return 0 if good else 1


def try_inputs(names: list[str] | None, kept: Path | None) -> bool:
    """Give all cases to all clusterers; False if one of ours fails."""
    cases, tried = all_cases(), {}
    before = read_kept(kept, cases) if kept else {}
    for subject in all_subjects():
        if not names or subject.name in names:
            print(f"{subject.name} …", file=sys.stderr, flush=True)
            tried[subject] = before.get(subject.name) or running.run(subject, cases)
            if kept and tried[subject][0] and subject.name not in before:
                keep(kept, subject, *tried[subject])
    write_inputs(tried, write=not names)
    bad = [
        (subject.name, outcome.case.name, outcome.verdict, outcome.words)
        for subject, (_, outcomes) in tried.items()
        for outcome in outcomes
        if subject.ours and outcome.verdict in (*verdicts.SILENT, *verdicts.LOUD, verdicts.NOT_INSTALLED)
    ]
    for line in bad:
        print("ours failed:", *line, sep=" | ", file=sys.stderr)
    return not bad


def write_inputs(tried: table.Tried, *, write: bool = True) -> None:
    """Print the two tables and write them; peers that are not installed keep what was committed."""
    summary = table.summarize(tried, read_rows("summary"))
    cases = table.list_cases(tried, read_rows("cases"))
    print(summary, cases, sep="\n\n")
    made = f"{COMMAND} with Python {platform.python_version()} on {date.today():%d %B %Y}"
    missing = ", ".join(peer.name for peer in table.missing_peers(tried))
    if missing:
        print(f"not installed here, kept as committed: {missing}")
        made += f" ({missing}: not installed there, so kept from an earlier run)"
    if write:
        write_page("summary", made, summary)
        write_page("cases", made, cases)


def keep(path: Path, subject: Subject, version: str, outcomes: list[running.Outcome]) -> None:
    """Append every message to a file, to be read, and for a run that goes on."""
    with path.open("a") as file:
        for each in outcomes:
            content = {"subject": subject.name, "version": version, "case": each.case.name}
            print(json.dumps(content | {"verdict": each.verdict, "words": each.words}, ensure_ascii=False), file=file)


def read_kept(path: Path, cases: list[Case]) -> dict[str, tuple[str, list[running.Outcome]]]:
    """Read the clusterers whose every case was kept by an earlier run."""
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


def write_promises() -> None:
    """Write the table of what `tests/properties` holds every estimator to."""
    from tests.properties.promises import CHANGES, PROMISES

    rows = [
        [name, *(f"– ({promise.but[each]})" if each in promise.but else "✓" for each in CHANGES)]
        for name, promise in PROMISES.items()
    ]
    write_page("promises", COMMAND, format_table(["estimator", *CHANGES], rows))


def try_faults() -> bool:
    """Run the tests of all faults and write their table; False if one fails."""
    rows = []
    for fault in faults.FAULTS:
        print(f"{fault.name} …", file=sys.stderr, flush=True)
        rows.append([fault.name, fault.happens, faults.check(fault)])
    text = format_table(["fault", "what happens", "tests"], rows)
    print(text)
    write_page("faults", COMMAND, text)
    return "FAILED" not in text and "no such test" not in text


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
