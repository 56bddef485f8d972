"""The program behind `make mutation`, on a small module of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="`make mutation` needs fork, limits and alarms")
from trust import mutation
from trust.mutation import read_shard
from trust.pages import read_rows

ROOT = Path(__file__).parents[2]
SOURCE = "def larger(a, b):\n    return a if a > b else b\n"
TEST = "from afcm.tiny import larger\n\ndef test_larger():\n    assert larger(1, 2) == 2 == larger(2, 1)\n"
BORDER = "larger: return a if a > b else b  →  return a if a >= b else b"
REASON = f'[[equivalent]]\nreason = "equal numbers"\nmutants = ["{BORDER}"]\n'
# The real program in a project of one module.
PROGRAM = """
import sys
from pathlib import Path
from trust import mutation, pages
mutation.ROOT = Path(sys.argv[1])
mutation.KEPT, mutation.EQUIVALENT = mutation.ROOT / "out", mutation.ROOT / "equivalent"
pages.FOLDER = mutation.ROOT / "docs"
mutation.TESTS = {"tiny": ["test_tiny.py"]}
mutation.preload = lambda: __import__("pytest")
sys.argv = ["mutation", *sys.argv[2:]]
sys.exit(mutation.main())
"""


@pytest.fixture
def project(tmp_path):
    """A project without git, whose user has no home to write to."""
    for name, text in {"src/afcm/tiny.py": SOURCE, "test_tiny.py": TEST, "equivalent/tiny.toml": REASON}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(project, *arguments):
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    quick = {"HOME": os.devnull, "PYTHONPATH": paths, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-c", PROGRAM, str(project), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | quick, timeout=120)


def test_shards_leave_verdicts_that_a_last_run_reads(project):
    first = run(project, "--shard", "1/2", "--jobs", "1")
    assert first.returncode == 0, first.stdout + first.stderr
    assert "tiny: 2/2 (1 of 1 modules done)" in first.stdout
    assert len(list((project / "out").iterdir())) == 3  # the original and two mutants
    second = run(project, "--shard", "2/2", "--jobs", "2")
    assert second.returncode == 0, second.stdout + second.stderr
    assert not (project / "docs").exists()
    for file in (project / "out").iterdir():  # what is known is not tried again
        if json.loads(file.read_text())[0] == "killed":
            file.write_text('["timeout", 1.0]')

    last = run(project)
    assert last.returncode == 0, last.stdout + last.stderr
    assert "tiny: 4/4 (1 of 1 modules done)" in last.stdout
    assert "| `tiny` | 4 | 3 | 3 | 1 | 0 | 75.0 % |" in (project / "docs/mutation.md").read_text()
    survivors = (project / "docs/mutation-survivors.md").read_text()
    assert f"## `tiny`\n\n**equal numbers**\n\n- `{BORDER}`\n" in survivors

    (project / "equivalent/tiny.toml").write_text(REASON.replace(">= b", ">= c"))
    bad = run(project)
    assert bad.returncode == 1
    assert f"survived  tiny.{BORDER}" in bad.stdout
    assert "tiny.toml lists a mutant that is gone or killed: larger: return a if a > b else b" in bad.stdout
    assert "**not explained yet**" in (project / "docs/mutation-survivors.md").read_text()


def test_tests_that_fail_without_a_mutant_are_said(project):
    (project / "test_tiny.py").write_text(TEST.replace("== 2 ==", "== 3 =="))
    done = run(project)
    assert done.returncode == 1
    assert "tests fail without any mutant; repair them first: tiny (test_tiny.py)" in done.stderr


def test_shards_are_numbered_from_one():
    assert read_shard("2/4") == (2, 4)
    for wrong in ("0/4", "5/4", "1"):
        with pytest.raises(ValueError, match=r"\d"):
            read_shard(wrong)


def test_modules_and_tests_of_the_table_exist():
    for module, tests in mutation.TESTS.items():
        assert mutation.original(module).source
        assert tests
        assert all((ROOT / test).exists() for test in tests), module


def test_the_committed_table_holds_every_module_to_the_goal():
    head, *rows = read_rows("mutation")
    assert rows
    for cells in rows:
        found = dict(zip(head, cells, strict=True))
        assert float(found["killed of all"].removesuffix(" %")) >= 90, cells
        assert found["not explained"] == "0", cells


def test_only_failing_tests_and_its_own_time_limit_kill_a_mutant():
    assert mutation.verdict_of(0) == "survived"
    assert mutation.verdict_of(1 << 8) == "killed"  # pytest's exit code 1
    assert mutation.verdict_of(signal.SIGALRM) == mutation.verdict_of(signal.SIGPROF) == "timeout"
    assert mutation.verdict_of(signal.SIGSEGV) == "killed"
    with pytest.raises(SystemExit, match="ended from outside by SIGKILL"):
        mutation.verdict_of(signal.SIGKILL)


def test_the_committed_table_lists_the_modules_of_the_program():
    _, *rows = read_rows("mutation")
    assert [cells[0].strip("`") for cells in rows] == list(mutation.TESTS)
