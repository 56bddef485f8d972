"""The sections of the report that set our numbers beside the paper's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean

from afcm.experiments.markdown import MARKS, NOTHING, comparison_text, params_text, references, score_text, table
from afcm.experiments.printed import (
    PRINTED_AS,
    Score,
    Table,
    dataset_errata,
    errata,
    printed_name,
    printed_scores,
    remarks,
)
from afcm.experiments.record import METRICS
from afcm.experiments.summary import DATASETS, METHODS, OUR_METHODS, Verdict, in_order
from afcm.experiments.tables import Comparison

LEGEND = (
    "Each cell: ours / paper, mean ± population standard deviation over the seeds, in percent. "
    "`=` reproduced: within one point of the printed mean or within its printed spread; `+` better: above that; "
    "`≠` different: below that. Brackets point to the errata under the tables."
)
TWICE = "Breast has two lines, with and without the patient number (breast-id, breast); it counts once here."
VERDICTS: tuple[Verdict, ...] = ("reproduced", "better", "different")
PAPER = "paper's AFCM"
SHOWN_EQUAL = 0.005  # numbers that print the same with two decimals


def comparison_section(title: str, comparisons: Sequence[Comparison], source: Table) -> str:
    """One of the paper's tables: three blocks of cells, the marks counted, the grid points, the errata."""
    if not comparisons:
        return f"## {title}\n\nNot in this run."
    blocks = [f"### {metric}\n\n{_block(comparisons, metric, source)}" for metric in METRICS]
    parts = [f"## {title}", LEGEND, absent(comparisons, source), *blocks]
    parts += ["### Marks", _marks_intro(comparisons), marks_table(comparisons)]
    parts += ["### Chosen grid points", *grid_points(comparisons), "### Errata", _errata_list(comparisons, source)]
    return "\n\n".join(part for part in parts if part)


def flat_section(comparisons: Sequence[Comparison], first: Sequence[Comparison]) -> str:
    """The images once more, every neighbour with the same weight; ``first``: Table 1, for the others."""
    title = "## AFCM with a flat kernel (oracle)"
    if not comparisons:
        return f"{title}\n\nNot in this run."
    intro = (
        "σ = 2 gives neighbours of unit length nearly the same weight, and those of thousands of pixels between 0 and "
        "1 weights that differ by many powers of ten. The paper does not say how its images were scaled. Here all "
        "weights are 1; k, λ, start and everything else are the paper's."
    )
    lines = [
        [dataset, *(comparison_text(c) for c in comparisons if c.cell.dataset == dataset)]
        for dataset in _datasets(comparisons)
    ]
    together = afcm_verdicts(first) | afcm_verdicts(comparisons)
    sum_up = f"With these images and the tables above, which have few columns, AFCM's ACC is {counted(together)}."
    return "\n\n".join([title, intro, table(["data", *METRICS], lines), sum_up, *grid_points(comparisons)])


def marks_table(comparisons: Sequence[Comparison]) -> str:
    """How many cells are reproduced, better and different, per method and metric."""
    methods = _methods(comparisons)
    lines = [
        [name, *(_counts(c for c in chosen if metric in (c.metric, "all")) for metric in (*METRICS, "all"))]
        for name, chosen in [
            *((method, [c for c in comparisons if c.cell.method == method]) for method in methods),
            ("**all**", list(comparisons)),
        ]
    ]
    return table([f"{' / '.join(f'`{MARKS[name]}`' for name in VERDICTS)}", *METRICS, "all"], lines)


def grid_points(comparisons: Sequence[Comparison]) -> list[str]:
    """What was chosen for each cell, and out of how many."""
    cells = {(c.cell.dataset, c.cell.method): c.cell for c in comparisons}
    methods, datasets = _methods(comparisons), _datasets(comparisons)
    lines = []
    for dataset in datasets:
        found = [cells.get((dataset, method)) for method in methods]
        texts = [
            f"{params_text(cell.best.params)} (of {cell.n_tried})" if cell and cell.best else NOTHING for cell in found
        ]
        lines.append([dataset, *texts])
    intro = "The grid point with the best mean ACC, and out of how many; more than one means chosen with the labels."
    return [intro, table(["data", *methods], lines)]


