"""The Markdown files in docs/trust that programs write, one table a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "trust"


def page_path(name: str) -> Path:
    """File of a page; ``cases`` is docs/trust/cases.md."""
    return FOLDER / f"{name}.md"


def write_page(name: str, command: str, text: str) -> None:
    """Write a page whose first line names the command that makes it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    head = f"Made by {command}; [docs/trust.md](../trust.md) says what it means. Do not edit by hand."
    page_path(name).write_text(f"{head}\n\n{text.strip()}\n", encoding="utf-8")


def read_rows(name: str) -> list[list[str]]:
    """Cells of every row of the table on a page, head included; no rows if there is no such page."""
    path = page_path(name)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [cells for cells in rows if any(set(cell) - set("-: ") for cell in cells)]


def format_row(cells: Sequence[str]) -> str:
    """Line of a Markdown table."""
    return f"| {' | '.join(cell.replace('|', ' ') for cell in cells)} |"


def format_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = False) -> str:
    """Markdown table; with ``numbers`` all columns but the first are aligned to the right."""
    rule = ["---", *["---:" if numbers else "---"] * (len(head) - 1)]
    return "\n".join(format_row(cells) for cells in [head, rule, *rows])
