"""The tables of docs/trust.md, from outcomes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from trust import verdicts
from trust.cases import Case
from trust.running import Outcome
from trust.subjects import Subject

# What the classes of cases are, in the words of the table.
KINDS = {
    "control": "Three clear clusters",
    "scale": "Another unit",
    "offset": "Far from the origin",
    "duplicates": "Equal and nearly equal samples",
    "shape": "Few or many columns",
    "n and c": "Numbers of samples and clusters",
    "outlier": "One sample far away (c = 4)",
    "dtype": "Types of numbers",
    "layout": "Layouts in memory",
    "sparse": "Sparse matrices",
    "table": "Data frames",
    "missing": "Missing and infinite values",
    "not numbers": "No numbers",
    "not a table": "No table",
    "parameters": "Parameters",
    "starts": "Memberships to start from",
    "weights": "Weights of samples",
    "new samples": "Samples to predict",
}
COLUMNS = (
    (verdicts.RIGHT, (verdicts.RIGHT, verdicts.FITS)),
    ("clear error", (verdicts.REFUSED,)),
    ("says so", (verdicts.WARNED,)),
    ("unclear error", (verdicts.UNCLEAR,)),
    ("foreign warning", (verdicts.NOISE,)),
    ("crash or hang", (verdicts.CRASH, verdicts.HANG)),
    ("**silent failure**", verdicts.SILENT),
)


def summary(tried: dict[Subject, tuple[str, list[Outcome]]]) -> str:
    """One row a clusterer: how often each verdict."""
    lines = [row(["clusterer", "version", "cases", *(name for name, _ in COLUMNS)]), row(["---"] * (3 + len(COLUMNS)))]
    for subject, (version, outcomes) in tried.items():
        counts = Counter(outcome.verdict for outcome in outcomes)
        cases = len(outcomes) - counts[verdicts.NO_SUCH] - counts[verdicts.NOT_INSTALLED]
        numbers = [str(sum(counts[verdict] for verdict in group)) for _, group in COLUMNS]
        cells = [str(cases), *numbers] if version else ["not installed", *[""] * len(COLUMNS)]
        lines.append(row([subject.name, f"{subject.distribution} {version}" if version else "", *cells]))
    return "\n".join(lines)


def details(tried: dict[Subject, tuple[str, list[Outcome]]]) -> str:
    """One row a case, class by class: ours together, then each peer."""
    peers = [subject for subject in tried if not subject.ours]
    lines = [row(["case", "afcm", *(peer.name for peer in peers)]), row(["---"] * (2 + len(peers)))]
    by_case = {
        subject: {outcome.case.name: outcome for outcome in outcomes} for subject, (_, outcomes) in tried.items()
    }
    cases = [outcome.case for outcome in next(iter(tried.values()))[1]]
    for kind, title in KINDS.items():
        some = [case for case in cases if case.kind == kind]
        if some:
            lines.append(row([f"**{title}**", *[""] * (1 + len(peers))]))
        for case in some:
            ours = [by_case[subject][case.name] for subject in tried if subject.ours]
            cells = [in_words(by_case[peer][case.name].verdict) for peer in peers]
            lines.append(row([case.name, together(ours), *cells]))
    return "\n".join(lines)


def ours_of(case: Case, outcomes: Iterable[Outcome]) -> str:
    """The cell of our estimators for a case."""
    return together([outcome for outcome in outcomes if outcome.case.name == case.name])


def together(outcomes: list[Outcome]) -> str:
    """``right``, or ``7 right, 3 clear error`` where they differ."""
    counts = Counter(in_words(outcome.verdict) for outcome in outcomes if outcome.verdict != verdicts.NO_SUCH)
    if len(counts) <= 1:
        return next(iter(counts), verdicts.NO_SUCH)
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())


def in_words(verdict: str) -> str:
    """A verdict as the table shows it; what nobody would notice stands out."""
    words = {verdicts.REFUSED: "clear error", verdicts.WARNED: "says so", verdicts.NOISE: "foreign warning"}
    return f"**{verdict}**" if verdict in verdicts.SILENT else words.get(verdict, verdict)


def row(cells: list[str]) -> str:
    """A line of a Markdown table."""
    return f"| {' | '.join(cell.replace('|', ' ') for cell in cells)} |"


def put(path: Path, name: str, text: str) -> None:
    """Replace what stands between ``<!-- name -->`` and ``<!-- /name -->``."""
    page = path.read_text()
    pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(name)} -->)", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"{path} has no markers <!-- {name} --> and <!-- /{name} -->")
    path.write_text(pattern.sub(lambda found: f"{found[1]}{text}\n{found[2]}", page))