def absent(comparisons: Sequence[Comparison], source: Table) -> str:
    """A line that says what the paper's table has and this run has not."""
    cells = {(printed_name(c.cell.dataset), c.cell.method) for c in comparisons}
    wanted = {(dataset, method) for dataset, method, _ in printed_scores(source)}
    datasets = in_order({d for d, _ in wanted} - {d for d, _ in cells}, DATASETS)
    methods = in_order({m for _, m in wanted} - {m for _, m in cells}, METHODS)
    named = [f"{kind} {', '.join(names)}" for kind, names in (("data sets", datasets), ("methods", methods)) if names]
    return f"A partial run, without the {' and the '.join(named)}." if named else ""


def ours_section(comparisons: Sequence[Comparison]) -> str:
    """Our configurations, and spectral clustering on the same graphs, beside the paper's AFCM."""
    if not comparisons:
        return "## Ours\n\nNot in this run."
    intro = (
        "The paper's AFCM as printed beside AFCM with our kernels and start; *oracle* columns are chosen with labels "
        "(grid sizes are given below), *label-free* ones are a single fixed setting. Spectral clustering (SC, "
        "row-normalised) on the same graphs stands beside them: what it reaches too is the graph's merit. Bold: the "
        "highest. The mean counts Breast once."
    )
    blocks = [f"### {metric}\n\n{_ours_block(comparisons, metric)}" for metric in METRICS]
    parts = ["## Ours", intro, *blocks, "### Head to head", _duels(comparisons)]
    return "\n\n".join([*parts, "### Chosen grid points", *grid_points(comparisons)])


def remarks_section(comparisons: Sequence[Comparison]) -> str:
    """What was tried where AFCM in the paper's configuration stays below the printed number."""
    judged = [c for c in comparisons if c.cell.method == "AFCM" and c.verdict]
    below: dict[str, list[str]] = {}
    for c in judged:
        if c.verdict == "different":
            below.setdefault(c.cell.dataset, []).append(c.metric)
    lines = [
        f"- **{dataset}** ({', '.join(metrics)}): {remarks().get(dataset, 'no explanation is known.')}"
        for dataset, metrics in below.items()
    ]
    nothing = "AFCM is nowhere below the printed numbers." if judged else "Not in this run."
    text = "\n".join(lines) if lines else nothing
    return f"## What differs and what was tried\n\n{text}"


def _block(comparisons: Sequence[Comparison], metric: str, source: Table) -> str:
    found = {(c.cell.dataset, c.cell.method): comparison_text(c) for c in comparisons if c.metric == metric}
    methods = _methods(comparisons)
    lines = [
        [
            f"{dataset} {references(dataset_errata(source, dataset))}".strip(),
            *(found.get((dataset, method), NOTHING) for method in methods),
        ]
        for dataset in _datasets(comparisons)
    ]
    return table(["data", *methods], lines)


def _marks_intro(comparisons: Sequence[Comparison]) -> str:
    verdicts = afcm_verdicts(comparisons)
    twice = len({printed_name(name) for name in _datasets(comparisons)}) < len(_datasets(comparisons))
    line = f"AFCM's ACC is {counted(verdicts)}." if verdicts else ""
    return f"{line} {TWICE if twice else ''}".strip()


def afcm_verdicts(comparisons: Iterable[Comparison]) -> dict[str, str]:
    """The verdict on AFCM's ACC for each printed data set (of two lines for one of them, the first)."""
    found: dict[str, str] = {}
    for c in comparisons:
        if c.cell.method.startswith("AFCM") and c.metric == "ACC" and c.verdict:
            found.setdefault(printed_name(c.cell.dataset), c.verdict)
    return found


