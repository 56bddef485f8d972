"""The command line ``afcm``: one module for each command (``demo`` is here); the other modules are shared.

What loads scikit-learn is imported when a command runs, so that help comes at once.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

try:
    import pyarrow
    import rich  # noqa: F401
    import typer
except ImportError as missing:  # pragma: no cover - the message is all there is
    sys.exit(f"the command line needs {missing.name}: pip install 'afcm[cli]'")

from afcm._util.version import __version__
from afcm.cli.compare import compare
from afcm.cli.console import exit_on_sigterm, make_console, report_errors, write_utf8_to_pipes
from afcm.cli.fit import fit
from afcm.cli.info import info
from afcm.cli.predict import predict
from afcm.cli.reproduce import reproduce
from afcm.cli.select import select

# Arrow's own allocator keeps about a fifth of what it has given back.
pyarrow.set_memory_pool(pyarrow.system_memory_pool())

EXIT_CODES = (
    "Exit codes: 0 done; 2 the input, an option or a file is at fault (one line on standard error says which, and the "
    "way out); 130 stopped with Ctrl-C; 143 stopped by SIGTERM; 1 a mistake of ours: please report it. Files appear "
    "when they are finished: a command that was stopped leaves the old ones."
)


def demo(*, out: Annotated[Path, typer.Option(help="Folder for demo.png and report.html.")] = Path("out")) -> None:
    """Fit k-means, PlainAFCM and AFCM on toys and Iris: a table, a picture and a report page.

    Example: afcm demo --out out
    """
    with report_errors(make_console()):
        from afcm.demo import main

        main(["--out", str(out)])


app = typer.Typer(
    name="afcm", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, epilog=EXIT_CODES
)
for command in (fit, predict, select, compare, info, demo, reproduce):
    app.command()(command)


def show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"afcm {__version__}")
        raise typer.Exit


@app.callback()
def afcm(
    version: bool = typer.Option(False, "--version", callback=show_version, is_eager=True, help="Show the version."),
) -> None:
    """Fuzzy clustering that tunes itself."""


def main() -> Any:
    """Run ``afcm`` with the arguments of the process."""
    write_utf8_to_pipes()
    with exit_on_sigterm():
        return app()
