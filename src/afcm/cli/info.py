"""``afcm info``: show what a model file holds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from afcm.cli import options, outcome
from afcm.cli.console import make_console, report_errors


def info(
    model: Annotated[Path, typer.Argument(help="Model file from afcm fit or afcm.save_model.")],
    *,
    json: options.Json = False,
) -> None:
    """Show what a model file holds, without loading the model.

    Example: afcm info model.afcm
    """
    with report_errors(make_console()):
        from afcm.modelfiles import read_info

        found = asdict(read_info(model))
    if json:
        outcome.print_json(found)
        return
    for name, value in found.items():
        if isinstance(value, dict):
            typer.echo("\n".join([f"{name}:", *(f"  {key}: {format_value(part)}" for key, part in value.items())]))
        else:
            typer.echo(f"{name}: {format_value(value)}")


def format_value(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
