"""Writes a folder with the report on all rows, its tables and its figures.

Equal rows give equal bytes, in whatever order they come.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from afcm._util.atomic_files import replace_file
from afcm.experiments import figures, sections, tables
from afcm.experiments.record import Row, StoreError
from afcm.experiments.summary import Cell, drop_repeats, summarize

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
        The command line that gives these rows.

    Returns
    -------
    list of Path
        The files, ``report.md`` first.

    Raises
    ------
    StoreError
        If the folder cannot be written.
    """
    kept = drop_repeats(rows)
    cells = summarize(kept)
    pictures, note = _draw_pictures(kept)
    shown = {name: f"![{caption}]({name})" if name in pictures else "" for name, caption in CAPTIONS.items()}
    shown["accuracy.png"] = note or shown["accuracy.png"]
    texts = {
        "report.md": _write_text(kept, cells, shown, sections.write_header(kept, command)),
        "table1.csv": tables.comparisons_to_csv(tables.compare_table1(cells)),
        "table2.csv": tables.comparisons_to_csv(tables.compare_table2(cells)),
        "ours.csv": tables.comparisons_to_csv(tables.compare_with_afcm(cells, "ours")),
        "rows-summary.csv": tables.points_to_csv(cells),
        "timing.csv": tables.times_to_csv(cells),
    }
    contents = {name: text.encode() for name, text in texts.items()} | pictures
    return [write_atomically(Path(folder) / name, content) for name, content in contents.items()]


def write_atomically(path: Path, content: bytes) -> Path:
    """Replace a file by new content, so that a reader finds the old or the new one, nothing in between."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as draft:
            draft.write_bytes(content)
    except OSError as error:
        raise StoreError(
            f"cannot write {path.name} to {path.parent}: {error.strerror or error}; give another folder with --out"
        ) from error
    return path


def _write_text(rows: Sequence[Row], cells: Sequence[Cell], shown: dict[str, str], header: str) -> str:
    first, second = tables.compare_table1(cells), tables.compare_table2(cells)
    parts = [
        header,
        shown["accuracy.png"],
        sections.write_comparison("Table 1", first, "results"),
        sections.write_comparison("Table 2 (ablation)", second, "ablation"),
        sections.write_flat(tables.compare_with_afcm(cells, "flat"), first),
        sections.write_remarks(first),
        sections.write_ours(tables.compare_with_afcm(cells, "ours")),
        sections.write_toys(cells),
        shown["toys.png"],
        sections.write_convergence(rows),
        shown["convergence.png"],
        sections.write_lost(rows, cells),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _draw_pictures(rows: Sequence[Row]) -> tuple[dict[str, bytes], str]:
    """Draw the figures for which there are rows as PNG files; the text says why if there can be none."""
    drawers: dict[str, Callable[[], Figure]] = {
        "accuracy.png": lambda: figures.draw_accuracies(rows),
        "convergence.png": lambda: figures.draw_convergence(rows),
    }
    if any((row.experiment, row.status) == ("toys", "ok") for row in rows):
        drawers["toys.png"] = figures.draw_toys
    drawn = {}
    for name, draw in drawers.items():
        buffer = io.BytesIO()
        try:
            draw().savefig(buffer, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})  # names no version
        except figures.NothingToDraw:
            continue
        except figures.MissingMatplotlib as error:
            return {}, f"Figures were left out; {error}."
        drawn[name] = buffer.getvalue()
    return drawn, ""
