"""Writes the sections of the report: our numbers beside the paper's, and the runs themselves."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean

from afcm.experiments import printed, tables
from afcm.experiments.plan import EXPERIMENTS, RACE_MARGIN, RACE_SEEDS
from afcm.experiments.printed import Score, Table, printed_name
from afcm.experiments.record import METRICS, Row
from afcm.experiments.summary import DATASETS, METHODS, OUR_METHODS, Cell, Verdict, choose_traces, sort_key, sort_names
from afcm.experiments.tables import NOTHING, Comparison, format_comparison, format_params, format_score, format_table

ORACLE = (
    "*Oracle* means chosen with the labels: of several grid points the one with the best mean ACC is shown, as in the "
    "paper. It says what a method can reach, not what someone without labels would get. *Label-free* numbers come from "
    "one setting fixed in advance."
)
LEGEND = (
    "Each cell: ours / paper, mean ± population standard deviation over the seeds, in percent. "
    "`=` reproduced: within one point of the printed mean or within its printed spread; `+` better: above that; "
    "`≠` different: below that. Brackets point to the errata under the tables."
)
TWICE = "Breast has two lines, with and without the patient number (breast-id, breast); it counts once here."
VERDICTS: tuple[Verdict, ...] = ("reproduced", "better", "different")
PAPER = "paper's AFCM"
SHOWN_EQUAL = 0.005  # numbers that print the same with two decimals
RISE = 1e-9  # relative to J: anything less is rounding


def write_comparison(title: str, comparisons: Sequence[Comparison], source: Table) -> str:
    """Compare with one of the paper's tables: a block for each metric, the marks, the grid points, the errata."""
    if not comparisons:
        return f"## {title}\n\nNot in this run."
    parts = [f"## {title}", LEGEND, name_absent(comparisons, source)]
    for metric in METRICS:
        texts = {(c.cell.dataset, c.cell.method): format_comparison(c) for c in comparisons if c.metric == metric}
        parts += [f"### {metric}", _tabulate(comparisons, texts, source)]
    verdicts, datasets = judge_afcm(comparisons), _sort_datasets(comparisons)
    twice = TWICE if len({printed_name(name) for name in datasets}) < len(datasets) else ""
    line = f"AFCM's ACC is {describe_verdicts(verdicts)}." if verdicts else ""
    parts += ["### Marks", f"{line} {twice}".strip(), count_marks(comparisons)]
    parts += ["### Chosen grid points", *list_grid_points(comparisons)]
    named = {name for c in comparisons for name in (*c.errata, *printed.dataset_errata(source, c.cell.dataset))}
    errata = [f"- **{erratum.id}** {erratum.note}" for erratum in printed.read_errata() if erratum.id in named]
    parts += ["### Errata", "\n".join(errata) if errata else "None in these cells."]
    return "\n\n".join(part for part in parts if part)


def write_flat(comparisons: Sequence[Comparison], first: Sequence[Comparison]) -> str:
    """Compare the images once more, every neighbor with the same weight; ``first``: Table 1, for the others."""
    title = "## AFCM with a flat kernel (oracle)"
    if not comparisons:
        return f"{title}\n\nNot in this run."
    intro = (
        "σ = 2 gives neighbours of unit length nearly the same weight, and those of thousands of pixels between 0 and "
        "1 weights that differ by many powers of ten. The paper does not say how its images were scaled. Here all "
        "weights are 1; k, λ, start and everything else are the paper's."
    )
    lines = [
        [dataset, *(format_comparison(c) for c in comparisons if c.cell.dataset == dataset)]
        for dataset in _sort_datasets(comparisons)
    ]
    together = describe_verdicts(judge_afcm(first) | judge_afcm(comparisons))
    sum_up = f"With these images and the tables above, which have few columns, AFCM's ACC is {together}."
    return "\n\n".join([title, intro, format_table(["data", *METRICS], lines), sum_up, *list_grid_points(comparisons)])


