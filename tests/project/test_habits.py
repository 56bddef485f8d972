"""The commands behind docs/trust.md do not call nothing a success."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from trust.habits import describe_audit, paragraph_of
from trust.lowest import lowest, pins
from trust.mutants import mutants

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_every_dependency_has_a_lowest_version():
    extras = sorted(PROJECT["optional-dependencies"])
    found = pins(extras)
    assert "numpy==2.0" in found
    assert not [pin for pin in found if pin.startswith("afcm")]
    with pytest.raises(ValueError, match="no lower bound"):
        lowest(Requirement("numpy<3"))


def test_an_audit_of_nothing_says_so():
    none = {"known": 0, "unknown": 9, "weak": {}, "said": "not reached"}
    assert "nothing was audited" in describe_audit(none)
    some = {"known": 5, "unknown": 1, "weak": {"a": ["CVE-1"]}, "said": ""}
    assert "5 installed packages (1 more" in describe_audit(some)
    assert "a (CVE-1)" in describe_audit(some)


def test_mutants_are_small_mistakes():
    source = 'def f(a: int, b=True):\n    """Text."""\n    c = a + 1 if b else -a\n    return max(a, c)\n'
    found = {mutant.after for mutant in mutants(source)}
    assert {"c = a - 1 if b else -a", "c = a + 2 if b else -a", "c = a + 1 if not b else -a"} <= found
    assert {"c = a + 1 if b else a", "return min(a, c)", "return max(a)", "return", "pass"} <= found
    assert "def f(a: int, b=False):" in found
    assert len(found) == 10


def test_a_command_that_was_not_run_keeps_its_paragraph():
    page = "Made by …\n\n`make lowest`: 9 tests pass.\n\n`make coverage`: 97 %.\n\n| a | b |\n| --- | --- |\n"
    assert paragraph_of("lowest", page) == "`make lowest`: 9 tests pass."
    assert paragraph_of("coverage", page).endswith("| --- | --- |")
    assert paragraph_of("audit", page) == ""


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/trust.md"])
def test_pages_name_commands_and_files_that_exist(page):
    text = (ROOT / page).read_text()
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE)) <= targets
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert links
    assert not [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]
