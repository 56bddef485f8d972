"""The commands behind docs/trust.md do not call nothing a success."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from trust.habits import told_audit
from trust.lowest import lowest, pins
from trust.mutants import mutants

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def test_every_dependency_has_a_lowest_version():
    extras = sorted(PROJECT["optional-dependencies"])
    found = pins(extras)
    assert "numpy==2.0" in found
    assert not [pin for pin in found if pin.startswith("afcm")]
    with pytest.raises(ValueError, match="no lower bound"):
        lowest(Requirement("numpy<3"))


def test_an_audit_of_nothing_says_so():
    none = {"known": 0, "unknown": 9, "weak": {}, "said": "not reached"}
    assert "nothing was audited" in told_audit(none)[0]
    some = {"known": 5, "unknown": 1, "weak": {"a": ["CVE-1"]}, "said": ""}
    assert "5 installed packages (1 more" in told_audit(some)[0]
    assert "a (CVE-1)" in told_audit(some)[0]


def test_mutants_are_small_mistakes():
    source = 'def f(a: int, b=True):\n    """Text."""\n    c = a + 1 if b else -a\n    return max(a, c)\n'
    found = {mutant.after for mutant in mutants(source)}
    assert {"c = a - 1 if b else -a", "c = a + 2 if b else -a", "c = a + 1 if not b else -a"} <= found
    assert {"c = a + 1 if b else a", "return min(a, c)", "return max(a)", "return", "pass"} <= found
    assert "def f(a: int, b=False):" in found
    assert len(found) == 10