def count_marks(comparisons: Sequence[Comparison]) -> str:
    """Tabulate how many cells are reproduced, better and different, per method and metric."""
    lines = []
    for method in (*_sort_methods(comparisons), "**all**"):
        chosen = [c for c in comparisons if method in (c.cell.method, "**all**")]
        counts = [Counter(c.verdict for c in chosen if metric in (c.metric, "all")) for metric in (*METRICS, "all")]
        lines.append([method, *(" / ".join(str(count[name]) for name in VERDICTS) for count in counts)])
    return format_table([" / ".join(f"`{tables.MARKS[name]}`" for name in VERDICTS), *METRICS, "all"], lines)


def list_grid_points(comparisons: Sequence[Comparison]) -> list[str]:
    """Tabulate what was chosen for each cell, and out of how many."""
    chosen = {
        (c.cell.dataset, c.cell.method): f"{format_params(c.cell.best.params)} (of {c.cell.n_tried})"
        for c in comparisons
        if c.cell.best
    }
    intro = "The grid point with the best mean ACC, and out of how many; more than one means chosen with the labels."
    return [intro, _tabulate(comparisons, chosen)]


def name_absent(comparisons: Sequence[Comparison], source: Table) -> str:
    """Say what the paper's table has and this run has not."""
    cells = {(printed_name(c.cell.dataset), c.cell.method) for c in comparisons}
    wanted = {(dataset, method) for dataset, method, _ in printed.printed_scores(source)}
    datasets = sort_names({d for d, _ in wanted} - {d for d, _ in cells}, DATASETS)
    methods = sort_names({m for _, m in wanted} - {m for _, m in cells}, METHODS)
    named = [f"{kind} {', '.join(names)}" for kind, names in (("data sets", datasets), ("methods", methods)) if names]
    return f"A partial run, without the {' and the '.join(named)}." if named else ""


def write_ours(comparisons: Sequence[Comparison]) -> str:
    """Compare our configurations, and spectral clustering on the same graphs, with the paper's AFCM."""
    if not comparisons:
        return "## Ours\n\nNot in this run."
    intro = (
        "The paper's AFCM as printed beside AFCM with our kernels and start; *oracle* columns are chosen with labels "
        "(grid sizes are given below), *label-free* ones are a single fixed setting. Spectral clustering (SC, "
        "row-normalised) on the same graphs stands beside them: what it reaches too is the graph's merit. Bold: the "
        "highest. The mean counts Breast once."
    )
    blocks = [f"### {metric}\n\n{_write_our_block(comparisons, metric)}" for metric in METRICS]
    parts = ["## Ours", intro, *blocks, "### Head to head", _count_duels(comparisons)]
    return "\n\n".join([*parts, "### Chosen grid points", *list_grid_points(comparisons)])


def write_remarks(comparisons: Sequence[Comparison]) -> str:
    """Say what was tried for data sets on which AFCM in the paper's configuration stays below the printed number."""
    judged = [c for c in comparisons if c.cell.method == "AFCM" and c.verdict]
    below: defaultdict[str, list[str]] = defaultdict(list)
    for c in judged:
        if c.verdict == "different":
            below[c.cell.dataset].append(c.metric)
    lines = [
        f"- **{dataset}** ({', '.join(metrics)}): {printed.read_remarks().get(dataset, 'no explanation is known.')}"
        for dataset, metrics in below.items()
    ]
    nothing = "AFCM is nowhere below the printed numbers." if judged else "Not in this run."
    return "\n".join(["## What differs and what was tried", "", *(lines or [nothing])])


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
            groups[row.experiment, row.dataset, row.status, tables.to_table_cell(row.reason) or NOTHING].append(
                row.method
            )
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


def _tabulate(
    comparisons: Sequence[Comparison], texts: Mapping[tuple[str, str], str], source: Table | None = None
) -> str:
    """Write the text of each data set (with its errata in ``source``) and method into a table."""
    methods = _sort_methods(comparisons)
    lines = []
    for dataset in _sort_datasets(comparisons):
        errata = printed.dataset_errata(source, dataset) if source else ()
        name = f"{dataset} {tables.format_references(errata)}".strip()
        lines.append([name, *(texts.get((dataset, method), NOTHING) for method in methods)])
    return format_table(["data", *methods], lines)


