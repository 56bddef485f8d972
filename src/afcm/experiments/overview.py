"""Writes the sections of the report about the runs themselves: header, toys, convergence, lost runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from afcm.experiments.markdown import NOTHING, format_params, format_score, format_table, to_table_cell
from afcm.experiments.plan import EXPERIMENTS, RACE_MARGIN, RACE_SEEDS
from afcm.experiments.record import METRICS, Row
from afcm.experiments.summary import METHODS, Cell, choose_traces, sort_key, sort_names

ORACLE = (
    "*Oracle* means chosen with the labels: of several grid points the one with the best mean ACC is shown, as in the "
    "paper. It says what a method can reach, not what someone without labels would get. *Label-free* numbers come from "
    "one setting fixed in advance."
)
RISE = 1e-9  # relative to J: anything less is rounding


def write_header(rows: Sequence[Row], command: str) -> str:
    """Say what was run, with what, and how to read it."""
    status = Counter(row.status for row in rows)
    found = {row.experiment for row in rows}
    facts = [
        f"Made by `{command}`.",
        f"{len(rows)} runs: {status['ok']} ok, {status['failed']} failed, {status['skipped']} skipped; their times "
        "are in timing.csv.",
        f"Versions: {list_versions(rows)}.",
    ]
    missing = [name for name in EXPERIMENTS if name not in found]
    if missing:
        facts.append(f"Experiments that were not run: {', '.join(missing)}.")
    lines = "\n".join(f"- {fact}" for fact in facts)
    return f"# The paper's tables, reproduced\n\nThe paper is arXiv 2405.13427.\n\n{lines}\n\n{ORACLE}"


def list_versions(rows: Iterable[Row]) -> str:
    """List every package with every version that rows were made with."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        for name, version in row.versions.items():
            found[name].add(version)
    return ", ".join(f"{name} {' and '.join(sorted(found[name]))}" for name in sorted(found)) or "not recorded"


def write_toys(cells: Iterable[Cell]) -> str:
    """Tabulate the metrics behind the toy figure."""
    toys = [cell for cell in cells if cell.experiment == "toys" and cell.n_tried]
    if not toys:
        return "## Toys\n\nNot in this run."
    lines = [[cell.dataset, cell.method, *(format_score(cell.score(metric)) for metric in METRICS)] for cell in toys]
    return f"## Toys\n\n{format_table(['data', 'method', *METRICS], lines)}"


def write_convergence(rows: Iterable[Row]) -> str:
    """Write one line per data set: how far J fell, whether it ever rose, and when γ met its cap."""
    runs = choose_traces(rows)
    if not runs:
        return "## Convergence\n\nNot in this run."
    intro = "J has no lower bound: where memberships become hard γ grows until it meets its cap, and J says no more."
    columns = ["data", "grid point", "sweeps", "J, first", "J, last", "sweeps with a rise", "γ capped at sweep", "ACC"]
    lines = []
    for row in runs:
        objective, accuracy = row.details["objective"], row.details.get("acc")
        ends = f"{objective[0]:.6g}", f"{objective[-1]:.6g}", str(count_rises(objective))
        last = str(row.details.get("capped_at") or NOTHING), f"{accuracy[-1]:.2f}" if accuracy else NOTHING
        lines.append([row.dataset, format_params(row.params), str(len(objective)), *ends, *last])
    return f"## Convergence\n\n{intro}\n\n{format_table(columns, lines)}"


def count_rises(objective: Sequence[float]) -> int:
    """Count the sweeps after which J is higher than before, rounding aside."""
    return sum(after > before + RISE * abs(before) for before, after in pairwise(objective))


def write_lost(rows: Iterable[Row], cells: Iterable[Cell]) -> str:
    """List runs that failed or were skipped, with reasons and numbers, and how many runs were never made."""
    groups: defaultdict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for row in rows:
        if row.status != "ok":
            groups[row.experiment, row.dataset, row.status, to_table_cell(row.reason) or NOTHING].append(row.method)
    lost = [
        [*names[:2], ", ".join(sort_names(groups[names], METHODS)), *names[2:], str(len(groups[names]))]
        for names in sorted(groups, key=lambda names: (sort_key(names[:2]), names))
    ]
    parts = [format_table(["experiment", "data", "methods", "status", "reason", "runs"], lost)] if lost else []
    counts: Counter[tuple[str, str]] = Counter()
    for cell in cells:
        counts[cell.experiment, cell.method] += cell.lost["missing"]
    missing = [f"- {experiment}, {method}: {number}" for (experiment, method), number in counts.items() if number]
    intro = (
        "Runs that were not made, because the run was interrupted or the method races: its grid points are given up "
        f"when they are more than {RACE_MARGIN:g} points of ACC behind after {RACE_SEEDS} seeds."
    )
    parts += [intro, "\n".join(missing)] if missing else []
    return "\n\n".join(["## Failed, skipped and missing runs", *(parts or ["None."])])
