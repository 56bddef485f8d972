"""`write_report`: from rows to a folder with the report, its tables and its figures.

The same rows give the same bytes, in whatever order they come.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from afcm._util.atomic_files import replace_file
from afcm.experiments import figures, overview, sections, tables
from afcm.experiments.record import Row, StoreError
from afcm.experiments.summary import Cell, distinct, summarize

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 130
CAPTIONS = {
    "accuracy.png": "ACC of AFCM per data set: printed, in the paper's configuration, ours, and as it comes",
    "toys.png": "Spirals and rings by FCM, PlainAFCM and AFCM, and AFCM's learned space",
    "convergence.png": "J and ACC over the sweeps, with the sweep at which γ meets its cap",
}


def write_report(rows: Iterable[Row], folder: str | Path, *, command: str) -> list[Path]:
    """Write ``report.md``, four CSV files and the figures for which there are rows.

    Parameters
    ----------
    rows : iterable of Row
        All that is there; experiments, data sets and methods may be missing.
    folder : str or Path
        Made if it does not exist. Each file is replaced as a whole or not at all.
    command : str
        What the reader types to get these rows.

    Returns
    -------
    list of Path
        The files, ``report.md`` first.

    Raises
    ------
    StoreError
        If the folder cannot be written.
    """
    kept = distinct(rows)
    cells = summarize(kept)
    pictures, note = _pictures(kept)
    texts = {
        "report.md": _report(kept, cells, _shown(pictures, note), overview.header(kept, command)),
        "table1.csv": tables.comparison_csv(tables.table1(cells)),
        "table2.csv": tables.comparison_csv(tables.table2(cells)),
        "ours.csv": tables.comparison_csv(tables.ours(cells)),
        "rows-summary.csv": tables.grid_csv(cells),
        "timing.csv": tables.timing_csv(cells),
    }
    contents = {name: text.encode() for name, text in texts.items()} | pictures
    return [write_atomically(Path(folder) / name, content) for name, content in contents.items()]


def write_atomically(path: Path, content: bytes) -> Path:
    """Replace a file by new content, so that a reader finds the old or the new one and nothing in between."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as draft:
            draft.write_bytes(content)
    except OSError as error:
        raise StoreError(
            f"cannot write {path.name} to {path.parent}: {error.strerror or error}; give another folder with --out"
        ) from error
    return path


def _report(rows: Sequence[Row], cells: Sequence[Cell], shown: dict[str, str], header: str) -> str:
    first, second = tables.table1(cells), tables.table2(cells)
    parts = [
        header,
        shown["accuracy.png"],
        sections.comparison_section("Table 1", first, "results"),
        sections.comparison_section("Table 2 (ablation)", second, "ablation"),
        sections.flat_section(tables.flat(cells), first),
        sections.remarks_section(first),
        sections.ours_section(tables.ours(cells)),
        overview.toys_section(cells),
        shown["toys.png"],
        overview.convergence_section(rows),
        shown["convergence.png"],
        overview.lost_section(rows, cells),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _pictures(rows: Sequence[Row]) -> tuple[dict[str, bytes], str]:
    """The figures for which there are rows as PNG files, and a line in case there can be none."""
    drawers: dict[str, Callable[[], Figure]] = {
        "accuracy.png": lambda: figures.table_figure(rows),
        "convergence.png": lambda: figures.convergence_figure(rows),
    }
    if any((row.experiment, row.status) == ("toys", "ok") for row in rows):
        drawers["toys.png"] = figures.toy_figure
    drawn = {}
    for name, draw in drawers.items():
        try:
            drawn[name] = png(draw())
        except figures.NothingToDraw:
            continue
        except figures.MissingMatplotlib as error:
            return {}, f"Figures were left out; {error}."
    return drawn, ""


def png(figure: Figure) -> bytes:
    """A figure as the bytes of a PNG file that names no software version."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return buffer.getvalue()


def _shown(pictures: dict[str, bytes], note: str) -> dict[str, str]:
    """The line of the report for each figure; the note stands where the first one would."""
    lines = {name: f"![{caption}]({name})" if name in pictures else "" for name, caption in CAPTIONS.items()}
    return lines | ({"accuracy.png": note} if note else {})