def counted(verdicts: dict[str, str]) -> str:
    """Verdicts as words."""
    counts = Counter(verdicts.values())
    return (
        f"reproduced on {counts['reproduced']} of {len(verdicts)} data sets, better on {counts['better']}, below on "
        f"{counts['different']}"
    )


def _counts(comparisons: Iterable[Comparison]) -> str:
    counts = Counter(c.verdict for c in comparisons)
    return " / ".join(str(counts[name]) for name in VERDICTS)


def _errata_list(comparisons: Sequence[Comparison], source: Table) -> str:
    named = {name for c in comparisons for name in (*c.errata, *dataset_errata(source, c.cell.dataset))}
    lines = [f"- **{erratum.id}** {erratum.note}" for erratum in errata() if erratum.id in named]
    return "\n".join(lines) if lines else "None in these cells."


def _ours_block(comparisons: Sequence[Comparison], metric: str) -> str:
    chosen = [c for c in comparisons if c.metric == metric]
    found = {(c.cell.dataset, PAPER): c.printed for c in chosen}
    found |= {(c.cell.dataset, c.cell.method): c.ours for c in chosen}
    columns = [PAPER, *_methods(comparisons)]
    datasets = _datasets(comparisons)
    scores = {dataset: [found.get((dataset, column)) for column in columns] for dataset in datasets}
    lines = [[dataset, *_bold_highest(scores[dataset])] for dataset in datasets]
    whole = [scores[dataset] for dataset in _once(datasets) if all(scores[dataset])]
    if whole:
        means = [fmean(score.mean for score in column if score) for column in zip(*whole, strict=True)]
        lines.append([f"mean over {len(whole)}", *(f"{mean:.2f}" for mean in means)])
    return table(["data", *_headings(comparisons)], lines)


def _bold_highest(scores: list[Score | None]) -> list[str]:
    top = max((score.mean for score in scores if score), default=0.0) - SHOWN_EQUAL
    return [f"**{score_text(score)}**" if score and score.mean > top else score_text(score) for score in scores]


def _headings(comparisons: Sequence[Comparison]) -> list[str]:
    oracle = {c.cell.method for c in comparisons if c.cell.oracle or not c.cell.method.endswith("-default")}
    kinds = [f"{method} ({'oracle' if method in oracle else 'label-free'})" for method in _methods(comparisons)]
    return [f"{PAPER} (oracle)", *kinds]


def _duels(comparisons: Sequence[Comparison]) -> str:
    found = {(c.cell.dataset, PAPER, c.metric): c.printed.mean for c in comparisons if c.printed}
    found |= {(c.cell.dataset, c.cell.method, c.metric): c.ours.mean for c in comparisons if c.ours}
    pairs = [*((method, PAPER) for method in OUR_METHODS), ("AFCM-ours", "SC-ours"), ("AFCM-default", "SC-default")]
    present, datasets = {PAPER, *_methods(comparisons)}, _once(_datasets(comparisons))
    lines = []
    for left, right in pairs:
        if {left, right} <= present:
            gaps = [
                [
                    found[d, left, m] - found[d, right, m]
                    for d in datasets
                    if {(d, left, m), (d, right, m)} <= set(found)
                ]
                for m in METRICS
            ]
            lines.append([f"{left} against {right}", *map(_tally, gaps)])
    return table(["data sets on which it is higher / equal / lower", *METRICS], lines)


def _tally(gaps: list[float]) -> str:
    higher, lower = sum(gap > SHOWN_EQUAL for gap in gaps), sum(gap < -SHOWN_EQUAL for gap in gaps)
    return f"{higher} / {len(gaps) - higher - lower} / {lower}"


def _once(datasets: Sequence[str]) -> list[str]:
    """Without data sets that are there under their printed name too."""
    return [dataset for dataset in datasets if PRINTED_AS.get(dataset) not in datasets]


def _methods(comparisons: Iterable[Comparison]) -> list[str]:
    return in_order((c.cell.method for c in comparisons), METHODS)


def _datasets(comparisons: Iterable[Comparison]) -> list[str]:
    return in_order((c.cell.dataset for c in comparisons), DATASETS)
