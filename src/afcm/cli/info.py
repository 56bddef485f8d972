"""``afcm info``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from afcm.cli import options, outcome
from afcm.cli.console import guarded, make_console


def info(
    model: Annotated[Path, typer.Argument(help="Model file from afcm fit or afcm.save_model.")],
    *,
    json: options.Json = False,
) -> None:
    """Show what a model file holds, without loading the model.

    Example: afcm info model.afcm
    """
    with guarded(make_console()):
        from afcm.modelfiles import read_info

        found = asdict(read_info(model))
    if json:
        outcome.print_json(found)
    else:
        typer.echo("\n".join(lines(found)))


def lines(found: dict[str, Any]) -> list[str]:
    """A line a fact; facts of one kind under their name."""
    said = []
    for name, value in found.items():
        if isinstance(value, dict):
            said += [f"{name}:"] + [f"  {key}: {text(part)}" for key, part in value.items()]
        else:
            said.append(f"{name}: {text(value)}")
    return said


def text(value: Any) -> str:
    """Without brackets."""
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
