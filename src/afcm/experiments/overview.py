"""The sections of the report about the runs themselves: what was run, the toys, convergence, what was lost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from afcm.experiments.markdown import NOTHING, params_text, plain, score_text, table
from afcm.experiments.plan import EXPERIMENTS, RACE_MARGIN, RACE_SEEDS
from afcm.experiments.record import METRICS, Row
from afcm.experiments.summary import METHODS, Cell, in_order, place, traces

ORACLE = (
    "*Oracle* means chosen with the labels: of several grid points the one with the best mean ACC is shown, as in the "
    "paper. It says what a method can reach, not what someone without labels would get. *Label-free* numbers come from "
    "one setting fixed in advance."
)
RISE = 1e-9  # relative to J: anything less is rounding


def header(rows: Sequence[Row], command: str) -> str:
    """What was run, with what, and how to read it."""
    status = Counter(row.status for row in rows)
    found = {row.experiment for row in rows}
    facts = [
        f"Made by `{command}`.",
        f"{len(rows)} runs: {status['ok']} ok, {status['failed']} failed, {status['skipped']} skipped; their times "
        "are in timing.csv.",
        f"Versions: {versions_text(rows)}.",
    ]
    missing = [name for name in EXPERIMENTS if name not in found]
    if missing:
        facts.append(f"Experiments that were not run: {', '.join(missing)}.")
    lines = "\n".join(f"- {fact}" for fact in facts)
    return f"# The paper's tables, reproduced\n\nThe paper is arXiv 2405.13427.\n\n{lines}\n\n{ORACLE}"


def versions_text(rows: Iterable[Row]) -> str:
    """Every package with every version that rows were made with."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        for name, version in row.versions.items():
            found[name].add(version)
    return ", ".join(f"{name} {' and '.join(sorted(found[name]))}" for name in sorted(found)) or "not recorded"


def toys_section(cells: Iterable[Cell]) -> str:
    """The metrics behind the toy figure."""
    toys = [cell for cell in cells if cell.experiment == "toys" and cell.n_tried]
    if not toys:
        return "## Toys\n\nNot in this run."
    lines = [[cell.dataset, cell.method, *(score_text(cell.score(metric)) for metric in METRICS)] for cell in toys]
    return f"## Toys\n\n{table(['data', 'method', *METRICS], lines)}"


def convergence_section(rows: Iterable[Row]) -> str:
    """One line per data set: how far J fell, whether it ever rose, and when γ met its cap."""
    runs = traces(rows)
    if not runs:
        return "## Convergence\n\nNot in this run."
    intro = "J has no lower bound: where memberships become hard γ grows until it meets its cap, and J says no more."
    columns = ["data", "grid point", "sweeps", "J, first", "J, last", "sweeps with a rise", "γ capped at sweep", "ACC"]
    return f"## Convergence\n\n{intro}\n\n{table(columns, (_convergence_line(row) for row in runs))}"


def rises(objective: Sequence[float]) -> int:
    """Number of sweeps after which J is higher than before, rounding aside."""
    return sum(after > before + RISE * abs(before) for before, after in pairwise(objective))


def lost_section(rows: Iterable[Row], cells: Iterable[Cell]) -> str:
    """Runs that failed or were skipped, with reasons and numbers, and how many runs were never made."""
    groups: defaultdict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for row in rows:
        if row.status != "ok":
            groups[row.experiment, row.dataset, row.status, plain(row.reason) or NOTHING].append(row.method)
    lines = [
        [*names[:2], ", ".join(in_order(groups[names], METHODS)), *names[2:], str(len(groups[names]))]
        for names in sorted(groups, key=lambda names: (place(names[:2]), names))
    ]
    parts = ["## Failed, skipped and missing runs"]
    if lines:
        parts.append(table(["experiment", "data", "methods", "status", "reason", "runs"], lines))
    missing = _missing(cells)
    return "\n\n".join([*parts, *missing] if lines or missing else [*parts, "None."])


def _missing(cells: Iterable[Cell]) -> list[str]:
    counts: Counter[tuple[str, str]] = Counter()
    for cell in cells:
        counts[cell.experiment, cell.method] += cell.lost["missing"]
    lines = [f"- {experiment}, {method}: {number}" for (experiment, method), number in counts.items() if number]
    intro = (
        "Runs that were not made, because the run was interrupted or the method races: its grid points are given up "
        f"when they are more than {RACE_MARGIN:g} points of ACC behind after {RACE_SEEDS} seeds."
    )
    return [intro, "\n".join(lines)] if lines else []


def _convergence_line(row: Row) -> list[str]:
    objective, accuracy = row.details["objective"], row.details.get("acc")
    return [
        row.dataset,
        params_text(row.params),
        str(len(objective)),
        f"{objective[0]:.6g}",
        f"{objective[-1]:.6g}",
        str(rises(objective)),
        str(row.details.get("capped_at") or NOTHING),
        f"{accuracy[-1]:.2f}" if accuracy else NOTHING,
    ]
