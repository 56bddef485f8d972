"""Nothing in the package can run what a file holds: no pickles, no eval, no shell; and the wheel has the types."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "afcm"
FILES = sorted(SOURCE.rglob("*.py"))
# Modules that unpickle, evaluate, run or connect.
MODULES = {"pickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "yaml", "subprocess", "pty"}
MODULES |= {"code", "codeop", "runpy", "ctypes", "xmlrpc", "tarfile", "socket", "ftplib", "telnetlib", "requests"}
BUILTINS = {"eval", "exec", "compile", "__import__", "breakpoint", "input"}
# Methods by name, whoever has them.
METHODS = {
    "system",
    "popen",
    "extractall",
    "extract",
    "mktemp",
    "read_pickle",
    "to_pickle",
    "literal_eval",
    "unsafe_load",
}
LOADERS = {"load", "read_array", "write_array", "save"}


def offences(tree):
    """What must not be there: (line, words)."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from ((node.lineno, f"imports {name}") for name in names if name.split(".")[0] in MODULES)
        elif isinstance(node, ast.Call):
            yield from ((node.lineno, words) for words in wrong_call(node))


def wrong_call(call):
    function, given = call.func, {word.arg: word.value for word in call.keywords}
    if isinstance(function, ast.Name) and function.id in BUILTINS:
        yield f"{function.id}()"
    if isinstance(function, ast.Attribute) and function.attr in METHODS:
        yield f".{function.attr}()"
    if "shell" in given:
        yield "shell="
    if isinstance(function, ast.Attribute) and function.attr in LOADERS and is_numpy(function.value):
        allowed = given.get("allow_pickle")
        if not (isinstance(allowed, ast.Constant) and allowed.value is False):
            yield f"{ast.unparse(function)} without allow_pickle=False"
    if isinstance(function, ast.Attribute) and ast.unparse(function) == "torch.load":
        yield "torch.load"


def is_numpy(node):
    return ast.unparse(node) in ("np", "numpy", "npy", "np.lib.format", "numpy.lib.format")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_no_file_can_run_anything(file):
    assert list(offences(ast.parse(file.read_text()))) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "import pickle",
        "from joblib import load",
        "import os.path, subprocess",
        "eval('1')",
        "exec(text)",
        "os.system('ls')",
        "run('ls', shell=True)",
        "np.load(path)",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=given)",
        "numpy.lib.format.read_array(handle)",
        "archive.extractall(folder)",
        "torch.load(path)",
    ],
)
def test_the_search_finds_what_it_looks_for(wrong):
    assert list(offences(ast.parse(wrong)))


def test_harmless_lines_are_left_alone():
    right = "np.load(path, allow_pickle=False)\njson.load(handle)\nre.compile('a')\nimport os"
    assert list(offences(ast.parse(right))) == []


def test_the_wheel_has_the_types_and_only_the_package(tmp_path):
    pytest.importorskip("hatchling", reason="building the wheel needs hatchling, and no network")
    build = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], check=True, cwd=ROOT, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "afcm/py.typed" in names
    assert any(name.startswith("afcm/report/assets/") for name in names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"afcm"}
    here = {f"afcm/{file.relative_to(SOURCE).as_posix()}" for file in FILES}
    assert here <= set(names)
