"""The two tables of bad input, from outcomes: a summary of each clusterer, and all cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from trust import verdicts
from trust.cases import Case
from trust.pages import format_table
from trust.running import Outcome
from trust.subjects import Subject

# Titles of the classes of cases.
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


Tried = dict[Subject, tuple[str, list[Outcome]]]
Rows = Sequence[Sequence[str]]


def summarize(tried: Tried, committed: Rows = ()) -> str:
    """Count the verdicts, one row a clusterer; one that is not installed keeps its row of the committed table."""
    head = ["clusterer", "version", "cases", *(name for name, _ in COLUMNS)]
    before = {cells[0]: cells for cells in committed if len(cells) == len(head)}
    lines: list[Sequence[str]] = []
    for subject, (version, outcomes) in tried.items():
        counts = Counter(outcome.verdict for outcome in outcomes)
        numbers = [str(sum(counts[verdict] for verdict in group)) for _, group in COLUMNS]
        cases = str(len(outcomes) - counts[verdicts.NO_SUCH])
        absent = [subject.name, "", verdicts.NOT_INSTALLED, *[""] * len(COLUMNS)]
        now = [subject.name, f"{subject.distribution} {version}", cases, *numbers]
        lines.append(now if version else before.get(subject.name, absent))
    return format_table(head, lines)


def list_cases(tried: Tried, committed: Rows = ()) -> str:
    """One row a case, class by class: ours together, then each peer.

    The column of a peer that is not installed is that of the committed table.
    """
    peers = [subject for subject in tried if not subject.ours]
    before = read_cells(committed)
    by_case = {
        subject: {outcome.case.name: outcome for outcome in outcomes} for subject, (_, outcomes) in tried.items()
    }
    cases = [outcome.case for outcome in next(iter(tried.values()))[1]]
    lines = []
    for kind, title in KINDS.items():
        some = [case for case in cases if case.kind == kind]
        if some:
            lines.append([f"**{title}**", *[""] * (1 + len(peers))])
        for case in some:
            ours = [by_case[subject][case.name] for subject in tried if subject.ours]
            cells = {peer: in_words(by_case[peer][case.name].verdict) for peer in peers}
            for peer in missing_peers(tried):
                cells[peer] = before.get((case.name, peer.name), verdicts.NOT_INSTALLED)
            lines.append([case.name, together(ours), *cells.values()])
    return format_table(["case", "afcm", *(peer.name for peer in peers)], lines)


def missing_peers(tried: Tried) -> list[Subject]:
    """Peers without a version: their packages are not installed."""
    return [subject for subject, (version, _) in tried.items() if not version and not subject.ours]


def read_cells(rows: Rows) -> dict[tuple[str, str], str]:
    """Cells of a table by the names of their row and column."""
    if not rows:
        return {}
    return {(cells[0], name): cell for cells in rows[1:] for name, cell in zip(rows[0], cells, strict=False)}


def ours_of(case: Case, outcomes: Iterable[Outcome]) -> str:
    """Cell of our estimators for a case."""
    return together([outcome for outcome in outcomes if outcome.case.name == case.name])


def together(outcomes: list[Outcome]) -> str:
    """``right``, or ``7 right, 3 clear error`` if they differ."""
    counts = Counter(in_words(outcome.verdict) for outcome in outcomes if outcome.verdict != verdicts.NO_SUCH)
    if len(counts) <= 1:
        return next(iter(counts), verdicts.NO_SUCH)
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())


def in_words(verdict: str) -> str:
    """A verdict as the table shows it; silent failures are bold."""
    words = {verdicts.REFUSED: "clear error", verdicts.WARNED: "says so", verdicts.NOISE: "foreign warning"}
    return f"**{verdict}**" if verdict in verdicts.SILENT else words.get(verdict, verdict)
