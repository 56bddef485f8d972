"""Every command that README and ``--help`` show runs as it is printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")
from afcm.cli import app
from afcm.cli.select import select
from afcm.selection.choosing import CRITERIA
from tests.tabular.files import csv_bytes

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")


def readme_commands():
    lines = [line.split("  #")[0].strip() for line in README.splitlines()]
    return [line for line in lines if line.startswith("afcm ")]


def help_commands():
    texts = [command.callback.__doc__ for command in app.registered_commands]
    return [match for text in texts for match in re.findall(r"Example: (afcm .*)", text)]


@pytest.fixture
def tables(folder):
    """data.csv with a column y of classes, new.csv with some of its rows."""
    content = csv_bytes().replace(b"species", b"y")
    (folder / "data.csv").write_bytes(content)
    (folder / "new.csv").write_bytes(b"\n".join(content.splitlines()[:20]))
    return folder


def test_the_page_shows_the_commands_of_the_readme_and_names_all():
    shown = [line.removeprefix("$ ") for line in PAGE.splitlines() if line.startswith("$ ")]
    assert shown == [line for line in readme_commands() if not line.startswith("afcm reproduce")]
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == [
        name or command.callback.__name__ for command in app.registered_commands for name in [command.name]
    ]


def test_there_are_commands_to_run():
    assert len(readme_commands()) == 6
    assert len(help_commands()) == 6  # reproduce takes over an hour and shows none


def test_criteria_are_counted_right():
    words = ("five", "six", "seven", "eight", "nine")
    for text in (README, PAGE, select.__doc__):
        counts = re.findall(r"(\w+) criteria", text)
        numbers = [words.index(word) + 5 for word in counts if word in words]
        assert numbers, counts
        assert set(numbers) == {len(CRITERIA)}


@pytest.mark.parametrize("source", [readme_commands, help_commands])
def test_commands_run_as_printed(afcm, tables, source):
    for line in source():
        _, *arguments = shlex.split(line)
        if arguments[0] == "reproduce":  # over an hour as it stands
            arguments += ["--only", "iris", "--method", "CDKM", "--seeds", "1", "--jobs", "1"]
            arguments[arguments.index("FOLDER")] = "."
        if arguments[0] == "predict" and not (tables / "model.afcm").exists():
            afcm("fit", "data.csv", "--clusters", "3", "--model", "model.afcm")
        done = afcm(*arguments)
        assert done.code == 0, (line, done.err)
    assert (tables / "labelled.csv").read_text().count("\n") == 20
    assert (tables / "report.html").stat().st_size > 10_000
