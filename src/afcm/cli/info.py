"""``afcm info``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from afcm.cli import options
from afcm.cli.console import guarded, make_console


def info(
    model: Annotated[Path, typer.Argument(help="Model file from afcm fit or afcm.save_model.")],
    *,
    json: options.Json = False,
) -> None:
    """Show what a model file holds, without loading the model.

    Example: afcm info model.afcm
    """
    console = make_console()
    with guarded(console):
        from afcm.modelfiles import read_info

        found = read_info(model)