def judge_afcm(comparisons: Iterable[Comparison]) -> dict[str, str]:
    """Find the verdict on AFCM's ACC for each printed data set (of two lines for one of them, the first)."""
    found: dict[str, str] = {}
    for c in comparisons:
        if c.cell.method.startswith("AFCM") and c.metric == "ACC" and c.verdict:
            found.setdefault(printed_name(c.cell.dataset), c.verdict)
    return found


def describe_verdicts(verdicts: dict[str, str]) -> str:
    counts = Counter(verdicts.values())
    return (
        f"reproduced on {counts['reproduced']} of {len(verdicts)} data sets, better on {counts['better']}, below on "
        f"{counts['different']}"
    )


def _write_our_block(comparisons: Sequence[Comparison], metric: str) -> str:
    chosen = [c for c in comparisons if c.metric == metric]
    found = {(c.cell.dataset, PAPER): c.printed for c in chosen}
    found |= {(c.cell.dataset, c.cell.method): c.ours for c in chosen}
    methods, datasets = _sort_methods(comparisons), _sort_datasets(comparisons)
    scores = {dataset: [found.get((dataset, column)) for column in (PAPER, *methods)] for dataset in datasets}
    lines = [[dataset, *_bold_highest(scores[dataset])] for dataset in datasets]
    whole = [scores[dataset] for dataset in _drop_twins(datasets) if all(scores[dataset])]
    if whole:
        means = [fmean(score.mean for score in column if score) for column in zip(*whole, strict=True)]
        lines.append([f"mean over {len(whole)}", *(f"{mean:.2f}" for mean in means)])
    oracle = {c.cell.method for c in comparisons if c.cell.oracle or not c.cell.method.endswith("-default")}
    kinds = [f"{method} ({'oracle' if method in oracle else 'label-free'})" for method in methods]
    return format_table(["data", f"{PAPER} (oracle)", *kinds], lines)


def _bold_highest(scores: list[Score | None]) -> list[str]:
    top = max((score.mean for score in scores if score), default=0.0) - SHOWN_EQUAL
    return [f"**{format_score(score)}**" if score and score.mean > top else format_score(score) for score in scores]


def _count_duels(comparisons: Sequence[Comparison]) -> str:
    found = {(c.cell.dataset, PAPER, c.metric): c.printed.mean for c in comparisons if c.printed}
    found |= {(c.cell.dataset, c.cell.method, c.metric): c.ours.mean for c in comparisons if c.ours}
    pairs = [*((method, PAPER) for method in OUR_METHODS), ("AFCM-ours", "SC-ours"), ("AFCM-default", "SC-default")]
    present, datasets = {PAPER, *_sort_methods(comparisons)}, _drop_twins(_sort_datasets(comparisons))
    lines = []
    for left, right in pairs:
        if {left, right} <= present:
            line = [f"{left} against {right}"]
            for m in METRICS:
                both = [d for d in datasets if {(d, left, m), (d, right, m)} <= found.keys()]
                gaps = [found[d, left, m] - found[d, right, m] for d in both]
                higher, lower = sum(gap > SHOWN_EQUAL for gap in gaps), sum(gap < -SHOWN_EQUAL for gap in gaps)
                line.append(f"{higher} / {len(gaps) - higher - lower} / {lower}")
            lines.append(line)
    return format_table(["data sets on which it is higher / equal / lower", *METRICS], lines)


def _drop_twins(datasets: Sequence[str]) -> list[str]:
    """Leave out data sets that are there under their printed name too."""
    return [dataset for dataset in datasets if printed.PRINTED_AS.get(dataset) not in datasets]


def _sort_methods(comparisons: Iterable[Comparison]) -> list[str]:
    return sort_names((c.cell.method for c in comparisons), METHODS)


def _sort_datasets(comparisons: Iterable[Comparison]) -> list[str]:
    return sort_names((c.cell.dataset for c in comparisons), DATASETS)
