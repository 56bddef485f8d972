"""``afcm demo``: fit toys and Iris, and write a picture and a report page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from afcm.cli.console import make_console, report_errors


def demo(*, out: Annotated[Path, typer.Option(help="Folder for demo.png and report.html.")] = Path("out")) -> None:
    """Fit k-means, PlainAFCM and AFCM on toys and Iris: a table, a picture and a report page.

    Example: afcm demo --out out
    """
    with report_errors(make_console()):
        from afcm.demo import main

        main(["--out", str(out)])
