"""Print messages and errors of the commands, and end them with the documented exit codes."""

from __future__ import annotations

import shlex
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

from afcm._util.messages import to_one_line

BAD_INPUT, INTERRUPTED, TERMINATED = 2, 130, 143


def make_console() -> Console:
    """Return a console on standard error: standard output is for results."""
    return Console(stderr=True)


def say(console: Console, message: str) -> None:
    """Print one line, however long, with brackets as they are."""
    console.print(escape(message), highlight=False, soft_wrap=True)


@contextmanager
def report_errors(console: Console, when_stopped: str = "stopped; nothing was written") -> Iterator[None]:
    """Print one line instead of a traceback if the user can do something about an error."""
    try:
        yield
    except (ValueError, OSError, RuntimeError, MemoryError, ImportError) as error:
        console.print(f"[red]afcm:[/red] {escape(to_one_line(error))}", highlight=False, soft_wrap=True)
        raise typer.Exit(BAD_INPUT) from error
    except KeyboardInterrupt as error:
        say(console, when_stopped)
        raise typer.Exit(INTERRUPTED) from error


@contextmanager
def collect_warnings(console: Console, *, aloud: bool = True) -> Iterator[list[str]]:
    """Collect the package's warnings in a list, and print each as a note of one line.

    Unless ``aloud`` only that of a column which decides alone: the summary of a fit tells the others.
    """
    notes: list[str] = []

    def note(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        from afcm.exceptions import AFCMWarning, ScaleWarning

        if issubclass(category, AFCMWarning):
            notes.append(str(message))
            if aloud or issubclass(category, ScaleWarning):
                say(console, f"note: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note
        yield notes


def write_utf8_to_pipes() -> None:
    """Write results as UTF-8 to files and pipes, as tables are; Windows would take a code page without most letters."""
    if not sys.stdout.isatty() and isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end a command as an exception does, so that drafts of files are removed."""

    def stop(_number: int, _frame: Any) -> None:
        sys.exit(TERMINATED)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def format_command_line() -> str:
    """Return the command as it was typed, without the folder of the program."""
    return shlex.join(["afcm", *sys.argv[1:]])
