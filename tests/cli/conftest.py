"""A folder with Iris in it, and the command line as a function."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
from typer.testing import CliRunner

from tests.tabular.files import csv_bytes


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with iris.csv."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    (tmp_path / "iris.csv").write_bytes(csv_bytes())
    return tmp_path


@pytest.fixture
def afcm(folder):
    """Run a command; any exception but an exit is one of ours."""
    from afcm.cli import app

    def run(*arguments, input=None):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=input)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return SimpleNamespace(code=result.exit_code, out=result.stdout, err=result.stderr)

    return run
