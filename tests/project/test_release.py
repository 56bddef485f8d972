"""What a release needs: packages that pass the check of the index, one version everywhere, a first example."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from trust.first_lines import run_first_example

import afcm

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def build(kind, folder):
    pytest.importorskip("hatchling", reason="building needs hatchling, and no network")
    code = f"import sys; from hatchling.build import build_{kind}; build_{kind}(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True, cwd=ROOT, capture_output=True)
    return next(folder.glob("*.whl" if kind == "wheel" else "*.tar.gz"))


def test_wheel_and_sdist_pass_the_check_of_the_index(tmp_path):
    pytest.importorskip("twine", reason="the check needs twine (afcm[release])")
    files = [build(kind, tmp_path) for kind in ("wheel", "sdist")]
    command = [sys.executable, "-m", "twine", "check", "--strict", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("PASSED") == 2


def test_the_sdist_has_what_a_packager_needs(tmp_path):
    with tarfile.open(build("sdist", tmp_path)) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "src/afcm/py.typed"} <= names


def test_the_version_is_the_same_everywhere():
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE).group(1)
    assert afcm.__version__ == PROJECT["version"] == cited
    assert f"\n## [{cited}] - 20" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_first_lines_of_the_readme_run():
    result = run_first_example(ROOT / "README.md")
    assert result.attempted >= 5
    assert not result.failed


def test_a_page_without_an_example_is_said(tmp_path):
    (tmp_path / "page.md").write_text("nothing")
    with pytest.raises(ValueError, match="has no example"):
        run_first_example(tmp_path / "page.md")


def test_the_workflow_runs_the_pythons_that_the_project_names():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert set(named) <= set(re.findall(r'"(3\.\d+)"', workflow))
    assert all(system in workflow for system in ("ubuntu-latest", "macos-latest", "windows-latest"))
